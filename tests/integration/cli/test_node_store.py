"""Owns `gsm node-store` as a person uses it: every command, every format, what it prints and how it ends."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack_models.hub_server import LocalHub
from gpustack_models.store.records import Reference
from gpustack_models.store.store import Store
from gpustack_models.store.writer import Identity, Writer
from tests.integration.cli.conftest import COMMAND, Gsm
from tests.integration.conftest import TOKENS, HubFactory, Publish
from tests.integration.hub_server import clients
from tests.integration.store.disk import MovedClock, check_visible, contents, put, visible
from tests.integration.store.hubs import bytes_of, content_requests
from tests.integration.store.peerserver import peer
from tests.integration.store.zygote import Zygote

FILES = {
    ".gitattributes": "*.safetensors filter=lfs diff=lfs merge=lfs -text\n",
    "config.json": "{}",
    "model.safetensors": bytes_of(3 << 20, "weights"),
}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def hub(publish: Publish, local_hub: HubFactory) -> LocalHub:
    publish("org/tiny", FILES)
    return local_hub()


@pytest.fixture(scope="session")
def zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    """Commands start from here: a new interpreter for each of the hundred would be most of this module's time."""
    with Zygote(tmp_path_factory.mktemp("zygote")) as one:
        yield one


@dataclass(frozen=True)
class Shell:
    """Where a person types: what starts a process, and its environment."""

    zygote: Zygote
    environment: dict[str, str]


@pytest.fixture
def shell(zygote: Zygote, environment: dict[str, str]) -> Shell:
    return Shell(zygote, environment)


class Typed:
    """`gsm node-store …` on one store."""

    def __init__(self, shell: Shell, store: Path, hub: LocalHub | None = None) -> None:
        self._shell = shell
        endpoints = {"HF_ENDPOINT": hub.url, "MODELSCOPE_ENDPOINT": hub.url} if hub else {}
        self._environment = {**shell.environment, **endpoints, "GSM_STORE": str(store)}

    def __call__(self, *arguments: object, status: int = 0) -> tuple[str, str]:
        zygote = self._shell.zygote
        ended = zygote.run(self._environment, "node-store", *map(str, arguments))
        out, err = zygote.out.read_text(), zygote.err.read_text()
        assert ended == status, (arguments, out, err)
        assert "Traceback" not in err
        return out, err

    def json(self, *arguments: object, status: int = 0) -> Any:
        out, _ = self(*arguments, "-o", "json", status=status)
        return json.loads(out)


@pytest.fixture
def typed(shell: Shell, store: Path, hub: LocalHub) -> Typed:
    return Typed(shell, store, hub)


def test_pull_prints_the_path_and_a_second_one_transfers_nothing(store: Path, typed: Typed, hub: LocalHub) -> None:
    out, err = typed("pull", "hf://org/tiny")
    (digest,) = visible(store)
    assert out == f"{store}/trees/{digest[7:]}/files\n"
    assert contents(Path(out.strip())).keys() == FILES.keys()
    assert "came from the Hub" in err
    hub.forget()
    assert typed("pull", "hf://org/tiny")[0] == out
    assert content_requests(hub) == []
    out, err = typed("pull", "ms://org/tiny")
    assert "all of it here already" in err
    assert content_requests(hub) == []
    assert check_visible(store) == 2


def test_several_references_are_printed_in_their_order(store: Path, typed: Typed, publish: Publish) -> None:
    publish("org/other", {"a": "1"})
    out, err = typed("pull", "org/other", "org/nowhere", "org/tiny", status=11)
    first, second = out.splitlines()
    assert (Path(first) / "a").is_file()
    assert (Path(second) / "config.json").is_file()
    assert "org/nowhere" in err


