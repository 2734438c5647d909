"""Owns that a token is found where the hubs' own clients find it, after their own log-in, file for file."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from gpustack_models.core.refs import HubKind
from gpustack_models.hubs.tokens import Surroundings, find_token
from tests.integration.conftest import TOKENS, HubFactory
from tests.integration.hub_server.clients import environment, run

from .shapes import HF, MS, asking

#: The hubs' own libraries, asked for the token that they would send under each of several environments. Importing one
#: takes seconds, so one process answers for all; what they compute at import is computed anew.
HUGGING_FACES = """
import importlib, json, os, sys
from huggingface_hub import constants, get_token
def found(variables):
    os.environ.clear(); os.environ.update(variables); importlib.reload(constants)
    return get_token() or ""
print(json.dumps([found(variables) for variables in json.load(sys.stdin)]))
"""
MODELSCOPES = """
import json, os, sys
from modelscope.hub.api import HubApi
from modelscope_hub.config import HubConfig, set_default_config
def found(variables, token):
    os.environ.clear(); os.environ.update(variables); set_default_config(None)
    if token:
        HubApi().login(token)
    return HubConfig().token or ""
asked, output = json.load(sys.stdin), sys.stdout
sys.stdout = sys.stderr
print(json.dumps([found(variables, token) for variables, token in asked]), file=output)
"""


def theirs(program: str, asked: object) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], input=json.dumps(asked), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    answer: list[str] = json.loads(done.stdout)
    return answer


def ours(kind: HubKind, endpoint: str, variables: dict[str, str], home: Path) -> str:
    token = find_token(kind, endpoint, Surroundings(variables, home, time.time()))
    return token.reveal() if token else ""


HUGGING_FACE: dict[str, tuple[dict[str, str], str]] = {
    "the default place": ({}, ".cache/huggingface/token"),
    "HF_HOME": ({"HF_HOME": "{home}/hub"}, "hub/token"),
    "HF_HOME in the home": ({"HF_HOME": "~/hub"}, "hub/token"),
    "HF_HOME by a variable": ({"HF_HOME": "$BASE/${LEAF}", "BASE": "{home}/base", "LEAF": "leaf"}, "base/leaf/token"),
    "HF_HOME by a variable that is not set": ({"HF_HOME": "{home}/$UNSET_HERE"}, "$UNSET_HERE/token"),
    "XDG_CACHE_HOME": ({"XDG_CACHE_HOME": "{home}/xdg"}, "xdg/huggingface/token"),
    "HF_TOKEN_PATH": ({"HF_TOKEN_PATH": "{home}/mine", "HF_HOME": "{home}/hub"}, "mine"),
    "HF_TOKEN_PATH in the home": ({"HF_TOKEN_PATH": "~/mine"}, "mine"),
    "the variable first": ({"HF_TOKEN": "variable"}, ".cache/huggingface/token"),
    "the variable, cleaned": ({"HF_TOKEN": " vari\nable\r\n"}, ".cache/huggingface/token"),
    "the variable, blank": ({"HF_TOKEN": "  ", "HUGGING_FACE_HUB_TOKEN": "older"}, ".cache/huggingface/token"),
    "the variable, empty": ({"HF_TOKEN": "", "HUGGING_FACE_HUB_TOKEN": "older"}, ".cache/huggingface/token"),
    "the older variable": ({"HUGGING_FACE_HUB_TOKEN": "older"}, ".cache/huggingface/token"),
}


def test_hugging_faces_client_finds_the_same(tmp_path: Path) -> None:
    cases: dict[str, tuple[dict[str, str], Path]] = {}
    for name, (variables, place) in HUGGING_FACE.items():
        for number, content in enumerate(["stored", " stored\n", "sto\nred\r\n", "\n", None]):
            home = tmp_path / f"{name} {number}"
            home.mkdir()
            given = {name: value.replace("{home}", str(home)) for name, value in variables.items()}
            if content is not None:
                (home / place).parent.mkdir(parents=True, exist_ok=True)
                (home / place).write_text(content)
            cases[f"{name}, {content!r}"] = ({"HOME": str(home), **given}, home)
    asked = [variables for variables, _ in cases.values()]
    known = dict(zip(cases, theirs(HUGGING_FACES, asked), strict=True))
    assert {name: ours(HF, "https://hub", variables, home) for name, (variables, home) in cases.items()} == known
    assert {"", "stored", "variable", "older"} == set(known.values())


def test_what_hf_auth_login_stored_is_used(tmp_path: Path, local_hub: HubFactory) -> None:
    hub = local_hub()
    known = environment(hub, tmp_path)
    done = run(known, "hf", "auth", "login", "--token", TOKENS["alice"])
    assert done.returncode == 0, done.stderr
    token = find_token(HF, hub.url, Surroundings(known, tmp_path, time.time()))
    assert token is not None
    assert token.reveal() == TOKENS["alice"]
    with asking(hub, HF, token.reveal()) as opened:
        assert opened.check_token() == "Accepted"
    assert run(known, "hf", "auth", "logout").returncode == 0
    assert find_token(HF, hub.url, Surroundings(known, tmp_path, time.time())) is None


MODELSCOPE: dict[str, dict[str, str]] = {
    "the default place": {},
    "MODELSCOPE_HOME": {"MODELSCOPE_HOME": "{home}/ms"},
    "MODELSCOPE_HOME in the home": {"MODELSCOPE_HOME": "~/ms"},
    "MODELSCOPE_HOME, empty": {"MODELSCOPE_HOME": ""},
    "the variable first": {"MODELSCOPE_API_TOKEN": "variable"},
    "the variable, empty: no token": {"MODELSCOPE_API_TOKEN": ""},
}


def test_modelscopes_client_finds_the_same(tmp_path: Path, local_hub: HubFactory) -> None:
    hub = local_hub()
    seen: dict[str, list[str]] = {}
    asked: list[tuple[dict[str, str], str]] = []
    homes: list[Path] = []
    for name, variables in MODELSCOPE.items():
        home = tmp_path / name
        home.mkdir()
        given = {name: value.replace("{home}", str(home)) for name, value in variables.items()}
        given |= {"MODELSCOPE_ENDPOINT": hub.url, "HOME": str(home)}
        stored = {name: value for name, value in given.items() if name != "MODELSCOPE_API_TOKEN"}
        seen[name] = [ours(MS, hub.url, stored, home)]
        asked += [(stored, ""), (stored, TOKENS["bob"]), (given, "")]
        homes += [home] * 3
    answers = theirs(MODELSCOPES, asked)
    assert answers[::3] == [found for (found,) in seen.values()] == [""] * len(seen)
    for (variables, _), home, answer in zip(asked[2::3], homes[2::3], answers[2::3], strict=True):
        assert ours(MS, hub.url, variables, home) == answer
    assert answers[1::3] == [TOKENS["bob"]] * len(seen)
    for (variables, _), home in zip(asked[1::3], homes[1::3], strict=True):
        assert ours(MS, hub.url, variables, home) == TOKENS["bob"]


def test_what_modelscope_login_stored_is_used_at_its_hub_only(tmp_path: Path, local_hub: HubFactory) -> None:
    hub = local_hub()
    known = environment(hub, tmp_path)
    done = run(known, "modelscope", "login", "--token", TOKENS["alice"])
    assert done.returncode == 0, done.stderr
    around = Surroundings(known, tmp_path, time.time())
    token = find_token(MS, hub.url, around)
    assert token is not None
    with asking(hub, MS, token.reveal()) as opened:
        assert opened.check_token() == "Accepted"
    assert find_token(MS, "https://www.modelscope.cn", around) is None
