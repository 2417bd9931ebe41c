"""What a port makes of a literal: accepts it, brings it to the port's type, or says why not.

A `Profile` is a node type prepared for checking many nodes: lookups by name and bounds instead of hints.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from graph.jsontext import MAX_INTEGER
from graph.spec import MAX_SEED, MISSING, Choice, File, Hint, Model, NodeSpec, Port, Range, Seed
from graph.types import PLAIN_NAMES, Plain, TypeRef

SHA256: Final = re.compile(r"[0-9a-f]{64}")
_PLAIN: Final = {name: python for python, name in PLAIN_NAMES.items()}
_FINITE: Final = sys.float_info.max


class Flawed(NamedTuple):
    """Why a literal is refused: a stable code, what the port takes, and what to do."""

    code: str
    takes: str
    advice: str


class Rule:
    """An input port prepared for checking. A literal of type `exact` within `low` and `high` needs no second look."""

    __slots__ = ("exact", "high", "hint", "is_file", "low", "name", "port", "type")

    def __init__(self, port: Port, type: TypeRef) -> None:
        self.port = port
        self.name = port.name
        self.type = type
        self.hint = port.hint
        self.is_file = isinstance(port.hint, File)
        self.exact, self.low, self.high = _quick(port)


Bound: TypeAlias = Any  # an int or a float, or None where there is none; Any keeps the comparison in the hot loop plain


def _quick(port: Port) -> tuple[type | None, Bound, Bound]:
    if port.type.is_list or port.type.name not in _PLAIN:
        return None, None, None
    exact = _PLAIN[port.type.name]
    if exact is bool:
        return (None, None, None) if port.hint else (bool, None, None)
    if exact is str:
        return (None, None, None) if isinstance(port.hint, (Choice, File)) else (str, None, None)
    low, high = bounds(port.type.name, port.hint)
    strict = isinstance(port.hint, Range) and port.hint.strict
    return (None, None, None) if strict else (exact, low, high)


def bounds(type_name: str, hint: Hint | None) -> tuple[float, float]:
    """The least and the greatest number that a port of this type and hint takes, both included."""
    if isinstance(hint, Seed):
        return 0, MAX_SEED
    widest = MAX_INTEGER if type_name == "int" else _FINITE
    if isinstance(hint, Range):
        return max(hint.low, -widest), min(hint.high, widest)
    return -widest, widest


class Profile:
    """A node type prepared for checking."""

    __slots__ = ("defaults", "generic", "list_types", "outputs", "renames", "required", "rules", "spec", "types")

    def __init__(self, spec: NodeSpec, intern: Callable[[TypeRef], TypeRef]) -> None:
        self.spec = spec
        self.rules: dict[str, Rule] = {}
        for port in spec.inputs:
            rule = Rule(port, intern(port.type))
            for name in (port.name, *port.was):
                self.rules[name] = rule
        self.required = frozenset(port.name for port in spec.inputs if port.required)
        self.defaults: dict[str, Plain] = {
            port.name: _default(self.rules[port.name]) for port in spec.inputs if port.default != MISSING
        }
        self.outputs = {output.name: position for position, output in enumerate(spec.outputs)}
        self.types = tuple(intern(output.type) for output in spec.outputs)
        self.list_types = tuple(intern(TypeRef(output.type.name, True)) for output in spec.outputs)
        self.renames = any(port.was for port in spec.inputs)
        self.generic = any(port.type.is_generic for port in spec.inputs)


def _default(rule: Rule) -> Plain:
    value, flaw = check_literal(rule, rule.port.default)
    default: Plain = rule.port.default if flaw else value
    return default


def check_literal(rule: Rule, value: Any) -> tuple[Plain, Flawed | None]:
    """The literal in the port's type, or why it is refused. `{"random": true}` and files come back as they are."""
    if value is None:
        if rule.port.optional:
            return None, None
        return None, Flawed("wrong_type", describe(rule), "Set a value, or leave the input out to take its default.")
    if not rule.type.is_list:
        return _element(rule, value)
    if type(value) is not list:
        return None, Flawed("wrong_type", describe(rule), "Write a list, or link an output that gives one.")
    result: list[Plain] = []
    for element in value:
        coerced, flaw = _element(rule, element)
        if flaw is not None:
            return None, flaw
        result.append(coerced)
    return result, None


def _element(rule: Rule, value: Any) -> tuple[Plain, Flawed | None]:
    if rule.is_file:
        return _file(rule, value)
    if type(value) is dict:
        return _random(rule, value)
    if rule.type.is_generic:
        if type(value) in PLAIN_NAMES:
            return value, None
        return None, Flawed("wrong_type", describe(rule), "Write a number, a text, true or false, or link an output.")
    exact = _PLAIN.get(rule.type.name)
    if exact is None:
        return None, Flawed("wrong_type", describe(rule), f"Link an output of type {rule.type} to it.")
    if exact is float and type(value) is int:
        value = float(value)
    elif exact is int and type(value) is float and value.is_integer():
        value = int(value)
    if type(value) is not exact:
        return None, _wrong_plain(rule, value)
    return _fitting(rule, value)


def _fitting(rule: Rule, value: Any) -> tuple[Plain, Flawed | None]:
    if rule.type.name == "text":
        return _text(rule, value)
    return (value, None) if rule.type.name == "bool" else _number(rule, value)


