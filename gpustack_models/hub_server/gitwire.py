"""Owns git's smart HTTP ref advertisement, as bytes (gitprotocol-http, gitprotocol-pack).

Refuses packs: this hub is listed by git, and read over the hubs' own interfaces.
"""

from __future__ import annotations

from gpustack_models.hub_server.repository import Repository

ADVERTISEMENT = "application/x-git-upload-pack-advertisement"
RESULT = "application/x-git-upload-pack-result"
_CAPABILITIES = "multi_ack_detailed no-done side-band-64k thin-pack ofs-delta agent=git/gsm-local-hub"


def advertisement(repository: Repository, default: str) -> bytes:
    """What `GET …/info/refs?service=git-upload-pack` answers: HEAD, branches, tags, and what annotated tags mean."""
    branches = repository.branches_at(default)
    refs = [(f"refs/heads/{name}", commit) for name, commit in branches.items()]
    for name, tag in repository.tags.items():
        refs.append((f"refs/tags/{name}", tag.object))
        if tag.object != tag.commit:
            refs.append((f"refs/tags/{name}^{{}}", tag.commit))
    refs.sort()
    capabilities = _CAPABILITIES
    if default in branches:
        refs.insert(0, ("HEAD", branches[default]))
        capabilities += f" symref=HEAD:refs/heads/{default}"
    if not refs:
        refs = [("capabilities^{}", "0" * 40)]
    lines = [f"{commit} {name}" for name, commit in refs]
    lines[0] += f"\0{capabilities}"
    packets = b"".join(_packet(f"{line}\n".encode()) for line in lines)
    return _packet(b"# service=git-upload-pack\n") + b"0000" + packets + b"0000"


def refusal() -> bytes:
    """What `POST …/git-upload-pack` answers: git shows it as the remote's error."""
    return _packet(b"ERR the local hub gives no packs: download with hf, modelscope or gsm")


def _packet(line: bytes) -> bytes:
    return b"%04x" % (len(line) + 4) + line
