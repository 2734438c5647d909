"""Owns that a token reaches its hub and nothing else: no output, no file, no other host, even when something fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpustack_models.hub_server import LocalHub, fingerprint
from tests.integration.cli.conftest import Gsm, Ran
from tests.integration.conftest import TOKENS, HubFactory, Publish

FILES = {"config.json": "{}", "model.bin": b"\x01" * 64, ".gitattributes": "*.bin filter=lfs\n"}
TOKEN = TOKENS["alice"]
WRONG = "hf_planted_wrong_0123456789abcdef"


@pytest.fixture
def hub(local_hub: HubFactory, publish: Publish) -> LocalHub:
    publish("team/open", FILES)
    publish("team/closed", FILES, "access: private\nreaders: alice\n")
    publish("team/gated", FILES, "access: gated\nreaders: alice\n")
    return local_hub()


def presented(hub: LocalHub) -> set[str]:
    """Hashes of what was presented to the hub: the same search that finds a token where it belongs."""
    return {request.headers["authorization"] for request in hub.requests if "authorization" in request.headers}


def places(ran: Ran, *folders: Path) -> Iterator[str]:
    """Everything that a run left behind for a person or a program to read."""
    yield ran.out
    yield ran.err
    for folder in folders:
        for path in folder.rglob("*"):
            yield str(path)
            if path.is_file():
                yield path.read_bytes().decode("latin-1")


def hidden(token: str, ran: Ran, *folders: Path) -> bool:
    return not any(token in place for place in places(ran, *folders))


# Where a token is put, as options and environment; {token} stands for it, and the file is written by the test.
SOURCES = {
    "hf-variable": ("hf", (), {"HF_TOKEN": "{token}"}, "HF_TOKEN"),
    "hf-file": ("hf", ("--token-file", "{file}"), {"HF_TOKEN": WRONG}, "token.txt"),
    "hf-stored": ("hf", (), {"HF_TOKEN_PATH": "{file}"}, "token.txt"),
    "ms-variable": ("ms", (), {"MODELSCOPE_API_TOKEN": "{token}"}, "MODELSCOPE_API_TOKEN"),
    "ms-file": ("ms", ("--token-file", "{file}"), {"MODELSCOPE_API_TOKEN": WRONG}, "token.txt"),
}


@pytest.mark.parametrize(("scheme", "options", "env", "source"), SOURCES.values(), ids=SOURCES.keys())
def test_a_token_opens_what_it_may_and_is_shown_nowhere(
    scheme: str, options: tuple[str, ...], env: dict[str, str], source: str, hub: LocalHub, gsm: Gsm, tmp_path: Path
) -> None:
    file = tmp_path / "token.txt"
    file.write_text(TOKEN + "\n")
    work = tmp_path / "work"
    work.mkdir()

    def filled(text: str) -> str:
        return text.format(token=TOKEN, file=file)

    given = [filled(option) for option in options]
    variables = {name: filled(value) for name, value in env.items()}
    ran = gsm("resolve", f"{scheme}://team/closed", "-o", "json", *given, env=variables, hub=hub, cwd=work)
    assert ran.status == 0, ran.err
    access = ran.json[0]["access"]
    assert access["token"] == "Accepted"
    assert source in access["tokenSource"]
    assert fingerprint(f"Bearer {TOKEN}") in presented(hub)
    assert fingerprint(f"Bearer {WRONG}") not in presented(hub)
    assert not [request for request in hub.requests if request.origin == "cdn" and request.authorized]
    assert hidden(TOKEN, ran, work)
    assert hidden(WRONG, ran, work)


@pytest.mark.parametrize("scheme", ["hf", "ms"])
def test_a_rejected_token_is_named_by_its_source_and_the_public_is_still_read(
    scheme: str, hub: LocalHub, gsm: Gsm
) -> None:
    variable = {"hf": "HF_TOKEN", "ms": "MODELSCOPE_API_TOKEN"}[scheme]
    ran = gsm("resolve", f"{scheme}://team/open", env={variable: WRONG}, hub=hub)
    assert ran.status == 0
    assert f"rejects the token of {variable}" in ran.err
    assert f"({variable} was rejected)" in ran.out
    closed = gsm("resolve", f"{scheme}://team/closed", env={variable: WRONG}, hub=hub)
    assert closed.status == 11
    assert f"rejects the token of {variable}" in closed.err
    assert fingerprint(f"Bearer {WRONG}") in presented(hub)
    assert hidden(WRONG, ran)
    assert hidden(WRONG, closed)


FAULTS = {
    "500": ("status", {"status": 500}),
    "not-json": ("not_json", {}),
    "redirect-elsewhere": ("redirect", {"value": "http://127.0.0.1:9/x"}),
    "echo": ("status", {"status": 400, "value": f"you sent {TOKEN}"}),
}


@pytest.mark.parametrize(("fault", "options"), FAULTS.values(), ids=FAULTS.keys())
def test_no_failure_tells_it(fault: str, options: dict[str, object], hub: LocalHub, gsm: Gsm) -> None:
    hub.fault(fault, "*", **options)
    ran = gsm("resolve", "team/closed", "--timeout", "2", env={"HF_TOKEN": TOKEN, "GSM_DEBUG": "1"}, hub=hub)
    assert ran.status == 12
    assert fingerprint(f"Bearer {TOKEN}") in presented(hub)
    assert hidden(TOKEN, ran)


BAD_FILES = {"missing": None, "empty": "", "two-lines": f"{TOKEN}\n{WRONG}\n", "not-ascii": f"{TOKEN}é"}


@pytest.mark.parametrize("content", BAD_FILES.values(), ids=BAD_FILES.keys())
def test_a_file_without_a_token_is_named_and_not_quoted(
    content: str | None, hub: LocalHub, gsm: Gsm, tmp_path: Path
) -> None:
    file = tmp_path / "token.txt"
    if content is not None:
        file.write_text(content)
    ran = gsm("resolve", "team/open", "--token-file", file, hub=hub)
    assert ran.status in (2, 30)
    assert str(file) in ran.err
    assert hidden(TOKEN, ran)
    assert hub.requests == []