def test_every_command_speaks_json_and_yaml(store: Path, typed: Typed, tmp_path: Path) -> None:
    pulled = typed.json("pull", "org/tiny")
    assert isinstance(pulled, list)
    digest = pulled[0]["digest"]
    assert pulled[0] == {
        "reference": "org/tiny",
        "pinned": pulled[0]["pinned"],
        "digest": digest,
        "path": f"{store}/trees/{digest[7:]}/files",
        "fileCount": 3,
        "sizeBytes": sum(len(data) for data in FILES.values()),
        "fetchedBytes": sum(len(data) for data in FILES.values()),
        "source": "Hub",
    }
    short = digest[7:15]
    for command in (
        ["ls"],
        ["status"],
        ["path", short],
        ["verify", short],
        ["gc", "--dry-run"],
        ["gc"],
        ["pin", short],
        ["unpin", short],
        ["log"],
        ["export", short, tmp_path / "out"],
        ["rm", short, "--dry-run"],
        ["rm", short],
    ):
        assert typed.json(*command) is not None
    assert visible(store) == []
    assert yaml.safe_load(typed("log", "-o", "yaml")[0])[0]["event"] == "published"


def test_ls_status_and_log_tell_what_is_there(store: Path, typed: Typed) -> None:
    typed("pull", "org/tiny")
    (digest,) = visible(store)
    typed("pin", digest[7:20], "--note", "demo")
    (model,) = typed.json("ls")
    assert (model["digest"], model["state"], model["pinned"], model["source"]) == (digest, "Ready", True, "Hub")
    assert model["names"][0].startswith("hf://org/tiny@")
    status = typed.json("status")
    assert isinstance(status, dict)
    assert status["watermarks"] == {"highPercent": 95, "lowPercent": 90}
    assert status["capacity"]["storedBytes"] >= sum(len(data) for data in FILES.values())
    assert (status["downloads"], status["failures"], status["writer"]) == ([], [], None)
    events = typed.json("log")
    assert isinstance(events, list)
    assert [event["event"] for event in events] == ["published", "pinned"]
    assert f"names={model['names'][0]} source=Hub" in typed("log")[0]
    table, _ = typed("ls")
    assert digest in table
    assert "pin" in table
    assert digest[7:] in typed("path", digest[:12])[0]


def test_a_failure_is_listed_with_its_retry_time(store: Path, typed: Typed, hub: LocalHub) -> None:
    with hub.faulty("flipped", "/repos/*", at=100):
        typed("pull", "org/tiny", status=21)
    (failure,) = typed.json("status")["failures"]
    assert (failure["state"], failure["reason"], failure["failures"]) == ("Failed", "IntegrityMismatch", 1)
    assert failure["retryTime"].endswith("Z")
    out, _ = typed("status")
    assert "IntegrityMismatch" in out
    assert "next try at" in out
    _, err = typed("pull", "org/tiny", status=21)
    assert "the next one may begin in" in err
    typed("pull", "org/tiny", "--now")
    assert check_visible(store) == 1


def test_gc_does_exactly_what_its_dry_run_printed(store: Path, shell: Shell) -> None:
    clock = MovedClock()
    with Writer.start(store, Identity("a test"), clock) as writer:
        pinned, referenced = put(writer, {"a": b"pinned"}).digest, put(writer, {"a": b"referenced"}).digest
        old = [put(writer, {"a": b"%d" % number, "b": b"pinned"}).digest for number in range(3)]
        writer.pin(pinned)
        writer.reference(Reference("csi-1", "/pods/1", referenced, clock.now()))
    typed = Typed(shell, store)
    shown = typed.json("gc", "--target", 0, "--dry-run")
    assert isinstance(shown, dict)
    assert check_visible(store) == 5
    assert sorted(each["name"] for each in shown["removals"]) == sorted(old)
    assert shown["kept"] == {"referenced": 1, "pinned": 1, "running": 0, "recent": 0}
    done = typed.json("gc", "--target", 0)
    assert isinstance(done, dict)
    assert (shown.pop("executed"), done.pop("executed")) == (False, True)
    for each in (shown, done):  # other programs use the disk meanwhile
        for name in ("usedBytesBefore", "usedBytesAfter", "wantedBytes"):
            each.pop(name)
    assert done == shown
    assert visible(store) == sorted((pinned, referenced))
    assert check_visible(store) == 2


