"""Owns how the network is reached: proxies, who goes around them, an additional CA bundle, time-outs, retries.

Refuses sockets, and values that no client could use; the environment is handed in, never read.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from gpustack_models.core.location import without_query
from gpustack_models.errors import GsmError, Reason

#: Each list is in order of precedence; the small one first, as Python's own urllib has it.
_HTTPS_PROXY = ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
_HTTP_PROXY = ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")
_NO_PROXY = ("no_proxy", "NO_PROXY")
_CA_BUNDLE = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")
_HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+")
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """How to reach a hub. Times are in seconds.

    `proxy` is for https URLs and `http_proxy` for http ones, each `http(s)://[user:password@]host[:port]` or empty.
    `no_proxy` is the usual comma-separated list. `ca_bundle` is a file or folder of certificates, trusted beside the
    system's own. `answer_timeout` bounds one answer from its request to its last byte, however slowly it drips;
    `deadline` bounds everything from the client's making on (None: nothing does). `retries` are asked for beyond the
    first attempt.
    """

    proxy: str = field(default="", repr=False)
    http_proxy: str = field(default="", repr=False)
    no_proxy: str = ""
    ca_bundle: str = ""
    connect_timeout: float = 10.0
    read_timeout: float = 30.0
    answer_timeout: float = 300.0
    deadline: float | None = None
    retries: int = 3

    def __post_init__(self) -> None:
        for name, value in (("proxy", self.proxy), ("http_proxy", self.http_proxy)):
            if value and (problem := problem_of_proxy(value)):
                raise GsmError(Reason.INVALID_INPUT, f"{name}: {problem}", hint="write http://host:port")
        times = (self.connect_timeout, self.read_timeout, self.answer_timeout, self.deadline)
        if any(time is not None and not time > 0 for time in times) or self.retries < 0:
            raise GsmError(Reason.INVALID_INPUT, "time-outs are more than 0 seconds, and retries not less than 0")

    def proxy_for(self, url: str) -> str:
        """The proxy that a request for an http(s) URL goes through; empty when it goes straight."""
        parts = urlsplit(url)
        proxy = self.proxy if parts.scheme == "https" else self.http_proxy
        port = parts.port or _PORTS.get(parts.scheme, 0)
        return "" if not proxy or goes_around(parts.hostname or "", port, self.no_proxy) else proxy


def from_environment(environment: Mapping[str, str]) -> HttpOptions:
    """Options by the usual variables: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY (small letters win), and a bundle
    named by REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE or SSL_CERT_FILE.

    Raises GsmError(InvalidInput) naming the variable whose value no client could use.
    """
    return HttpOptions(
        proxy=_proxy(environment, _HTTPS_PROXY),
        http_proxy=_proxy(environment, _HTTP_PROXY),
        no_proxy=_first(environment, _NO_PROXY)[1],
        ca_bundle=_first(environment, _CA_BUNDLE)[1],
    )


def problem_of_proxy(text: str) -> str:
    """Why a text is no proxy, without repeating its password; an empty string when it is one."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return f"{without_query(text)!r:.200} is not a URL"
    if parts.scheme not in _PORTS:
        return f"{without_query(text)!r:.200} is not an http(s) proxy"
    if not _HOST.fullmatch(host) or port == 0 or parts.path not in ("", "/") or parts.query or parts.fragment:
        return f"{without_query(text)!r:.200} is not scheme, host and port alone"
    return ""


def goes_around(host: str, port: int, no_proxy: str) -> bool:
    """Whether a host is on a no-proxy list.

    `*` is every host; a name is itself and all below it, with or without a leading dot; an address is itself, a
    network (`10.0.0.0/8`) all in it; `:port` after any but a network narrows it to that port.
    """
    host = host.lower().rstrip(".")
    return any(_covers(item.lower(), host, port) for item in re.split(r"[,\s]+", no_proxy) if item)


def _covers(item: str, host: str, port: int) -> bool:
    if item == "*":
        return True
    if (network := _network(item)) is not None:
        address = _network(host)
        return address is not None and address.version == network.version and address.subnet_of(network)  # type: ignore[arg-type]
    name, colon, only = item.rpartition(":")
    if colon and only.isdecimal():
        return int(only) == port and _covers(name.removeprefix("[").removesuffix("]"), host, port)
    name = item.removeprefix("*").strip(".")
    return bool(name) and (host == name or host.endswith("." + name))


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(text.removeprefix("[").removesuffix("]"), strict=False)
    except ValueError:
        return None


def _first(environment: Mapping[str, str], names: tuple[str, ...]) -> tuple[str, str]:
    return next(((name, environment[name].strip()) for name in names if environment.get(name, "").strip()), ("", ""))


def _proxy(environment: Mapping[str, str], names: tuple[str, ...]) -> str:
    name, value = _first(environment, names)
    proxy = value if not value or "://" in value else f"http://{value}"
    if proxy and (problem := problem_of_proxy(proxy)):
        raise GsmError(Reason.INVALID_INPUT, f"{name}: {problem}", hint=f"set {name} to http://host:port, or unset it")
    return proxy
