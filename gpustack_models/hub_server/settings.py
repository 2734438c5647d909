"""Owns the two files a local hub reads beside the models: a repository's settings, and the tokens of its users.

Refuses a field it does not know, and keeping a token: only its SHA-256 stays in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from gpustack_models.core import documents
from gpustack_models.core.yamlbuilder import DocumentError
from gpustack_models.errors import GsmError, Reason
from gpustack_models.hub_server.repository import Access
from gpustack_models.hub_server.wire import Caller, TokenState

SETTINGS_FILE = "gsm-repository.yaml"
_MAX_BYTES = 1 << 20


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class CommitSettings(_Model):
    """One commit: the folder that holds its files (relative to the settings file, or absolute), and its message."""

    folder: str
    message: str = "Files of a folder"
    name: str = ""


class TagSettings(_Model):
    """An annotated tag."""

    commit: str
    message: str = Field(min_length=1)


class RepositorySettings(_Model):
    """`gsm-repository.yaml`. Commits are oldest first, each the parent of the next, and are named by `name`."""

    access: Access = Field(default=Access.PUBLIC, strict=False)
    readers: tuple[str, ...] = Field(default=(), strict=False)
    commits: tuple[CommitSettings, ...] = Field(default=(), strict=False)
    branches: dict[str, str] = Field(default_factory=dict)
    tags: dict[str, str | TagSettings] = Field(default_factory=dict)
    pull_requests: dict[Annotated[int, Field(strict=False)], str] = Field(default_factory=dict)

    @field_validator("readers", mode="before")
    @classmethod
    def _one_reader(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value


#: What a header can carry as a token, so that a file cannot promise what no client could send.
_Token = Annotated[str, Field(pattern=r"^[!-~]{1,512}$")]


class _TokensFile(_Model):
    tokens: dict[Annotated[str, Field(min_length=1)], _Token | list[_Token]]


class Tokens:
    """The users of a hub, by their tokens."""

    def __init__(self, users: Mapping[str, str | list[str]] | None = None) -> None:
        self._names: dict[bytes, str] = {}
        for name, tokens in (users or {}).items():
            for token in [tokens] if isinstance(tokens, str) else tokens:
                self._names[_hash(token)] = name

    @classmethod
    def read(cls, path: Path) -> Tokens:
        """Read a tokens file: `tokens:` with a token, or a list of them, for each user name.

        Raises GsmError(InvalidInput, NotFound) without ever quoting the file.
        """
        try:
            parsed = _TokensFile.model_validate(_load_yaml(path) or {})
        except ValidationError as error:
            where = ", ".join(sorted({str(item["loc"][0]) for item in error.errors() if item["loc"]})) or "the file"
            raise GsmError(
                Reason.INVALID_INPUT,
                f"tokens file {path} is not understood at {where}",
                hint="write `tokens:` and below it one `user: token` a line",
            ) from None
        return cls(parsed.tokens)

    def caller(self, token: str | None) -> Caller:
        """Who presents a token."""
        if not token:
            return Caller()
        name = self._names.get(_hash(token))
        return Caller(TokenState.ACCEPTED, name) if name else Caller(TokenState.REJECTED)


def read_settings(path: Path) -> RepositorySettings:
    """Read a repository's settings file. Raises GsmError(InvalidInput) that names the field."""
    try:
        settings = RepositorySettings.model_validate(_load_yaml(path) or {})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise _bad(path, f"{where or 'the file'}: {first['msg']}") from None
    names = {commit.name or str(number) for number, commit in enumerate(settings.commits, 1)}
    if len(names) != len(settings.commits):
        raise _bad(path, "two commits have the same name")
    tags = (tag if isinstance(tag, str) else tag.commit for tag in settings.tags.values())
    for named in (*settings.branches.values(), *tags, *settings.pull_requests.values()):
        if named not in names:
            raise _bad(path, f"there is no commit named {named!r}")
    return settings


def _bad(path: Path, problem: str) -> GsmError:
    return GsmError(Reason.INVALID_INPUT, f"{path}: {problem}", hint="docs/local-hub.md shows a whole one")


def _load_yaml(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise _bad(path, f"it is larger than {_MAX_BYTES} bytes")
        values = [document.value for document in documents.read(data, str(path))]
    except FileNotFoundError:
        raise GsmError(Reason.NOT_FOUND, f"{path} does not exist") from None
    except OSError as error:
        raise GsmError(Reason.INVALID_INPUT, f"{path} cannot be read: {error.strerror}") from None
    except DocumentError as error:
        # The parser's own message may quote the file, and a tokens file must never be quoted.
        raise GsmError(Reason.INVALID_INPUT, f"{path} is not YAML (line {error.position.line})") from None
    if len(values) > 1:
        raise _bad(path, "it holds more than one document")
    return values[0] if values else None


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
