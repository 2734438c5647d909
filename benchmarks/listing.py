"""Measures a listing of 100,000 files over 100 pages, up to the checked manifest, against only fetching and parsing it.

Refuses the network: a server process on loopback says prepared bytes.
"""

from __future__ import annotations

import json
import random
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from benchmarks.inprocess import interleave, table

ROUNDS = 15
PAGES, PAGE_SIZE = 100, 1000
COMMIT = "0" * 40
BASE = "a loop: httpx, json"


def page(number: int) -> bytes:
    """One page of a tree as the hub sends it: half of the files in LFS, and of those each with its other hash."""
    dice = random.Random(number)
    entries = []
    for index in range(number * PAGE_SIZE, (number + 1) * PAGE_SIZE):
        entry: dict[str, object] = {
            "type": "file",
            "oid": f"{dice.getrandbits(160):040x}",
            "size": dice.randrange(1 << 32),
            "path": f"shards/part-{index // 1000:03}/model-{index:06}-of-100000.safetensors",
        }
        if index % 2:
            entry["lfs"] = {"oid": f"{dice.getrandbits(256):064x}", "size": entry["size"], "pointerSize": 134}
            entry["xetHash"] = f"{dice.getrandbits(256):064x}"
        entries.append(entry)
    return json.dumps(entries, separators=(",", ":")).encode()


def serve() -> None:
    """Say prepared answers, and on the first line of output the port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        answers = [_answer(number, port) for number in range(PAGES)]
        print(port, flush=True)
        while True:
            sock, _ = listener.accept()
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=_converse, args=(sock, answers), daemon=True).start()


def _answer(number: int, port: int) -> bytes:
    body = page(number)
    url = f"http://127.0.0.1:{port}/api/models/org/model/tree/{COMMIT}?recursive=true&cursor={number + 1}"
    link = f'Link: <{url}>; rel="next"\r\n' if number + 1 < PAGES else ""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{link}\r\n"
    return head.encode() + body


def _converse(sock: socket.socket, answers: list[bytes]) -> None:
    with sock:
        while request := sock.recv(65536):
            while b"\r\n\r\n" not in request:
                request += sock.recv(65536)
            target = request.split(b" ", 2)[1]
            _, _, cursor = target.partition(b"cursor=")
            sock.sendall(answers[int(cursor.split(b"&")[0] or 0)])


@contextmanager
def server() -> Iterator[str]:
    """The server as a process of its own; its address."""
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.listing"], stdout=subprocess.PIPE, text=True)
    try:
        if process.stdout is None:
            raise RuntimeError("the server has no output")
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.terminate()
        process.wait()
        if process.stdout:
            process.stdout.close()


def cases(endpoint: str) -> dict[str, Callable[[], object]]:
    """What is compared: loops that keep nothing, our listing, and the hub's own client."""
    import httpx
    import urllib3
    from huggingface_hub import HfApi

    from gpustack_models.core.manifest import Manifest
    from gpustack_models.hubs.http import HttpClient
    from gpustack_models.hubs.huggingface import HuggingFace

    first = f"{endpoint}/api/models/org/model/tree/{COMMIT}?recursive=true"

    def with_httpx() -> int:
        listed = 0
        with httpx.Client(trust_env=False) as client:
            url = first
            while url:
                answer = client.get(url)
                listed += len(answer.json())
                url = answer.links.get("next", {}).get("url", "")
        return listed

    def with_urllib3() -> int:
        listed = 0
        with urllib3.PoolManager() as pool:
            url = first
            while url:
                answer = pool.request("GET", url)
                listed += len(json.loads(answer.data))
                url = answer.headers.get("Link", "<>").split(">")[0][1:]
        return listed

    def ours(then: Callable[[Manifest], object] | None) -> object:
        with HttpClient() as http:
            entries = HuggingFace(http, endpoint).list("org/model", COMMIT)
        return then(Manifest.of(entries)) if then else entries

    def with_their_client() -> int:
        api = HfApi(endpoint=endpoint, token=False)
        return sum(1 for _ in api.list_repo_tree("org/model", revision=COMMIT, recursive=True))

    return {
        BASE: with_httpx,
        "a loop: urllib3, json": with_urllib3,
        "gsm: the listing": lambda: ours(None),
        "gsm: the checked manifest": lambda: ours(lambda manifest: manifest),
        "gsm: its digest": lambda: ours(lambda manifest: manifest.digest),
        "huggingface_hub: list_repo_tree": with_their_client,
    }


def run(rounds: int) -> str:
    """Measure, and say what was measured."""
    with server() as endpoint:
        samples = interleave(cases(endpoint), rounds)
    return (
        f"## A listing of {PAGES * PAGE_SIZE:,} files over {PAGES} pages\n\n"
        f"Speeds in one process, beside {BASE} that keeps nothing (1.00). The checked manifest is the listing "
        f"checked and sorted; its digest is what `gsm resolve` prints.\n\n{table(samples, BASE)}"
    )


if __name__ == "__main__":
    serve()
