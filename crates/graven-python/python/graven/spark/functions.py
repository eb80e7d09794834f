"""Functions of the language that Spark has with the same meaning: each takes columns with kinds and
gives one.

A function that is missing here, or missing for a kind, is refused by name.
"""

from __future__ import annotations

from pyspark.sql import functions as F

from .kinds import (
    BOOLEAN,
    FLOAT,
    INTEGER,
    LENGTH,
    MOMENT,
    NODE,
    NULL,
    PATH,
    RELATIONSHIP,
    STRING,
    NotTranslated,
    common,
    list_of,
    spark_type,
)


def null():
    """The null of no kind."""
    return F.lit(None), NULL


def called(name, args):
    """What a function gives for arguments, each a column and its kind."""
    make = _FUNCTIONS.get(name)
    if make is None:
        raise NotTranslated(f"function {name}()", "Spark has none of the same meaning")
    if name != "coalesce" and args and args[0][1] == NULL:
        return null()
    found = make(*args)
    if found is None:
        kinds = ", ".join(str(kind) for _, kind in args)
        raise NotTranslated(f"function {name}({kinds})", "Spark has none of the same meaning for these kinds")
    return found


def _coalesce(*args):
    kind = NULL
    for _, of in args:
        kind = common(kind, of, "function coalesce()")
    if kind == NULL:
        return null()
    return F.coalesce(*(column.cast(spark_type(kind)) if of != kind else column for column, of in args)), kind


def _size(value):
    column, kind = value
    if kind.name == "LIST":
        return F.array_size(column), INTEGER
    if kind == LENGTH:
        return column, INTEGER
    return (F.char_length(column), INTEGER) if kind == STRING else None


def _long(made):
    column, kind = made
    return column.cast("bigint"), kind


def _item(place):
    def take(value):
        column, kind = value
        if kind.name != "LIST":
            return None
        at = F.lit(0) if place == 0 else F.array_size(column) - 1
        return F.get(column, at), kind.item

    return take


def _tail(value):
    column, kind = value
    return (F.slice(column, 2, F.greatest(F.array_size(column), F.lit(1))), kind) if kind.name == "LIST" else None


def _reverse(value):
    column, kind = value
    return (F.reverse(column), kind) if kind.name == "LIST" or kind == STRING else None


def _range(low, high, step=None):
    if step is not None or low[1] != INTEGER or high[1] != INTEGER:
        return None
    # Spark counts down where the end is below the start.
    made = F.when(low[0] <= high[0], F.sequence(low[0], high[0])).otherwise(F.array().cast("array<bigint>"))
    return F.when(low[0].isNotNull() & high[0].isNotNull(), made), list_of(INTEGER)


def _same(make, *kinds):
    return lambda value: (make(value[0]), value[1]) if value[1] in kinds else None


def _to_float(value):
    column, kind = value
    return (column.cast("double"), FLOAT) if kind in (INTEGER, FLOAT) else None


def _to_integer(value):
    # Floats beyond 64 bits, and texts, are not read in the same way.
    return value if value[1] == INTEGER else None


def _to_string(value):
    column, kind = value
    return (column.cast("string"), STRING) if kind in (INTEGER, STRING, BOOLEAN) else None


def _float(make):
    def of(value):
        column, kind = value
        return (make(column.cast("double")).cast("double"), FLOAT) if kind in (INTEGER, FLOAT) else None

    return of


def _rounded(make, x):
    """Spark makes whole numbers of 64 bits: floats that have no fraction stay, and zero keeps its sign."""
    rounded = make(x).cast("double")
    near_zero = F.when((rounded == 0) & (x < 0), F.lit(-0.0)).otherwise(rounded)
    return F.when(F.isnan(x) | (F.abs(x) >= 2.0**52) | (x == 0), x).otherwise(near_zero)


def _sign(value):
    column, kind = value
    return (F.signum(column.cast("double")).cast("bigint"), INTEGER) if kind == INTEGER else None


def _id(value):
    return (value[0], INTEGER) if value[1] in (NODE, RELATIONSHIP) else None


def _datetime(value):
    column, kind = value
    millis = kind.field("epochMillis")
    if kind.name != "MAP" or len(kind.fields) != 1 or millis != INTEGER:
        raise NotTranslated("function datetime()", "only datetime({epochMillis: number}) is")
    return column.getField("epochMillis"), MOMENT


def _texts(make):
    def of(*args):
        if any(kind not in (STRING, NULL) for _, kind in args):
            return None
        return make(*(column for column, _ in args)), STRING

    return of


def _replaced(text, old, new):
    none = F.raise_error(F.lit("replace() of an empty text is not translated to Spark: run the statement with graven itself"))
    return F.when(F.char_length(old) == 0, none).otherwise(F.replace(text, old, new))


def _substring(text, start, length=None):
    if text[1] != STRING or start[1] != INTEGER or length is not None and length[1] != INTEGER:
        return None
    below = start[0] < 0 if length is None else (start[0] < 0) | (length[0] < 0)
    checked = F.when(below, F.raise_error(F.lit("substring() needs a number of characters that is not negative")))
    begin = checked.otherwise(start[0] + 1)
    return F.substring(text[0], begin, F.char_length(text[0]) if length is None else length[0]), STRING


_DAY = 86_400_000


def part_of_moment(column, key):
    """A part of a moment in UTC, in whatever zone the session is."""
    day = F.date_add(F.to_date(F.lit("1970-01-01")), F.floor(column / F.lit(_DAY)).cast("int"))
    within = F.pmod(column, F.lit(_DAY))
    parts = {
        "year": lambda: F.year(day),
        "month": lambda: F.month(day),
        "day": lambda: F.dayofmonth(day),
        "hour": lambda: F.floor(within / 3_600_000),
        "minute": lambda: F.floor(within / 60_000) % 60,
        "second": lambda: F.floor(within / 1000) % 60,
        "epochMillis": lambda: column,
    }
    if key not in parts:
        raise NotTranslated(f"the part `{key}` of a datetime", f"these are: {', '.join(parts)}")
    return parts[key]().cast("bigint"), INTEGER


_FUNCTIONS = {
    "coalesce": _coalesce,
    "size": lambda value: (found := _size(value)) and _long(found),
    "head": _item(0),
    "last": _item(-1),
    "tail": _tail,
    "reverse": _reverse,
    "range": _range,
    "abs": _same(F.abs, INTEGER, FLOAT),
    "sign": _sign,
    "ceil": _float(lambda x: _rounded(F.ceil, x)),
    "floor": _float(lambda x: _rounded(F.floor, x)),
    "sqrt": lambda value: _float(lambda x: F.when(x < 0, F.lit(float("nan"))).otherwise(F.sqrt(x)))(value),
    "tofloat": _to_float,
    "tointeger": _to_integer,
    "tostring": _to_string,
    "id": _id,
    "datetime": _datetime,
    "toupper": _texts(F.upper),
    "tolower": _texts(F.lower),
    "replace": _texts(_replaced),
    "substring": _substring,
}

# Functions that read what belongs to a node, relationship or path; `expressions.py` has them.
OF_ENTITIES = {"labels": NODE, "type": RELATIONSHIP, "startnode": RELATIONSHIP, "endnode": RELATIONSHIP, "length": PATH, "nodes": PATH, "relationships": PATH}