def test_rm_refuses_what_is_held(store: Path, typed: Typed) -> None:
    typed("pull", "org/tiny")
    (digest,) = visible(store)
    typed("pin", digest)
    _, err = typed("rm", digest[7:14], status=1)
    assert "is pinned" in err
    typed("unpin", digest)
    typed("rm", digest[7:14])
    assert visible(store) == []
    assert typed.json("ls") == []


def test_expect(store: Path, typed: Typed, shell: Shell, hub: LocalHub) -> None:
    wrong = "sha256:" + "0" * 64
    _, err = typed("pull", "org/tiny", "--expect", wrong, status=18)
    assert wrong in err
    assert not store.exists()
    typed("pull", "org/tiny")
    (digest,) = visible(store)
    typed("pull", "org/tiny", "--expect", digest)
    # Silence is anchored around, when what is expected is here; nothing else is.
    silent = Typed(shell, store)
    out, err = silent("pull", "org/tiny", "--expect", digest, "--timeout", 2)
    assert out.strip().endswith(f"{digest[7:]}/files")
    assert "going by" in err
    silent("pull", "org/tiny", "--timeout", 2, status=12)
    silent("pull", "org/tiny", "--expect", wrong, "--timeout", 2, status=12)


def test_patterns_make_another_digest_and_share_its_files(store: Path, typed: Typed, hub: LocalHub) -> None:
    typed("pull", "org/tiny")
    hub.forget()
    out, _ = typed("pull", "org/tiny", "--allow", "*.json", "--ignore", "nothing")
    assert sorted(os.listdir(out.strip())) == ["config.json"]
    assert content_requests(hub) == []
    assert check_visible(store) == 2


def test_a_peer_is_asked_first(store: Path, typed: Typed, hub: LocalHub, shell: Shell, tmp_path: Path) -> None:
    typed("pull", "org/tiny")
    (digest,) = visible(store)
    hub.forget()
    with peer(store) as server:
        other = Typed(shell, tmp_path / "other", hub)
        pulled = other.json("pull", "org/tiny", "--from", server.url)
        assert isinstance(pulled, list)
        assert pulled[0]["source"] == "Peer"
        assert content_requests(hub) == []
        alone = Typed(shell, tmp_path / "alone")
        alone("pull", digest, "--from", server.url)
        assert check_visible(tmp_path / "alone") == 1
    _, err = Typed(shell, tmp_path / "nobody")("pull", digest, status=12)
    assert digest in err


def test_limit_rate_is_kept(store: Path, typed: Typed) -> None:
    began = time.monotonic()
    typed("pull", "org/tiny", "--limit-rate", "1Mi", "--concurrency", 2)
    assert time.monotonic() - began > 2
    _, err = typed("pull", "org/tiny", "--limit-rate", "fast", status=2)
    assert "200Mi" in err


USAGE = [
    (["path", "0123"], 30, "nothing by 0123"),
    (["path", ""], 2, "no part of a digest"),
    (["unpin", "sha256:" + "0" * 64], 30, "nothing by"),
    (["pull", "pvc://claim/x"], 2, "only a hub's repository can"),
    (["pull", "oci://registry.example.com/a/b"], 2, "only a hub's repository can"),
    (["import", "."], 2, "give a reference, or --manifest FILE"),
    (["gc", "--high", "10", "--low", "20"], 2, "0 <= low < high <= 100"),
]


