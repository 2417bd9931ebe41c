"""JSON text in and out, strictly: what this reads, every other reader reads alike, and writing it again gives its bytes.

Reading refuses duplicate keys, NaN and Infinity, integers beyond 2^53-1, lone surrogates, a byte order mark and deep
nesting, each with its place. Writing gives exactly what `JSON.stringify(value, null, 2)` and a final line feed give in
a browser: members in the order they are held, numbers as ECMAScript prints them (the number rules of RFC 8785).
Knows nothing of workflows.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

#: The largest integer that a double holds together with both of its neighbours.
MAX_INTEGER: Final = 2**53 - 1
#: Nesting of objects and arrays that is read and written.
MAX_DEPTH: Final = 64

_LARGEST: Final = 1e21  # from here on ECMAScript prints an exponent, so the text is no integer
_DIGITS: Final = 16  # digits of MAX_INTEGER


class Flaw(NamedTuple):
    """One reason why a text is refused: a stable code, what was found, the path to it, and line and column from 1."""

    code: str
    found: str
    advice: str
    path: tuple[str | int, ...]
    line: int
    column: int

    @property
    def place(self) -> str:
        """'nodes.tokens.inputs.seed (line 4, column 12)'; the path is left out where there is none."""
        position = f"line {self.line}, column {self.column}"
        return f"{path_text(self.path)} ({position})" if self.path else position

    def __str__(self) -> str:
        return f"{self.found} at {self.place}. {self.advice}"


class JsonError(ValueError):
    """A text is refused; `flaws` holds every reason found. A syntax error ends the search."""

    def __init__(self, flaws: list[Flaw]) -> None:
        super().__init__("\n".join(str(flaw) for flaw in flaws))
        self.flaws = flaws


class _Refused(Exception):
    """The quick pass met something it does not take; the slow pass tells what and where."""


def path_text(path: tuple[str | int, ...]) -> str:
    """A path as it is shown: keys after dots, positions in brackets."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def read_json(source: str | bytes) -> Any:  # Any: whatever the text holds
    """The value of a JSON text. Raises `JsonError` with every flaw and its place.

    The quick pass is the C decoder; only a text that it refuses is scanned again, in Python, for places.
    """
    text = _decode(source)
    try:
        value = _DECODER.decode(text)
        members = _members(value)
        if members is not None and not _has_only(text, members):
            value = _PAIRS_DECODER.decode(text)
    except (_Refused, RecursionError):
        raise JsonError(_flaws(text) or [_TOO_DEEP]) from None
    except json.JSONDecodeError as error:
        raise JsonError([*_flaws(text, error.pos), _syntax(error)]) from None
    if members is None or _SURROGATE.search(text):
        flaws = _flaws(text)
        if flaws:
            raise JsonError(flaws)
    return value


def _decode(source: str | bytes) -> str:
    text = source if isinstance(source, str) else _decode_bytes(source)
    if text.startswith("\ufeff"):
        flaw = Flaw("byte_order_mark", "A byte order mark", "Save the file as UTF-8 without one.", (), 1, 1)
        raise JsonError([flaw])
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise JsonError([_lone_surrogate(text, error.start, ())]) from None
    return text


def _decode_bytes(source: bytes) -> str:
    try:
        return source.decode()
    except UnicodeDecodeError as error:
        line, column = _position(source[: error.start].decode(), error.start)
        found = f"Byte 0x{source[error.start]:02x}, which is not UTF-8,"
        raise JsonError([Flaw("not_utf8", found, "Save the file as UTF-8.", (), line, column)]) from None


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Refused
    return found


def _integer(text: str) -> int:
    if len(text) >= _DIGITS and (len(text) > _DIGITS + 1 or not -MAX_INTEGER <= int(text) <= MAX_INTEGER):
        raise _Refused
    return int(text)


def _real(text: str) -> float:
    number = float(text)
    if not -MAX_INTEGER <= number <= MAX_INTEGER and not _LARGEST <= abs(number) < math.inf:
        raise _Refused
    return number


def _constant(_: str) -> float:
    raise _Refused


_DECODER: Final = json.JSONDecoder(parse_int=_integer, parse_float=_real, parse_constant=_constant)
_PAIRS_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_int=_integer, parse_float=_real, parse_constant=_constant
)
#: The end of a key, and of a few strings.
_KEY_END: Final = re.compile(r'"[ \t\n\r]*:')
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")


def _has_only(text: str, members: int) -> bool:
    """Whether a text surely has no more keys than the `members` that were read of it, so that none was there twice.

    Each key ends with a quote and a colon, so there are at least as many of these as keys; others stand in strings.
    """
    return text.count(":") == members or len(_KEY_END.findall(text)) == members


