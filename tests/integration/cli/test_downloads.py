"""Owns that what the hubs' own clients write to disk is verified, and has the digest that its hub's listing has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpustack_models.hub_server import LocalHub
from tests.integration.cli.conftest import Gsm
from tests.integration.conftest import HubFactory, Publish
from tests.integration.hub_server.clients import environment, run

NAME = "org/minilm"


@dataclass(frozen=True)
class Way:
    """One way to download: the program, its arguments, where the files are then, how `gsm digest` is told."""

    scheme: str
    program: str
    arguments: Callable[[Path], tuple[str, ...]]
    folder: Callable[[Path], Path]
    digest: tuple[str, ...] = ()
    told_by: str = ""


def _snapshot(root: Path) -> Path:
    (folder,) = root.glob("**/snapshots/*")
    return folder


WAYS = {
    "hf-cache": Way("hf", "hf", lambda to: ("--cache-dir", str(to)), _snapshot, told_by="blob names"),
    "hf-local-dir": Way("hf", "hf", lambda to: ("--local-dir", str(to)), lambda to: to, told_by=".cache/huggingface"),
    "modelscope-cache": Way("ms", "modelscope", lambda to: ("--cache_dir", str(to)), _snapshot, told_by="modelscope"),
    # Nothing in a plain folder tells it from Hugging Face's; its own .gitattributes would.
    "modelscope-local-dir": Way(
        "ms", "modelscope", lambda to: ("--local_dir", str(to)), lambda to: to, ("--sha256",), told_by="as asked"
    ),
}


@pytest.fixture
def hub(local_hub: HubFactory, publish: Publish, minilm_files: dict[str, Path]) -> LocalHub:
    publish(NAME, minilm_files)
    return local_hub()


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_a_download_is_verified_and_has_its_hub_s_digest(way: Way, hub: LocalHub, gsm: Gsm, tmp_path: Path) -> None:
    got = tmp_path / "got"
    done = run(environment(hub, tmp_path), way.program, "download", NAME, *way.arguments(got))
    assert done.returncode == 0, done.stderr
    folder = way.folder(got)
    reference = f"{way.scheme}://{NAME}"
    verified = gsm("verify", folder, reference, hub=hub)
    assert verified.status == 0, verified.err
    assert "every byte matches: 13 files" in verified.out
    (resolved,) = gsm("resolve", reference, "-o", "json", hub=hub).json
    digested = gsm("digest", folder, *way.digest)
    assert digested.out == resolved["digest"] + "\n"
    assert way.told_by in digested.err

    model = (folder / "model.safetensors").resolve()
    data = bytearray(model.read_bytes())
    data[1_000_000] ^= 1
    model.chmod(0o644)
    model.write_bytes(data)
    flipped = gsm("verify", folder, reference, "-o", "json", hub=hub)
    assert flipped.status == 1
    assert [(each["path"], each["problem"]) for each in flipped.json["findings"]] == [
        ("model.safetensors", "wrong content")
    ]
    assert gsm("digest", folder, *way.digest).out not in ("", digested.out)


def test_the_two_hubs_name_the_same_files_differently(hub: LocalHub, gsm: Gsm) -> None:
    first, second = gsm("resolve", f"hf://{NAME}", f"ms://{NAME}", "-o", "json", hub=hub).json
    assert first["sizeBytes"] == second["sizeBytes"]
    assert first["digest"] != second["digest"]
