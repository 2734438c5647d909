"""Owns the written forms of values: each a pattern that Python and CEL (RE2) read alike, and its rule in words.

Refuses patterns that either of the two cannot run: no look-around, no back reference, no possessive quantifier; and
those that can read one text in many ways, which Python would try one after the other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

#: A quantity as Kubernetes writes it (apimachinery, resource.Quantity).
QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)


@dataclass(frozen=True)
class Form:
    """A form: `pattern` matches the whole text; `words` continue "must be"."""

    pattern: str
    words: str

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    def fits(self, text: str) -> bool:
        """Whether a text has the form."""
        return self._compiled.fullmatch(text) is not None

    def cel(self, text: str = "self") -> str:
        """The same as a CEL expression over `text`."""
        return f"{text}.matches({cel_string(f'^(?:{self.pattern})$')})"


def touches(folder: str, *names: str) -> str:
    """The pattern of every path at, inside or around `names` in a folder, however it is written with `//` and `.`.

    One pattern for all of them: CEL counts the length of a pattern for every path that it is tried on.
    """
    inner = "(/(?s:.*))?"
    for segment in (f"({'|'.join(map(re.escape, names))})", *map(re.escape, reversed(folder.strip("/").split("/")))):
        inner = rf"(/+(\./+)*{segment}{inner})?"
    return rf"{inner.removesuffix('?')}(/+\.)*/*|(/\.?)+"


def cel_string(text: str) -> str:
    """A text as a CEL string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_PORT = r"([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
_HOST = r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)"
_URL = rf"https?://{_HOST}(:{_PORT})?(/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?"
_NO_PROXY = r" *[A-Za-z0-9.*_:/\[\]-]+ *"
_ANY_LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?"


def _segment(refused: str) -> str:
    """A segment of a path that is neither empty, `.` nor `..`, without the refused characters."""
    inner = rf"[^/{refused}]"
    return rf"([^./{refused}]{inner}*|\.[^./{refused}]{inner}*|\.\.{inner}+)"


_CONTROLS = r"\x00-\x1f\x7f"
_MOUNTED, _BELOW = _segment(f":{_CONTROLS}"), _segment(_CONTROLS)
_PART = r"[A-Za-z0-9_]([A-Za-z0-9._-]{0,94}[A-Za-z0-9_])?"

#: metadata.name of most objects (RFC 1123 subdomain).
SUBDOMAIN = Form(
    _SUBDOMAIN,
    "a DNS subdomain: lowercase letters, digits, - and ., beginning and ending with a letter or digit",
)
LABEL = Form(_LABEL, "a DNS label: lowercase letters, digits and -, beginning and ending with a letter or digit")
#: metadata.name of a Service (RFC 1035 label).
SERVICE_NAME = Form(
    r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?",
    "a DNS label of at most 63 characters that begins with a letter, since a Service of that name is made",
)
URL = Form(_URL, "an http(s) URL without credentials, query or fragment")
BLANK_OR_URL = Form(rf"({_URL})?", "blank, or an http(s) URL without credentials")
BLANK_OR_SUBDOMAIN = Form(rf"({_SUBDOMAIN})?", "blank, or the name of a ConfigMap")
NO_PROXY = Form(rf"({_NO_PROXY}(,{_NO_PROXY})*)?", "comma-separated hosts")
DIGEST = Form(r"sha256:[0-9a-f]{64}", "sha256: and 64 lowercase hexadecimal digits")
FINGERPRINT = Form(r"[0-9a-f]{64}", "64 lowercase hexadecimal digits")
REPOSITORY = Form(rf"{_PART}(/{_PART})?", "a repository: owner/name, or a bare legacy name")
REVISION = Form(r"[^\x00-\x20\x7f~^:?*\[\\]+", "a branch, tag or commit")
PLAIN = Form(r"[^\x00-\x1f\x7f]*", "without control characters")
#: A path that kubelet mounts at; `:` separates the parts of a mount in container runtimes.
MOUNT_PATH = Form(
    rf"(/\.?)*/{_MOUNTED}(/({_MOUNTED}|\.)?)*",
    "an absolute path below the root, without .. segments, control characters and :",
)
SUB_PATH = Form(
    rf"(({_BELOW}|\.)(/({_BELOW}|\.)?)*)?", "a directory inside the volume: relative, without .. and control characters"
)
LABEL_KEY = Form(
    rf"({_SUBDOMAIN}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?",
    "a label's key: an optional DNS subdomain and /, then at most 63 letters, digits, -, _ and .",
)
IMAGE = Form(r"[^\x00-\x20\x7f]+", "an image reference without blanks")
ENV_NAME = Form(r"[ -<>-~]+", "printable ASCII without =")
LABEL_VALUE = Form(
    r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?",
    "a label's value: at most 63 letters, digits, -, _ and ., beginning and ending with a letter or digit",
)
BLANK_OR_NAME = Form(rf"({_SUBDOMAIN})?", "blank, or a DNS subdomain")
SERVED_NAME = Form(
    r"[^\x00-\x20\x7f-][^\x00-\x1f\x7f]*", "a name without control characters that does not begin with - or a space"
)
IMAGE_NAME = Form(
    rf"({_ANY_LABEL}(\.{_ANY_LABEL})*|\[[0-9a-fA-F:]+\])(:[0-9]{{1,5}})?/[a-z0-9]+((/|[._]|__|-+)[a-z0-9]+)*",
    "<registry>/<repository>, without a tag",
)

#: Digits are bounded so that no sum of a value's parts leaves what CEL and int64 can hold.
DURATION = Form(
    r"([0-9]{1,5}(\.[0-9]{1,9})?[hm]|[0-9]{1,9}(\.[0-9]{1,9})?(s|ms|us|ns))+",
    "a duration such as 90m or 24h, at least 1m",
)
MAX_DURATION = 32
DELIVERY_MODE = Form(r"Engine|Node", "Engine or Node")
HIGH_WATERMARK = Form(r"[2-9]|[1-8][0-9]|9[0-5]", "an integer above model-store-low-watermark, at most 95")
LOW_WATERMARK = Form(r"[1-9]|[1-8][0-9]|9[0-4]", "an integer from 1, below model-store-high-watermark")
CONCURRENCY = Form(r"[1-9]|[1-5][0-9]|6[0-4]", "an integer from 1 to 64")
BANDWIDTH = Form(
    r"[0-9]{1,15}|[0-9]{1,6}(\.[0-9]{1,6})?(k|M|G|T|Ki|Mi|Gi|Ti)", "a quantity of bytes per second such as 200Mi"
)
BOOLEAN = Form(r"true|false", "true or false")
