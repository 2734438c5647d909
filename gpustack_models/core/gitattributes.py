"""Owns which paths git keeps in LFS: the `.gitattributes` files of a folder, read as git reads them.

Refuses I/O, and every attribute but `filter`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

#: git ignores a longer line (attr.h, ATTR_MAX_LINE_LENGTH).
_MAX_LINE = 2048
_SPACES = b" \t\r\n"
_QUOTED = re.compile(rb'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(rb"\\([abfnrtv\"\\]|[0-3][0-7][0-7]|.)", re.DOTALL)
_ESCAPES = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
_CLASSES = {
    b"alnum": b"0-9A-Za-z",
    b"alpha": b"A-Za-z",
    b"blank": b" \\t",
    b"cntrl": b"\\x00-\\x1f\\x7f",
    b"digit": b"0-9",
    b"graph": b"!-~",
    b"lower": b"a-z",
    b"print": b" -~",
    b"punct": b"!-/:-@\\[-`{-~",
    b"space": b"\\t-\\r ",
    b"upper": b"A-Z",
    b"xdigit": b"0-9A-Fa-f",
}
_ATTRIBUTE_NAME = re.compile(rb"[A-Za-z0-9_.][-A-Za-z0-9_.]*")


@dataclass(frozen=True, slots=True)
class _Rule:
    """A pattern below a folder and what it says of `filter`: True is lfs, False anything else."""

    regex: bytes
    lfs: bool


def lfs_paths(text: str) -> Callable[[str], bool]:
    """Which paths, relative to the `.gitattributes` file's own folder, are LFS files by its `filter` rules.

    The last matching rule wins; `-filter` and `!filter` take a path out again.
    """
    return lfs_paths_of([("", text)])


def lfs_paths_of(files: Iterable[tuple[str, str]]) -> Callable[[str], bool]:
    """The same for several files, given as (folder below the root, text); a deeper file wins over an upper one.

    As in git, macros (`[attr]name …`) are taken from the root's file alone.
    """
    ordered = sorted(files, key=lambda file: file[0].count("/") + bool(file[0]))
    macros = _macros(next((text for folder, text in ordered if not folder), ""))
    rules = [rule for folder, text in ordered for rule in _rules(folder, text, macros)]
    # Neighbours that say the same are one expression: a listing of 100,000 paths meets few of them.
    groups: list[tuple[bool, list[bytes]]] = []
    for rule in reversed(rules):
        if not groups or groups[-1][0] is not rule.lfs:
            groups.append((rule.lfs, []))
        groups[-1][1].append(rule.regex)
    compiled = [(lfs, re.compile(b"|".join(regexes), re.DOTALL).fullmatch) for lfs, regexes in groups]

    def is_lfs(path: str) -> bool:
        name = path.encode("utf-8", "surrogateescape")
        return next((lfs for lfs, matches in compiled if matches(name)), False)

    return is_lfs


def has_lfs_rules(text: str) -> bool:
    """Whether a `.gitattributes` file sends anything to LFS."""
    return any(rule.lfs for rule in _rules("", text, _macros(text)))


def _lines(text: str) -> Iterable[tuple[bytes, list[bytes]]]:
    """The pattern and the attributes of each line that git reads."""
    data = text.encode("utf-8", "surrogateescape").removeprefix(b"\xef\xbb\xbf")
    for line in data.split(b"\n"):
        stripped = line.lstrip(_SPACES)
        if not stripped or stripped.startswith(b"#") or len(line) >= _MAX_LINE:
            continue
        pattern, rest = _pattern_of(stripped)
        attributes = rest.split()
        if all(_ATTRIBUTE_NAME.fullmatch(word.lstrip(b"-!").partition(b"=")[0]) for word in attributes):
            yield pattern, attributes


def _pattern_of(line: bytes) -> tuple[bytes, bytes]:
    if quoted := _QUOTED.match(line):
        escapes = [match[1] for match in _ESCAPE.finditer(quoted[1])]
        if all(escape in _ESCAPES or escape in (b'"', b"\\") or len(escape) == 3 for escape in escapes):
            return _ESCAPE.sub(_unescape, quoted[1]), line[quoted.end() :]
    word = line.split(None, 1)[0]
    return word, line[len(word) :]


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return bytes([int(code, 8)]) if len(code) == 3 else _ESCAPES.get(code, code)


def _macros(text: str) -> dict[bytes, bool]:
    """What each macro says of `filter`, for the macros that speak of it."""
    macros: dict[bytes, bool] = {}
    for pattern, attributes in _lines(text):
        if pattern.startswith(b"[attr]"):
            said = _filter_of(attributes, macros)
            macros.pop(pattern[6:], None)
            if said is not None:
                macros[pattern[6:]] = said
    return macros


def _filter_of(attributes: Iterable[bytes], macros: dict[bytes, bool]) -> bool | None:
    """What a line's attributes say of `filter`: True lfs, False something else, None nothing. The last one wins."""
    said: bool | None = None
    for attribute in attributes:
        if attribute.lstrip(b"-!").partition(b"=")[0] == b"filter":
            said = attribute == b"filter=lfs"
        elif attribute in macros:
            said = macros[attribute]
    return said


def _rules(folder: str, text: str, macros: dict[bytes, bool]) -> Iterable[_Rule]:
    prefix = re.escape(folder.encode("utf-8", "surrogateescape") + b"/") if folder else b""
    for pattern, attributes in _lines(text):
        said = _filter_of(attributes, macros)
        # A negative pattern is forbidden, and one for folders only says nothing of a file.
        if said is None or pattern.startswith((b"!", b"[attr]")) or pattern.endswith(b"/"):
            continue
        body = _regex_of(pattern.removeprefix(b"/"))
        if body is not None:
            anywhere = b"" if b"/" in pattern else b"(?:.*/)?"
            yield _Rule(prefix + anywhere + body, said)


def _regex_of(pattern: bytes) -> bytes | None:
    """git's wildcards as a regular expression, or None for a pattern that matches nothing."""
    out: list[bytes] = []
    position = 0
    while position < len(pattern):
        char = pattern[position : position + 1]
        if char == b"*":
            piece, position = _stars(pattern, position)
        elif char == b"?":
            piece, position = b"[^/]", position + 1
        elif char == b"[":
            found = _bracket(pattern, position + 1)
            if found is None:
                return None
            piece, position = found
        elif char == b"\\":
            if position + 1 == len(pattern):
                return None
            piece, position = re.escape(pattern[position + 1 : position + 2]), position + 2
        else:
            piece, position = re.escape(char), position + 1
        out.append(piece)
    return b"".join(out)


def _stars(pattern: bytes, start: int) -> tuple[bytes, int]:
    end = start
    while pattern[end : end + 1] == b"*":
        end += 1
    whole = end - start > 1 and pattern[start - 1 : start] in (b"", b"/") and pattern[end : end + 1] in (b"", b"/")
    if not whole:
        return b"[^/]*", end
    return (b".*", end) if end == len(pattern) else (b"(?:.*/)?", end + 1)


def _bracket(pattern: bytes, start: int) -> tuple[bytes, int] | None:
    """A bracket expression after its `[`, as a class that never matches a slash; None when it is not closed."""
    position = start
    negated = pattern[position : position + 1] in (b"!", b"^")
    position += negated
    members: list[bytes] = []
    first = True
    while first or pattern[position : position + 1] != b"]":
        first = False
        if pattern.startswith(b"[:", position) and (end := pattern.find(b":]", position)) > 0:
            name = pattern[position + 2 : end]
            if name not in _CLASSES:
                return None
            members.append(_CLASSES[name])
            position = end + 2
            continue
        low, position = _member(pattern, position)
        if not low:
            return None
        if pattern[position : position + 1] == b"-" and pattern[position + 1 : position + 2] not in (b"", b"]"):
            high, position = _member(pattern, position + 1)
            if not high:
                return None
            if low <= high:
                members.append(b"%s-%s" % (_hex(low), _hex(high)))
        else:
            members.append(_hex(low))
    inside = b"".join(members)
    if negated:
        return (b"[^/%s]" % inside, position + 1)
    return (b"(?!/)[%s]" % inside if inside else b"(?!)", position + 1)


def _member(pattern: bytes, position: int) -> tuple[bytes, int]:
    if pattern[position : position + 1] == b"\\":
        position += 1
    return pattern[position : position + 1], position + 1


def _hex(char: bytes) -> bytes:
    return b"\\x%02x" % char[0]
