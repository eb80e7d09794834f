"""Filters of Spark as conditions of the language.

* SK-5: A filter is taken only where the condition selects exactly the same rows; Spark applies the
  others itself.

A comparison with null selects nothing in both. Texts are compared by their bytes in UTF-8 in both.
Floats are not compared: NaN is equal to itself in Spark alone. Times are left to Spark, which keeps
microseconds.
"""

from __future__ import annotations

from .frames import key_of, own_columns
from .options import invalid, quoted

_SIGNS = {"EqualTo": "=", "GreaterThan": ">", "GreaterThanOrEqual": ">=", "LessThan": "<", "LessThanOrEqual": "<="}
_TEXTS = {"StringStartsWith": "STARTS WITH", "StringEndsWith": "ENDS WITH", "StringContains": "CONTAINS"}


def taken(name, column, value, kinds):
    """A filter of Spark, by the name of its class, as ``(column, operator, value)``; None where it is left to Spark.

    ``kinds`` are the types of the columns, as ``simpleString`` gives them.
    """
    of = kinds.get(column)
    if of is None:
        return None
    if name in ("IsNull", "IsNotNull"):
        return column, "IS NULL" if name == "IsNull" else "IS NOT NULL", None
    fits = {"bigint": int, "int": int, "string": str, "boolean": bool}.get(of)
    if fits is None:
        return None
    if name == "In":
        values = [one for one in value if one is not None]
        return (column, "IN", values) if all(type(one) is fits for one in values) else None
    if type(value) is not fits or fits is bool and name != "EqualTo":
        return None
    if name in _SIGNS:
        return column, _SIGNS[name], value
    if name in _TEXTS and fits is str:
        return column, _TEXTS[name], value
    return None


def of_filter(condition, kinds):
    """As ``taken``, of an object of ``pyspark.sql.datasource``."""
    name, negated = type(condition).__name__, False
    if name == "Not":
        condition, negated = condition.child, True
        name = type(condition).__name__
    attribute = getattr(condition, "attribute", ())
    if len(attribute) != 1:
        return None
    found = taken(name, attribute[0], getattr(condition, "value", None), kinds)
    if found is None or not negated:
        return found
    column, sign, value = found
    if name == "In" and None in condition.value:
        # A null among them makes the answer null for all others, and NOT of that, too.
        return None
    # NOT of a comparison with null is null in both.
    return column, "NOT " + sign, value


def written(kind, name, key, filters):
    """Conditions on ``x`` as texts, and the parameters that they read."""
    texts, parameters = [], {}
    for place, (column, sign, value) in enumerate(filters):
        negated = sign.startswith("NOT ")
        sign = sign[4:] if negated else sign
        if sign not in {*_SIGNS.values(), *_TEXTS.values(), "IN", "IS NULL", "IS NOT NULL"}:
            raise invalid(f"option `filters` knows no condition `{sign}`")
        text = f"{_subject(kind, name, key, column)} {sign}"
        if not sign.startswith("IS "):
            text += f" $f{place}"
            parameters[f"f{place}"] = value
        texts.append(f"NOT ({text})" if negated else f"({text})")
    return texts, parameters


def _subject(kind, name, key, column):
    own = own_columns(kind, name)
    if column in ("src", "dst") and kind == "type":
        end = "a" if column == "src" else "b"
        return f"{end}.{quoted(key)}" if key else f"id({end})"
    if column == "id":
        return f"x.{quoted(key)}" if key and kind == "label" else "id(x)"
    if column in own:
        raise invalid(f"option `filters` takes no condition on the column `{column}`")
    return f"x.{quoted(key_of(kind, name, column))}"


def is_selective(kind, filters):
    """Whether the conditions say which entities they are: all are found at once then, by an index where there is one."""
    return kind == "label" and any(sign in ("=", "IN") for _, sign, _ in filters)


