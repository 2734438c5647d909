"""Owns what hypothesis draws for the core: paths, entries, whole listings. Refuses assertions."""

from __future__ import annotations

from hypothesis import strategies as st

from gpustack_models.core.manifest import Algorithm, Entry, FileDigest

#: Any character a path's segment may have: no control character, no surrogate, no slash.
_CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="/\x7f" + "".join(map(chr, range(0x20))))

segments = st.one_of(
    st.sampled_from(
        ["a", "b", "config.json", "...", ".a", "a.", "-", " ", "é", "模型", "\U0001f917", "a b", "x" * 255]
    ),
    st.text(_CHARACTERS, min_size=1, max_size=12).filter(lambda text: text not in (".", "..")),
)
paths = st.lists(segments, min_size=1, max_size=4).map("/".join)

sizes = st.one_of(st.integers(0, 4), st.integers(0, (1 << 63) - 1))


def _digest(algorithm: Algorithm) -> st.SearchStrategy[FileDigest]:
    return st.binary(min_size=algorithm.hex_length // 2, max_size=algorithm.hex_length // 2).map(
        lambda raw: FileDigest(algorithm, raw.hex())
    )


digests = st.sampled_from(Algorithm).flatmap(_digest)
entries = st.builds(Entry, paths, sizes, digests)


def _without_conflicts(drawn: list[Entry]) -> list[Entry]:
    kept: dict[str, Entry] = {}
    for entry in sorted(drawn, key=lambda entry: entry.path.count("/")):
        parts = entry.path.split("/")
        if not any("/".join(parts[:end]) in kept for end in range(1, len(parts))):
            kept[entry.path] = entry
    return list(kept.values())


#: Listings that a commit can really have: no path twice, none both a file and a folder.
listings = st.lists(entries, min_size=1, max_size=12).map(_without_conflicts)

#: Paths by someone who means harm.
hostile_paths = st.one_of(
    st.sampled_from(
        ["", ".", "..", "/", "/etc", "a//b", "a/", "./a", "a/./b", "a/../b", "../a", "a/..", "a\0b", "a\nb", "a\rb"]
    ),
    st.sampled_from(["\x1b[31m", "a\x7f", "\ud800", "a/\udfff", "\n", "a\n", "a/\n", "..\n"]),
    st.text(max_size=8),
    st.lists(st.sampled_from(["", ".", "..", "a", "\n", "\0"]), max_size=4).map("/".join),
)
