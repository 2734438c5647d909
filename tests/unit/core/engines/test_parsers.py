"""Owns the law of engines.md: no argument reaches an engine as something that the operator owns, unrefused.

Refuses any example that only the product's reading would make.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpustack_models.core.deployment import RoleKind
from gpustack_models.core.engines.catalogue import ENGINES
from gpustack_models.core.engines.check import Context, RoleLine, violations
from gpustack_models.core.engines.expansion import Variable, expand, known
from gpustack_models.core.engines.line import EngineLine, Weights, arguments
from gpustack_models.core.engines.model import KvCache
from tests.unit.core.engines import parsers
from tests.unit.core.engines.parsers import Outcome, StoppedError

NAME, COMMIT, PORT = "qwen-7b", "7ae557604adf67be50417f59c2c2f167def9a775", 8000
FILES: Mapping[str, Mapping[str, Any]] = {
    "a.yaml": {"revision": "main", "served-model-name": ["other"], "download-dir": "/tmp"},
    "b.yaml": {"served-model-name.x": "y", "load-format": "dummy", "model": "other/model"},
}
WEIGHTS = {
    "mounted": Weights("/var/lib/gpustack/model"),
    "engine": Weights("org/model", COMMIT),
}


def _vllm(line: tuple[str, ...]) -> Outcome:
    return parsers.vllm(("serve", *line), FILES)


PARSERS: dict[str, Callable[[tuple[str, ...]], Outcome]] = {
    "vLLM": _vllm,
    "SGLang": lambda line: parsers.sglang(line, FILES),
}
OPTIONS = {
    "vLLM": [*parsers.VLLM_VALUES, *parsers.VLLM_SWITCHES, *parsers.VLLM_MANY, "-O", "-sc", "-cc"],
    "SGLang": ["--model-path", "--model", *parsers.SGLANG_VALUES, *parsers.SGLANG_SWITCHES],
}
#: Load formats of each engine that load other weights than the files of the model (engines.md).
OTHER_WEIGHTS = {
    "vLLM": {"dummy", "tensorizer", "sharded_state", "modelexpress"},
    "SGLang": {"dummy", "remote", "remote_instance", "private", "presharded"},
}
VALUES = [
    "other",
    NAME,
    "main",
    "dummy",
    "auto",
    "a.yaml",
    "b.yaml",
    "8000",
    "9000",
    "0.0.0.0",
    "127.0.0.1",
    "-1",
    "-",
    "",
]
VALUES += ["-1.5", "--", "a b", "{}", "remote", "$(FLAG)", "$(SECRET)", "$$(FLAG)", "$(MISSING)", "Dummy"]
VARIABLES = (Variable("DASH", "--"), Variable("FLAG", "$(DASH)revision"), Variable("SECRET", None))


#: What an engine that starts anyway could be made to serve something else with, so that it is tried often; each with
#: the values that would.
DANGEROUS: dict[str, dict[str, list[str]]] = {
    "vLLM": {
        **{key: ["other", "main"] for key in ("--model", "--revision", "--tokenizer-revision", "--code-revision")},
        **{key: ["other", NAME] for key in ("--download-dir", "--kv-transfer-config", "--served-model-name")},
        "--config": ["a.yaml", "b.yaml"],
        "--load-format": ["dummy", "auto"],
        "--port": ["8000", "9000"],
        "--host": ["0.0.0.0", "127.0.0.1"],
        "--trust-remote-code": ["$(SECRET)", "$(FLAG)", "other"],
    },
    "SGLang": {
        **{key: ["other", "main"] for key in ("--model", "--model-path", "--revision", "--download-dir")},
        **{key: ["other", NAME] for key in ("--hicache-storage-backend", "--served-model-name")},
        "--hicache-storage-backend-extra-config": ["{}"],
        "--config": ["a.yaml", "b.yaml"],
        "--load-format": ["dummy", "remote", "auto"],
        "--port": ["8000", "9000"],
        "--host": ["0.0.0.0", "127.0.0.1"],
        "--trust-remote-code": ["$(SECRET)", "$(FLAG)", "other"],
    },
}


def _pair(engine: str) -> st.SearchStrategy[tuple[str, str]]:
    """An option and a value, not always one that it takes."""
    value = st.sampled_from(VALUES)
    dangerous = st.sampled_from(sorted(DANGEROUS[engine])).flatmap(
        lambda option: st.tuples(st.just(option), st.one_of(st.sampled_from(DANGEROUS[engine][option]), value))
    )
    return st.one_of(dangerous, st.tuples(st.sampled_from(OPTIONS[engine]), value))


def _spelled(engine: str, option: str) -> st.SearchStrategy[str]:
    """An option as a role may write it: whole, cut short, underscored, dotted, behind another dash or glued to -O."""
    cut = st.integers(1, 16).map(lambda count: option[: max(3, len(option) - count)])
    plain = st.one_of(st.just(option), st.just(option), cut)
    if engine != "vLLM":
        return plain
    quirk = st.one_of(
        plain.map(lambda text: text[:2] + text[2:].replace("-", "_")),
        st.builds(str.__add__, plain, st.sampled_from([".a", ".a.b", ".a+", "."])),
        st.builds(str.__add__, st.sampled_from(["-O", "-O=", "-"]), plain),
    )
    return st.one_of(plain, quirk)


def _chunk(engine: str) -> st.SearchStrategy[list[str]]:
    spelled = _pair(engine).flatmap(lambda pair: st.tuples(_spelled(engine, pair[0]), st.just(pair[1])))
    return st.one_of(
        spelled.map(list),
        spelled.map(lambda pair: ["=".join(pair)]),
        spelled.map(lambda pair: [pair[0]]),
        st.sampled_from(VALUES).map(lambda text: [text]),
        st.text("-_=.$()aO1 ", max_size=6).map(lambda text: [text]),
    )


def _lines(engine: str) -> st.SearchStrategy[list[str]]:
    chunks = st.lists(_chunk(engine), max_size=3)
    return chunks.map(lambda found: [token for chunk in found for token in chunk])


def _cases(engine: str) -> st.SearchStrategy[tuple[list[str], str, bool]]:
    return st.tuples(_lines(engine), st.sampled_from(sorted(WEIGHTS)), st.booleans())


def _check(engine_name: str, extra: list[str], weights: str, kv: bool, without: str = "") -> None:
    whole = ENGINES[engine_name]
    engine = replace(whole, flags=tuple(row for row in whole.flags if row.id != without))
    cache = KvCache(RoleKind.SERVER, {"a": "$(FLAG)"}, "m-" + "0" * 32) if kv else None
    role = RoleLine("spec.roles[0]", PORT, tuple(extra), VARIABLES)
    refused = violations(engine, role, Context(NAME, artifact=True, kv_cache=kv))

    def outcome(extra: tuple[str, ...]) -> Outcome:
        line = arguments(engine, EngineLine(NAME, PORT, WEIGHTS[weights], cache, extra, VARIABLES))
        # The one value that the cluster knows and admission does not is as bad as it can be.
        values = {name: "--revision=evil" if "\0" in value else value for name, value in known(VARIABLES).items()}
        return PARSERS[engine_name](tuple(expand(text, values) for text in line))

    wanted = outcome(())
    try:
        got = outcome(tuple(extra))
    except StoppedError:
        return
    if not refused:
        assert _what_counts(got, kv) == _what_counts(wanted, kv)
        assert got.load_format not in OTHER_WEIGHTS[engine_name]


def _what_counts(outcome: Outcome, kv: bool) -> tuple[object, ...]:
    # An unknown option joined to a value with a space is one more name to vLLM; docs/engines.md has it as a limit.
    names = outcome.names[:1] + tuple(name for name in outcome.names[1:] if not re.match("--?[A-Za-z].*=.* ", name))
    weights = (outcome.model, outcome.revision, outcome.tokenizer_revision, outcome.code_revision, outcome.download_dir)
    return (*weights, names, outcome.host, outcome.port, outcome.kv if kv else None)


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(_cases("vLLM"))
@example((["other"], "mounted", False))
@example((["-.a", "v"], "mounted", False))
@example((["-1.5", "v"], "mounted", False))
@example((["-= "], "mounted", False))
@example((["--served-model-name", NAME, "--api-key.x", "y", "other"], "mounted", False))
@example((["--api-key.x", "--served-model-name=" + NAME], "mounted", False))
@example((["-O--revision.x", "v", "2"], "engine", False))
@example((["$(FLAG)", "main"], "engine", False))
@example((["$(SECRET)"], "engine", False))
@example((["--kv_transfer_config.kv_role", "x"], "mounted", True))
@example((["--config", "a.yaml"], "mounted", False))
def test_no_line_of_a_role_makes_vllm_serve_something_else(case: tuple[list[str], str, bool]) -> None:
    _check("vLLM", *case)


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(_cases("SGLang"))
@example((["--model", "other"], "mounted", False))
@example((["--rev", "main"], "engine", False))
@example((["--config", "b.yaml"], "mounted", False))
@example((["--hicache-storage-backend-", "{}"], "mounted", True))
def test_no_line_of_a_role_makes_sglang_serve_something_else(case: tuple[list[str], str, bool]) -> None:
    _check("SGLang", *case)


@pytest.mark.parametrize(
    ("row", "line", "weights"),
    [
        ("vllm-revision", ["--rev=main"], "engine"),
        ("vllm-tokenizer-revision", ["--tokenizer_revision", "main"], "engine"),
        ("vllm-download-dir", ["--download-dir.x", "y"], "engine"),
        ("vllm-config", ["--config", "a.yaml"], "mounted"),
        ("vllm-code-revision", ["--cod", "main"], "mounted"),
        ("vllm-load-format", ["--load-format", "dummy"], "mounted"),
        ("vllm-kv-transfer-config", ["--kv_t.kv_role", "kv_consumer"], "mounted"),
        ("sglang-model-path", ["--model", "other"], "mounted"),
        ("sglang-revision", ["--rev", "main"], "engine"),
        ("sglang-download-dir", ["--do=/x"], "engine"),
        ("sglang-config", ["--config", "a.yaml"], "mounted"),
        ("sglang-load-format", ["--load-f", "remote"], "mounted"),
        ("sglang-hicache-storage-backend", ["--hicache-storage-backend", "file"], "mounted"),
        ("sglang-hicache-storage-backend-extra-config", ["--hicache-storage-backend-", "{}"], "mounted"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_the_law_would_notice_that_a_row_is_gone(row: str, line: list[str], weights: str) -> None:
    engine = next(name for name, each in ENGINES.items() if each.id == row.partition("-")[0])
    _check(engine, line, weights, kv=True)
    with pytest.raises(AssertionError):
        _check(engine, line, weights, kv=True, without=row)


@pytest.mark.parametrize("weights", sorted(WEIGHTS))
@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_the_operators_own_line_is_read_as_it_is_meant(engine: str, weights: str) -> None:
    line = arguments(ENGINES[engine], EngineLine(NAME, PORT, WEIGHTS[weights], None, ()))
    outcome = PARSERS[engine](line)
    assert outcome.model == WEIGHTS[weights].model
    assert outcome.revision == (WEIGHTS[weights].commit or None)
    assert (outcome.names, outcome.host, outcome.port) == ((NAME,), "0.0.0.0", "8000")


@pytest.mark.parametrize(
    ("engine", "line", "field", "value"),
    [
        ("vLLM", ["--rev", "x"], "revision", "x"),
        ("vLLM", ["--down_load_dir"], "", ""),
        ("vLLM", ["--tokenizer_r=x"], "tokenizer_revision", "x"),
        ("vLLM", ["--do", "/x"], "download_dir", "/x"),
        ("vLLM", ["--ser", "x", "y"], "names", ("x", "y")),
        ("vLLM", ["--kv_t.a.b", "c"], "kv", '{"a": {"b": "c"}}'),
        ("vLLM", ["--loa", "dummy"], "load_format", "dummy"),
        ("SGLang", ["--model", "x"], "model", "x"),
        ("SGLang", ["--model-p", "x"], "model", "x"),
        ("SGLang", ["--se", "x"], "names", ("x",)),
        ("SGLang", ["--model_path", "x"], "", ""),
        ("SGLang", ["--load-f=dummy"], "load_format", "dummy"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_the_recreated_parsers_do_what_the_specification_measured(
    engine: str, line: list[str], field: str, value: object
) -> None:
    base = arguments(ENGINES[engine], EngineLine(NAME, PORT, WEIGHTS["mounted"], None, ()))
    if field:
        assert getattr(PARSERS[engine]((*base, *line)), field) == value
    else:
        with pytest.raises(StoppedError):
            PARSERS[engine]((*base, *line))