def _wrong_plain(rule: Rule, value: Any) -> Flawed:
    if type(value) is list:
        advice = "Write one value; to run the node once per value, link a node that gives a list."
    elif rule.type.name == "text":
        advice = "Write it in quotes."
    elif rule.type.name == "bool":
        advice = "Write true or false."
    elif type(value) is str:
        or_random = ', or {"random": true} for a random one' if isinstance(rule.hint, Seed) else ""
        advice = f"Write the number without quotes{or_random}."
    else:
        advice = "Write a whole number." if rule.type.name == "int" else "Write a number."
    return Flawed("wrong_type", describe(rule), advice)


def _text(rule: Rule, value: str) -> tuple[Plain, Flawed | None]:
    if not isinstance(rule.hint, Choice) or value in rule.hint.options:
        return value, None
    return None, Flawed("not_a_choice", describe(rule), "Choose one of them.")


def _number(rule: Rule, value: float) -> tuple[Plain, Flawed | None]:
    low, high = bounds(rule.type.name, rule.hint)
    name = rule.name
    if not math.isfinite(value):
        return None, Flawed("not_finite", describe(rule), f"Set {name} to a finite number.")
    if not low <= value <= high:
        code = "bad_seed" if isinstance(rule.hint, Seed) else "out_of_range"
        limit = f"at least {number_shown(low)}" if value < low else f"at most {number_shown(high)}"
        return None, Flawed(code, describe(rule), f"Set {name} to {limit}.")
    if isinstance(rule.hint, Range) and rule.hint.strict and rule.hint.step:
        step, first = rule.hint.step, rule.hint.low
        count = round((value - first) / step)
        if abs(first + count * step - value) > 1e-9 * max(1.0, abs(value)):
            below, above = (number_shown(first + n * step) for n in _around(value, first, step))
            return None, Flawed("not_a_multiple", describe(rule), f"Set {name} to {below} or {above}.")
    return value, None


def _around(value: float, first: float, step: float) -> tuple[int, int]:
    count = int((value - first) // step)
    return count, count + 1


def _random(rule: Rule, value: dict[str, Any]) -> tuple[Plain, Flawed | None]:
    if value == {"random": True} and value["random"] is True:
        if isinstance(rule.hint, Seed):
            return value, None
        return None, Flawed("random_not_allowed", describe(rule), "Write a value; only a seed can be random.")
    if "file" in value or "sha256" in value:
        return None, Flawed("file_not_allowed", describe(rule), "Write a value; only a file input takes a file.")
    return None, Flawed("bad_object", describe(rule), f"An object here is one of {_OBJECTS}.")


_OBJECTS: Final = '{"link": "node.port"}, {"file": name, "sha256": hex}, {"random": true}'


def _file(rule: Rule, value: Any) -> tuple[Plain, Flawed | None]:
    if type(value) is not dict or not value.keys() <= {"file", "sha256"} or "sha256" not in value:
        known = "as POST /v1/files answers it (in Python: client.upload); the command line takes a path"
        return None, Flawed("bad_file", describe(rule), f'Write {{"file": name, "sha256": hex}}, {known}.')
    name, digest = value.get("file", ""), value["sha256"]
    if type(digest) is not str or not SHA256.fullmatch(digest):
        return None, Flawed("bad_file", describe(rule), "Write the SHA-256 of its bytes as 64 small hex digits.")
    if type(name) is not str or len(name) > 255 or re.search(r"[\\/\x00-\x1f\x7f]|^\.{1,2}$", name):
        return None, Flawed("bad_file", describe(rule), "Write a plain file name, without a folder.")
    return value, None


def describe(rule: Rule) -> str:
    """What a port takes, as it ends "it takes ..."."""
    hint, name = rule.hint, rule.type.name
    if isinstance(hint, Seed):
        one = f"a seed, 0 to {MAX_SEED}, or a random one"
    elif isinstance(hint, Choice):
        one = "one of " + ", ".join(f'"{option}"' for option in hint.options)
    elif isinstance(hint, File):
        one = "a file" + (f" ({', '.join(hint.kinds)})" if hint.kinds else "")
    elif isinstance(hint, Model):
        one = f"the name of a {hint.kind} model"
    elif isinstance(hint, Range):
        step = f" in steps of {number_shown(hint.step)}" if hint.strict and hint.step else ""
        whole = "whole numbers " if name == "int" else ""
        one = f"{whole}{number_shown(hint.low)} to {number_shown(hint.high)}{step}"
    else:
        one = "one value" if rule.type.is_generic else _WORDS.get(name, f"a value of type {name}")
    if not rule.type.is_list:
        return one
    many = "values" if rule.type.is_generic else _WORDS_MANY.get(name, name)
    return f"a list of {many}" + (f": each {one}" if hint else "")


_WORDS: Final = {"int": "a whole number", "float": "a number", "text": "a text", "bool": "true or false"}
_WORDS_MANY: Final = {"int": "whole numbers", "float": "numbers", "text": "texts", "bool": "true or false"}


def number_shown(number: float) -> str:
    """A number as people write it: 7 rather than 7.0."""
    return str(int(number)) if float(number).is_integer() and abs(number) < 1e16 else f"{number:g}"


def shown(value: Any) -> str:
    """A value for a message: its JSON, shortened."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."
