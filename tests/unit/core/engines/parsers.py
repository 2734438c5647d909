"""Owns the engines' parsers, re-created with argparse from their documented options and behaviour (engines.md).

Refuses the product's own reading of a line: what is tested here is whether the two agree.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn


def _options(text: str) -> list[str]:
    return [f"--{name}" for name in text.split()]


VLLM_VALUES = _options("""
    model revision code-revision tokenizer-revision tokenizer tokenizer-mode hf-config-path hf-token hf-overrides
    config config-format download-dir load-format model-loader-extra-config model-impl ignore-patterns
    kv-transfer-config kv-cache-dtype kv-cache-memory-bytes host port uds api-key root-path seed dtype max-model-len
    max-num-seqs max-num-batched-tokens gpu-memory-utilization quantization runner convert generation-config
    override-generation-config limit-mm-per-prompt chat-template response-role reasoning-parser tool-call-parser
    tool-parser-plugin compilation-config optimization-level speculative-config swap-space block-size
    data-parallel-size distributed-executor-backend pooler-config scheduling-policy ssl-keyfile ssl-certfile
    log-config-file
""")
VLLM_SWITCHES = _options("trust-remote-code enforce-eager enable-lora enable-prefix-caching headless")
VLLM_MANY = _options("served-model-name lora-modules middleware cudagraph-capture-sizes")
VLLM_SHORT = {"--optimization-level": "-O", "--speculative-config": "-sc", "--compilation-config": "-cc"}

SGLANG_VALUES = _options("""
    tokenizer-path tokenizer-mode revision load-format model-loader-extra-config model-impl config download-dir
    custom-weight-loader host port served-model-name api-key context-length dtype quantization kv-cache-dtype
    mem-fraction-static page-size chunked-prefill-size random-seed tensor-parallel-size data-parallel-size
    reasoning-parser tool-call-parser chat-template hicache-ratio hicache-size hicache-write-policy
    hicache-io-backend hicache-mem-layout hicache-storage-backend hicache-storage-backend-extra-config
    hicache-storage-prefetch-policy modelopt-checkpoint-restore-path modelopt-checkpoint-save-path modelopt-quant
    modelexpress-config weight-cache-mode weight-version kt-weight-path kt-method json-model-override-args
    remote-instance-weight-loader-seed-instance-ip remote-instance-weight-loader-backend log-level
    speculative-algorithm speculative-draft-model-path lora-paths preferred-sampling-params
""")
SGLANG_SWITCHES = _options("""
    trust-remote-code skip-tokenizer-init enable-metrics enable-hierarchical-cache enable-multimodal
    delete-ckpt-after-loading checkpoint-engine-wait-weights-before-ready disable-radix-cache