@pytest.mark.parametrize(("arguments", "status", "why"), USAGE, ids=[" ".join(row[0]) for row in USAGE])
def test_what_is_wrong_is_said(store: Path, shell: Shell, arguments: Sequence[str], status: int, why: str) -> None:
    with Writer.start(store, Identity("a test")) as writer:
        put(writer, {"a": b"1"})
    _, err = Typed(shell, store)(*arguments, status=status)
    assert why in err
    assert "hint:" in err


def test_a_prefix_of_two_digests_is_refused(store: Path, shell: Shell) -> None:
    with Writer.start(store, Identity("a test")) as writer:
        digests = [put(writer, {"a": b"%d" % number}).digest for number in range(17)]
    first = next(digit for digit in "0123456789abcdef" if sum(each[7] == digit for each in digests) > 1)
    _, err = Typed(shell, store)("path", first, status=2)
    assert "is the beginning of" in err


def test_no_store_and_an_unknown_one(store: Path, shell: Shell) -> None:
    typed = Typed(shell, store)
    for command in ("ls", "gc"):
        assert "there is no node store" in typed(command, status=30)[1]
    assert not store.exists()
    Writer.start(store, Identity("a test")).close()
    (store / "format").write_text("gpustack-node-store 99\n")
    for command in ("ls", "gc"):
        assert "gpustack-node-store 99" in typed(command, status=33)[1]


def test_a_broken_file_is_repaired_from_the_hub(store: Path, typed: Typed, hub: LocalHub) -> None:
    out, _ = typed("pull", "org/tiny")
    with (Path(out.strip()) / "model.safetensors").open("r+b") as file:
        file.seek(1 << 20)
        file.write(b"rotten")
    (digest,) = visible(store)
    found, err = typed("verify", status=21)
    assert (digest in found, "withdrawn" in found, "--repair" in err) == (True, True, True)
    assert visible(store) == []
    typed("path", digest, status=30)
    (model,) = typed.json("ls")
    assert (model["state"], model["reason"], model.get("retryTime")) == ("Failed", "IntegrityMismatch", None)
    assert "it broke on the disk" in model["message"]
    hub.forget()
    result = typed.json("verify", "--repair")
    assert isinstance(result, dict)
    assert [(each["digest"], each["repaired"]) for each in result["brokenTrees"]] == [(digest, True)]
    assert len(content_requests(hub)) == 1
    assert check_visible(store) == 1
    typed("verify")
    assert [event["event"] for event in typed.json("log")] == ["published", "broken", "published"]


@pytest.fixture
def hf_cache(hub: LocalHub, tmp_path: Path, minilm_files: dict[str, Path], publish: Publish) -> tuple[LocalHub, Path]:
    """What `hf download` left of the small real model."""
    publish("sentence-transformers/all-MiniLM-L6-v2", minilm_files)
    hub.rescan()
    environment = clients.environment(hub, tmp_path / "client")
    done = clients.run(environment, "hf", "download", "sentence-transformers/all-MiniLM-L6-v2")
    assert done.returncode == 0, done.stderr
    return hub, tmp_path / "client" / "hf" / "hub"


def taken(*paths: Path) -> int:
    """Bytes on disk as `du` counts them: a file with several names once."""
    command = ["du", "-sc", "--block-size=1", *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout.splitlines()[-1].split()[0])


def test_a_hugging_face_cache_is_adopted_without_a_second_copy(
    store: Path, shell: Shell, hf_cache: tuple[LocalHub, Path]
) -> None:
    hub, cache = hf_cache
    typed = Typed(shell, store, hub)
    before = taken(cache)
    hub.forget()
    done = typed.json("import", cache, "hf://sentence-transformers/all-MiniLM-L6-v2")
    assert isinstance(done, dict)
    assert "copy" not in done["files"]
    assert content_requests(hub) == []
    assert taken(cache, store) - before < 1 << 20
    assert check_visible(store) == 1
    # The cache is still one to its own client, and the store needs nothing of a pull.
    assert typed.json("pull", "hf://sentence-transformers/all-MiniLM-L6-v2")[0]["fetchedBytes"] == 0
    environment = clients.environment(hub, cache.parent.parent)
    again = clients.run(environment, "hf", "cache", "verify", "sentence-transformers/all-MiniLM-L6-v2")
    assert again.returncode == 0, again.stderr


