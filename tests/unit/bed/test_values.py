"""Ports, mount tables, images, cards, settings and what a machine lacks: values in, values out."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bed import sysctl
from tests.bed.card import Card, read_card
from tests.bed.disk import mount_points
from tests.bed.errors import BedError
from tests.bed.images import Image, archive
from tests.bed.layout import Layout
from tests.bed.machine import Machine, lacks, static
from tests.bed.ports import BLOCKS, FIRST, NODES, Block, choose
from tests.bed.processes import Identity
from tests.bed.report import last_lines


def test_no_two_purposes_share_a_port() -> None:
    block = Block(3)
    control = [
        block.control(purpose)
        for purpose in ("etcd", "etcd-peer", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "hub")
    ]
    nodes = [
        block.node(index, purpose) for index in range(NODES) for purpose in ("kubelet", "healthz", "stream", "hub-link")
    ]
    assert len({*control, *nodes}) == len(control) + len(nodes)
    assert set(control + nodes) <= set(block.ports)
    assert len({block.network(index) for index in range(NODES)} | {block.address(0)}) == NODES + 1


def test_blocks_are_apart_and_below_the_kernels_outgoing_ports() -> None:
    assert Block(0).ports.start == FIRST
    assert all(Block(number).ports.stop == Block(number + 1).ports.start for number in range(BLOCKS))
    assert Block(BLOCKS - 1).ports.stop <= 30000, "where NodePorts begin"


def test_the_first_free_block_is_chosen() -> None:
    assert choose([0, 2], lambda block: block.number != 1) == Block(3)
    with pytest.raises(BedError, match="no free block"):
        choose(range(BLOCKS), lambda block: True)


def test_mount_points_keep_their_order_and_their_spaces() -> None:
    table = (
        "21 1 8:1 / / rw shared:1 - ext4 /dev/a rw\n"
        "22 21 8:1 /x /b rw shared:2 - ext4 /dev/a rw\n"
        "23 22 7:0 / /b/n0/a\\040b rw shared:3 master:2 - ext4 /dev/loop0 rw\n"
    )
    assert mount_points(table) == [Path("/"), Path("/b"), Path("/b/n0/a b")]


IMAGE = Image(
    "bed.local/x:1", {"bin/tool": b"tool", "etc/a": b"a"}, {"bin/sh": "tool"}, ("/bin/sh",), frozenset({"bin/tool"})
)


def entries(content: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(content)) as archived:
        found = {info.name: archived.extractfile(info) for info in archived if info.isfile()}
        return {name: handle.read() for name, handle in found.items() if handle is not None}


def test_an_image_is_an_oci_layout_whose_digests_hold() -> None:
    layout = entries(archive(IMAGE))
    for name, content in layout.items():
        if name.startswith("blobs/"):
            assert hashlib.sha256(content).hexdigest() == name.rsplit("/", 1)[-1]
    manifest = json.loads(blob(layout, json.loads(layout["index.json"])["manifests"][0]))
    config = json.loads(blob(layout, manifest["config"]))
    assert config["rootfs"]["diff_ids"] == [manifest["layers"][0]["digest"]]
    assert config["config"]["Entrypoint"] == ["/bin/sh"]
    with tarfile.open(fileobj=io.BytesIO(blob(layout, manifest["layers"][0]))) as layer:
        modes = {info.name: info.mode for info in layer}
        assert modes == {"bin": 0o755, "bin/sh": 0o777, "bin/tool": 0o755, "etc": 0o755, "etc/a": 0o644}
        assert layer.getmember("bin/sh").linkname == "tool"


def blob(layout: Mapping[str, bytes], descriptor: Mapping[str, str]) -> bytes:
    return layout["blobs/sha256/" + descriptor["digest"].removeprefix("sha256:")]


def test_the_same_image_is_the_same_bytes_and_another_is_not() -> None:
    assert archive(IMAGE) == archive(replace(IMAGE, files=dict(reversed(list(IMAGE.files.items())))))
    assert archive(IMAGE) != archive(replace(IMAGE, files={**IMAGE.files, "etc/a": b"b"}))


@pytest.mark.parametrize("owner", [None, Identity(1, 2, "b")], ids=["a person's", "a session's"])
def test_a_card_is_read_back(tmp_path: Path, owner: Identity | None) -> None:
    card = Card("m1", 3, 2, owner)
    card.write(tmp_path / "bed.json")
    assert read_card(tmp_path / "bed.json") == card


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"mark": "m", "block": 1, "nodes": 0, "owner": {"pid": 1}}'])
def test_a_card_that_cannot_be_read_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "bed.json").write_text(text)
    assert read_card(tmp_path / "bed.json") is None


def test_a_long_root_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    root = tmp_path / ("x" * 40)
    with pytest.raises(BedError, match="GSM_BED_HOME"):
        Layout(root).found(nodes=1)
    assert not root.exists()


WHOLE = Machine(root=True, packages=(), go=True, unbuilt=())


@pytest.mark.parametrize(
    ("tier", "machine", "said"),
    [
        pytest.param("node", WHOLE, "", id="nothing"),
        pytest.param("cluster", replace(WHOLE, root=False, packages=("runc",)), "", id="cluster needs neither"),
        pytest.param("cluster", replace(WHOLE, go=False), "", id="no Go, nothing to build"),
        pytest.param("cluster", replace(WHOLE, unbuilt=("etcd",)), "", id="to build, with Go"),
        pytest.param("cluster", replace(WHOLE, go=False, unbuilt=("etcd",)), "no Go to build etcd", id="no Go"),
        pytest.param("node", replace(WHOLE, root=False), "not root (run it with `sudo -E`)", id="no root"),
        pytest.param(
            "node",
            replace(WHOLE, packages=("runc", "busybox-static")),
            "`apt-get install -y --no-install-recommends runc busybox-static`",
            id="no packages",
        ),
    ],
)
def test_what_a_machine_lacks_is_one_line(tier: str, machine: Machine, said: str) -> None:
    line = lacks(tier, machine)
    assert said in line
    assert bool(said) == bool(line)
    assert "\n" not in line


@pytest.mark.parametrize(
    ("head", "wanted"),
    [
        pytest.param(b"\x7fELF" + b"\0" * 60, True, id="static"),
        pytest.param(b"\x7fELF" + b"\0" * 60 + b"/lib64/ld-linux-x86-64.so.2\0", False, id="dynamic"),
        pytest.param(b"#!/bin/sh\n", False, id="a script"),
    ],
)
def test_static(head: bytes, wanted: bool) -> None:
    assert static(head) is wanted


def test_a_long_log_is_its_end() -> None:
    assert last_lines("a\nb\nc\n", 2) == "(1 lines before)\nb\nc"
    assert last_lines("a\nb\n", 2) == "a\nb"


def test_settings_of_the_kernel_are_put_back_and_no_others(tmp_path: Path) -> None:
    (tmp_path / "vm").mkdir()
    (tmp_path / "vm/overcommit_memory").write_text("0\n")
    (tmp_path / "vm/swappiness").write_text("60\n")
    kept = sysctl.read(tmp_path)
    assert kept == {"vm/overcommit_memory": "0"}
    (tmp_path / "vm/overcommit_memory").write_text("1\n")
    sysctl.write(tmp_path, {**kept, "vm/swappiness": "0"})
    assert (tmp_path / "vm/overcommit_memory").read_text() == "0"
    assert (tmp_path / "vm/swappiness").read_text() == "60\n"