""")


class StoppedError(Exception):
    """The engine ends at its command line: loud, and so never a wrong model."""


@dataclass(frozen=True)
class Outcome:
    """What a started engine would serve."""

    model: str
    revision: str | None
    tokenizer_revision: str | None
    code_revision: str | None
    download_dir: str | None
    names: tuple[str, ...]
    load_format: str
    kv: str | None
    host: str
    port: str


class _Loud(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise StoppedError(message)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise StoppedError(message or "")


def vllm(line: Sequence[str], files: Mapping[str, Mapping[str, Any]]) -> Outcome:
    """What `vllm serve` makes of a line that begins with `serve`; `files` stands for the config files."""
    arguments = _model_first(list(line))
    if "--config" in arguments:
        arguments = _with_config(arguments, files)
    parsed = _vllm_parser().parse_args(_dotted_last(_dashed(arguments))[1:])
    return Outcome(
        model=parsed.model_tag or parsed.model or "",
        revision=parsed.revision,
        tokenizer_revision=parsed.tokenizer_revision,
        code_revision=parsed.code_revision,
        download_dir=parsed.download_dir,
        names=tuple(parsed.served_model_name or (parsed.model_tag,)),
        load_format=(parsed.load_format or "auto").lower(),
        kv=parsed.kv_transfer_config,
        host=parsed.host or "0.0.0.0",
        port=parsed.port or "8000",
    )


def sglang(line: Sequence[str], files: Mapping[str, Mapping[str, Any]]) -> Outcome:
    """What `sglang.launch_server` makes of its arguments."""
    arguments = list(line)
    if "--config" in arguments:
        at = arguments.index("--config")
        if arguments.count("--config") > 1 or at + 1 == len(arguments):
            raise StoppedError("config")
        arguments = _flat(files.get(arguments[at + 1], {})) + arguments[:at] + arguments[at + 2 :]
    parsed = _sglang_parser().parse_args(arguments)
    if ":" in (parsed.served_model_name or ""):
        raise StoppedError("a colon in the served name")
    return Outcome(
        model=parsed.model_path,
        revision=parsed.revision,
        tokenizer_revision=None,
        code_revision=None,
        download_dir=parsed.download_dir,
        names=(parsed.served_model_name or parsed.model_path,),
        load_format=parsed.load_format or "auto",
        kv=json.dumps(
            (
                parsed.enable_hierarchical_cache,
                parsed.hicache_storage_backend,
                parsed.hicache_storage_backend_extra_config,
            )
        ),
        host=parsed.host or "127.0.0.1",
        port=parsed.port or "30000",
    )


@cache
def _vllm_parser() -> argparse.ArgumentParser:
    parser = _Loud(prog="vllm serve")
    parser.add_argument("model_tag", nargs="?")
    for option in VLLM_VALUES:
        names = [name for name in (option, VLLM_SHORT.get(option)) if name]
        parser.add_argument(*names)
    for option in VLLM_SWITCHES:
        parser.add_argument(option, action=argparse.BooleanOptionalAction)
    for option in VLLM_MANY:
        parser.add_argument(option, nargs="+")
    return parser


@cache
def _sglang_parser() -> argparse.ArgumentParser:
    parser = _Loud(prog="sglang")
    parser.add_argument("--model-path", "--model", required=True)
    for option in SGLANG_VALUES:
        parser.add_argument(option)
    for option in SGLANG_SWITCHES:
        parser.add_argument(option, action="store_true")
    return parser


def _model_first(line: list[str]) -> list[str]:
    at = next((index for index, text in enumerate(line) if text == "--model" or re.match("--model=.", text)), None)
    if at is None:
        return line
    if "=" in line[at]:
        return [line[0], line[at].removeprefix("--model="), *line[1:at], *line[at + 1 :]]
    if at + 1 >= len(line) or line[at + 1].startswith("-"):
        raise StoppedError("--model")
    return [line[0], line[at + 1], *line[1:at], *line[at + 2 :]]


def _with_config(line: list[str], files: Mapping[str, Mapping[str, Any]]) -> list[str]:
    at = line.index("--config")
    if line.count("--config") > 1 or at + 1 == len(line) or line[at + 1] not in files:
        raise StoppedError("config")
    return line[:2] + _flat(files[line[at + 1]]) + line[2:at] + line[at + 2 :]


def _flat(config: Mapping[str, Any]) -> list[str]:
    line: list[str] = []
    for key, value in config.items():
        if isinstance(value, bool):
            line += [f"--{key}"] if value else []
        elif isinstance(value, list):
            line += [f"--{key}", *map(str, value)]
        else:
            line += [f"--{key}", json.dumps(value) if isinstance(value, dict) else str(value)]
    return line


def _dashed(line: list[str]) -> list[str]:
    dashed: list[str] = []
    for text in line:
        if text.startswith("--"):
            key, equals, value = text.partition("=")
            head, dot, rest = key.partition(".")
            dashed.append(head.replace("_", "-") + dot + rest + equals + value)
        elif text.startswith("-O") and text != "-O":
            dashed += ["--optimization-level", text[3:] if text[2] == "=" else text[2:]]
        else:
            dashed.append(text)
    return dashed


def _dotted_last(line: list[str]) -> list[str]:
    kept: list[str] = []
    collected: dict[str, dict[str, Any]] = {}
    position = 0
    while position < len(line):
        text = line[position]
        position += 1
        key, equals, value = text.partition("=")
        if not text.startswith("-") or "." not in key:
            kept.append(text)
            continue
        if not equals:
            if position >= len(line):
                raise StoppedError(text)
            value = line[position]
            position += 1
        head, *path = key.removesuffix("+").split(".")
        inner = collected.setdefault(head, {})
        for part in path[:-1]:
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                raise StoppedError(text)
        inner[path[-1]] = value
    return kept + [part for head, tree in collected.items() for part in (head, json.dumps(tree))]
