"""Declared types: their text taken apart, and what Kuzu's package makes of their values."""

from __future__ import annotations

import datetime
import decimal
import re
import uuid
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from ..values import Duration, Temporal
from . import texts

__all__ = ["ANY", "SAME", "Kind", "converter", "read"]

_DAYS_OF_MONTH = 30
_OTHER_NAMES = {
    "BOOLEAN": "BOOL",
    "INT": "INT32",
    "INTEGER": "INT64",
    "SERIAL": "INT64",
    "HUGEINT": "INT128",
    "NUMERIC": "DECIMAL",
    "BYTEA": "BLOB",
    "DURATION": "INTERVAL",
    "REAL": "FLOAT",
    "JSON": "json",
}
_WHOLE = {"INT8", "INT16", "INT32", "INT64", "INT128", "UINT8", "UINT16", "UINT32", "UINT64"}
_PRECISION, _SCALE = 18, 3


#: Types of columns whose values are in both packages the same.
SAME = frozenset(("BOOL", "INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "FLOAT", "DOUBLE", "STRING", "json", "BLOB", "DATE"))


class Kind(NamedTuple):
    """A type: its name, and what it is made of."""

    name: str
    #: Those of a ``STRUCT`` or ``UNION`` with their names; key and value of a ``MAP``; the element of a ``LIST``.
    parts: Tuple[Tuple[str, "Kind"], ...] = ()
    #: Elements of a list that has always as many.
    length: Optional[int] = None
    precision: int = _PRECISION
    scale: int = _SCALE

    @property
    def element(self) -> "Kind":
        """That of the elements of a list."""
        return self.parts[0][1]

    def __str__(self) -> str:
        if self.name == "LIST" and self.parts:
            return f"{self.element}[{'' if self.length is None else self.length}]"
        if self.name == "DECIMAL":
            return f"DECIMAL({self.precision}, {self.scale})"
        if not self.parts:
            return self.name
        names = (name if name.isidentifier() else f"`{name}`" for name, _ in self.parts)
        parts = (str(of) if self.name == "MAP" else f"{name} {of}" for name, (_, of) in zip(names, self.parts))
        return f"{self.name}({', '.join(parts)})"


ANY = Kind("ANY")


def read(text: str) -> Kind:
    """The type that a text names; ``ANY`` if it is none that has a form of its own."""
    text = text.strip()
    if text.endswith("]") and "[" in text:
        head, _, length = text[:-1].rpartition("[")
        return Kind("LIST", (("", read(head)),), int(length) if length.strip().isdigit() else None)
    head, opened, inside = text.partition("(")
    name = head.strip().upper()
    name = _OTHER_NAMES.get(name, name)
    if not opened:
        return Kind(name)
    parts = [part.strip() for part in texts.split(inside.rpartition(")")[0])]
    if name in ("STRUCT", "UNION"):
        return Kind(name, tuple(_named(part) for part in parts))
    if name == "MAP" and len(parts) == 2:
        return Kind(name, (("key", read(parts[0])), ("value", read(parts[1]))))
    if name == "DECIMAL" and len(parts) == 2 and all(part.isdigit() for part in parts):
        return Kind(name, precision=int(parts[0]), scale=int(parts[1]))
    return Kind(name)


def _named(part: str) -> Tuple[str, Kind]:
    quoted = part.startswith("`")
    name, _, of = part[1:].partition("`") if quoted else part.partition(" ")
    return name, read(of)


def converter(kind: Kind, otherwise: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What makes Kuzu's form of a value of this type; ``otherwise`` does it where the type does not tell.

    A value that is not of the type, because its column is not checked or is older than its type, stays what it is.
    """
    make = _maker(kind, otherwise)
    if make is None:
        return otherwise

    def convert(value: Any) -> Any:
        if value is None:
            return None
        try:
            return make(value)
        except (ValueError, TypeError, ArithmeticError, AttributeError):
            return otherwise(value)

    return convert


def _maker(kind: Kind, otherwise: Callable[[Any], Any]) -> Optional[Callable[[Any], Any]]:
    name = kind.name
    if name in _PLAIN:
        return _PLAIN[name]
    if name == "DECIMAL":
        unit = decimal.Decimal(1).scaleb(-kind.scale)
        return lambda value: decimal.Decimal(str(value)).quantize(unit)
    if name == "LIST":
        each = converter(kind.element, otherwise)
        return lambda value: [each(item) for item in (texts.items(value) if isinstance(value, str) else value)]
    if name == "STRUCT" and kind.parts:
        fields = [(field, converter(of, otherwise)) for field, of in kind.parts]

        def struct(value: Any) -> Any:
            entries = dict(texts.entries(value, quoted_keys=False)) if isinstance(value, str) else value
            return {field: make(entries.get(field)) for field, make in fields}

        return struct
    if name == "MAP" and kind.parts:
        key, of = (converter(part, otherwise) for _, part in kind.parts)

        def mapped(value: Any) -> Any:
            entries = texts.entries(value) if isinstance(value, str) else value.items()
            return {key(k): of(v) for k, v in entries}

        return mapped
    if name == "UNION" and kind.parts:
        makers = [_maker(of, otherwise) or otherwise for _, of in kind.parts]
        return lambda value: _first(makers, value)
    return None


def _first(makers: List[Callable[[Any], Any]], value: Any) -> Any:
    """What the first member of a union makes of a text."""
    for make in makers:
        try:
            return make(value)
        except (ValueError, TypeError, ArithmeticError, AttributeError):
            pass
    return value


def _bool(value: Any) -> bool:
    if isinstance(value, str):
        lower = value.strip().lower()
        if lower not in ("true", "false"):
            raise ValueError(value)
        return lower == "true"
    return bool(value)


def _uuid(value: Any) -> uuid.UUID:
    return uuid.UUID(value) if isinstance(value, str) else value


def _date(value: Any) -> Any:
    return datetime.date(*map(int, value.strip().split("-"))) if isinstance(value, str) else value


_MOMENT = re.compile(
    r"\s*(\d{4})-(\d\d?)-(\d\d?)(?:[ T](\d\d?):(\d\d?)(?::(\d\d?)(?:\.(\d+))?)?)?"
    r"\s*(?:(Z)?([+-]\d\d)(?::?(\d\d))?|Z)?(?:\[.*\])?\s*"
)


def moment(text: str) -> datetime.datetime:
    """A moment without a zone; an offset is taken away, so that it is of UTC. Parts of microseconds are cut off."""
    found = _MOMENT.fullmatch(text)
    if not found:
        raise ValueError(f"{text} is no moment")
    *parts, fraction, _, hours, minutes = found.groups()
    year, month, day, hour, minute, second = (int(part or 0) for part in parts)
    micros = int((fraction or "0")[:6].ljust(6, "0"))
    made = datetime.datetime(year, month, day, hour, minute, second, micros)
    if hours:
        sign = -1 if hours.startswith("-") else 1
        made -= sign * datetime.timedelta(hours=abs(int(hours)), minutes=int(minutes or 0))
    return made


def _timestamp(value: Any) -> datetime.datetime:
    made = moment(value) if isinstance(value, str) else value
    if made.tzinfo is not None:
        made = made.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return made


def _milliseconds(value: Any) -> datetime.datetime:
    made = _timestamp(value)
    return made.replace(microsecond=made.microsecond // 1000 * 1000)


def _seconds(value: Any) -> datetime.datetime:
    return _timestamp(value).replace(microsecond=0)


def _zoned(value: Any) -> datetime.datetime:
    return _timestamp(value).replace(tzinfo=datetime.timezone.utc)


def span(value: Duration) -> datetime.timedelta:
    """A duration as a fixed time: a month has 30 days, parts of microseconds are cut off."""
    days = value.months * _DAYS_OF_MONTH + value.days
    return datetime.timedelta(days, value.seconds, value.nanoseconds // 1000)


_UNITS = {
    "year": (12, 0, 0),
    "month": (1, 0, 0),
    "week": (0, 7, 0),
    "day": (0, 1, 0),
    "hour": (0, 0, 3_600_000_000),
    "minute": (0, 0, 60_000_000),
    "second": (0, 0, 1_000_000),
    "millisecond": (0, 0, 1_000),
    "microsecond": (0, 0, 1),
}
_SHORT = {"us": "microsecond", "ms": "millisecond", "min": "minute", "sec": "second", "hr": "hour", "mon": "month"}


def _interval(value: Any) -> datetime.timedelta:
    if not isinstance(value, str):
        return span(value)
    found = re.findall(r"(-?\d+)\s*([a-z]+)", value.lower())
    if not found:
        raise ValueError(value)
    total = datetime.timedelta()
    for number, unit in found:
        unit = _SHORT.get(unit) or _SHORT.get(unit.rstrip("s"), unit.rstrip("s"))
        if unit not in _UNITS:
            raise ValueError(value)
        months, days, micros = (int(number) * part for part in _UNITS[unit])
        total += datetime.timedelta(months * _DAYS_OF_MONTH + days, microseconds=micros)
    return total


def _blob(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    escaped = re.sub(r"\\{1,2}x([0-9A-Fa-f]{2})", lambda found: chr(int(found.group(1), 16)), value)
    return escaped.encode("latin-1")


_PLAIN: Dict[str, Callable[[Any], Any]] = {
    "BOOL": _bool,
    "FLOAT": float,
    "DOUBLE": float,
    "STRING": lambda value: value,
    "json": lambda value: value,
    "UUID": _uuid,
    "DATE": _date,
    "TIMESTAMP": _timestamp,
    "TIMESTAMP_NS": _timestamp,
    "TIMESTAMP_MS": _milliseconds,
    "TIMESTAMP_SEC": _seconds,
    "TIMESTAMP_TZ": _zoned,
    "INTERVAL": _interval,
    "BLOB": _blob,
    **{name: int for name in _WHOLE},
}


def without_type(value: Temporal) -> Any:
    """A moment beyond Python's precision, cut off; other dates and times stay text."""
    if value.type not in ("localdatetime", "datetime"):
        return value
    try:
        made = moment(str(value))
    except ValueError:
        return value
    return made if value.type == "localdatetime" else made.replace(tzinfo=datetime.timezone.utc)
