"""Owns a token on a laptop: its order of places, its bad files, that it is never printed. Refuses the hubs' clients
(the integration tier holds our reading against theirs).
"""

from __future__ import annotations

import copy
import json
import os
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_models.core.refs import HubKind
from gpustack_models.errors import GsmError, Reason
from gpustack_models.hubs.tokens import Surroundings, Token, find_token, read_token

HF, MS = HubKind.HUGGING_FACE, HubKind.MODEL_SCOPE
NOW = 1_800_000_000.0
PLANTED = "hf_planted_0123456789"


def test_a_token_is_never_printed() -> None:
    token = Token(PLANTED, "HF_TOKEN")
    shown = f"{token} {token!r} {token!s} {[token]} {vars(type(token)).keys()}"
    assert token.reveal() == PLANTED
    assert PLANTED not in shown
    assert "HF_TOKEN" in str(token)


def test_a_token_is_not_serialised() -> None:
    token = Token(PLANTED, "HF_TOKEN")
    for serialise in (pickle.dumps, json.dumps, copy.deepcopy):
        with pytest.raises(TypeError) as caught:
            serialise(token)
        assert PLANTED not in str(caught.value)


@given(st.text(max_size=20))
def test_a_token_is_what_a_header_can_carry(text: str) -> None:
    try:
        token = Token(text, "X")
    except GsmError as error:
        refused = error
    else:
        assert token.reveal().isascii()
        assert all(0x21 <= ord(character) <= 0x7E for character in token.reveal())
        return
    assert refused.reason is Reason.INVALID_INPUT
    assert len(text) < 3 or text not in refused.message + refused.hint


@pytest.mark.parametrize("content", [PLANTED, f"{PLANTED}\n", f"{PLANTED}\r\n", f" \t{PLANTED} \n\n"])
def test_a_token_file_holds_one_line(tmp_path: Path, content: str) -> None:
    file = tmp_path / "token"
    file.write_bytes(content.encode())
    assert read_token(file).reveal() == PLANTED
    assert read_token(file).source == f"the file {file}"


BAD_FILES = {
    "empty": (b"", "it is empty"),
    "white space only": (b" \n\t\n", "it is empty"),
    "two lines": (f"{PLANTED}\n{PLANTED}\n".encode(), "more than one line"),
    "an old Mac's lines": (f"{PLANTED}\r{PLANTED}".encode(), "more than one line"),
    "beyond ASCII": (f"{PLANTED}é".encode(), "beyond ASCII"),
    "not UTF-8": (PLANTED.encode() + b"\xff", "beyond ASCII"),
    "a byte order mark": (b"\xef\xbb\xbf" + PLANTED.encode(), "beyond ASCII"),
    "a space inside": (f"{PLANTED} {PLANTED}".encode(), "white space"),
    "a NUL": (PLANTED.encode() + b"\0x", "control character"),
    "far too large": (PLANTED.encode() * 1000, "larger than any token"),
}


