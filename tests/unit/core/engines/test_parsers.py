"""Owns the law of engines.md: no argument reaches an engine as something that the operator owns, unrefused.

Refuses any example that only the product's reading would make.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
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


def _spelled(option: str) -> st.SearchStrategy[str]:
    """An option as a role may write it: cut short, underscored, dotted, joined, glued to -O, or as it is."""

    def spell(cut: int, underscores: bool, dots: str, join: str, glue: str) -> str:
        text = option[: len(option) - cut] if cut and len(option) - cut > 2 else option
        if underscores:
            text = text[:2] + text[2:].replace("-", "_")
        return glue + text + dots + join

    return st.builds(
        spell,
        st.sampled_from([0, 0, 0, 1, 2, 4, 8, 16]),
        st.booleans(),
        st.sampled_from(["", "", "", "", ".a", ".a.b", ".a+", "."]),
        st.sampled_from(["", "", "", "=other", f"={NAME}", "=dummy", "=8000", "=9000", "=$(SECRET)", "="]),
        st.sampled_from(["", "", "", "", "", "-O", "-O=", "-"]),
    )


def _lines(engine: str) -> st.SearchStrategy[list[str]]:
    token = st.one_of(
        st.sampled_from(OPTIONS[engine]).flatmap(_spelled), st.sampled_from(VALUES), st.text("-_=.$()aO1 ", max_size=6)
    )
    return st.lists(token, max_size=6)


def _cases(engine: str) -> st.SearchStrategy[tuple[list[str], str, bool]]:
    return st.tuples(_lines(engine), st.sampled_from(sorted(WEIGHTS)), st.booleans())


def _check(engine_name: str, extra: list[str], weights: str, kv: bool) -> None:
    engine = ENGINES[engine_name]
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
        assert got.load_format not in {"dummy", "tensorizer", "remote", "remote_instance"}


def _what_counts(outcome: Outcome, kv: bool) -> tuple[object, ...]:
    # An unknown option joined to a value with a space is one more name to vLLM; docs/engines.md has it as a limit.
    names = outcome.names[:1] + tuple(name for name in outcome.names[1:] if not re.match("--?[A-Za-z].*=.* ", name))
    weights = (outcome.model, outcome.revision, outcome.tokenizer_revision, outcome.code_revision, outcome.download_dir)
    return (*weights, names, outcome.host, outcome.port, outcome.kv if kv else None)


@settings(max_examples=600, deadline=None)
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


@settings(max_examples=600, deadline=None)
@given(_cases("SGLang"))
@example((["--model", "other"], "mounted", False))
@example((["--rev", "main"], "engine", False))
@example((["--config", "b.yaml"], "mounted", False))
@example((["--hicache-storage-backend-", "{}"], "mounted", True))
def test_no_line_of_a_role_makes_sglang_serve_something_else(case: tuple[list[str], str, bool]) -> None:
    _check("SGLang", *case)


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
