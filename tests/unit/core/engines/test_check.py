"""Owns the rows of engines.md: each owned thing is refused in each spelling, what only looks alike passes.

Refuses rows without a test: the cases are made from the tables themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from gpustack_models.core.engines.catalogue import ENGINES
from gpustack_models.core.engines.check import Context, RoleLine, name_problem, states, violations
from gpustack_models.core.engines.expansion import Variable
from gpustack_models.core.engines.model import ARTIFACT, Engine, OwnedFlag

EVERYTHING = Context("qwen-7b", artifact=True, kv_cache=True)
NOTHING = Context("qwen-7b")

#: The shortest prefixes that engines.md measured.
SHORTEST = {
    "vLLM": "--rev --tokenizer-r --do --ser --kv-t --ho --por --cod --hf-t --loa --model-l".split(),  # noqa: SIM905
    "SGLang": "--model-p --rev --se --do --ho --po --conf --load-f --enable-hie --hicache-storage-backend-".split(),  # noqa: SIM905
}
PASSES = {
    "vLLM": [
        ["--tokenizer", "org/other"],
        ["--tokenizer=org/other"],
        ["--tokenizer-mode", "slow"],
        ["--hf-config-path", "/x"],
        ["--load-format", "safetensors"],
        ["--load-format=auto"],
        ["--max-model-len", "8192"],
        ["--max_model_len=8192"],
        ["--speculative-config", '{"model": "dummy", "revision": "main"}'],
        ["--lora-modules", "a=/x", "b=/y"],
        ["--served-model-name", "qwen-7b"],
        ["--served_model_name=qwen-7b", "--trust-remote-code"],
        ["--port", "8000", "--host", "0.0.0.0"],
        ["--host=::"],
        ["--host=$(POD_IP)"],
        ["--api-key=$(SECRET)"],
        ["--chat-template=./--model.jinja"],
        ["--compilation-config.mode", "3", "--trust-remote-code"],
        ['--override-generation-config={"temperature": 0.5}'],
        ["-O3"],
        ["--port", "$(PORT)"],
    ],
    "SGLang": [
        ["--tokenizer-path", "org/other"],
        ["--load-format=auto"],
        ["--load-format", "gguf"],
        ["--model_path", "x"],
        ["--model-impl", "transformers"],
        ["--modelopt-quant", "fp8"],
        ["--hicache-ratio", "2"],
        ["--speculative-draft-model-path", "org/draft"],
        ["--served-model-name=qwen-7b"],
        ["--weight-version", "3"],
        ["--port=8000"],
    ],
}
REFUSED = {
    "vLLM": [
        (["--load-format", "dummy"], "vllm-load-format"),
        (["--load-format=dummy"], "vllm-load-format"),
        (["--load-f", "dummy"], "vllm-load-format"),
        (["--load_format", "DUMMY"], "vllm-load-format"),
        (["--load-format", "--x.y", "z", "dummy"], "vllm-load-format"),
        (["--load-format=$(SECRET)"], "vllm-load-format"),
        (["--served-model-name", "other"], "vllm-served-model-name"),
        (["--served-model-name", "qwen-7b", "other"], "vllm-served-model-name"),
        (["--served-model-name", "qwen-7b", "--x.y", "z", "other"], "vllm-served-model-name"),
        (["--served-model-name=qwen-7b", "--ser", "other"], "vllm-served-model-name"),
        (["--served-model-name.x", "qwen-7b"], "vllm-served-model-name"),
        (["other"], "vllm-served-model-name"),
        (["--x.y", "z", "other"], "vllm-served-model-name"),
        (["--port", "9000"], "vllm-port"),
        (["--port"], "vllm-port"),
        (["--port", "1" * 5000], "vllm-port"),
        (["--por=9000"], "vllm-port"),
        (["--host", "127.0.0.1"], "vllm-host"),
        (["--host=$(SECRET)"], "vllm-host"),
        (["$(FLAG)", "main"], "vllm-revision"),
        (["$(FLAG)=main"], "vllm-revision"),
        (["$(SECRET)"], "vllm-unreadable-argument"),
        (["--$(SECRET)=x"], "vllm-unreadable-argument"),
        (["--kv-transfer-config.a.b+", "c"], "vllm-kv-transfer-config"),
        (["-O--revision.x", "v", "2"], "vllm-revision"),
        (["--config=x.yaml"], "vllm-config"),
    ],
    "SGLang": [
        (["--model", "x"], "sglang-model-path"),
        (["--enable-hicache"], "sglang-enable-hierarchical-cache"),
        (["--remote-instance-weight-loader-seed-instance-ip=1.2.3.4"], "sglang-remote-instance-weight-loader"),
        (["--remote-inst", "x"], "sglang-remote-instance-weight-loader"),
        (["--load-format", "remote"], "sglang-load-format"),
        (["--served-model-name", "other"], "sglang-served-model-name"),
        (["--hicache-storage-backend-extra-config=@/x.toml"], "sglang-hicache-storage-backend-extra-config"),
        (["--host", "10.0.0.1"], "sglang-host"),
    ],
}
VARIABLES = (
    Variable("FLAG", "--revision"),
    Variable("PORT", "8000"),
    Variable("SECRET"),
    Variable("POD_IP", field="status.podIP"),
)


@dataclass(frozen=True)
class Spelling:
    engine: Engine
    row: OwnedFlag
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.row.id}:{' '.join(self.arguments)}"


def _spellings() -> list[Spelling]:
    cases = []
    for engine in ENGINES.values():
        for row in engine.flags:
            value = sorted(row.values)[0] if row.values else "secret-value"
            for name in row.spellings:
                full = name + "backend" if name.endswith("-") else name
                forms = [(full, value), (f"{full}={value}",), (full[:-1], value), (f"{full[:-1]}={value}",)]
                if engine.syntax.underscores:
                    forms += [("--" + full[2:].replace("-", "_"), value)]
                if engine.syntax.dotted and not row.values:
                    forms += [(f"{full}.a.b", value), (f"{full[:-1]}.a+={value}",)]
                cases += [Spelling(engine, row, form) for form in forms]
    return cases


def _found(engine: str, arguments: tuple[str, ...], context: Context) -> list[str]:
    role = RoleLine("spec.roles[0]", 8000, arguments, VARIABLES)
    return [violation.rule for violation in violations(ENGINES[engine], role, context)]


@pytest.mark.parametrize("case", _spellings(), ids=str)
def test_each_spelling_of_an_owned_flag_is_refused_by_its_row_and_shows_no_value(case: Spelling) -> None:
    role = RoleLine("spec.roles[2]", 8000, case.arguments)
    found = [one for one in violations(case.engine, role, EVERYTHING) if one.rule == case.row.id]
    assert len(found) == 1
    assert found[0].field == "spec.roles[2].extraArgs[0]"
    assert found[0].token == case.arguments[0].partition("=")[0]
    assert found[0].token in found[0].message
    assert case.row.owner in found[0].message
    assert case.row.why in found[0].message
    assert ("addition" in found[0].message) is not case.row.by_specification
    assert "secret-value" not in found[0].message


@pytest.mark.parametrize("case", _spellings(), ids=str)
def test_a_flag_is_owned_only_while_its_owner_is_set(case: Spelling) -> None:
    context = Context("qwen-7b", kv_cache=True) if case.row.owner == ARTIFACT else Context("qwen-7b", artifact=True)
    role = RoleLine("spec.roles[0]", 8000, case.arguments)
    assert case.row.id not in [one.rule for one in violations(case.engine, role, context)]
    assert violations(case.engine, role, NOTHING) == ()


@pytest.mark.parametrize(
    ("engine", "prefix"), [(engine, prefix) for engine, prefixes in SHORTEST.items() for prefix in prefixes]
)
def test_the_shortest_prefixes_that_work_are_refused(engine: str, prefix: str) -> None:
    assert _found(engine, (prefix, "dummy"), EVERYTHING)


@pytest.mark.parametrize(
    ("engine", "arguments"),
    [(engine, tuple(line)) for engine, lines in PASSES.items() for line in lines],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_what_only_looks_alike_passes(engine: str, arguments: tuple[str, ...]) -> None:
    assert _found(engine, arguments, EVERYTHING) == []


@pytest.mark.parametrize(
    ("engine", "arguments", "rule"),
    [(engine, tuple(line), rule) for engine, cases in REFUSED.items() for line, rule in cases],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_what_reaches_the_engine_otherwise_is_refused(engine: str, arguments: tuple[str, ...], rule: str) -> None:
    assert rule in _found(engine, arguments, EVERYTHING)


@pytest.mark.parametrize("engine", sorted(ENGINES))
@pytest.mark.parametrize("option", ["--served-model-name", "--port", "--host"])
def test_name_and_address_are_judged_without_an_artifact_too(engine: str, option: str) -> None:
    assert _found(engine, (option, "wrong"), NOTHING) == [f"{ENGINES[engine].id}{option[1:]}"]


@pytest.mark.parametrize("value", ["secret-value", None], ids=["literal", "valueFrom"])
@pytest.mark.parametrize(
    ("engine", "name"), [(engine.name, row.name) for engine in ENGINES.values() for row in engine.variables]
)
def test_each_owned_variable_is_refused_while_an_artifact_is_referenced(
    engine: str, name: str, value: str | None
) -> None:
    role = RoleLine("spec.roles[0]", 8000, (), (Variable("MY_" + name, "x"), Variable(name, value)))
    (found,) = violations(ENGINES[engine], role, Context("qwen-7b", artifact=True))
    assert (found.field, found.token) == ("spec.roles[0].env[1].name", name)
    assert found.rule == "env-" + name.lower().replace("_", "-")
    assert name in found.message
    assert "secret-value" not in found.message
    assert violations(ENGINES[engine], role, NOTHING) == ()


def test_proxies_and_look_alikes_of_variables_pass() -> None:
    names = ("HTTPS_PROXY", "NO_PROXY", "hf_token", "HF_HUB_ENABLE_HF_TRANSFER", "REQUESTS_CA_BUNDLE")
    role = RoleLine("spec.roles[0]", 8000, (), tuple(Variable(name, "x") for name in names))
    assert [found for engine in ENGINES.values() for found in violations(engine, role, EVERYTHING)] == []


def test_only_sglang_refuses_a_colon_in_the_name() -> None:
    assert name_problem(ENGINES["SGLang"], "a:b")
    assert not name_problem(ENGINES["SGLang"], "a/b")
    assert not name_problem(ENGINES["vLLM"], "a:b")


def test_an_option_eaten_as_a_value_is_not_stated() -> None:
    assert not states(ENGINES["vLLM"], ("--x.y", "--served-model-name=qwen-7b"), (), "--served-model-name")
    assert states(ENGINES["vLLM"], ("--served_model=qwen-7b",), (), "--served-model-name")


def test_the_rows_ids_are_unique_within_an_engine() -> None:
    for engine in ENGINES.values():
        ids = [row.id for row in engine.flags] + [row.id for row in engine.variables]
        assert len(ids) == len(set(ids))
