"""Owns the server of the download benchmarks: nginx with sendfile on loopback, dressed as a Hugging Face hub.

Refuses to be in the way: listings are files, redirects a map, and bytes go from the page cache to the socket.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.material import FOLDER, Tree
from gpustack_models.core.manifest import Algorithm
from gpustack_models.store.hashing import HashJob, hash_files

OWNER = "bench"

_CONFIG = """\
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
  access_log off;
  default_type application/octet-stream;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000;
  client_body_temp_path {folder}/tmp1;
  proxy_temp_path {folder}/tmp2;
  fastcgi_temp_path {folder}/tmp3;
  uwsgi_temp_path {folder}/tmp4;
  scgi_temp_path {folder}/tmp5;
  map_hash_max_size 65536;
  map_hash_bucket_size 256;
  map $uri $content_id {{ default ""; include {folder}/ids.map; }}
  map $uri $content_size {{ default ""; include {folder}/sizes.map; }}
  map $uri $is_lfs {{ default ""; include {folder}/lfs.map; }}
  server {{
    listen 127.0.0.1:{port} backlog=512;
    location /api/ {{ root {folder}; default_type application/json; try_files $uri.json =404; }}
    location ~ ^/bench/(?<repo>[^/]+)/resolve/[^/]+/(?<file>.+)$ {{
      etag off;
      add_header X-Repo-Commit $repo_commit;
      if ($is_lfs) {{
        add_header X-Repo-Commit $repo_commit;
        add_header X-Linked-ETag '"$content_id"';
        add_header X-Linked-Size $content_size;
        add_header ETag '"$content_id"';
        return 302 http://127.0.0.1:{cdn}/$repo/$file?X-Signature=of-the-benchmark;
      }}
      add_header ETag '"$content_id"';
      alias {trees}/$repo/$file;
    }}
  }}
  map $repo $repo_commit {{ default ""; include {folder}/commits.map; }}
  server {{ listen 127.0.0.1:{cdn} backlog=512; root {trees}; }}
}}
"""


@dataclass(frozen=True)
class Server:
    """A running server: the hub's endpoint, and the origin of the bytes themselves."""

    endpoint: str
    cdn: str


@contextmanager
def serving(trees: Sequence[Tree]) -> Iterator[Server]:
    """Serve trees as repositories `bench/<name>` until the block ends."""
    if shutil.which("nginx") is None:
        raise RuntimeError("the download benchmarks need nginx: apt-get install nginx-light")
    folder = FOLDER / "nginx"
    folder.mkdir(parents=True, exist_ok=True)
    for tree in trees:
        tree.make()
    _write_api(folder, trees)
    port, cdn = _free_port(), _free_port()
    config = folder / "nginx.conf"
    config.write_text(_CONFIG.format(folder=folder, trees=FOLDER / "trees", port=port, cdn=cdn))
    process = subprocess.Popen(["nginx", "-e", folder / "error.log", "-c", config], stderr=subprocess.DEVNULL)
    try:
        _await(port, process)
        yield Server(f"http://127.0.0.1:{port}", f"http://127.0.0.1:{cdn}")
    finally:
        process.terminate()
        process.wait()


def _write_api(folder: Path, trees: Sequence[Tree]) -> None:
    ids, sizes, lfs, commits = [], [], [], []
    for tree in trees:
        commits.append(f"{tree.name} {tree.commit};")
        entries = _entries(tree)
        for entry in entries:
            uri = f"/{OWNER}/{tree.name}/resolve/{tree.commit}/{entry['path']}"
            ids.append(f"{uri} {entry['content']};")
            sizes.append(f"{uri} {entry['size']};")
            if tree.lfs:
                lfs.append(f"{uri} 1;")
        base = folder / "api" / "models" / OWNER / tree.name
        for revision in ("main", tree.commit):
            info = {
                "id": f"{OWNER}/{tree.name}",
                "modelId": f"{OWNER}/{tree.name}",
                "sha": tree.commit,
                "private": False,
                "siblings": [{"rfilename": path} for path in tree.paths()],
            }
            _put(base / "revision" / f"{revision}.json", info)
            told = [{key: value for key, value in entry.items() if key != "content"} for entry in entries]
            _put(base / "tree" / f"{revision}.json", told)
    for name, lines in (("ids", ids), ("sizes", sizes), ("lfs", lfs), ("commits", commits)):
        (folder / f"{name}.map").write_text("\n".join(lines) + "\n")


def _entries(tree: Tree) -> list[dict[str, object]]:
    saved = FOLDER / "trees" / f"{tree.name}.entries.json"
    if saved.exists():
        entries: list[dict[str, object]] = json.loads(saved.read_text())
        return entries
    algorithm = Algorithm.SHA256 if tree.lfs else Algorithm.GITSHA1
    hashed = hash_files([HashJob(path, (algorithm,)) for path in tree.paths()], tree.folder)
    entries = []
    for one in hashed:
        entry: dict[str, object] = {"type": "file", "path": one.job.path, "size": one.size}
        entry["content"] = one.digests[0].hex
        if tree.lfs:
            pointer = hashlib.sha1(one.job.path.encode()).hexdigest()
            entry |= {"oid": pointer, "lfs": {"oid": one.digests[0].hex, "size": one.size, "pointerSize": 135}}
        else:
            entry |= {"oid": one.digests[0].hex}
        entries.append(entry)
    _put(saved, entries)
    return entries


def _put(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _await(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if process.poll() is not None:
            break
        time.sleep(0.05)
    raise RuntimeError(f"nginx did not start; see {FOLDER / 'nginx' / 'error.log'} (pid {os.getpid()})")
