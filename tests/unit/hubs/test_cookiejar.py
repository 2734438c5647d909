"""Owns the log-in that modelscope keeps in a pickle: read, of the right hub, expired, hostile. Refuses its client."""

from __future__ import annotations

import os
import pickle
import time
from http.cookiejar import Cookie as JarCookie
from pathlib import Path

import pytest
from requests.cookies import RequestsCookieJar

from gpustack_models.core.refs import HubKind
from gpustack_models.errors import GsmError, Reason
from gpustack_models.hubs.cookiejar import cookies_of
from gpustack_models.hubs.tokens import Surroundings, Token, find_token

NOW = 1_800_000_000.0
PLANTED = "ms_planted_0123456789"


def jar(*cookies: tuple[str, str, str, float | None]) -> RequestsCookieJar:
    made = RequestsCookieJar()
    for name, value, domain, expires in cookies:
        cookie = JarCookie(
            0, name, value, None, False, domain, True, False, "/", True, False,
            None if expires is None else int(expires), False, None, None, {},
        )  # fmt: skip
        made.set_cookie(cookie)
    return made


def stored(home: Path, content: bytes) -> Path:
    path = home / ".modelscope" / "credentials" / "cookies"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


HUBS = {
    "its hub": ("www.modelscope.cn", "https://www.modelscope.cn", True),
    "its hub without www": ("www.modelscope.cn", "https://modelscope.cn", True),
    "a domain's cookie": (".modelscope.cn", "https://www.modelscope.cn", True),
    "on another port": ("127.0.0.1", "http://127.0.0.1:5000", True),
    "another hub": ("www.modelscope.cn", "https://www.modelscope.ai", False),
    "a host that ends alike": ("modelscope.cn", "https://evilmodelscope.cn", False),
    "a host that begins alike": ("modelscope.cn", "https://modelscope.cn.evil", False),
    "a cookie for nobody": ("", "https://www.modelscope.cn", False),
}


@pytest.mark.parametrize(("domain", "endpoint", "goes"), HUBS.values(), ids=HUBS.keys())
def test_a_stored_log_in_goes_to_its_own_hub_only(tmp_path: Path, domain: str, endpoint: str, goes: bool) -> None:
    path = stored(tmp_path, pickle.dumps(jar(("m_session_id", PLANTED, domain, NOW + 1))))
    token = find_token(HubKind.MODEL_SCOPE, endpoint, Surroundings({}, tmp_path, NOW))
    assert token == (Token(PLANTED, str(path)) if goes else None)


@pytest.mark.parametrize(("expires", "good"), [(None, True), (NOW + 1, True), (NOW, False), (NOW - 1, False)])
def test_a_log_in_that_has_expired_is_none(tmp_path: Path, expires: float | None, good: bool) -> None:
    stored(tmp_path, pickle.dumps(jar(("m_session_id", PLANTED, "hub.example", expires))))
    token = find_token(HubKind.MODEL_SCOPE, "https://hub.example", Surroundings({}, tmp_path, NOW))
    assert (token is not None) is good


def test_only_the_session_is_a_token(tmp_path: Path) -> None:
    other = ("csrf", "x", "hub.example", None)
    stored(tmp_path, pickle.dumps(jar(other)))
    around = Surroundings({}, tmp_path, NOW)
    assert find_token(HubKind.MODEL_SCOPE, "https://hub.example", around) is None
    stored(tmp_path, pickle.dumps(jar(other, ("m_session_id", PLANTED, "hub.example", None))))
    assert find_token(HubKind.MODEL_SCOPE, "https://hub.example", around) == Token(PLANTED, "")


def test_the_log_in_is_below_modelscope_home(tmp_path: Path) -> None:
    path = stored(tmp_path / "user", pickle.dumps(jar(("m_session_id", PLANTED, "hub.example", None))))
    environment = {"MODELSCOPE_HOME": "~/.modelscope"}
    token = find_token(HubKind.MODEL_SCOPE, "https://hub.example", Surroundings(environment, tmp_path / "user", NOW))
    assert token is not None
    assert token.source == str(path)


class Exploit:
    def __init__(self, trace: Path) -> None:
        self.trace = str(trace)

    def __reduce__(self) -> tuple[object, tuple[str, int]]:
        return (os.mkdir, (self.trace, 0o700))


BROKEN = {
    "nothing of a pickle": b"planted",
    "cut off": pickle.dumps(jar(("m_session_id", PLANTED, "hub.example", None)))[:-20],
    "another value": pickle.dumps({"m_session_id": PLANTED}),
    "a list": pickle.dumps([PLANTED]),
    "another class": pickle.dumps(Path("planted")),
    "a cookie that is no cookie": pickle.dumps(jar(("m_session_id", PLANTED, "hub.example", None))).replace(
        b"expires", b"expired"
    ),
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_log_in_is_named_and_not_quoted(tmp_path: Path, content: bytes) -> None:
    path = stored(tmp_path, content)
    with pytest.raises(GsmError, match="cannot be read: it is no cookie jar") as caught:
        find_token(HubKind.MODEL_SCOPE, "https://hub.example", Surroundings({}, tmp_path, NOW))
    assert caught.value.reason is Reason.INVALID_INPUT
    assert str(path) in caught.value.message
    assert "planted" not in caught.value.message + caught.value.hint
    assert "modelscope login" in caught.value.hint


def test_a_log_in_that_is_a_program_is_not_run(tmp_path: Path) -> None:
    trace = tmp_path / "ran"
    hostile = pickle.dumps(Exploit(trace))
    with pytest.raises(ValueError, match="no cookie jar"):
        cookies_of(hostile)
    assert not trace.exists()
    pickle.loads(hostile)
    assert trace.exists()  # the program was one


def test_every_protocol_of_a_pickle_is_read() -> None:
    whole = jar(("m_session_id", PLANTED, "hub.example", time.time() + 60))
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        (cookie,) = cookies_of(pickle.dumps(whole, protocol))
        assert (cookie.name, cookie.value, cookie.domain) == ("m_session_id", PLANTED, "hub.example")
        assert PLANTED not in repr(cookie)