def is_deeper_than(value: object, limit: int) -> bool:
    """Whether objects and arrays nest more than `limit` deep."""
    return _members(value, limit) is None


def _members(value: object, limit: int = MAX_DEPTH) -> int | None:
    """The members of all objects in a value; None if it nests more than `limit` deep. Goes level by level, without recursion."""
    level = [value] if type(value) in (dict, list) else []
    count = 0
    for _ in range(limit):
        if not level:
            return count
        count += sum([len(one) for one in level if type(one) is dict])
        level = [
            child
            for parent in level
            for child in (parent.values() if type(parent) is dict else parent)  # type: ignore[attr-defined]  # a list or dict
            if type(child) is dict or type(child) is list
        ]
    return None if level else count


# The slow pass: only for texts that are refused.

_MOST_FLAWS: Final = 100
_TOO_DEEP: Final = Flaw("too_deep", f"Nesting of more than {MAX_DEPTH} levels", "Flatten the value.", (), 1, 1)
# A string that nothing ends is one token up to the end of the text: tried again from each quote inside it, it would take
# time with the square of its length.
_TOKEN: Final = re.compile(
    r'"(?:[^"\\]++|\\.?)*+"?|-?[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|-?Infinity|NaN|true|false|null|[\[\]{},:]', re.DOTALL
)


