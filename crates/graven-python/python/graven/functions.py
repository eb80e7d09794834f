"""Functions of Python for the expressions of statements: what ``Connection.create_function`` makes of a callable.

The types are those of ``cast`` in the language, by a member of :class:`graven.Type`, as text, or by the annotations of
the callable. Where Python has a type of its own for one (``uuid.UUID``, ``decimal.Decimal``, ``timedelta``), the
callable is given that, and may return it.
"""

from __future__ import annotations

import collections.abc
import datetime
import decimal
import inspect
import types
import typing
import uuid
from enum import Enum

from .values import Duration, Error, Point

_PLAIN = {
    bool: "BOOL",
    int: "INT64",
    float: "DOUBLE",
    str: "STRING",
    bytes: "BLOB",
    datetime.datetime: "TIMESTAMP",
    datetime.date: "DATE",
    datetime.time: "LOCAL TIME",
    datetime.timedelta: "INTERVAL",
    decimal.Decimal: "DOUBLE",
    uuid.UUID: "UUID",
    Point: "POINT",
}

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def described(name, function, params_type, return_type):
    """The types of the arguments and of the result, as text, and what is called with plain values."""
    if not callable(function):
        raise TypeError(f"create_function(): `{name}` needs something that can be called, got {type(function).__name__}")
    hints, parameters = _signature(function)
    if params_type is not None and not isinstance(params_type, (list, tuple)):
        raise TypeError(f"create_function(): the types of the arguments of `{name}` are a list, got {params_type!r}")
    if not params_type:
        if parameters is None:
            raise _unclear(f"`{name}` does not tell its arguments: give their types, [Type.INT64] for example")
        given = [hints.get(parameter, typing.Any) for parameter in parameters]
    else:
        given = list(params_type)
        if parameters is not None and len(parameters) != len(given):
            raise _unclear(f"`{name}` takes {len(parameters)} argument(s), and {len(given)} type(s) were given")
    if return_type is None or return_type == "":
        return_type = hints.get("return", typing.Any)
    into = [_into(kind) for kind in given]
    out = _out(return_type)
    arguments, returns = [_text(kind) for kind in given], _text(return_type)
    if any(into) or out:
        function = _converting(function, into, out)
    return arguments, returns, function


def _unclear(message):
    return Error("Function.Invalid", f"create_function(): {message}")


def _signature(function):
    """The annotations, and the names of the arguments: None where they are not known, or are any number."""
    try:
        hints = typing.get_type_hints(function if not isinstance(function, type) else function.__init__)
    except (NameError, TypeError, AttributeError):
        hints = dict(getattr(function, "__annotations__", {}))
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return hints, None
    if any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in parameters):
        return hints, None
    return hints, [parameter.name for parameter in parameters if parameter.kind in _POSITIONAL]


def _text(kind):
    """A type as text."""
    if isinstance(kind, Enum):
        kind = kind.value
    if isinstance(kind, str):
        plain = kind.strip().upper()
        if plain in ("LIST", "ARRAY", "FIXED_LIST"):
            return "ANY[]"
        return "MAP" if plain == "STRUCT" else kind
    if kind in (typing.Any, None, type(None), inspect.Parameter.empty, object):
        return "ANY"
    if kind is Duration:
        return "INTERVAL"
    if isinstance(kind, type) and kind in _PLAIN:
        return _PLAIN[kind]
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    base = origin or kind
    if base in (list, tuple, collections.abc.Sequence, collections.abc.Iterable):
        element = parts[0] if parts and (base is not tuple or parts[1:] == (...,)) else typing.Any
        return f"{_text(element)}[]"
    if base in (dict, collections.abc.Mapping):
        return f"MAP({_text(parts[0])}, {_text(parts[1])})" if parts else "MAP"
    one = _of_optional(kind)
    if one is not None:
        return _text(one)
    raise _unclear(f"there is no type of the database for {kind!r}: give one, as Type.STRING or 'MAP(STRING, INT64)'")


def _of_optional(kind):
    """``T`` of ``Optional[T]``."""
    unions = (typing.Union, getattr(types, "UnionType", typing.Union))
    if typing.get_origin(kind) in unions:
        rest = [part for part in typing.get_args(kind) if part is not type(None)]
        if len(rest) == 1:
            return rest[0]
    return None


def _element(kind):
    """What the elements of a list are; None where it is no list of a known kind."""
    if isinstance(kind, str):
        text = kind.strip()
        return text[: text.rindex("[")] if text.endswith("]") and "[" in text else None
    parts = typing.get_args(kind)
    if parts and typing.get_origin(kind) in (list, tuple, collections.abc.Sequence):
        return parts[0]
    return None


def _into(kind):
    """What makes Python's own type of a value of the database; None where it is that already."""
    kind = kind.value if isinstance(kind, Enum) else kind
    if kind is Duration:
        return None
    kind = _of_optional(kind) or kind
    element = _element(kind)
    if element is not None:
        inner = _into(element)
        return inner and (lambda values: None if values is None else [inner(value) for value in values])
    text = _text(kind).strip().upper()
    if text == "INTERVAL":
        return _timedelta
    if text == "UUID":
        return lambda value: None if value is None else uuid.UUID(value)
    if kind is decimal.Decimal or text.startswith(("DECIMAL", "NUMERIC")):
        return lambda value: None if value is None else decimal.Decimal(repr(value))
    if text in ("INT128", "HUGEINT", "UINT64"):
        return lambda value: None if value is None else int(value)
    return None


def _timedelta(value):
    return value if value is None else value.to_timedelta()


def _out(kind):
    """What makes a value that the database takes of one that a function returns; None where nothing need be done."""
    text = _text(kind).strip().upper()
    if text in ("INT128", "HUGEINT", "UINT64"):
        # Beyond 64 bits the database has the digits.
        return lambda value: str(value) if isinstance(value, int) and not -(2**63) <= value < 2**63 else value
    return None


def _converting(function, into, out):
    def converted(*args):
        value = function(*[make(arg) if make else arg for make, arg in zip(into, args)])
        return out(value) if out else value

    return converted