def test_a_modelscope_cache_is_adopted(store: Path, shell: Shell, hub: LocalHub, tmp_path: Path) -> None:
    environment = clients.environment(hub, tmp_path / "client")
    done = clients.run(environment, "modelscope", "download", "--model", "org/tiny")
    assert done.returncode == 0, done.stderr
    typed = Typed(shell, store, hub)
    adopted = typed.json("import", tmp_path / "client" / "ms", "ms://org/tiny")
    assert isinstance(adopted, dict)
    assert "copy" not in adopted["files"]
    assert check_visible(store) == 1


def test_a_plain_folder_is_adopted_by_its_manifest(
    store: Path, gsm: Gsm, shell: Shell, hub: LocalHub, repositories: Path, tmp_path: Path
) -> None:
    typed, folder, saved = Typed(shell, store), repositories / "org" / "tiny", tmp_path / "tiny.manifest"
    saved.write_text(gsm("resolve", "org/tiny", "-o", "manifest", hub=hub).out)
    typed("import", folder, "--manifest", saved, "--copy")
    digest = "sha256:" + hashlib.sha256(saved.read_bytes()).hexdigest()
    assert visible(store) == [digest]
    (folder / "config.json").write_text("[]")
    _, err = typed("import", folder, "--manifest", saved, "--expect", "sha256:" + "0" * 64, status=18)
    assert digest in err
    assert check_visible(store) == 1


def test_a_planted_token_is_nowhere(store: Path, shell: Shell, hub: LocalHub, publish: Publish, tmp_path: Path) -> None:
    publish("alice/private", FILES | {"extra": "1"}, "access: private\nreaders: [alice]\n")
    hub.rescan()
    token = tmp_path / "token"
    token.write_text(TOKENS["alice"])
    typed = Typed(shell, store, hub)
    said: list[str] = []
    with hub.faulty("status", "*resolve*model*", method="GET", status=403):
        said += typed("pull", "hf://alice/private", "--token-file", token, status=11)
    said += typed("pull", "hf://alice/private", "--token-file", token, "--now")
    for command in (["ls", "-o", "json"], ["status", "-o", "json"], ["log", "-o", "json"]):
        said += typed(*command)
    planted = TOKENS["alice"]
    assert any(request.authorized for request in hub.requests)
    assert planted in token.read_text()  # the search finds it where it belongs
    assert not [text for text in said if planted in text or "Signature=" in text]
    for at, _, names in os.walk(store):
        for name in names:
            data = Path(at, name).read_bytes()
            assert planted.encode() not in data
            assert b"Signature=" not in data
    assert check_visible(store) == 1


class Started:
    """A `gsm node-store` that runs while the test does something else."""

    def __init__(self, environment: dict[str, str], store: Path, hub: LocalHub, *arguments: str) -> None:
        endpoints = {"HF_ENDPOINT": hub.url, "MODELSCOPE_ENDPOINT": hub.url, "GSM_STORE": str(store)}
        self.process = subprocess.Popen(
            [*COMMAND, "node-store", *arguments],
            env={**environment, **endpoints},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=120)
        assert "Traceback" not in err
        return self.process.returncode, out, err


@pytest.fixture
def slow_hub(hub: LocalHub) -> Iterator[LocalHub]:
    """Long enough in the middle of a pull for a test to do something."""
    with hub.faulty("slow", "*", at=300 << 10):
        yield hub


