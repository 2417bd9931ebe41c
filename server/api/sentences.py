"""What pydantic finds in a request, as our own sentences: what was found, where, and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from graph.errors import nearest
from graph.literals import shown

# Any, in this module: what a client sent.

_MOST_FAULTS: Final = 20
#: So much of a name that nobody knows is compared with the known ones.
_LONGEST_NAME: Final = 64

#: What is wanted, by the type of error that says it is something else.
_KINDS: Final = {
    "string_type": "a text", "int_type": "a whole number", "int_parsing": "a whole number", "int_from_float": "a whole number",
    "float_type": "a number", "float_parsing": "a number", "bool_type": "true or false", "bool_parsing": "true or false",
    "dict_type": "an object", "model_type": "an object", "list_type": "a list", "tuple_type": "a list",
}  # fmt: skip

#: What a text of each pattern looks like.
FORMS: Final = {
    r"^[A-Za-z0-9][A-Za-z0-9._ -]{0,127}$": (
        'the name of a workflow: 1 to 128 letters, digits, ".", "_", "-" and spaces, a letter or digit first'
    ),
    r"^[!-~](?:[ -~]{0,62}[!-~])?$": "1 to 64 visible ASCII characters",
    r"^[0-9a-hjkmnp-tv-z]{26}$": "a job's id as GET /v1/jobs lists it",
    r"^[a-z][a-z0-9_]{0,63}(?:/[a-z][a-z0-9_]{0,63}){0,15}$": (
        'a node\'s id: small letters, digits and "_", a letter first; "instance/node" inside a subgraph'
    ),
    r"^[0-9a-f]{64}$": "the ETag of a workflow: 64 small hexadecimal digits",
    r"^(cpu|mps|(cpu|cuda):[0-9]{1,4})$": "a device: cpu, mps, cpu:0 or cuda:0",
    r"^(auto|[1-9][0-9]{0,4}x[1-9][0-9]{0,4})$": "width x height in pixels, as 1024x768, or auto",
}

#: How a sentence about a place goes on, by the type of error; others are told in pydantic's words.
_SENTENCES: Final = {
    "missing": "is missing. Add it.",
    "extra_forbidden": "is not known here.{known}",
    "literal_error": "is {value}.{known}",
    "string_pattern_mismatch": "is {value}. Write {form}.",
    "less_than_equal": "is {value}. Set it to at most {le}.",
    "greater_than_equal": "is {value}. Set it to at least {ge}.",
    "string_too_long": "has {length}. Send at most {max_length}.",
    "string_too_short": "has {length}. Send at least {min_length}.",
    "too_long": "has {length}. Send at most {max_length}.",
    "too_short": "has {length}. Send at least {min_length}.",
}
#: Where a part is put into a sentence; what a client sent is never read as such.
_PART: Final = re.compile(r"\{([a-z_]+)\}")


class Fault(NamedTuple):
    """One value that cannot be used: its path in what was sent, and the sentence about it."""

    path: tuple[str | int, ...]
    message: str


def faults_of(
    error: ValidationError, value: Any, names: Iterable[str], place: Callable[[tuple[str | int, ...]], str]
) -> list[Fault]:
    """What is wrong with `value`, once for each place.

    `names` are the members that it may have; `place` begins the sentence about a path, as "The body's /size".
    """
    found: dict[tuple[str | int, ...], list[ErrorDetails]] = {}
    for one in error.errors(include_url=False)[:_MOST_FAULTS]:
        found.setdefault(_real_path(one["loc"], one["type"], value), []).append(one)
    known = tuple(names)
    return [Fault(path, _printable(f"{place(path)} {_predicate(errors, known)}")) for path, errors in found.items()]


def _predicate(errors: list[ErrorDetails], names: tuple[str, ...]) -> str:
    """What is said of a place. Of a union there is an error for each branch: the one that takes values of this kind counts."""
    one = next((error for error in errors if error["type"] not in _KINDS), None)
    if one is None:
        wanted = dict.fromkeys(_KINDS[error["type"]] for error in errors)
        return f"is {_found(errors[0]['input'])}. Write {' or '.join(wanted)}."
    sentence = _SENTENCES.get(one["type"])
    if sentence is None:
        return f"cannot be used: {one['msg'].removeprefix('Value error, ').rstrip('.')}. /v1/docs shows its form."
    given, context = one["input"], one.get("ctx", {})
    name, known = (one["loc"][-1], names) if one["type"] == "extra_forbidden" else (given, _choices(context))
    form = FORMS.get(context.get("pattern", ""), "it as /v1/docs shows it")
    parts = {**context, "value": _found(given), "known": _known(str(name), known), "length": _length(given), "form": form}
    return _PART.sub(lambda match: str(parts[match[1]]), sentence)


def _choices(context: Mapping[str, Any]) -> list[str]:
    """The texts that a Literal takes: pydantic tells them as "'a', 'b' or 'c'"."""
    return re.findall(r"'([^']*)'", context.get("expected", ""))


def _length(value: Any) -> str:
    if isinstance(value, str):
        return f"{len(value)} character{'' if len(value) == 1 else 's'}"
    return f"{len(value)} entries" if isinstance(value, (dict, list)) else ""


def _known(name: str, names: Sequence[str]) -> str:
    """The names that are known, and the one that was perhaps meant."""
    near = nearest(name[:_LONGEST_NAME], names)
    return f" Known: {', '.join(sorted(names))}.{near}" if near.startswith(" Did") else near


def _found(value: Any) -> str:
    """A value as a sentence names it; of a long one what it is."""
    if isinstance(value, dict):
        return "an object"
    return "a list" if isinstance(value, (list, tuple)) else shown(value)


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text[:500])


def _real_path(loc: tuple[str | int, ...], kind: str, value: Any) -> tuple[str | int, ...]:
    """Where an error lies in `value`: steps that name a branch of a union are left out."""
    path: list[str | int] = []
    for number, step in enumerate(loc):
        if _has(value, step):
            value = value[step]
        elif not (number == len(loc) - 1 and kind in ("missing", "extra_forbidden")):
            continue
        path.append(step if len(str(step)) <= 128 else str(step)[:128])
    return tuple(path)


def _has(value: Any, step: str | int) -> bool:
    if isinstance(value, dict):
        return step in value
    return isinstance(value, (list, tuple)) and isinstance(step, int) and step < len(value)
