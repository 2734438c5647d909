"""Owns the images of the tests: OCI layouts around the machine's static busybox, made here, pulled from nowhere.

Refuses registries: an image reaches a node by ``ctr images import``.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .disk import run
from .nodeconfig import PAUSE

BUSYBOX = "bed.local/busybox:1"

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_OCI = "application/vnd.oci.image"


@dataclass(frozen=True)
class Image:
    """An image: its reference, its files by path, its links by path, what it runs."""

    reference: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    command: Sequence[str] = ()
    executables: frozenset[str] = frozenset()


def busybox(binary: Path) -> Image:
    """A shell and every tool that this busybox has."""
    applets = run(binary, "--list").split()
    return Image(
        BUSYBOX,
        {"bin/busybox": binary.read_bytes(), "etc/passwd": b"root:x:0:0:root:/:/bin/sh\n", "tmp/.keep": b""},
        {f"bin/{applet}": "busybox" for applet in applets if applet != "busybox"},
        ("/bin/sh",),
        frozenset({"bin/busybox"}),
    )


def pause(binary: Path) -> Image:
    """The sandbox's image: it holds a Pod's namespaces and does nothing."""
    return Image(
        PAUSE, {"busybox": binary.read_bytes()}, {}, ("/busybox", "sleep", "2147483647"), frozenset({"busybox"})
    )


def archive(image: Image) -> bytes:
    """The image as an OCI layout in a tar; the same image is the same bytes."""
    architecture = _ARCHITECTURES.get(platform.machine(), platform.machine())
    layer = _layer(image)
    config = _json(
        {
            "architecture": architecture,
            "os": "linux",
            "config": {"Entrypoint": list(image.command), "Env": ["PATH=/bin"]},
            "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]},
        }
    )
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": f"{_OCI}.manifest.v1+json",
            "config": _descriptor(f"{_OCI}.config.v1+json", config),
            "layers": [_descriptor(f"{_OCI}.layer.v1.tar", layer)],
        }
    )
    entry = {
        **_descriptor(f"{_OCI}.manifest.v1+json", manifest),
        "platform": {"architecture": architecture, "os": "linux"},
        "annotations": {
            "io.containerd.image.name": image.reference,
            "org.opencontainers.image.ref.name": image.reference.rsplit(":", 1)[-1],
        },
    }
    index = _json({"schemaVersion": 2, "mediaType": f"{_OCI}.index.v1+json", "manifests": [entry]})
    entries = {"oci-layout": _json({"imageLayoutVersion": "1.0.0"}), "index.json": index}
    for blob in (config, manifest, layer):
        entries["blobs/sha256/" + _digest(blob).removeprefix("sha256:")] = blob
    return _tar([(name, content, 0o644, "") for name, content in entries.items()])


def _layer(image: Image) -> bytes:
    rows = [(path, content, 0o755 if path in image.executables else 0o644, "") for path, content in image.files.items()]
    return _tar(sorted(rows + [(path, b"", 0o777, target) for path, target in image.links.items()]))


def _tar(rows: Sequence[tuple[str, bytes, int, str]]) -> bytes:
    buffer = io.BytesIO()
    made: set[str] = set()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as out:
        for path, content, mode, target in rows:
            for parent in reversed(Path(path).parents):
                if str(parent) != "." and str(parent) not in made:
                    made.add(str(parent))
                    folder = tarfile.TarInfo(str(parent))
                    folder.type, folder.mode = tarfile.DIRTYPE, 0o755
                    out.addfile(folder)
            info = tarfile.TarInfo(path)
            info.mode, info.size = mode, len(content)
            if target:
                info.type, info.linkname = tarfile.SYMTYPE, target
            out.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _digest(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def _descriptor(media: str, content: bytes) -> dict[str, object]:
    return {"mediaType": media, "digest": _digest(content), "size": len(content)}