def _position(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def _syntax(error: json.JSONDecodeError) -> Flaw:
    found = f"No valid JSON ({error.msg[0].lower()}{error.msg[1:]})"
    return Flaw("bad_json", found, "Mend the text there.", (), error.lineno, error.colno)


def _lone_surrogate(text: str, offset: int, path: tuple[str | int, ...]) -> Flaw:
    advice = "Replace it: half of a surrogate pair is no character."
    return Flaw("lone_surrogate", "A lone surrogate", advice, path, *_position(text, offset))


class _Level:
    """An open object or array of the slow pass."""

    __slots__ = ("key", "keys", "position")

    def __init__(self, is_object: bool) -> None:
        self.keys: set[str] | None = set() if is_object else None
        self.key: str | None = None
        self.position = 0


def _flaws(text: str, end: int | None = None) -> list[Flaw]:
    """Every flaw of a text up to `end`; syntax is not checked here."""
    flaws: list[Flaw] = []
    levels: list[_Level] = []

    def note(code: str, found: str, advice: str, offset: int) -> None:
        flaws.append(Flaw(code, found, advice, _path(levels), *_position(text, offset)))

    for match in _TOKEN.finditer(text, 0, len(text) if end is None else end):
        if len(flaws) >= _MOST_FLAWS:
            break
        token, offset = match.group(), match.start()
        level = levels[-1] if levels else None
        if token in "{[":
            levels.append(_Level(token == "{"))
            if len(levels) > MAX_DEPTH:
                flaws.append(
                    _TOO_DEEP._replace(path=_path(levels[:4]), line=_position(text, offset)[0], column=_position(text, offset)[1])
                )
                return flaws
        elif token in "}]":
            if levels:
                levels.pop()
        elif token == ",":
            if level is not None:
                level.key, level.position = None, level.position + 1
        elif token[0] == '"':
            _string(text, token, offset, levels, flaws, note)
        elif token[0] in "-0123456789NI":
            _number(token, offset, note)
    return flaws


_Note = Callable[[str, str, str, int], None]


def _string(text: str, token: str, offset: int, levels: list[_Level], flaws: list[Flaw], note: _Note) -> None:
    try:
        string = json.loads(token, strict=False)
    except ValueError:
        return  # a bad escape: the decoder reports it
    level = levels[-1] if levels else None
    if level is not None and level.keys is not None and level.key is None:
        level.key = string
        if string in level.keys:
            note("duplicate_key", f"The key {_shown(string)} for the second time", "Keep one of the two.", offset)
        level.keys.add(string)
    if any("\ud800" <= character <= "\udfff" for character in string):
        flaws.append(_lone_surrogate(text, offset, _path(levels)))


def _number(token: str, offset: int, note: _Note) -> None:
    if token in ("NaN", "Infinity", "-Infinity"):
        note("not_finite", token, "Write a finite number; JSON has no such value.", offset)
    elif re.fullmatch(r"-?[0-9]+", token):
        if len(token) > _DIGITS + 1 or abs(int(token)) > MAX_INTEGER:
            _too_large(token, offset, note)
    elif math.isinf(number := float(token)):
        note("not_finite", f"{_shorter(token)}, which is beyond the largest number,", "Write a finite number.", offset)
    elif MAX_INTEGER < abs(number) < _LARGEST:
        _too_large(token, offset, note)


def _too_large(token: str, offset: int, note: _Note) -> None:
    advice = "Write a smaller number; other programs would round this one."
    note("integer_too_large", f"The integer {_shorter(token)}, which is beyond 2^53-1,", advice, offset)


def _path(levels: list[_Level]) -> tuple[str | int, ...]:
    steps: list[str | int] = []
    for level in levels:
        if level.keys is None:
            steps.append(level.position)
        elif level.key is not None:
            steps.append(_readable(level.key))
    return tuple(steps)


def _readable(text: str) -> str:
    return _shorter(text.encode("utf-8", "backslashreplace").decode())


def _shown(text: str) -> str:
    return f'"{_readable(text)}"'


def _shorter(text: str, most: int = 40) -> str:
    return text if len(text) <= most else f"{text[:most]}..."


# Writing.


def number_text(number: float) -> str:
    """A number as ECMAScript's Number::toString prints it (ECMA-262, 6.1.6.1.20), which is RFC 8785's rule.

    Raises ValueError for NaN, infinities, and whatever would print as an integer beyond 2^53-1.
    """
    if not math.isfinite(number):
        raise ValueError(f"{number} is not a finite number, and JSON has no other. Use a finite number.")
    if MAX_INTEGER < abs(number) < _LARGEST or (isinstance(number, int) and abs(number) > MAX_INTEGER):
        raise ValueError(f"{number} is beyond 2^53-1, where other programs round. Use a smaller number.")
    if isinstance(number, int):
        return str(int(number))
    if number == 0:
        return "0"  # also -0.0
    sign, text = ("-", repr(-number)) if number < 0 else ("", repr(number))
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    leading = len(whole + fraction) - len(digits)
    point = len(whole) - leading + int(exponent or 0)  # the value is 0.digits times 10 to this
    digits = digits.rstrip("0")
    return sign + _placed(digits, point)


def _placed(digits: str, point: int) -> str:
    if len(digits) <= point <= 21:
        return digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{rest}e{'+' if point > 0 else '-'}{abs(point - 1)}"


_quote: Final = json.encoder.encode_basestring  # escapes what JSON.stringify escapes, and nothing else


def write_json(value: object) -> str:
    """The text of a value: 2 spaces, line feeds, members in their order, and a line feed at the end.

    Raises ValueError (with the place) for what `read_json` would refuse: a number or string that JSON cannot carry
    safely, a key that is no string, nesting beyond `MAX_DEPTH`, or a Python type that JSON does not have.
    """
    parts: list[str] = []
    _write(value, "\n", parts, ())
    parts.append("\n")
    return "".join(parts)


def _write(value: object, newline: str, parts: list[str], path: tuple[str | int, ...]) -> None:
    if isinstance(value, str):
        parts.append(_string_text(value, path))
    elif value is None or value is True or value is False:
        parts.append({None: "null", True: "true", False: "false"}[value])
    elif isinstance(value, (int, float)):
        try:
            parts.append(number_text(value))
        except ValueError as error:
            raise ValueError(f"At {path_text(path)}: {error}") from None
    elif isinstance(value, dict):
        _write_members(value, newline, parts, path)
    elif isinstance(value, (list, tuple)):
        _write_items(list(value), newline, parts, path)
    else:
        raise ValueError(
            f"At {path_text(path)}: a {type(value).__name__} is no JSON value. Use text, numbers, lists and objects."
        )


def _write_members(value: dict[Any, Any], newline: str, parts: list[str], path: tuple[str | int, ...]) -> None:
    inner = _deeper(newline, path)
    separator = "{" + inner
    for key, item in value.items():
        if not isinstance(key, str):
            raise ValueError(f"At {path_text(path)}: the key {key!r} is no string. Use a string.")
        parts.append(f"{separator}{_string_text(key, path)}: ")
        _write(item, inner, parts, (*path, key))
        separator = "," + inner
    parts.append(newline + "}" if value else "{}")


def _write_items(value: list[Any], newline: str, parts: list[str], path: tuple[str | int, ...]) -> None:
    inner = _deeper(newline, path)
    separator = "[" + inner
    for position, item in enumerate(value):
        parts.append(separator)
        _write(item, inner, parts, (*path, position))
        separator = "," + inner
    parts.append(newline + "]" if value else "[]")


def _deeper(newline: str, path: tuple[str | int, ...]) -> str:
    if len(path) >= MAX_DEPTH:
        raise ValueError(f"At {path_text(path)[:60]}...: nesting of more than {MAX_DEPTH} levels. Flatten the value.")
    return newline + "  "


def _string_text(text: str, path: tuple[str | int, ...]) -> str:
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError(f"At {path_text(path)}: a lone surrogate, which is no character. Replace it.")
    return _quote(text)
