"""Owns what of a folder is served, and that nothing else is: links, special files, settings, what clients left."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpustack_models.errors import GsmError, Reason
from gpustack_models.hub_server import LocalHub, ServeOptions
from gpustack_models.hub_server.catalog import Catalog
from tests.integration.conftest import HubFactory, Publish, write_tree
from tests.integration.hub_server.clients import HTTP
from tests.integration.hub_server.shapes import VERSIONED, VERSIONS


def paths(hub: LocalHub, name: str = "org/model") -> list[str]:
    entries = HTTP.get(f"{hub.url}/api/models/{name}/tree/main?recursive=true").json()
    return [entry["path"] for entry in entries if entry["type"] == "file"]


def commit(hub: LocalHub, name: str = "org/model") -> str:
    sha = HTTP.get(f"{hub.url}/api/models/{name}/revision/main").json()["sha"]
    assert isinstance(sha, str)
    return sha


def test_only_the_content_is_served(publish: Publish, local_hub: HubFactory, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    outside = write_tree(tmp_path / "outside", {"file": "secret"})
    folder = publish(
        "org/model",
        {
            "config.json": "{}",
            ".gitignore": "*.tmp",
            "a/b/c.txt": "c",
            ".git/config": "secret",
            ".cache/huggingface/download/config.json.metadata": "x",
            "._____temp/x": "x",
            ".msc": "x",
            "half.bin.incomplete": "x",
        },
        "access: public\n",
    )
    (folder / "inside.json").symlink_to("config.json")
    (folder / "to-secret").symlink_to(secret)
    (folder / "to-outside").symlink_to(outside)
    (folder / "to-nothing").symlink_to("nowhere")
    (folder / "loop").symlink_to(folder)
    (folder / "new\nline").write_text("x")
    (folder / os.fsdecode(b"not-\xff-utf8")).write_text("x")
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(folder / "socket"))
        hub = local_hub()
        assert paths(hub) == [".gitignore", "a/b/c.txt", "config.json", "inside.json"]
    assert HTTP.get(f"{hub.url}/org/model/resolve/main/inside.json").text == "{}"


@pytest.mark.parametrize(
    "target",
    [
        "/org/model/resolve/main/gsm-repository.yaml",
        "/org/model/resolve/main/../../../secret",
        "/org/model/resolve/main/..%2f..%2f..%2fsecret",
        "/org/model/resolve/main/%2e%2e/%2e%2e/secret",
        "/org/model/resolve/main//etc/passwd",
        "/org/..%2fmodel/resolve/main/config.json",
        "/../resolve/main/secret",
        "/.hidden/model/resolve/main/config.json",
        "/org/model.git/resolve/main/config.json",
        "/api/models/..",
        "/api/models/../../etc",
        "/api/v1/models/../secret/repo?FilePath=secret",
        "/api/v1/models/org/model/repo?FilePath=../../../secret",
        "/api/v1/models/org/model/repo?FilePath=%00",
        "/org/link/resolve/main/file",
    ],
)
def test_no_path_leads_out(target: str, publish: Publish, local_hub: HubFactory, repositories: Path) -> None:
    publish("org/model", {"config.json": "{}"}, "access: public\n")
    publish(".hidden/model", {"config.json": "{}"})
    (repositories.parent / "secret").write_text("hidden words")
    write_tree(repositories.parent / "outside", {"file": "hidden words"})
    (repositories / "org" / "link").symlink_to(repositories.parent / "outside")
    hub = local_hub()
    authority = hub.url.removeprefix("http://")
    host, _, port = authority.partition(":")
    # A socket, because a client of any manners would tidy the path first.
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(f"GET {target} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.split(b" ", 2)[1] in {b"404", b"401", b"400"}
    assert not answer.endswith((b"{}", b"public\n"))
    assert b"hidden words" not in answer


@pytest.mark.parametrize(
    "path",
    [
        "api/models/org/model/revision/a%0D%0AX-Injected:%201",
        "api/models/org/model/revision/caf%C3%A9%00",
        "api/models/org/model/tree/main/a%0Ab",
        "org/model/resolve/%0D%0A/x",
        "api/v1/models/org/model/repo?FilePath=a%0D%0AX-Injected:%201",
        "api/v1/models/org%0D%0A/model/repo/files",
    ],
)
def test_nothing_asked_becomes_a_header(path: str, publish: Publish, local_hub: HubFactory) -> None:
    publish("org/model", {"config.json": "{}"})
    answer = HTTP.get(f"{local_hub().url}/{path}")
    assert answer.status_code == 404
    assert "X-Injected" not in answer.headers


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
def test_it_is_read_only(method: str, publish: Publish, local_hub: HubFactory) -> None:
    publish("org/model", {"config.json": "{}"})
    hub = local_hub()
    assert HTTP.request(method, f"{hub.url}/org/model/resolve/main/config.json").status_code == 405


def test_a_commit_is_its_content_and_nothing_else(publish: Publish, local_hub: HubFactory, tmp_path: Path) -> None:
    files = {"config.json": "{}", "a/weights.bin": "weights"}
    first = publish("org/model", files)
    publish("other/name", files)
    hub = local_hub()
    assert commit(hub) == commit(hub, "other/name")
    os.utime(first / "config.json", (1, 1))
    hub.rescan()
    assert commit(hub) == commit(hub, "other/name")


def test_a_second_write_in_one_tick_of_the_disks_clock_is_seen(publish: Publish, repositories: Path) -> None:
    folder = publish("org/model", {"config.json": "-"})
    moment = time.time_ns()
    catalog = Catalog(repositories, patience=60, wall_clock=lambda: moment)
    seen = set()
    for number in range(5):
        # Same size, same inode, same time: only the content is another.
        (folder / "config.json").write_text(str(number))
        os.utime(folder / "config.json", ns=(moment, moment))
        catalog.rescan()
        seen.add(catalog.repository("org/model").branches["main"])
    catalog.close()
    assert len(seen) == 5


def test_an_announced_change_is_seen_at_once(publish: Publish, local_hub: HubFactory) -> None:
    folder = publish("org/model", {"config.json": "{}"})
    hub = local_hub()
    before = commit(hub)
    (folder / "config.json").write_text("{ }")
    hub.rescan()
    assert commit(hub) != before


def test_a_change_on_disk_is_another_commit(publish: Publish, local_hub: HubFactory) -> None:
    folder = publish("org/model", {"config.json": "{}"})
    hub = local_hub()
    before = commit(hub)
    (folder / "config.json").write_text("{ }")
    until = time.monotonic() + 10
    while commit(hub) == before and time.monotonic() < until:
        time.sleep(0.1)
    assert commit(hub) != before
    assert HTTP.get(f"{hub.url}/api/models/org/model/revision/{before}").headers["X-Error-Code"] == "RevisionNotFound"


def test_bytes_that_changed_since_they_were_hashed_are_not_served(publish: Publish, local_hub: HubFactory) -> None:
    folder = publish("org/model", {"config.json": "{}"})
    hub = local_hub()
    url = f"{hub.url}/org/model/resolve/{commit(hub)}/config.json"
    (folder / "config.json").write_text("[]")
    refused = HTTP.get(url)
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
    assert "changed on disk" in refused.json()["error"]
    assert HTTP.get(url).status_code == 404


def test_a_folder_may_be_given_as_one_from_here(
    publish: Publish, repositories: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish("org/model", {"config.json": "{}"})
    monkeypatch.chdir(repositories.parent)
    with LocalHub(Path(repositories.name)) as hub:
        monkeypatch.chdir("/")
        assert paths(hub) == ["config.json"]
        assert HTTP.get(f"{hub.url}/org/model/resolve/main/config.json").text == "{}"


def test_a_repository_that_appears_is_served(publish: Publish, local_hub: HubFactory) -> None:
    hub = local_hub()
    assert hub.repositories() == []
    publish("org/late", {"config.json": "{}"})
    assert hub.repositories() == ["org/late"]
    assert paths(hub, "org/late") == ["config.json"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("commits: [{folder: ../other}]", "'../other' is not a folder inside"),
        ("commits: [{folder: /etc}]", "'/etc' is not a folder inside"),
        ("commits: [{folder: none}]", "'none' is not a folder inside"),
        ("acces: private", "acces: Extra inputs are not permitted"),
        ("access: secret", "access: Input should be 'public', 'private' or 'gated'"),
        ("commits: [{folder: v1, name: a}]\nbranches: {main: b}", "there is no commit named 'b'"),
        ("commits: [{folder: v1, name: a}, {folder: v2, name: a}]", "two commits have the same name"),
        ("[", "is not YAML"),
        ("- a", "the file: Input should be"),
    ],
)
def test_bad_settings_are_said_and_serve_nothing(
    settings: str, said: str, publish: Publish, local_hub: HubFactory
) -> None:
    publish("org/other", {"config.json": "{}"})
    publish("org/model", VERSIONS, settings)
    hub = local_hub()
    for path in ("api/models/org/model", "org/model/resolve/main/v1/config.json", "api/v1/models/org/model/repo/files"):
        answer = HTTP.get(f"{hub.url}/{path}")
        assert answer.status_code == 500
        assert said in answer.json()["error"]
    assert paths(hub, "org/other") == ["config.json"]


def test_versions_have_their_own_files(publish: Publish, local_hub: HubFactory) -> None:
    publish("org/model", VERSIONS, VERSIONED)
    hub = local_hub()
    assert paths(hub) == ["a/deep.json", "config.json"]
    assert HTTP.get(f"{hub.url}/org/model/resolve/heavy/config.json").text == "1"
    assert HTTP.get(f"{hub.url}/org/model/resolve/refs/pr/1/config.json").text == "1"
    assert HTTP.get(f"{hub.url}/org/model/resolve/refs%2Fpr%2F1/config.json").text == "1"


def test_lfs_follows_gitattributes_and_a_rule_without(publish: Publish, local_hub: HubFactory) -> None:
    large = b"0" * (10 << 20)
    publish("org/ruled", {".gitattributes": "*.txt filter=lfs\n", "a.txt": "x", "a.bin": "x", "large": large})
    publish("org/bare", {"a.txt": "x", "a.bin": "x", "large": large, "small": large[1:]})
    hub = local_hub()
    for name, expected in (("org/ruled", ["a.txt"]), ("org/bare", ["a.bin", "large"])):
        entries = HTTP.get(f"{hub.url}/api/models/{name}/tree/main").json()
        assert [entry["path"] for entry in entries if "lfs" in entry] == expected


def test_an_lfs_pointer_is_not_taken_for_its_content(publish: Publish, local_hub: HubFactory) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 5\n"
    publish("org/model", {"weights.bin": pointer})
    answer = HTTP.get(f"{local_hub().url}/api/models/org/model")
    assert answer.status_code == 500
    assert "weights.bin is a git LFS pointer" in answer.json()["error"]


def test_while_files_are_hashed_a_request_is_asked_to_come_back(publish: Publish, local_hub: HubFactory) -> None:
    folder = publish("org/large", {})
    folder.mkdir(parents=True)
    with (folder / "weights.bin").open("wb") as file:
        file.truncate(1 << 30)
    hub = local_hub(patience=0.05)
    answer = HTTP.get(f"{hub.url}/api/models/org/large")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
    assert "org/large is being hashed" in answer.json()["error"]
    until = time.monotonic() + 60
    while (answer := HTTP.get(f"{hub.url}/api/models/org/large")).status_code == 503 and time.monotonic() < until:
        time.sleep(0.1)
    assert answer.json()["usedStorage"] == 1 << 30


def test_a_folder_that_is_missing_or_a_port_that_is_taken(repositories: Path, local_hub: HubFactory) -> None:
    with pytest.raises(GsmError, match="is not a folder") as missing:
        LocalHub(repositories / "none")
    assert (missing.value.reason, bool(missing.value.hint)) == (Reason.NOT_FOUND, True)
    port = int(local_hub().url.rpartition(":")[2])
    with (
        pytest.raises(GsmError, match=f"port {port} of 127.0.0.1 is in use") as taken,
        LocalHub(ServeOptions(repositories, port=port)),
    ):
        pass
    assert taken.value.reason is Reason.INVALID_INPUT


@pytest.mark.parametrize(
    ("host", "port", "said"),
    [
        ("127.0.0.1", 65536, "a port is a number up to 65535"),
        ("192.0.2.1", 0, "Cannot assign requested address"),
    ],
)
def test_an_address_that_cannot_be_listened_on(host: str, port: int, said: str, repositories: Path) -> None:
    with pytest.raises(GsmError, match=said) as caught, LocalHub(ServeOptions(repositories, host=host, port=port)):
        pass
    assert (caught.value.reason, bool(caught.value.hint)) == (Reason.INVALID_INPUT, True)


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "localhost", "127.0.0.3"])
def test_any_address_of_this_machine(host: str, publish: Publish, repositories: Path) -> None:
    publish("org/model", {"weights.bin": "weights"})
    with LocalHub(ServeOptions(repositories, host=host)) as hub:
        answer = HTTP.get(f"{hub.url}/org/model/resolve/main/weights.bin", follow_redirects=True)
        assert answer.text == "weights"
        assert [request.origin for request in hub.requests] == ["hub", "cdn"]


@pytest.mark.parametrize(
    ("text", "reason", "said"),
    [
        (None, Reason.NOT_FOUND, "does not exist"),
        ("[", Reason.INVALID_INPUT, "is not YAML"),
        ("alice: hf_planted", Reason.INVALID_INPUT, "is not understood at alice, tokens"),
        ("tokens: {alice: 'hf_planted two'}", Reason.INVALID_INPUT, "is not understood at tokens"),
        ('tokens: {alice: "hf_planted\\n"}', Reason.INVALID_INPUT, "is not understood at tokens"),
        ("tokens: {alice: 5}", Reason.INVALID_INPUT, "is not understood at tokens"),
        ("tokens: hf_planted", Reason.INVALID_INPUT, "is not understood at tokens"),
    ],
    ids=["missing", "not yaml", "another shape", "two words", "a line end", "a number", "no users"],
)
def test_an_unreadable_tokens_file_is_said_and_never_quoted(
    text: str | None, reason: Reason, said: str, repositories: Path, tmp_path: Path
) -> None:
    file = tmp_path / "tokens.yaml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(GsmError, match=said) as caught:
        LocalHub(ServeOptions(repositories, tokens_file=file))
    assert caught.value.reason is reason
    assert "hf_planted" not in f"{caught.value}{caught.value.hint}"


def test_a_tokens_file_says_who_reads(publish: Publish, repositories: Path, tmp_path: Path) -> None:
    publish("org/model", {"config.json": "{}"}, "access: private\nreaders: [alice]\n")
    file = tmp_path / "tokens.yaml"
    file.write_text("tokens:\n  alice: [hf_one, hf_two]\n  bob: hf_three\n")
    with LocalHub(ServeOptions(repositories, tokens_file=file)) as hub:
        answers = {
            token: HTTP.get(f"{hub.url}/api/models/org/model", headers={"Authorization": f"Bearer {token}"}).status_code
            for token in ("hf_one", "hf_two", "hf_three", "hf_none")
        }
    assert answers == {"hf_one": 200, "hf_two": 200, "hf_three": 404, "hf_none": 401}


def test_without_its_extra_it_says_which_one_to_install(repositories: Path) -> None:
    script = f"""
import sys
sys.modules["uvicorn"] = None  # as in an installation without it
from pathlib import Path
from gpustack_models.errors import GsmError
from gpustack_models.hub_server import LocalHub
try:
    LocalHub(Path({str(repositories)!r})).__enter__()
except GsmError as error:
    print(error.reason, error.hint)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "MissingExtra pip install 'gpustack-models[hub]'"
