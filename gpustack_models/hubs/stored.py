"""Owns where the hubs' own clients keep a token: their variables, and what their log-in commands wrote.

Refuses to write there, to renew anything over the network, and to hand a log-in's cookie to another hub.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from gpustack_models.errors import GsmError, Reason

if TYPE_CHECKING:
    from gpustack_models.hubs.cookiejar import Cookie

_MAX_FILE_BYTES = 1 << 20
_VARIABLE = re.compile(r"\$(?:(\w+)|\{([^}]*)\})", re.ASCII)
_SESSION = "m_session_id"


@dataclass(frozen=True, slots=True)
class Stored:
    """What was found, unchecked: the token and how its place is called."""

    value: str = field(repr=False)
    source: str


def hugging_face(environment: Mapping[str, str], home: Path, now: float) -> Stored | None:
    """As huggingface_hub 2.4: HF_TOKEN (or its older name), then the token file of `hf auth login`.

    The file is at HF_TOKEN_PATH, else HF_HOME/token, else XDG_CACHE_HOME/huggingface/token, else below ~/.cache. A
    token from a browser log-in that has expired is handed out all the same, and said to be; only the client renews it.
    """
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        if environment.get(name):
            if value := _cleaned(environment[name]):
                return Stored(value, name)
            break
    caches = environment.get("XDG_CACHE_HOME", str(home / ".cache"))
    hub_home = _expanded(environment.get("HF_HOME", f"{caches}/huggingface"), environment, home)
    path = Path(_expanded(environment.get("HF_TOKEN_PATH", f"{hub_home}/token"), environment, home))
    value = _cleaned(_read(path, "hf auth login").decode("utf-8", "replace"))
    if not value:
        return None
    expired = _expiry(path.parent / "stored_tokens", value)
    if expired is None or expired > now:
        return Stored(value, str(path))
    day = datetime.fromtimestamp(expired, UTC).date().isoformat()
    return Stored(value, f"{path} (expired on {day}; `hf auth whoami` renews it)")


def model_scope(environment: Mapping[str, str], home: Path, endpoint: str, now: float) -> Stored | None:
    """As modelscope 1.40: MODELSCOPE_API_TOKEN (set but empty means no token), then the cookie of `modelscope login`.

    The cookie is in MODELSCOPE_HOME/credentials, else below ~/.modelscope. It names the hub that it was made for, and
    goes to no other; one that has expired is none.
    """
    if "MODELSCOPE_API_TOKEN" in environment:
        value = environment["MODELSCOPE_API_TOKEN"].strip()
        return Stored(value, "MODELSCOPE_API_TOKEN") if value else None
    folder = environment.get("MODELSCOPE_HOME") or str(home / ".modelscope")
    path = Path(_at_home(folder, home)) / "credentials" / "cookies"
    host = _bare(urlsplit(endpoint).hostname or "")
    for cookie in _cookies(path):
        domain = _bare(cookie.domain)
        if cookie.name == _SESSION and cookie.value and (host == domain or host.endswith("." + domain)):
            ended = cookie.expires is not None and cookie.expires <= now
            return None if ended else Stored(cookie.value, str(path))
    return None


def _cleaned(text: str) -> str:
    return text.replace("\r", "").replace("\n", "").strip()


def _expanded(path: str, environment: Mapping[str, str], home: Path) -> str:
    # First the home, then the variables: a variable that holds a `~` keeps it, as in the client.
    return _VARIABLE.sub(lambda match: environment.get(match[1] or match[2] or "", match[0]), _at_home(path, home))


def _at_home(path: str, home: Path) -> str:
    if path == "~" or path.startswith("~/"):
        return str(home) + path[1:]
    return os.path.expanduser(path)  # noqa: PTH111 - of another user's home only


def _read(path: Path, command: str) -> bytes:
    """A file's content, empty when there is none."""
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        return b""
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", "") or "its name is not a path"
        raise _unusable(path, why, command) from None
    if len(data) > _MAX_FILE_BYTES:
        raise _unusable(path, "it is far too large", command)
    return data


def _unusable(path: Path, why: str, command: str) -> GsmError:
    return GsmError(
        Reason.INVALID_INPUT,
        f"the log-in stored in {path} cannot be read: {why}",
        hint=f"run `{command}` again, or give --token-file",
    )


def _expiry(path: Path, token: str) -> float | None:
    """When a token ends that the client keeps with its refresh token, in epoch seconds."""
    try:
        text = path.read_text("utf-8")
    except (OSError, ValueError):
        return None
    if "expires_at" not in text:
        return None
    import configparser

    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(text)
        sections = [dict(parser.items(name)) for name in parser.sections()]
    except configparser.Error:
        return None
    expires = next((each.get("expires_at", "") for each in sections if each.get("hf_token") == token), "")
    return float(expires) if expires.isascii() and expires.isdecimal() else None


def _bare(host: str) -> str:
    return host.lower().lstrip(".").removeprefix("www.")


def _cookies(path: Path) -> list[Cookie]:
    data = _read(path, "modelscope login")
    if not data:
        return []
    from gpustack_models.hubs.cookiejar import cookies_of

    try:
        return cookies_of(data)
    except ValueError as error:
        raise _unusable(path, str(error), "modelscope login") from None