@pytest.mark.parametrize(("content", "says"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_a_bad_token_file_is_named_and_not_quoted(tmp_path: Path, content: bytes, says: str) -> None:
    file = tmp_path / "token"
    file.write_bytes(content)
    with pytest.raises(GsmError, match=says) as caught:
        read_token(file)
    assert caught.value.reason is Reason.INVALID_INPUT
    assert str(file) in caught.value.message
    assert "planted" not in caught.value.message + caught.value.hint


def test_a_token_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(GsmError, match="does not exist") as missing:
        read_token(tmp_path / "token")
    assert missing.value.reason is Reason.NOT_FOUND
    with pytest.raises(GsmError, match="Is a directory") as folder:
        read_token(tmp_path)
    assert folder.value.reason is Reason.INVALID_INPUT
    with pytest.raises(GsmError) as nul:
        read_token(Path("a\0b"))
    assert nul.value.reason is Reason.INVALID_INPUT


def test_a_token_comes_through_a_pipe(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, f"{PLANTED}\n".encode())
    os.close(writer)
    try:
        assert read_token(Path(f"/dev/fd/{reader}")).reveal() == PLANTED
    finally:
        os.close(reader)


HUB = "https://www.modelscope.cn"


def test_the_order_of_places_on_hugging_face(tmp_path: Path) -> None:
    given_file, stored = tmp_path / "given", tmp_path / ".cache" / "huggingface" / "token"
    given_file.write_text("given")
    stored.parent.mkdir(parents=True)
    stored.write_text("stored\n")
    environment = {"HF_TOKEN": "variable"}

    def found(environment: dict[str, str], file: Path | None = None) -> tuple[str, str] | None:
        token = find_token(HF, "https://hub", Surroundings(environment, tmp_path, NOW), file)
        return (token.reveal(), token.source) if token else None

    assert found(environment, given_file) == ("given", f"the file {given_file}")
    assert found(environment) == ("variable", "HF_TOKEN")
    assert found({"HUGGING_FACE_HUB_TOKEN": "older"}) == ("older", "HUGGING_FACE_HUB_TOKEN")
    assert found({"HF_TOKEN": ""}) == found({}) == ("stored", str(stored))
    stored.unlink()
    assert found({}) is None


def test_where_hugging_face_stores_a_token(tmp_path: Path) -> None:
    home = tmp_path / "home"
    places = {
        "cache/huggingface/token": {"XDG_CACHE_HOME": str(tmp_path / "cache")},
        "hub/token": {"HF_HOME": str(tmp_path / "hub"), "XDG_CACHE_HOME": "/nowhere"},
        "home/hub/token": {"HF_HOME": "~/hub"},
        "base/hub/token": {"HF_HOME": "$BASE/hub", "BASE": str(tmp_path / "base")},
        "own": {"HF_TOKEN_PATH": "${BASE}/own", "BASE": str(tmp_path), "HF_HOME": "/nowhere"},
    }
    for place, environment in places.items():
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(place.replace("/", "_"))
        token = find_token(HF, "https://hub", Surroundings(environment, home, NOW))
        assert token is not None
        assert (token.reveal(), token.source) == (place.replace("/", "_"), str(path))


def test_a_stored_token_that_has_expired_says_so(tmp_path: Path) -> None:
    folder = tmp_path / ".cache" / "huggingface"
    folder.mkdir(parents=True)
    (folder / "token").write_text(PLANTED)

    def source(expires: int) -> str:
        kept = f"[laptop]\nhf_token = {PLANTED}\nrefresh_token = planted%x\nexpires_at = {expires}\n"
        (folder / "stored_tokens").write_text(kept)
        token = find_token(HF, "https://hub", Surroundings({}, tmp_path, NOW))
        assert token is not None
        assert token.reveal() == PLANTED
        return token.source

    assert source(int(NOW) + 10) == str(folder / "token")
    assert source(int(NOW) - 10) == f"{folder / 'token'} (expired on 2027-01-15; `hf auth whoami` renews it)"
    (folder / "stored_tokens").write_bytes(b"\xff[broken\nexpires_at")
    assert find_token(HF, "https://hub", Surroundings({}, tmp_path, NOW)) == Token(PLANTED, "")


def test_a_stored_token_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / ".cache" / "huggingface" / "token"
    path.mkdir(parents=True)
    with pytest.raises(GsmError, match="Is a directory") as caught:
        find_token(HF, "https://hub", Surroundings({}, tmp_path, NOW))
    assert caught.value.reason is Reason.INVALID_INPUT
    assert str(path) in caught.value.message


def test_modelscopes_variable_decides_even_when_empty(tmp_path: Path) -> None:
    def found(environment: dict[str, str]) -> Token | None:
        return find_token(MS, HUB, Surroundings(environment, tmp_path, NOW))

    token = found({"MODELSCOPE_API_TOKEN": f" {PLANTED}\n"})
    assert token is not None
    assert (token.reveal(), token.source) == (PLANTED, "MODELSCOPE_API_TOKEN")
    assert found({"MODELSCOPE_API_TOKEN": "", "HF_TOKEN": PLANTED}) is None
    with pytest.raises(GsmError, match="MODELSCOPE_API_TOKEN") as caught:
        found({"MODELSCOPE_API_TOKEN": "planted\nplanted"})
    assert "planted" not in caught.value.message
