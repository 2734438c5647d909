"""Owns what integration tests share: a local hub in any shape, the small real model, and users with tokens.

Refuses stand-ins: clients are the real ones, servers listen on loopback, files are on a disk.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from examples.demo.minilm import default_cache
from examples.demo.minilm import minilm as fetch_minilm
from gpustack_models.hub_server import LocalHub, ServeOptions

#: Users of the local hub. A test that plants a token and looks for it later finds these words nowhere else.
TOKENS = {"alice": "hf_planted_alice_0123456789abcdef", "bob": "hf_planted_bob_0123456789abcdef"}

#: A file's content, or a file whose content is taken (linked, so that large ones cost nothing).
Content = bytes | str | Path
HubFactory = Callable[..., LocalHub]
Publish = Callable[..., Path]


def write_tree(folder: Path, files: Mapping[str, Content]) -> Path:
    """Write files below a folder."""
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Path):
            try:
                os.link(content, target)
            except OSError:
                shutil.copyfile(content, target)
        else:
            target.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


@pytest.fixture
def repositories(tmp_path: Path) -> Path:
    """The folder that this test's local hub serves."""
    folder = tmp_path / "repositories"
    folder.mkdir()
    return folder


@pytest.fixture
def publish(repositories: Path) -> Publish:
    """`publish("org/name", {"config.json": "{}"}, settings="access: private")` puts a repository there."""

    def add(name: str, files: Mapping[str, Content], settings: str = "") -> Path:
        folder = write_tree(repositories / name, files)
        if settings:
            (folder / "gsm-repository.yaml").write_text(settings)
        return folder

    return add


@pytest.fixture
def local_hub(repositories: Path) -> Iterator[HubFactory]:
    """`local_hub(page_size=2)` serves `repositories` until the test ends; the options are those of ServeOptions."""
    with ExitStack() as hubs:

        def start(folder: Path | None = None, *, tokens: Mapping[str, str] = TOKENS, **options: object) -> LocalHub:
            serve = ServeOptions(folder or repositories, **options)  # type: ignore[arg-type]
            return hubs.enter_context(LocalHub(serve, tokens=dict(tokens)))

        yield start


@pytest.fixture(scope="session")
def minilm() -> Path:
    """The folder of a small real model with its `.gitattributes`: 13 files, 92 MB, one of them in LFS."""
    return fetch_minilm(default_cache())


@pytest.fixture(scope="session")
def minilm_files(minilm: Path) -> dict[str, Path]:
    """The same, by path, ready to publish."""
    return {path.relative_to(minilm).as_posix(): path for path in sorted(minilm.rglob("*")) if path.is_file()}