def until_downloading(store: Path) -> None:
    """Return when a pull of another process has fetched something."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if (store / "format").exists() and (store / "ledger" / "running").exists():
            text = (store / "ledger" / "running").read_text()
            if any(each["downloaded"] for each in json.loads(text)["downloads"]):
                return
        time.sleep(0.02)
    raise AssertionError("no download began")


def test_two_processes_one_digest(store: Path, shell: Shell, environment: dict[str, str], slow_hub: LocalHub) -> None:
    first = Started(environment, store, slow_hub, "pull", "org/tiny")
    until_downloading(store)
    status = Typed(shell, store).json("status")
    assert isinstance(status, dict)
    (download,) = status["downloads"]
    assert status["writer"]["pid"] == first.process.pid
    assert 0 < download["downloadedBytes"] <= download["sizeBytes"]
    second = Started(environment, store, slow_hub, "pull", "org/tiny")
    status_of_second, out, err = second.end()
    assert first.end()[:2] == (0, out)
    assert status_of_second == 0
    assert f"waiting for gsm node-store pull (process {first.process.pid})" in err
    assert "hf://org/tiny@" in err
    assert len([path for path in content_requests(slow_hub) if "model" in path or path.startswith("/repos")]) == 1
    assert check_visible(store) == 1


def test_two_processes_two_digests_that_share_a_file(
    store: Path, environment: dict[str, str], slow_hub: LocalHub, publish: Publish
) -> None:
    publish("org/tuned", {**FILES, "config.json": "[]"})
    slow_hub.rescan()
    first = Started(environment, store, slow_hub, "pull", "org/tiny")
    until_downloading(store)
    second = Started(environment, store, slow_hub, "pull", "org/tuned")
    assert second.end()[0] == first.end()[0] == 0
    sent = sum(each.sent for each in slow_hub.requests)
    assert sent < len(FILES["model.safetensors"]) + 100_000
    assert check_visible(store) == 2


@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["Ctrl-C", "SIGTERM"])
def test_an_interrupted_pull_keeps_what_it_has(
    store: Path, shell: Shell, environment: dict[str, str], hub: LocalHub, sent: signal.Signals, status: int
) -> None:
    with hub.faulty("slow", "*", at=1 << 20):
        pull = Started(environment, store, hub, "pull", "org/tiny")
        until_downloading(store)
        began = time.monotonic()
        pull.process.send_signal(sent)
        ended, out, _ = pull.end()
        assert (ended, out) == (status, "")
        assert time.monotonic() - began < 15
    assert visible(store) == []
    assert [name for name in os.listdir(store / "partial") if name.startswith("sha256-")]
    typed = Typed(shell, store, hub)
    (model,) = typed.json("ls")
    assert model["state"] == "Incomplete"
    typed("pull", "org/tiny")
    assert check_visible(store) == 1
    assert os.listdir(store / "partial") == []


def test_a_writer_that_is_there_to_stay_is_not_waited_for(store: Path, typed: Typed) -> None:
    typed("pull", "org/tiny")
    with Writer.start(store, Identity("gsm csi serve", lasting=True)):
        for command in (["gc"], ["pin", "0"], ["rm", "0"], ["verify", "--repair"]):
            if command[0] in ("rm", "pin"):
                command = [command[0], visible(store)[0]]
            _, err = typed(*command, status=32)
            assert "gsm csi serve" in err
        # What is here is answered all the same, and everything that only reads works.
        typed("pull", "org/tiny")
        for command in (["ls"], ["status"], ["gc", "--dry-run"], ["log"]):
            typed(*command)
        _, err = typed("verify")
        assert "gsm csi serve" in err


def test_capacity_is_refused_before_a_byte(store: Path, typed: Typed, hub: LocalHub) -> None:
    hub.forget()
    _, err = typed("pull", "org/tiny", "--high", 1, "--low", 0, status=22)
    assert "below the high watermark of 1%" in err
    assert content_requests(hub) == []
    assert os.listdir(store / "partial") == []
    with Store.open(store) as reader:
        assert reader.trees.digests() == []
