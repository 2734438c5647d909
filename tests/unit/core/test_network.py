"""Owns how the network is reached: the usual variables, proxies and who goes around them. Refuses sockets."""

from __future__ import annotations

import pytest

from gpustack_models.core.network import HttpOptions, from_environment, goes_around
from gpustack_models.errors import GsmError, Reason

PROXY = "http://proxy.example:3128"

VARIABLES: dict[str, tuple[dict[str, str], HttpOptions]] = {
    "nothing": ({}, HttpOptions()),
    "https": ({"HTTPS_PROXY": PROXY}, HttpOptions(proxy=PROXY)),
    "http": ({"HTTP_PROXY": PROXY}, HttpOptions(http_proxy=PROXY)),
    "small letters win": ({"https_proxy": PROXY, "HTTPS_PROXY": "http://other"}, HttpOptions(proxy=PROXY)),
    "all": ({"ALL_PROXY": PROXY}, HttpOptions(proxy=PROXY, http_proxy=PROXY)),
    "the scheme's own wins over all": (
        {"all_proxy": "http://other", "HTTPS_PROXY": PROXY},
        HttpOptions(proxy=PROXY, http_proxy="http://other"),
    ),
    "empty is unset": ({"https_proxy": "", "HTTPS_PROXY": " "}, HttpOptions()),
    "a bare host": ({"HTTPS_PROXY": "proxy.example:3128"}, HttpOptions(proxy=PROXY)),
    "with a user": ({"HTTPS_PROXY": "http://u:p%40@proxy"}, HttpOptions(proxy="http://u:p%40@proxy")),
    "no proxy": ({"NO_PROXY": "a, b"}, HttpOptions(no_proxy="a, b")),
    "requests' bundle": ({"REQUESTS_CA_BUNDLE": "/a", "SSL_CERT_FILE": "/b"}, HttpOptions(ca_bundle="/a")),
    "curl's bundle": ({"CURL_CA_BUNDLE": "/a", "SSL_CERT_FILE": "/b"}, HttpOptions(ca_bundle="/a")),
    "OpenSSL's bundle": ({"SSL_CERT_FILE": "/b"}, HttpOptions(ca_bundle="/b")),
}


@pytest.mark.parametrize(("environment", "options"), VARIABLES.values(), ids=VARIABLES.keys())
def test_the_usual_variables(environment: dict[str, str], options: HttpOptions) -> None:
    assert from_environment(environment) == options


NONSENSE = {
    "socks": "socks5://proxy:1080",
    "a path": "http://proxy:3128/path",
    "a query": "http://proxy:3128?x",
    "no host": "http://",
    "a port out of range": "http://proxy:99999",
    "port zero": "http://proxy:0",
    "a port of letters": "http://proxy:port",
    "white space": "http://pro xy:3128",
    "half an address": "http://[::1:3128",
    "nonsense with a password": "http://user:planted@:3128",
    "another scheme with a password": "ftp://user:planted@proxy",
}


@pytest.mark.parametrize("value", NONSENSE.values(), ids=NONSENSE.keys())
def test_nonsense_names_its_variable_and_no_password(value: str) -> None:
    with pytest.raises(GsmError, match="https_proxy: ") as caught:
        from_environment({"https_proxy": value})
    assert caught.value.reason is Reason.INVALID_INPUT
    assert "planted" not in caught.value.message + caught.value.hint
    with pytest.raises(GsmError):
        HttpOptions(proxy=value)


def test_options_never_print_a_proxys_password() -> None:
    options = HttpOptions(proxy="http://user:planted@proxy", http_proxy="http://user:planted@proxy")
    assert "planted" not in repr(options)


@pytest.mark.parametrize("field", ["connect_timeout", "read_timeout", "answer_timeout", "deadline"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan")])
def test_a_time_out_is_more_than_nothing(field: str, value: float) -> None:
    with pytest.raises(GsmError) as caught:
        HttpOptions(**{field: value})  # type: ignore[arg-type]
    assert caught.value.reason is Reason.INVALID_INPUT


def test_retries_are_not_less_than_none() -> None:
    assert HttpOptions(retries=0).retries == 0
    with pytest.raises(GsmError):
        HttpOptions(retries=-1)


AROUND = {
    "everything": ("*", "hub.example", 443, True),
    "itself": ("hub.example", "hub.example", 443, True),
    "in capitals": ("HUB.example", "Hub.Example", 443, True),
    "below it": ("example", "hub.example", 443, True),
    "below it, with a dot": (".example", "hub.example", 443, True),
    "itself, with a dot": (".example", "example", 443, True),
    "below it, with a star": ("*.example", "hub.example", 443, True),
    "not one that ends alike": ("ub.example", "hub.example", 443, False),
    "not above it": ("www.hub.example", "hub.example", 443, False),
    "its port": ("hub.example:443", "hub.example", 443, True),
    "not another port": ("hub.example:80", "hub.example", 443, False),
    "an address": ("127.0.0.1", "127.0.0.1", 80, True),
    "not by the beginning of an address": ("127.0.0", "127.0.0.1", 80, False),
    "an address and its port": ("127.0.0.1:80", "127.0.0.1", 80, True),
    "an address and another port": ("127.0.0.1:81", "127.0.0.1", 80, False),
    "a network": ("10.0.0.0/8", "10.1.2.3", 80, True),
    "not outside the network": ("10.0.0.0/8", "11.1.2.3", 80, False),
    "not a name by a network": ("10.0.0.0/8", "hub.example", 80, False),
    "not across versions": ("::/0", "10.1.2.3", 80, False),
    "the long address": ("::1", "::1", 80, True),
    "the long address in brackets": ("[::1]:80", "::1", 80, True),
    "one of several": ("a, b  hub.example,", "hub.example", 80, True),
    "a trailing dot": ("hub.example", "hub.example.", 80, True),
    "nothing": ("", "hub.example", 80, False),
    "only separators": (", ,.", "hub.example", 80, False),
}


@pytest.mark.parametrize(("no_proxy", "host", "port", "around"), AROUND.values(), ids=AROUND.keys())
def test_who_goes_around_a_proxy(no_proxy: str, host: str, port: int, around: bool) -> None:
    assert goes_around(host, port, no_proxy) is around


def test_a_url_takes_the_proxy_of_its_scheme_unless_it_goes_around() -> None:
    options = HttpOptions(proxy="http://secure", http_proxy="http://plain", no_proxy="near.example,far.example:8443")
    assert options.proxy_for("https://hub.example/x") == "http://secure"
    assert options.proxy_for("http://hub.example/x") == "http://plain"
    assert options.proxy_for("https://near.example/x") == ""
    assert options.proxy_for("https://far.example:8443/x") == ""
    assert options.proxy_for("https://far.example/x") == "http://secure"
    assert HttpOptions(proxy="http://secure").proxy_for("http://hub.example") == ""
