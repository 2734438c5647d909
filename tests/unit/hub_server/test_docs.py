"""Owns that docs/local-hub.md says what is so: every fault is tabled, every example is understood."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from gpustack_models.hub_server.faults import KINDS, Fault, fault_of
from gpustack_models.hub_server.settings import Tokens, read_settings

PAGE = (Path(__file__).parents[3] / "docs" / "local-hub.md").read_text()


def example(name: str) -> str:
    found = re.search(rf"```yaml\n# (?:\S*/)?{re.escape(name)}\n(.*?)```", PAGE, re.DOTALL)
    assert found
    return found[1]


def test_every_kind_of_fault_is_tabled_and_no_other() -> None:
    table = PAGE.partition("| Kind | The client sees |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == KINDS


def test_every_field_of_a_fault_is_tabled() -> None:
    table = PAGE.partition("## Faults")[2].partition("| Field | |")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", table)) >= {field.name for field in fields(Fault)} - {"edit"}


def test_the_faults_of_the_example_are_faults() -> None:
    faults = [fault_of(value) for value in yaml.safe_load(example("faults.yaml"))]
    assert [fault.kind for fault in faults] == ["status", "reset", "flipped", "status"]


def test_the_settings_of_the_example_are_understood(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text(example("gsm-repository.yaml"))
    settings = read_settings(file)
    assert [commit.folder for commit in settings.commits] == ["v1", "v2"]
    assert (settings.access, settings.readers, settings.pull_requests) == ("gated", ("alice", "bob"), {1: "second"})


@pytest.mark.parametrize(
    ("token", "name"), [("hf_a-long-random-word", "alice"), ("hf_another", "bob"), ("hf_the-one-before", "bob")]
)
def test_the_tokens_of_the_example_are_understood(token: str, name: str, tmp_path: Path) -> None:
    file = tmp_path / "tokens.yaml"
    file.write_text(example("tokens.yaml"))
    assert Tokens.read(file).caller(token).name == name
