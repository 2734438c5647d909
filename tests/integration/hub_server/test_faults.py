"""Owns that every fault does on the wire what its name says, to the requests it names and no others."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from gpustack_models.errors import GsmError, Reason
from gpustack_models.hub_server import KINDS, Fault, LocalHub, Origin, fault_of
from tests.integration.conftest import HubFactory, Publish
from tests.integration.hub_server.clients import HTTP

CONTENT = bytes(range(256)) * 4096
REVISION = "/api/models/org/model/revision/main"
TREE = "/api/models/org/model/tree/main?recursive=true"
#: The page after the first two entries: one LFS file.
LFS_ONLY = "/api/models/org/model/tree/main?cursor=ZnJvbToy"
FILES = "/api/v1/models/org/model/repo/files?Revision=master&Recursive=True"
COMMITS = "/api/v1/models/org/model/commits?Ref=master"
PLAIN = "/org/model/resolve/main/plain.txt"
GIT = "/org/model.git/info/refs?service=git-upload-pack"


@pytest.fixture
def hub(publish: Publish, local_hub: HubFactory) -> LocalHub:
    publish("org/model", {"plain.txt": CONTENT, "weights.bin": CONTENT, "a/b.json": "{}"})
    return local_hub(page_size=2)


@dataclass(frozen=True)
class Row:
    """A fault, the request that meets it, and what must be true of the answer beside the one without the fault."""

    options: dict[str, Any]
    path: str
    seen: Callable[[httpx.Response, httpx.Response], bool]
    headers: tuple[tuple[str, str], ...] = ()


def entries(response: httpx.Response) -> Any:
    document = response.json()
    return document if isinstance(document, list) else document["Data"]["Files"]


def link(response: httpx.Response) -> str:
    return re.sub(r"<(.*)>.*", r"\1", response.headers.get("Link", ""))


RANGE = (("Range", "bytes=10-19"),)
ROWS: dict[str, Row] = {
    "status": Row({"status": 503}, REVISION, lambda now, _was: now.status_code == 503),
    "status, with Retry-After": Row(
        {"status": 429, "retry_after": "7"},
        REVISION,
        lambda now, _was: (now.status_code, now.headers["Retry-After"]) == (429, "7"),
    ),
    "not_json": Row({}, REVISION, lambda now, _was: now.status_code == 200 and now.text.startswith("<html>")),
    "redirect": Row(
        {"value": "http://other.test/x"}, PLAIN, lambda now, _was: now.headers["Location"] == "http://other.test/x"
    ),
    "padded": Row({"at": 5000}, REVISION, lambda now, was: len(now.content) == len(was.content) + 5000),
    "wrong_content_range": Row(
        {},
        PLAIN,
        lambda now, was: now.headers["Content-Range"] == "bytes 11-20/1048576" and now.content == was.content,
        RANGE,
    ),
    "ignored_range": Row({}, PLAIN, lambda now, was: (now.status_code, len(now.content)) == (200, len(CONTENT)), RANGE),
    "changed_etag": Row({"value": "other"}, PLAIN, lambda now, _was: now.headers["ETag"] == '"other"'),
    "header": Row({"value": "X-Repo-Commit: other"}, PLAIN, lambda now, _was: now.headers["X-Repo-Commit"] == "other"),
    "header, removed": Row({"value": "X-Repo-Commit"}, PLAIN, lambda now, _was: "X-Repo-Commit" not in now.headers),
    "foreign_page": Row(
        {"value": "http://other.test"}, TREE, lambda now, _was: link(now).startswith("http://other.test/api/models/")
    ),
    "endless_pages": Row({}, TREE, lambda now, was: "cursor" not in link(now) and "cursor" in link(was)),
    "disagreeing_git": Row(
        {},
        GIT,
        lambda now, was: (
            now.content != was.content
            and re.sub(rb"[0-9a-f]{40}", b"", now.content) == re.sub(rb"[0-9a-f]{40}", b"", was.content)
        ),
        (("User-Agent", "git/2"),),
    ),
    "missing_refs": Row(
        {}, GIT, lambda now, was: b" HEAD" in now.content and b" refs/" not in now.content, (("User-Agent", "git/2"),)
    ),
    "bad_commit": Row({}, REVISION, lambda now, _was: now.json()["sha"] == "main"),
    "bad_commit, modelscope": Row(
        {"value": "z" * 40}, COMMITS, lambda now, _was: now.json()["Data"]["Commit"][0]["Id"] == "z" * 40
    ),
    "masked_tree": Row({}, LFS_ONLY, lambda now, _was: [e["lfs"]["oid"] for e in entries(now)] == ["*" * 64]),
    "unknown_type": Row({}, TREE, lambda now, _was: entries(now)[0]["type"] == "commit"),
    "unknown_type, modelscope": Row({}, FILES, lambda now, _was: entries(now)[0]["Type"] == "commit"),
    "lfs_size": Row({}, LFS_ONLY, lambda now, _was: [e["lfs"]["size"] - e["size"] for e in entries(now)] == [1]),
    "bad_path": Row({}, TREE, lambda now, _was: entries(now)[0]["path"] == "../escape"),
    "bad_path, modelscope": Row({"value": "/x"}, FILES, lambda now, _was: entries(now)[0]["Path"] == "/x"),
    "duplicate_entry": Row({}, FILES, lambda now, was: len(entries(now)) == len(entries(was)) + 1),
    "no_sha256": Row({}, FILES, lambda now, _was: "" in {e["Sha256"] for e in entries(now) if e["Type"] == "blob"}),
    "edit": Row({"edit": lambda document: {**document, "sha": 5}}, REVISION, lambda now, _was: now.json()["sha"] == 5),
    "flipped": Row(
        {"at": 15},
        PLAIN,
        lambda now, was: [a ^ b for a, b in zip(now.content, was.content, strict=True)][5] == 1,
        RANGE,
    ),
    "flipped, elsewhere": Row({"at": 40}, PLAIN, lambda now, was: now.content == was.content, RANGE),
}
#: These are seen at the socket, further below.
WIRE = {"silence", "stall", "stall_body", "reset", "truncated", "slow"}


def test_every_fault_is_tested() -> None:
    assert {name.partition(",")[0] for name in ROWS} | WIRE == KINDS


@pytest.mark.parametrize("name", ROWS)
def test_an_answer_is_another(name: str, hub: LocalHub) -> None:
    row = ROWS[name]
    asked = httpx.URL(hub.url + row.path)
    before = HTTP.get(asked, headers=dict(row.headers))
    kind = name.partition(",")[0]
    with hub.faulty(kind, **row.options):
        now = HTTP.get(asked, headers=dict(row.headers))
    assert row.seen(now, before)
    assert hub.requests[-1].faults == (kind,)
    after = HTTP.get(asked, headers=dict(row.headers))
    assert (after.status_code, after.content) == (before.status_code, before.content)


def exchange(hub: LocalHub, path: str = PLAIN, seconds: float = 5, method: str = "GET") -> tuple[bytes, str]:
    """What a raw socket gets, and how it ended: in order, by a reset, or not at all in this time."""
    host, _, port = hub.url.removeprefix("http://").partition(":")
    got = b""
    with socket.create_connection((host, int(port)), timeout=seconds) as connection:
        connection.sendall(f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        try:
            while piece := connection.recv(1 << 20):
                got += piece
        except TimeoutError:
            return got, "silent"
        except ConnectionResetError:
            return got, "reset"
    return got, "closed"


def body(answer: bytes) -> bytes:
    return answer.partition(b"\r\n\r\n")[2]


def test_silence_accepts_and_never_answers(hub: LocalHub) -> None:
    hub.fault("silence", PLAIN)
    assert exchange(hub, seconds=0.5) == (b"", "silent")
    assert hub.requests[-1].status == 0


def test_a_reset_before_the_headers(hub: LocalHub) -> None:
    hub.fault("reset", PLAIN, at=-1)
    assert exchange(hub) == (b"", "reset")


@pytest.mark.parametrize("at", [0, 1, 700_000])
def test_a_reset_in_the_body(hub: LocalHub, at: int) -> None:
    hub.fault("reset", PLAIN, at=at)
    got, end = exchange(hub)
    assert (end, body(got)) == ("reset", CONTENT[:at])
    assert hub.requests[-1].sent == at


@pytest.mark.parametrize("at", [0, 1, 700_000])
def test_a_truncated_body_ends_in_order_and_early(hub: LocalHub, at: int) -> None:
    hub.fault("truncated", PLAIN, at=at)
    got, end = exchange(hub)
    assert (end, body(got)) == ("closed", CONTENT[:at])
    assert f"content-length: {len(CONTENT)}".encode() in got.lower()


def test_a_stall_before_the_headers(hub: LocalHub) -> None:
    hub.fault("stall", PLAIN, seconds=0.4)
    begun = time.monotonic()
    assert HTTP.get(hub.url + PLAIN).content == CONTENT
    assert time.monotonic() - begun >= 0.4


def test_a_stall_in_the_body(hub: LocalHub) -> None:
    hub.fault("stall_body", PLAIN, at=700_000, seconds=600)
    got, end = exchange(hub, seconds=0.5)
    assert (end, body(got)) == ("silent", CONTENT[:700_000])
    hub.unfault()
    hub.fault("stall_body", PLAIN, at=700_000, seconds=0.3)
    begun = time.monotonic()
    assert HTTP.get(hub.url + PLAIN).content == CONTENT
    assert time.monotonic() - begun >= 0.3


def test_slow_bytes(hub: LocalHub) -> None:
    hub.fault("slow", PLAIN, at=2 << 20)
    begun = time.monotonic()
    assert HTTP.get(hub.url + PLAIN).content == CONTENT
    assert time.monotonic() - begun >= 0.4


def test_a_fault_counts(hub: LocalHub) -> None:
    hub.fault("status", REVISION, after=1, times=2, status=500)
    assert [HTTP.get(hub.url + REVISION).status_code for _ in range(5)] == [200, 500, 500, 200, 200]


def test_a_fault_names_its_requests(hub: LocalHub) -> None:
    hub.fault("status", "*FilePath=plain.txt", method="GET", status=500)
    url = f"{hub.url}/api/v1/models/org/model/repo?Revision=master&FilePath="
    assert HTTP.get(url + "plain.txt").status_code == 500
    assert HTTP.head(url + "plain.txt").status_code == 200
    assert HTTP.get(url + "a%2Fb.json").status_code == 200
    hub.unfault()
    hub.fault("status", origin=Origin.CDN, status=502)
    answer = HTTP.get(url + "weights.bin")
    assert answer.status_code == 302
    assert HTTP.get(answer.headers["Location"]).status_code == 502


def test_faults_meet(hub: LocalHub) -> None:
    hub.fault("ignored_range", PLAIN)
    hub.fault("flipped", PLAIN, at=0)
    hub.fault("truncated", PLAIN, at=10)
    got, end = exchange(hub)
    assert (body(got), end) == (b"\1" + CONTENT[1:10], "closed")
    assert hub.requests[-1].faults == ("ignored_range", "flipped", "truncated")


def test_the_hub_ends_while_clients_wait(hub: LocalHub) -> None:
    hub.fault("silence", PLAIN)
    with socket.create_connection(("127.0.0.1", int(hub.url.rpartition(":")[2])), timeout=10) as connection:
        connection.sendall(f"GET {PLAIN} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        while not hub.requests:
            time.sleep(0.01)
        time.sleep(1)  # past looking at the repository, into its silence
        begun = time.monotonic()
        hub.close()
        assert time.monotonic() - begun < 5
        assert connection.recv(1) == b""


BAD_FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "no such kind": ({"kind": "flood"}, "there is no fault 'flood'"),
    "no such field": ({"kind": "reset", "ad": 5}, "a fault has no field 'ad'"),
    "no such origin": ({"kind": "reset", "origin": "moon"}, "'moon' is not a valid Origin"),
    "no kind": ({"path": "*"}, "kind"),
}


@pytest.mark.parametrize(("value", "said"), BAD_FAULTS.values(), ids=BAD_FAULTS)
def test_a_bad_fault_is_said(value: dict[str, Any], said: str) -> None:
    with pytest.raises(GsmError, match=said) as caught:
        fault_of(value)
    assert caught.value.reason is Reason.INVALID_INPUT


def test_a_fault_from_plain_values() -> None:
    value = json.loads('{"kind": "reset", "path": "*.safetensors", "origin": "cdn", "times": 2, "at": 100}')
    assert fault_of(value) == Fault("reset", "*.safetensors", origin=Origin.CDN, times=2, at=100)
