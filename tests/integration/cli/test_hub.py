"""Owns `gsm hub serve`: it serves as a process, says how to reach it, and refuses what cannot be."""

from __future__ import annotations

import re
import signal
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.integration.cli.conftest import COMMAND, Gsm
from tests.integration.conftest import write_tree
from tests.integration.hub_server.clients import run


def test_it_serves_both_clients_until_interrupted(gsm: Gsm, environment: dict[str, str], tmp_path: Path) -> None:
    write_tree(
        tmp_path / "models" / "org" / "tiny",
        {"config.json": "{}", "a.bin": "x", ".gitattributes": "*.bin filter=lfs\n"},
    )
    (tmp_path / "tokens.yaml").write_text("tokens:\n  alice: hf_planted_serve_0123456789\n")
    faults = tmp_path / "faults.yaml"
    faults.write_text("- {kind: status, path: '*/api/models/org/tiny/revision/gone', status: 500}\n")
    command = [*COMMAND, "hub", "serve", str(tmp_path / "models"), "--port", "0"]
    with subprocess.Popen(
        [*command, "--tokens", str(tmp_path / "tokens.yaml"), "--faults", str(faults)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        lines = [process.stdout.readline() for _ in range(2)]
        try:
            matches = [re.fullmatch(r"export (\w+)=(http://127\.0\.0\.1:\d+)\n", line) for line in lines]
            variables = {match[1]: match[2] for match in matches if match}
            assert list(variables) == ["HF_ENDPOINT", "MODELSCOPE_ENDPOINT"]
            ran = gsm("resolve", "org/tiny", "ms://org/tiny", "-o", "json", env=variables)
            assert [item["fileCount"] for item in ran.json] == [3, 3]
            assert gsm("resolve", "org/tiny@gone", "--timeout", "1", env=variables).status == 12
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(
                    f"{variables['HF_ENDPOINT']}/%1b%5b2J%0ahub%20GET%20/forged%20200%200", timeout=20
                )
            asked = {
                **environment,
                **variables,
                "HF_HOME": str(tmp_path / "hf"),
                "MODELSCOPE_CACHE": str(tmp_path / "ms"),
            }
            for program, option in (("hf", "--local-dir"), ("modelscope", "--local_dir")):
                done = run(asked, program, "download", "org/tiny", option, str(tmp_path / program))
                assert done.returncode == 0, done.stderr
        finally:
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (130, "")
    assert "serving 1 of " in err
    assert "GET /api/models/org/tiny/revision/main 200" in err
    assert "GET /?[2J?hub GET /forged 200 0 404" in err
    assert "Signature" not in err
    assert "hf_planted" not in err


def test_what_cannot_be_served(gsm: Gsm, tmp_path: Path) -> None:
    missing = gsm("hub", "serve", tmp_path / "none", "--port", "0")
    assert (missing.status, "not a folder" in missing.err) == (30, True)
    (tmp_path / "faults.yaml").write_text("- {kind: nonsense}\n")
    faults = gsm("hub", "serve", tmp_path, "--faults", tmp_path / "faults.yaml")
    assert (faults.status, "'nonsense'" in faults.err) == (2, True)
    (tmp_path / "tokens.yaml").write_text("tokens: hf_planted_tokens\n")
    tokens = gsm("hub", "serve", tmp_path, "--tokens", tmp_path / "tokens.yaml")
    assert tokens.status == 2
    assert "hf_planted" not in tokens.err
