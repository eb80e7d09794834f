"""Groups and what is computed of them.

Without keys there is one group even of no rows; within a subquery one for each row around it. A
list that is collected of sorted rows has their order.
"""

from __future__ import annotations

from pyspark.sql import Window
from pyspark.sql import functions as F

from .kinds import FLOAT, INTEGER, NULL, NUMBERS, ORDERED, NotTranslated, list_of, spark_type, told_apart
from .rows import Binding, Rows, fresh


def aggregated(rows, keys, calls):
    """Rows of the groups: ``keys`` are variables, ``calls`` aggregates with the column and kind of their argument."""
    grouped = list(dict.fromkeys([*(name for key in keys.values() for name in key.columns()), *rows.context]))
    rank = None
    if rows.sorted and any(call["function"] == "collect" for call, _ in calls):
        rank = fresh()
        rows = _ranked(rows, grouped, rank)
    made, bound, missing = [], {}, {}
    for call, argument in calls:
        column, kind, empty = _aggregate(call, argument, rank)
        name = fresh()
        made.append(column.alias(name))
        bound[call["var"]] = Binding(kind, name)
        if empty is not None:
            missing[name] = empty
    frame = rows.frame.groupBy(*grouped).agg(*made) if made else rows.frame.select(*grouped).distinct()
    if not keys and rows.context:
        frame = _filled(rows, frame, missing)
    return Rows(frame, {**keys, **bound}, rows.context, rows.around)


def _ranked(rows, grouped, rank):
    window = Window.partitionBy(*grouped).orderBy(*rows.directions())
    return rows.with_columns({rank: F.row_number().over(window)})


def _filled(rows, frame, missing):
    """A group for each row around the subquery, also where there is nothing in it."""
    names = {name: fresh() for name in rows.context}
    found = frame.select(*(F.col(name).alias(names.get(name, name)) for name in frame.columns))
    on = F.lit(True)
    for name in rows.context:
        on = on & F.col(name).eqNullSafe(F.col(names[name]))
    joined = rows.around.join(found, on, "left")
    others = [name for name in frame.columns if name not in names]
    return joined.select(
        *rows.context, *(F.coalesce(F.col(n), missing[n]).alias(n) if n in missing else F.col(n) for n in others)
    )


def _aggregate(call, argument, rank):
    """A column over a group, its kind, and what it is of no rows."""
    name, distinct = call["function"], call["distinct"]
    zero = F.lit(0).cast("bigint")
    if name == "count(*)":
        return F.count(F.lit(1)), INTEGER, zero
    column, kind = argument
    if distinct:
        told_apart(kind, f"{name}(DISTINCT ...)")
    if name == "count":
        return (F.count_distinct(column) if distinct else F.count(column)), INTEGER, zero
    if name == "collect":
        return _collected(column, kind, distinct, rank)
    if kind == NULL and name in ("min", "max", "avg"):
        return F.max(column), NULL, None
    if kind == NULL and name == "sum":
        return F.count(column), INTEGER, zero
    if name == "sum" and kind in NUMBERS:
        none = F.lit(0).cast(spark_type(kind))
        return F.coalesce(F.sum_distinct(column) if distinct else F.sum(column), none), kind, none
    if name == "avg" and kind in NUMBERS:
        if distinct:
            return F.sum_distinct(column).cast("double") / F.count_distinct(column), FLOAT, None
        return F.avg(column), FLOAT, None
    if name in ("min", "max") and kind in ORDERED:
        return (F.min(column) if name == "min" else F.max(column)), kind, None
    raise NotTranslated(f"aggregate {name}({kind})", "Spark has none of the same meaning")


def _collected(column, kind, distinct, rank):
    if kind == NULL:
        empty = F.array().cast("array<void>")
        return F.when(F.count(column) == 0, empty), list_of(NULL), empty
    empty = F.array().cast(spark_type(list_of(kind)))
    if distinct:
        if rank is not None:
            raise NotTranslated("collect(DISTINCT ...) of sorted rows", "Spark keeps no order of different values")
        return F.collect_set(column), list_of(kind), empty
    if rank is None:
        return F.collect_list(column), list_of(kind), empty
    # Nulls are left out, so they are looked for before they are paired with their place.
    pairs = F.collect_list(F.when(column.isNotNull(), F.struct(F.col(rank).alias("place"), column.alias("value"))))
    return F.transform(F.array_sort(pairs), lambda pair: pair.getField("value")), list_of(kind), empty
