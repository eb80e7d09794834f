"""Kinds of values of the language, as the translation of a plan knows them before any row is there.

A column of Spark has one type, so each expression has one kind; one that may have several is
refused (:class:`NotTranslated`).
"""

from __future__ import annotations

from typing import NamedTuple, Optional

from pyspark.sql import types as T

from graven import Error


class NotTranslated(Error):
    """A statement that has no equal on Spark; the message names the operator, function or kind."""

    def __init__(self, what, why):
        super().__init__("Request.NotTranslated", f"{what} is not translated to Spark: {why}; run the statement with graven itself")
        self.what = what
        self.why = why

    def __reduce__(self):
        return (NotTranslated, (self.what, self.why))


class Kind(NamedTuple):
    """A kind: its name, that of the items of a list, and those of the fields of a map or of a row of mixed values."""

    name: str
    item: Optional["Kind"] = None
    fields: tuple = ()

    def __str__(self):
        if self.item is not None:
            return f"{self.name}<{self.item}>"
        return self.name

    def field(self, key):
        """The kind of a field; None where there is none of that name."""
        return dict(self.fields).get(key)


NULL = Kind("NULL")
BOOLEAN = Kind("BOOLEAN")
INTEGER = Kind("INTEGER")
FLOAT = Kind("FLOAT")
STRING = Kind("STRING")
BYTES = Kind("BYTES")
DATE = Kind("DATE")
LOCAL_DATETIME = Kind("LOCAL DATETIME")
ZONED_DATETIME = Kind("ZONED DATETIME")
# A moment in UTC, as milliseconds since 1970.
MOMENT = Kind("DATETIME IN UTC")
# What has no type in Spark: only handed on.
OPAQUE = Kind("OPAQUE")
NODE = Kind("NODE")
RELATIONSHIP = Kind("RELATIONSHIP")
PATH = Kind("PATH")
# A path of which all parts are known: a row of the ids of its nodes and of its relationships.
WHOLE_PATH = Kind("PATH", None, (("nodes", Kind("LIST", NODE)), ("relationships", Kind("LIST", RELATIONSHIP))))
# The relationships of a shortest path, of which only the number is known: its column.
LENGTH = Kind("RELATIONSHIPS OF A SHORTEST PATH")

NUMBERS = (INTEGER, FLOAT)
ORDERED = (*NUMBERS, STRING, BOOLEAN, DATE, LOCAL_DATETIME, ZONED_DATETIME, MOMENT)

_OF_SPARK = {
    T.BooleanType: BOOLEAN,
    T.LongType: INTEGER,
    T.DoubleType: FLOAT,
    T.StringType: STRING,
    T.BinaryType: BYTES,
    T.DateType: DATE,
    T.TimestampNTZType: LOCAL_DATETIME,
    T.TimestampType: ZONED_DATETIME,
    T.NullType: NULL,
}

_TO_SPARK = {
    NULL: "void",
    BOOLEAN: "boolean",
    INTEGER: "bigint",
    FLOAT: "double",
    STRING: "string",
    BYTES: "binary",
    DATE: "date",
    LOCAL_DATETIME: "timestamp_ntz",
    ZONED_DATETIME: "timestamp",
    MOMENT: "bigint",
    NODE: "bigint",
    RELATIONSHIP: "bigint",
}


def list_of(item):
    """The kind of a list."""
    return Kind("LIST", item)


def map_of(fields):
    """The kind of a map with known keys."""
    return Kind("MAP", None, tuple(fields))


def mixed_of(kinds):
    """The kind of a list of values of several kinds, one after the other."""
    return Kind("MIXED LIST", None, tuple((f"_{place}", kind) for place, kind in enumerate(kinds, 1)))


def of_spark(of):
    """The kind of a column that was read."""
    if isinstance(of, T.ArrayType):
        return list_of(of_spark(of.elementType))
    return _OF_SPARK.get(type(of), OPAQUE)


def as_opaque(kind):
    """The kind of a column of texts that are none in the language."""
    return list_of(as_opaque(kind.item)) if kind.name == "LIST" else OPAQUE


def holds(kind, kinds):
    """Whether it is one of these, or a list or map with one of them in it."""
    if kind in kinds:
        return True
    return kind.item is not None and holds(kind.item, kinds) or any(holds(of, kinds) for _, of in kind.fields)


def listed_node(keys):
    """The kind of a node in a list with its id and properties beside it: their names with their kinds.

    In Spark it is a row of fields `p0`, `p1` and so on, in this order, as a name may be any text.
    """
    return Kind("NODE IN A LIST", None, (("id", NODE), *keys))


def listed_id(column):
    """A node in a list by itself, with its kind."""
    return column.getField("p0"), NODE


def listed_property(column, kind, key):
    """A property of a node in a list, with its kind."""
    place = [name for name, _ in kind.fields[1:]].index(key) + 1
    return column.getField(f"p{place}"), kind.fields[place][1]


def told_apart(kind, what):
    """Raises where values that differ in the language are one and the same in Spark."""
    if holds(kind, (PATH, LENGTH, OPAQUE, ZONED_DATETIME)):
        raise NotTranslated(f"{what} of {kind}", "Spark has less of it than makes two of them different")


def spark_type(kind):
    """The type of Spark as a text, for casts."""
    if kind.name == "LIST":
        return f"array<{spark_type(kind.item)}>"
    if kind.fields:
        inner = ", ".join(f"`{key}`: {spark_type(of)}" for key, of in kind.fields)
        return f"struct<{inner}>"
    if kind not in _TO_SPARK:
        raise NotTranslated(f"a value of kind {kind}", "it has no type in Spark")
    return _TO_SPARK[kind]


def common(one, other, what):
    """The kind of what may be either."""
    if one == other or other == NULL:
        return one
    if one == NULL:
        return other
    if one.name == other.name == "LIST":
        return list_of(common(one.item, other.item, what))
    names = [key for key, _ in one.fields]
    if one.name == other.name and one.fields and names == [key for key, _ in other.fields]:
        return Kind(one.name, None, tuple((k, common(a, other.field(k), what)) for k, a in one.fields))
    raise NotTranslated(what, f"its values are of several kinds ({one}, {other})")
