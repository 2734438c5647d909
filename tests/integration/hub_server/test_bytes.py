"""Owns how the local hub's bytes travel: ranges, entity tags, signed links, and where a token goes."""

from __future__ import annotations

import hashlib
import random
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from gpustack_models.hub_server import LocalHub
from tests.integration.conftest import TOKENS, HubFactory, Publish, write_tree
from tests.integration.hub_server.clients import HTTP, environment, run
from tests.integration.hub_server.shapes import closed

CONTENT = random.Random(7).randbytes(300_000)
PATHS = {
    "plain, hugging face": "/org/bytes/resolve/main/plain.txt",
    "lfs, hugging face": "/org/bytes/resolve/main/weights.bin",
    "plain, modelscope": "/api/v1/models/org/bytes/repo?Revision=master&FilePath=plain.txt",
    "lfs, modelscope": "/api/v1/models/org/bytes/repo?Revision=master&FilePath=weights.bin",
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalHub]:
    folder = tmp_path_factory.mktemp("repositories")
    files = {"plain.txt": CONTENT, "weights.bin": CONTENT, "empty.txt": b"", "empty.bin": b""}
    write_tree(folder / "org" / "bytes", files)
    with LocalHub(folder) as hub:
        yield hub


@pytest.fixture
def hub(served: LocalHub) -> LocalHub:
    served.forget()
    return served


