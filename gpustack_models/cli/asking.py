"""Owns asking hubs from a command: opens each once as the options and the environment say, shows the progress, warns
of rejected tokens.

Refuses to print a token, and to decide what an answer means.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from gpustack_models.cli.home import home
from gpustack_models.cli.options import usage
from gpustack_models.cli.output import Output
from gpustack_models.core.refs import HubKind
from gpustack_models.errors import GsmError
from gpustack_models.hubs import oci
from gpustack_models.hubs.oci import Image, ImageName
from gpustack_models.hubs.protocol import Hub, TokenState
from gpustack_models.workflows import lookup
from gpustack_models.workflows.lookup import Found, OpenHub
from gpustack_models.workflows.questions import Item

_IMAGE_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class Asking:
    """The options of a command that asks hubs."""

    endpoint: str | None = None
    token_file: Path | None = None
    timeout: float | None = None


def look_up(out: Output, items: Sequence[Item | GsmError], asking: Asking) -> list[Found | GsmError]:
    """Look items up, with a progress over all listings; a rejected token is a warning that names where it is from."""
    return look_up_with_hubs(out, items, asking)[0]


def look_up_with_hubs(
    out: Output, items: Sequence[Item | GsmError], asking: Asking
) -> tuple[list[Found | GsmError], dict[HubKind, Hub]]:
    """As `look_up`, and the hubs that were asked: they may locate files still, and send no request any more."""
    with ExitStack() as stack:
        hubs = open_hubs(out, lookup.kinds_of(items), asking, stack)
        advance = stack.enter_context(out.progress("listing", unit="entries"))
        found = lookup.look_up(items, hubs, partial(_image, asking), advance)
    for kind, token in found.tokens.items():
        if token.state is TokenState.REJECTED:
            out.warn(f"{hubs[kind].hub.endpoint} rejects the token of {token.source}, and treats it as none")
    return found.results, {kind: opened.hub for kind, opened in hubs.items()}


def open_hubs(out: Output, kinds: Sequence[HubKind], asking: Asking, stack: ExitStack) -> dict[HubKind, OpenHub]:
    """Open hubs until the stack ends, with one client: --timeout is for the command, not for each of them."""
    if not kinds:
        return {}
    if asking.token_file and len(kinds) > 1:
        raise usage("--token-file is the token of one hub, and both are asked", "ask each hub by itself")
    from gpustack_models.hubs.endpoints import find_endpoint
    from gpustack_models.hubs.http import HttpClient, from_environment
    from gpustack_models.hubs.open import hub_over
    from gpustack_models.hubs.tokens import Surroundings, find_token

    options = replace(from_environment(os.environ), deadline=asking.timeout)
    http = stack.enter_context(
        HttpClient(options, on_wait=lambda pause, cause: out.note(f"{cause}; asking again in {pause:.1f} s"))
    )
    around = Surroundings(os.environ, home(), time.time())
    opened = {}
    for kind in kinds:
        endpoint = find_endpoint(kind, os.environ, asking.endpoint or "")
        token = find_token(kind, endpoint, around, asking.token_file)
        opened[kind] = OpenHub(hub_over(http, kind, endpoint, token), token.source if token else "")
    return opened


def _image(asking: Asking, name: ImageName) -> Image:
    return oci.look_up(name, os.environ, asking.timeout or _IMAGE_TIMEOUT)
