"""Owns how a token becomes an option: cutting, abbreviations, and the readings of a line that an engine makes of it.

Refuses knowledge of any engine; what differs between parsers is in a Syntax.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_OPTION = re.compile(r"--?[A-Za-z][A-Za-z0-9_.+-]*")
_NEGATIVE_NUMBER = re.compile(r"-(?:\d[\d_]*(?:\.\d*)?|\.\d+)")


@dataclass(frozen=True, slots=True)
class Syntax:
    """What an engine's parser does beyond argparse (engines.md, "How a token becomes an option").

    `underscores`: `_` is `-` in an option's name. `dotted`: `--a.b value` is collected and appended last. `joined`: a
    short option whose text is cut off and put behind it as a token of its own. `own`: the engine's other options
    that are a strict prefix of an owned one.
    """

    underscores: bool = False
    dotted: bool = False
    joined: str = ""
    own: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a reading, and the index of the argument it came from."""

    text: str
    index: int


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a reading: its name as the parser cuts it, the argument's index, and the values that follow."""

    name: str
    index: int
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """A line as the parser sees it: the values before the first option, and the options in order."""

    loose: tuple[Token, ...]
    options: tuple[Option, ...]


def cut(text: str, syntax: Syntax) -> str:
    """The option's name in a token, or an empty string: cut at `=`, and for a dotted syntax at the first `.`."""
    if not text.startswith("--") or text == "--":
        return ""
    name = text.partition("=")[0]
    if syntax.dotted:
        name = name.partition(".")[0]
    return "--" + name[2:].replace("_", "-") if syntax.underscores else name


def reaches(name: str, option: str, syntax: Syntax) -> bool:
    """Whether a cut name is the option or may abbreviate it; an option that ends in `-` stands for its family."""
    if name == option or (option.endswith("-") and name.startswith(option)):
        return True
    return len(name) > 2 and option.startswith(name) and name not in syntax.own


def tokens(arguments: Sequence[str], syntax: Syntax) -> tuple[Token, ...]:
    """The tokens that argparse gets: joined options split, dotted ones taken out with their values and put last.

    Taking a dotted pair out makes neighbours of what stood around it, which is why values are only read from here.
    """
    split = [Token(text, index) for index, argument in enumerate(arguments) for text in _unjoined(argument, syntax)]
    if not syntax.dotted:
        return tuple(split)
    kept: list[Token] = []
    last: list[Token] = []
    position = 0
    while position < len(split):
        token = split[position]
        position += 1
        name, equals, _ = token.text.partition("=")
        if not name.startswith("-") or "." not in name:
            kept.append(token)
            continue
        if not equals:
            position += 1
        last += (Token(name.partition(".")[0], token.index), Token("{}", token.index))
    return (*kept, *last)


def read(arguments: Sequence[str], syntax: Syntax) -> Reading:
    """The options of a line and their values, as the parser sees them."""
    loose: list[Token] = []
    heads: list[tuple[Token, list[str]]] = []
    for token in tokens(arguments, syntax):
        if not is_value(token.text):
            heads.append((token, []))
        elif heads:
            heads[-1][1].append(token.text)
        else:
            loose.append(token)
    return Reading(tuple(loose), tuple(_option(head, values, syntax) for head, values in heads))


def is_value(text: str) -> bool:
    """Whether argparse takes a text for a value: no dash, a lone dash, a negative number, or a space in no option.

    An option that the engine does not have, joined to a value with a space, is a value too; here it passes for an
    option, since an engine's options are not all listed.
    """
    if not text.startswith("-") or text == "-" or _NEGATIVE_NUMBER.fullmatch(text):
        return True
    return " " in text and not _OPTION.fullmatch(text.partition("=")[0])


def _option(head: Token, values: list[str], syntax: Syntax) -> Option:
    # What follows a value joined by "=" belongs to no option: argparse takes exactly the joined one.
    _, equals, value = head.text.partition("=")
    return Option(cut(head.text, syntax) or head.text, head.index, (value,) if equals else tuple(values))


def _unjoined(argument: str, syntax: Syntax) -> tuple[str, ...]:
    joined = syntax.joined
    if not joined or argument == joined or not argument.startswith(joined) or argument[len(joined)] == ".":
        return (argument,)
    return (joined, argument[len(joined) :].removeprefix("="))
