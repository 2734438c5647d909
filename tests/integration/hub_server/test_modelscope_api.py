"""Owns that ModelScope's Python client works against the local hub: what it lists, and the errors it raises."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from gpustack_models.hub_server import LocalHub
from tests.integration.conftest import TOKENS, HubFactory, Publish, write_tree
from tests.integration.hub_server.clients import environment
from tests.integration.hub_server.shapes import VERSIONED, VERSIONS, closed


def python(hub: LocalHub, home: Path, statements: Mapping[str, str], user: str = "") -> dict[str, str]:
    """Run statements with the client's own names; each one's result, or its error's type and code, as text."""
    script = f"""
import json, os
from modelscope.hub.api import HubApi
from modelscope.hub.file_download import model_file_download
from modelscope.hub.snapshot_download import snapshot_download
api = HubApi(token=os.environ.get("MODELSCOPE_API_TOKEN"))
results = {{}}
for name, statement in {dict(statements)!r}.items():
    try:
        results[name] = str(eval(statement))
    except Exception as error:
        body = getattr(error, "response_body", None) or getattr(error.__cause__, "response_body", None) or {{}}
        results[name] = f"{{type(error).__name__}} {{body.get('Code', '')}}"
print("RESULTS" + json.dumps(results))
"""
    known = environment(hub, home, TOKENS.get(user, user))
    done = subprocess.run(
        [sys.executable, "-c", script], env=known, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout.rpartition("RESULTS")[2])
    assert isinstance(results, dict)
    return results


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalHub]:
    folder = tmp_path_factory.mktemp("repositories")
    write_tree(folder / "org/versions", {**VERSIONS, "gsm-repository.yaml": VERSIONED})
    write_tree(folder / "org/private", {"config.json": "{}", "gsm-repository.yaml": closed("private")})
    write_tree(folder / "org/gated", {"config.json": "{}", "gsm-repository.yaml": closed("gated")})
    with LocalHub(folder, tokens=TOKENS) as hub:
        yield hub


LISTINGS = {
    "files": ("api.get_model_files('org/versions')", "[{'Path': 'a', 'Size': 0}, {'Path': 'a/deep.json', 'Size': 2}, "),
    "files of a tag": (
        "[f['Path'] for f in api.get_model_files('org/versions', revision='heavy')]",
        "['config.json', ",
    ),
    "branches and tags": (
        "api.get_model_branches_and_tags('org/versions')",
        "(['dev', 'master'], ['heavy', 'light'])",
    ),
    "a valid revision": ("api.get_valid_revision('org/versions', revision='light')", "light"),
    "a model": ("api.get_model('org/versions')['Name']", "versions"),
    "it exists": ("(api.repo_exists('org/versions'), api.repo_exists('org/none'))", "(True, False)"),
    "models": ("[m['Id'] for m in api.list_models('org')['Models']]", "['org/gated', 'org/versions']"),
    "a file": ("open(model_file_download('org/versions', 'config.json', revision='light')).read()", "1"),
    "an LFS file": ("open(model_file_download('org/versions', 'weights.bin', revision='dev')).read()", "old weights"),
    "a snapshot": ("sorted(os.listdir(snapshot_download('org/versions', revision='dev')))", "['config.json', 'weights"),
    "a missing revision": ("api.get_model_files('org/versions', revision='none')", "NotExistError 10990101004"),
    "a missing repository": ("api.get_model_files('org/none')", "NotExistError 10010205001"),
    "a private repository": ("api.get_model_files('org/private')", "NotExistError 10010200001"),
    "a private model": ("api.get_model('org/private')", "NotExistError"),
    "a gated file": ("model_file_download('org/gated', 'config.json')", "HTTPError 10010200001"),
    "a gated snapshot": ("snapshot_download('org/gated')", "FileDownloadError"),
    "a missing file": ("model_file_download('org/versions', 'none')", "HTTPError 10010205001"),
}


@pytest.fixture(scope="module")
def answers(hub: LocalHub, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return python(hub, tmp_path_factory.mktemp("home"), {name: statement for name, (statement, _) in LISTINGS.items()})


@pytest.mark.parametrize("name", LISTINGS)
def test_the_client_is_answered(name: str, answers: dict[str, str]) -> None:
    assert answers[name].startswith(LISTINGS[name][1])


@pytest.mark.parametrize(
    ("user", "expected"),
    [("alice", "[{'Path': 'config.json'"), ("bob", "NotExistError 10010200001"), ("ms_wrong", "NotExistError")],
)
def test_only_readers_see_a_private_repository(user: str, expected: str, hub: LocalHub, tmp_path: Path) -> None:
    asked = {"files": "api.get_model_files('org/private')"}
    assert python(hub, tmp_path, asked, user)["files"].startswith(expected)


def test_log_in_keeps_a_good_token_and_refuses_a_bad_one(hub: LocalHub, tmp_path: Path) -> None:
    asked = {"good": f"api.login({TOKENS['alice']!r})[0]", "bad": "api.login('ms_wrong')"}
    assert python(hub, tmp_path, asked) == {"good": TOKENS["alice"], "bad": "AuthenticationError 10010103009"}


def test_a_listing_is_cut_off_without_a_word_and_the_client_walks_it(
    publish: Publish, local_hub: HubFactory, tmp_path: Path
) -> None:
    publish("org/long", {f"{folder}/{number}.json": "{}" for folder in "abc" for number in range(1200)})
    hub = local_hub()
    assert python(hub, tmp_path, {"files": "len(api.get_model_files('org/long'))"}) == {"files": "3603"}
    asked = [dict(request.query).get("Root", "") for request in hub.requests]
    assert sorted(asked) == ["", "", "a", "b", "c"]