def get(hub: LocalHub, path: str, **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return HTTP.get(hub.url + path, headers=named, follow_redirects=True)


RANGES: dict[str, tuple[str, int, bytes, str]] = {
    "first bytes": ("bytes=0-9", 206, CONTENT[:10], "bytes 0-9/300000"),
    "to the end": ("bytes=299990-", 206, CONTENT[-10:], "bytes 299990-299999/300000"),
    "beyond the end": ("bytes=299990-400000", 206, CONTENT[-10:], "bytes 299990-299999/300000"),
    "the last bytes": ("bytes=-10", 206, CONTENT[-10:], "bytes 299990-299999/300000"),
    "more last bytes than there are": ("bytes=-400000", 206, CONTENT, "bytes 0-299999/300000"),
    "all": ("bytes=0-", 206, CONTENT, "bytes 0-299999/300000"),
    "at the end": ("bytes=300000-", 416, b"", "bytes */300000"),
    "no last bytes": ("bytes=-0", 416, b"", "bytes */300000"),
    "backwards": ("bytes=10-5", 200, CONTENT, ""),
    "several": ("bytes=0-1,5-6", 200, CONTENT, ""),
    "another unit": ("lines=0-1", 200, CONTENT, ""),
    "nonsense": ("bytes=a-b", 200, CONTENT, ""),
}


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
@pytest.mark.parametrize(("asked", "status", "content", "answered"), RANGES.values(), ids=RANGES)
def test_ranges(hub: LocalHub, path: str, asked: str, status: int, content: bytes, answered: str) -> None:
    response = get(hub, path, Range=asked)
    assert (response.status_code, response.headers.get("Content-Range", "")) == (status, answered)
    assert response.content == content
    assert int(response.headers["Content-Length"]) == len(content)


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_entity_tags(hub: LocalHub, path: str) -> None:
    etag = get(hub, path).headers["ETag"]
    assert etag.startswith('"')
    assert get(hub, path, Range="bytes=0-9", If_Range=etag).status_code == 206
    assert get(hub, path, Range="bytes=0-9", If_Range='"other"').content == CONTENT
    assert get(hub, path, If_None_Match=etag).status_code == 304


@pytest.mark.parametrize("name", ["empty.txt", "empty.bin"])
def test_an_empty_file(hub: LocalHub, name: str) -> None:
    response = get(hub, f"/org/bytes/resolve/main/{name}")
    assert (response.status_code, response.content) == (200, b"")
    assert get(hub, f"/org/bytes/resolve/main/{name}", Range="bytes=0-").status_code == 416


def test_head_has_what_a_client_needs(hub: LocalHub) -> None:
    plain = HTTP.head(f"{hub.url}/org/bytes/resolve/main/plain.txt")
    assert (plain.status_code, plain.headers["Content-Length"]) == (200, "300000")
    weights = HTTP.head(f"{hub.url}/org/bytes/resolve/main/weights.bin")
    sha256 = hashlib.sha256(CONTENT).hexdigest()
    assert weights.status_code == 302
    assert weights.headers["X-Linked-ETag"] == f'"{sha256}"'
    assert weights.headers["X-Linked-Size"] == "300000"
    assert plain.headers["X-Repo-Commit"] == weights.headers["X-Repo-Commit"]
    assert not {name for name in (*plain.headers, *weights.headers) if "xet" in name}
    assert [request.sent for request in hub.requests] == [0, 0]


def test_without_redirects_the_hub_has_the_bytes(publish: Publish, local_hub: HubFactory, tmp_path: Path) -> None:
    publish("org/direct", {"weights.bin": CONTENT})
    hub = local_hub(redirect=False)
    for program, folder in (("hf", "--local-dir"), ("modelscope", "--local_dir")):
        got = tmp_path / program
        done = run(environment(hub, tmp_path), program, "download", "org/direct", folder, str(got))
        assert done.returncode == 0, done.stderr
        assert (got / "weights.bin").read_bytes() == CONTENT
    assert {request.origin for request in hub.requests} == {"hub"}


def test_a_link_is_signed_bound_to_its_file_and_over_in_time(publish: Publish, local_hub: HubFactory) -> None:
    publish("org/bytes", {"weights.bin": CONTENT, "other.bin": b"other"})
    hub = local_hub()
    link, other = (
        httpx.URL(HTTP.head(f"{hub.url}/org/bytes/resolve/main/{name}").headers["Location"])
        for name in ("weights.bin", "other.bin")
    )
    assert HTTP.get(link).content == CONTENT
    assert HTTP.get(link.copy_with(path=other.path)).status_code == 403
    assert HTTP.get(link.copy_set_param("Expires", "9999999999")).status_code == 403
    assert HTTP.get(link.copy_remove_param("Signature")).status_code == 403
    expired = local_hub(link_seconds=-1)
    over = HTTP.head(f"{expired.url}/org/bytes/resolve/main/weights.bin").headers["Location"]
    assert (HTTP.get(over).status_code, "expired" in HTTP.get(over).text) == (403, True)


def test_a_token_at_the_cdn_is_an_error(hub: LocalHub) -> None:
    link = HTTP.head(f"{hub.url}/org/bytes/resolve/main/weights.bin").headers["Location"]
    refused = HTTP.get(link, headers={"Authorization": f"Bearer {TOKENS['alice']}"})
    assert refused.status_code == 400
    assert hub.requests[-1].authorized


@pytest.mark.parametrize("program", ["hf", "modelscope"])
def test_clients_keep_their_token_to_the_hub(
    program: str, publish: Publish, local_hub: HubFactory, tmp_path: Path
) -> None:
    publish("org/private", {"weights.bin": CONTENT}, closed("private"))
    hub = local_hub()
    done = run(environment(hub, tmp_path, TOKENS["alice"]), program, "download", "org/private")
    assert done.returncode == 0, done.stderr
    # The same look finds the token where it belongs, so it would find it at the CDN.
    assert {request.authorized for request in hub.requests if "org/private" in request.path} == {True}
    assert [request.authorized for request in hub.requests if request.origin == "cdn"] == [False]
    assert TOKENS["alice"] not in "".join(repr((request, request.headers)) for request in hub.requests)


def test_many_clients_at_once_get_their_own_bytes(publish: Publish, local_hub: HubFactory) -> None:
    contents = {f"{number}.bin": random.Random(number).randbytes(2_000_000 + number) for number in range(12)}
    publish("org/many", contents)
    hub = local_hub()
    got: dict[str, bytes] = {}

    def fetch(name: str) -> None:
        got[name] = get(hub, f"/org/many/resolve/main/{name}").content

    threads = [threading.Thread(target=fetch, args=(name,)) for name in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == contents
    assert sorted(request.sent for request in hub.requests if request.origin == "cdn") == sorted(
        len(content) for content in contents.values()
    )


def test_behind_a_proxy_that_ended_tls_the_pages_lead_back_to_it(publish: Publish, local_hub: HubFactory) -> None:
    publish("org/long", {f"{number}.json": "{}" for number in range(3)})
    url = f"{local_hub(page_size=2).url}/api/models/org/long/tree/main"
    forwarded = HTTP.get(url, headers={"X-Forwarded-Proto": "https", "Host": "models.internal"})
    assert forwarded.headers["Link"].startswith("<https://models.internal/api/models/org/long/tree/main?")
    assert HTTP.get(url).headers["Link"].startswith(f"<{url}?")
