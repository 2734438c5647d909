"""Owns the binaries: where they lie, and building the missing ones exactly once.

Refuses half-made ones: a build goes to a folder of its own and arrives by rename, under a lock that others wait on.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from .errors import BedError
from .locks import held
from .recipes import MODULES, Recipe, cache_key, ldflags, recipe

# KUBEBUILDER_ASSETS stands in for these modules alone: the convention covers the control plane.
_ASSET_MODULES = ("kubernetes", "etcd")


def say(line: str) -> None:
    """Talk goes to stderr; stdout belongs to what a shell evaluates."""
    print(line, file=sys.stderr, flush=True)


class Cache:
    """The test bed's binaries for one environment (``XDG_CACHE_HOME``, ``KUBEBUILDER_ASSETS``)."""

    def __init__(self, environment: Mapping[str, str], tell: Callable[[str], None] = say, modules: Path = MODULES):
        home = environment.get("XDG_CACHE_HOME") or str(Path(environment.get("HOME", "/")) / ".cache")
        self.root = Path(home) / "gsm-testbed"
        self._assets = environment.get("KUBEBUILDER_ASSETS", "")
        self._environment = environment
        self._tell = tell
        self._modules = modules

    def ensure(self, *names: str) -> dict[str, Path]:
        """Paths of the binaries, building those that neither the assets nor the cache hold."""
        wanted = [recipe(name) for name in names]
        by_module: dict[str, list[Recipe]] = {}
        for row in wanted:
            if self.find(row.name) is None:
                by_module.setdefault(row.module, []).append(row)
        for module, rows in by_module.items():
            self._build(module, rows)
        found = {row.name: self.find(row.name) for row in wanted}
        return {name: path for name, path in found.items() if path is not None}

    def missing(self, names: Iterable[str]) -> list[str]:
        """Names of the binaries that would have to be built."""
        return [name for name in names if self.find(name) is None]

    def find(self, name: str) -> Path | None:
        """The binary, if the assets or the cache hold it; nothing is built."""
        row = recipe(name)
        if self._assets and row.module in _ASSET_MODULES:
            asset = Path(self._assets) / name
            if os.access(asset, os.X_OK):
                return asset
        built = self.folder(row.module) / name
        return built if os.access(built, os.X_OK) else None

    def folder(self, module: str) -> Path:
        """The cache folder of a module: it changes with the module's sums."""
        source = self._modules / module
        key = cache_key(module, (source / "go.mod").read_bytes(), (source / "go.sum").read_bytes(), platform.machine())
        return self.root / key

    def source(self, module: str, dependency: str) -> Path:
        """The folder of a dependency's source (manifests that ship inside a Go module are read from there)."""
        self._go(module, "mod", "download", dependency)
        return Path(self._go(module, "list", "-m", "-f", "{{.Dir}}", dependency).strip())

    def prune(self) -> list[Path]:
        """Remove the folders of versions that no go.mod names any longer; returns what was removed."""
        current = {self.folder(path.parent.name) for path in self._modules.glob("*/go.mod")}
        gone = [path for path in self.root.glob("*-*") if path not in current]
        for path in gone:
            shutil.rmtree(path)
        return gone

    def _build(self, module: str, rows: list[Recipe]) -> None:
        target = self.folder(module)
        target.mkdir(parents=True, exist_ok=True)
        with held(target / ".lock", lambda: self._tell(f"waiting for another build of {module}")):
            for leftover in target.glob(".build-*"):
                shutil.rmtree(leftover)
            rows = [row for row in rows if not (target / row.name).exists()]
            if not rows:
                return
            self._tell(f"building {', '.join(row.name for row in rows)} from source (once; kept in {target})")
            scratch = Path(tempfile.mkdtemp(prefix=".build-", dir=target))
            try:
                flags = ldflags(module, (self._modules / module / "go.mod").read_text())
                arguments = ["-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", flags, "-tags", rows[0].tags]
                self._go(module, "build", *arguments, "-o", f"{scratch}/", *(row.package for row in rows))
                for row in rows:
                    (scratch / row.built_as).replace(target / row.name)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)

    def _go(self, module: str, *arguments: str) -> str:
        environment = {**self._environment, "CGO_ENABLED": "0", "GOWORK": "off"}
        try:
            run = subprocess.run(
                ["go", *arguments], cwd=self._modules / module, env=environment, text=True, capture_output=True
            )
        except FileNotFoundError:
            raise BedError("go is missing", "see `make bed-lacks`") from None
        if run.returncode:
            raise BedError(f"go {arguments[0]} in {module} failed", run.stderr.strip()[-2000:])
        return run.stdout
