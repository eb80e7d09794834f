"""Types of the language as types of Spark, and columns of values as arrays of Arrow.

A value never changes on the way: one that is not of its column's type is an error that names column
and value.
"""

from __future__ import annotations

import datetime

import pyarrow
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_type

from graven import Duration, Node, Path, Point, Relationship, Temporal

from .options import invalid

POINT = T.StructType(
    [
        T.StructField("srid", T.LongType()),
        T.StructField("x", T.DoubleType()),
        T.StructField("y", T.DoubleType()),
        T.StructField("z", T.DoubleType()),
    ]
)

# What `valueType` says; times with an offset and durations have no type in Spark: their ISO text.
_TYPES = {
    "BOOLEAN": T.BooleanType(),
    "INTEGER": T.LongType(),
    "FLOAT": T.DoubleType(),
    "STRING": T.StringType(),
    "BYTES": T.BinaryType(),
    "DATE": T.DateType(),
    "LOCAL DATETIME": T.TimestampNTZType(),
    "ZONED DATETIME": T.TimestampType(),
    "LOCAL TIME": T.StringType(),
    "ZONED TIME": T.StringType(),
    "DURATION": T.StringType(),
    "POINT": POINT,
}


def of_names(names, what):
    """The type of Spark for what ``valueType`` says of the values of a property."""
    names, found = _found(names)
    if not names:
        return T.StringType()
    if not _is_one(found):
        raise invalid(
            f"{what} has values of several types, or of one that Spark has not ({', '.join(sorted(names))}): "
            "leave it out with .schema(...), or make it one type with .option('cypher', ...) and toString()"
        )
    return found[0]


def is_one(names):
    """Whether Spark has one type for all of these."""
    return _is_one(_found(names)[1])


def is_text(names):
    """Whether all values are texts in the language, too, and not times or durations that are written as texts."""
    return {name.replace(" NOT NULL", "") for name in names} - {"NULL"} == {"STRING"}


def without_kind(names):
    """Whether there are times with no type in Spark, or durations, among the values or the items of lists."""
    return any(word in name for name in names for word in ("LOCAL TIME", "ZONED TIME", "DURATION"))


def _found(names):
    names = {name.replace(" NOT NULL", "") for name in names} - {"NULL", "LIST<NOTHING>"}
    return names, [_of_name(name) for name in names]


def _is_one(found):
    return None not in found and all(one == found[0] for one in found)


def _of_name(name):
    if name.startswith("LIST<") and name.endswith(">"):
        inner = _of_name(name[5:-1])
        return inner and T.ArrayType(inner)
    return _TYPES.get(name)


def of_value(value, what):
    """The type of Spark that a value of Python, as the package gives it, has; None for null."""
    if value is None:
        return None
    if isinstance(value, (Node, Relationship, Path)):
        raise invalid(f"{what} holds nodes, relationships or paths: return their ids and properties")
    simple = {bool: "BOOLEAN", int: "INTEGER", float: "FLOAT", str: "STRING", bytes: "BYTES"}.get(type(value))
    if simple:
        return _TYPES[simple]
    if isinstance(value, datetime.datetime):
        return _TYPES["LOCAL DATETIME" if value.tzinfo is None else "ZONED DATETIME"]
    if isinstance(value, datetime.date):
        return _TYPES["DATE"]
    if isinstance(value, (datetime.time, Duration)):
        return _TYPES["DURATION"]
    if isinstance(value, Point):
        return POINT
    if isinstance(value, list):
        inner = None
        for item in value:
            inner = common(inner, of_value(item, what), what)
        return T.ArrayType(inner or T.NullType())
    if isinstance(value, dict):
        fields = sorted(value.items())
        return T.StructType([T.StructField(key, of_value(item, what) or T.NullType()) for key, item in fields])
    raise invalid(f"{what} holds {value!r}, which Spark has no type for: convert it with toString()")


def common(one, other, what):
    """The type of a column with values of both."""
    if one is None or isinstance(one, T.NullType):
        return other
    if other is None or isinstance(other, T.NullType) or one == other:
        return one
    if isinstance(one, T.ArrayType) and isinstance(other, T.ArrayType):
        return T.ArrayType(common(one.elementType, other.elementType, what))
    if isinstance(one, T.StructType) and isinstance(other, T.StructType):
        types = {field.name: field.dataType for field in one.fields}
        for field in other.fields:
            types[field.name] = common(types.get(field.name), field.dataType, what)
        return T.StructType([T.StructField(key, types[key]) for key in sorted(types)])
    raise invalid(f"{what} has values of several types ({one.simpleString()}, {other.simpleString()}): convert it with toString()")


_FITS = {
    T.BooleanType: {bool},
    T.LongType: {int},
    T.IntegerType: {int},
    T.DoubleType: {float},
    T.StringType: {str},
    T.BinaryType: {bytes},
    T.DateType: {datetime.date},
    T.TimestampType: {datetime.datetime},
    T.TimestampNTZType: {datetime.datetime},
}


def array(values, of, what):
    """Values as an array of Arrow of a type of Spark."""
    values = _plain(values, of, what)
    try:
        return pyarrow.array(values, to_arrow_type(of))
    except (pyarrow.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise invalid(f"{what} does not fit the type {of.simpleString()} of its column: {error}") from error


def _plain(values, of, what):
    """The values as Arrow takes them, each proved to be of the type."""
    if isinstance(of, T.StringType):
        values = [_text(value) for value in values]
    elif isinstance(of, T.ArrayType):
        return [value if value is None else _plain(_a(list, value, of, what), of.elementType, what) for value in values]
    elif isinstance(of, T.StructType):
        return [value if value is None else _fields(value, of, what) for value in values]
    fits = _FITS.get(type(of))
    if fits is not None:
        for value in values:
            if value is not None and type(value) not in fits:
                _wrong(value, of, what)
        if isinstance(of, (T.TimestampType, T.TimestampNTZType)):
            for value in values:
                if value is not None and (value.tzinfo is None) != isinstance(of, T.TimestampNTZType):
                    _wrong(value, of, what)
    return values


def _text(value):
    """What has no type in Spark is a text: its ISO form."""
    if isinstance(value, datetime.time):
        return value.isoformat()
    if isinstance(value, Duration):
        return _duration(value)
    if isinstance(value, Temporal) and value.type not in ("DATE", "LOCAL DATETIME", "ZONED DATETIME"):
        return str(value)
    return value


def _duration(span):
    """Months, days and seconds with their parts: ISO 8601."""
    whole = span.seconds * 1_000_000_000 + span.nanoseconds
    sign, whole = ("-", -whole) if whole < 0 else ("", whole)
    seconds, parts = divmod(whole, 1_000_000_000)
    fraction = f".{parts:09}".rstrip("0") if parts else ""
    return f"P{span.months}M{span.days}DT{sign}{seconds}{fraction}S"


def _fields(value, of, what):
    value = value._asdict() if isinstance(value, Point) else _a(dict, value, of, what)
    return {field.name: _plain([value.get(field.name)], field.dataType, what)[0] for field in of.fields}


def _a(kind, value, of, what):
    return value if isinstance(value, kind) else _wrong(value, of, what)


def _wrong(value, of, what):
    raise invalid(
        f"{what} holds {value!r}, which is not of the type {of.simpleString()} of its column (types come from a sample): "
        "give .schema(...) with another type or without the column, or make it text with .option('cypher', ...) and toString()"
    )
