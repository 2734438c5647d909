"""Owns that a command whose optional libraries are missing says which extra to install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# What a machine without the extra looks like: the import of its library fails.
_WITHOUT = """
import sys
for name in {missing!r}:
    sys.modules[name] = None
from gpustack_models.cli.app import run
sys.exit(run({arguments!r}))
"""

ROWS = {
    "hub": (["uvicorn"], ["hub", "serve", ".", "--port", "0"]),
    "oci": (["oras", "oras.provider"], ["resolve", "oci://127.0.0.1:9/a/b:v1"]),
}


@pytest.mark.parametrize(("extra", "row"), ROWS.items(), ids=ROWS.keys())
def test_the_extra_is_named(extra: str, row: tuple[list[str], list[str]], tmp_path: Path) -> None:
    missing, arguments = row
    script = _WITHOUT.format(missing=missing, arguments=arguments)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 31, done.stderr
    assert f"pip install 'gpustack-models[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr
