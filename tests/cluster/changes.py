"""Owns how objects are invented for the agreement of the rules: a whole object with a few of its parts changed.

Refuses noise: nearly every part stays valid, so that a refusal is about the part that was changed.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

from gpustack_models.core.kubetypes import SOURCES
from gpustack_models.core.paths import Path
from gpustack_models.core.setting import BY_NAME
from tests.resources import DIGEST, Object

#: Texts at the edges of the forms: names, paths, URLs, references, digests, durations, quantities.
EDGES = (
    *(
        "",
        "a",
        "A",
        "a-b",
        "-a",
        "a-",
        "a.b",
        "a..b",
        "a--b",
        "a/b",
        "/a",
        "a/",
        "a//b",
        "a/../b",
        "../a",
        ".",
        "..",
        "...",
    ),
    *(
        " ",
        " a",
        "a b",
        "a\nb",
        "\x00",
        "a\x7f",
        "é",
        "𝒳",
        ":",
        "a:b",
        "@",
        "~",
        "^",
        "*",
        "a?",
        "[",
        "\\",
        "refs/pr/3",
    ),
    *("x" * 63, "x" * 64, "x" * 95, "x" * 96, "x" * 97, "x" * 253, "x" * 254, "x" * 255, "x" * 256, "y/" + "x" * 96),
    *("x" * 257, "x" * 1024, "x" * 1025, "/" + "x" * 511, "/" + "x" * 512, f"{'x' * 63}.{'y' * 63}", "1a", "9"),
    *("/", "/.", "/..", "/a", "/a/", "//a//b/", "/a/./b", "/a/../b", "/.a/..b/...", "/a:b", "/a/..", "a/./b", "/\x01"),
    *("/var", "/var/lib/gpustack", "/var/lib/gpustack/", "/var/lib/gpustack/model", "/var//lib/./gpustack/model/x"),
    *("/var/lib/gpustack/models", "/var/lib/gpustack/model-cache", "/var/lib/gpustack/model-cach", "/var/lib", "/varx"),
    *(DIGEST, DIGEST.upper(), DIGEST[:-1], DIGEST + "0", f"sha512:{'a' * 64}", "sha256:" + "A" * 64),
    *(f"reg.io/a/b@{DIGEST}", f"reg.io/a/b:v1@{DIGEST}", "reg.io/a/b:v1", "a", f"a@{DIGEST}", f"A/b@{DIGEST}"),
    *(f"reg.io/A@{DIGEST}", f"localhost:5000/x@{DIGEST}", f"[::1]:5000/x@{DIGEST}", f"reg.io/a@{DIGEST}@{DIGEST}", "@"),
    *(f"reg.io/{'a' * 1000}@{DIGEST}", f"reg.io/{'a' * 945}@{DIGEST}", f"reg.io/a__b@{DIGEST}", f"reg.io/a_@{DIGEST}"),
    *(
        "http://h",
        "https://h:8080/p",
        "https://u:p@h",
        "https://h?q",
        "https://h#f",
        "ftp://h",
        "https://",
        "https://h:0",
    ),
    *(
        "https://h:65535",
        "https://h:65536",
        "https://[::1]:8080",
        "https://h/a b",
        "https://h_x",
        "HTTPS://h",
        "http://-h",
    ),
    *("24h", "1m", "59s", "60s", "59.999s", "1h30m", "0", "1d", "-1h", "1.5h", "1e3s", "99999h", "100000h", "60000ms"),
    *("1m 1s", "1h" * 12, "1h" * 20, ".5h", "5.h", "µs", "1000000000ns", "60000000000ns", "999999999s"),
    *(
        "Engine",
        "Node",
        "engine",
        "true",
        "false",
        "True",
        "1",
        "64",
        "65",
        "0",
        "08",
        "80",
        "95",
        "96",
        "94",
        "70",
        "2",
    ),
    *("200Mi", "1.5Gi", "1e9", "-1", "1Ei", "1k", "1K", "999999999999999", "1000000000000000", "1234567Ki", "0.5", "m"),
    *(
        "localhost,.svc",
        "a,,b",
        "a, b",
        "10.0.0.0/8",
        "*",
        "a b",
        "HF_TOKEN",
        "A=B",
        "x" * 4096,
        "x" * 4097,
        "b" * 2048,
    ),
    *("vLLM", "vllm", "SGLang", "ascend", "Server", "Prefill", "Mooncake", "shm", "data", "server", "gpustack-x"),
    *BY_NAME,
)
NUMBERS = (-1, 0, 1, 2, 63, 64, 65, 80, 94, 95, 96, 100, 101, 255, 8000, 10000, 10001, 65535, 65536, 1 << 31, 1 << 40)
LISTS = (0, 1, 10, 11, 32, 33, 64, 65, 256, 257)


def leaves(value: Any, path: Path = ()) -> list[Path]:
    """Every path in an object below its metadata and its spec, collections included."""
    found = [path] if path not in ((), ("metadata",)) else []
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return found + [each for step, part in parts for each in leaves(part, (*path, step))]


def unknown(path: Path) -> bool:
    """Whether a path lies in what the API server keeps without knowing its members."""
    steps = [step for step in path if isinstance(step, str)]
    return bool({"config", "tolerations", "valueFrom", "ports", *SOURCES}.intersection(steps))


def _changed_text(old: str) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.sampled_from(EDGES),
        st.sampled_from(EDGES),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
        st.text("ab-._/:@%?#[]=0\x01 A~", max_size=12),
        st.sampled_from([old, f"{old}.", f"{old}/x", f"{old}@", f"-{old}", f"{old}\n", old.upper(), old * 2]),
    )


def _changed(old: Any) -> st.SearchStrategy[Any]:
    if isinstance(old, bool):
        return st.sampled_from([True, False, "true"])
    if isinstance(old, str):
        return st.one_of(_changed_text(old), _changed_text(old), st.sampled_from([1, True, None, [], {}]))
    if isinstance(old, int):
        return st.one_of(st.sampled_from(NUMBERS), st.integers(-5, 1 << 20), st.sampled_from(["1", None]))
    if isinstance(old, list):
        many = st.sampled_from(LISTS).map(lambda size: [deepcopy(old[0])] * size if old else [])
        return st.one_of(many, st.sampled_from([[], {}, "x", None, old + old]))
    if old is None:
        return st.sampled_from(["x", 1, {}, []])
    return st.one_of(
        st.sampled_from([{}, [], "x", None, {**old, "unknown": 1}]),
        st.sampled_from(SOURCES).map(lambda source: {**old, source: {}}),
        st.sampled_from(("model", "image", "huggingFace")).map(lambda member: {**old, member: {}}),
    )


@st.composite
def changed(draw: st.DrawFn, base: Object, most: int = 3, *, known_only: bool = False) -> Object:
    """The object with up to `most` of its parts changed, added to or taken out.

    `known_only` leaves alone what the API server keeps without knowing its members.
    """
    value: Any = deepcopy(base)
    for _ in range(draw(st.integers(1, most))):
        candidates = [path for path in leaves(value) if path[0] in ("spec", "metadata") and "namespace" not in path]
        candidates = [path for path in candidates if not (known_only and unknown(path))]
        if not candidates:
            break
        path = draw(st.sampled_from(candidates))
        *above, last = path
        holder: Any = value
        for step in above:
            holder = holder[step]
        if draw(st.integers(0, 4)) == 0 and len(path) > 1:
            del holder[last]
        else:
            holder[last] = draw(_changed(holder[last]))
    return value  # type: ignore[no-any-return]
