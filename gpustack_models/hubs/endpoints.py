"""Owns the address of a hub: where it is looked for on a laptop, and what may be one.

Refuses an address with a user, a query or a fragment: credentials travel in headers, to one origin.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from gpustack_models.core.location import is_plain, without_query
from gpustack_models.core.refs import HubKind
from gpustack_models.errors import GsmError, Reason

PUBLIC = {HubKind.HUGGING_FACE: "https://huggingface.co", HubKind.MODEL_SCOPE: "https://www.modelscope.cn"}
#: The hubs' own variables, in order of precedence (an empty one counts as unset).
VARIABLES = {
    HubKind.HUGGING_FACE: ("HF_ENDPOINT",),
    HubKind.MODEL_SCOPE: ("MODELSCOPE_ENDPOINT", "MODELSCOPE_DOMAIN"),
}


def find_endpoint(kind: HubKind, environment: Mapping[str, str], explicit: str = "") -> str:
    """The endpoint of a hub: `explicit` (--endpoint), then the hub's own variables, then the public hub.

    Raises GsmError(InvalidInput) naming the option or variable.
    """
    if explicit:
        return checked(explicit, "--endpoint")
    for name in VARIABLES[kind]:
        if value := environment.get(name, "").strip():
            return checked(value, name)
    return PUBLIC[kind]


def checked(text: str, name: str) -> str:
    """An endpoint without a slash at its end; a bare host is https. `name` is what an error calls it.

    Raises GsmError(InvalidInput), without repeating a user part or a query.
    """
    url = (text if "://" in text else f"https://{text}").rstrip("/")
    parts = urlsplit(url) if is_plain(url) else None
    if parts is None or parts.query or parts.fragment or url.endswith(("?", "#")):
        raise GsmError(
            Reason.INVALID_INPUT,
            f"{name}: {without_query(text)!r:.300} is not the address of a hub",
            hint="write http(s)://host[:port][/path], without a user, a query or a fragment",
        )
    return url
