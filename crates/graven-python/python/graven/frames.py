"""Results as objects of pandas, Polars, Arrow and NetworkX: what the methods ``get_as_...`` of a result do.

Each takes the rows that are left; a second one the same rows again. No value changes on the way, but for the zones of moments in Arrow and Polars: they are the same
moments in UTC. A column that has no one type there is an error.
"""

from __future__ import annotations

import datetime

from .values import Duration, Error, Node, Path, Point, Relationship, Temporal


def _needs(module, method):
    try:
        return __import__(module)
    except ImportError as error:
        raise ImportError(f"{method}() needs the package {module}: pip install {module}") from error


def _kinds(values):
    return {type(value) for value in values if value is not None}


def as_df(result):
    """A pandas ``DataFrame``."""
    pandas = _needs("pandas", "get_as_df")
    columns = {}
    for name, values in zip(result.get_column_names(), result.get_columns()):
        kinds = _kinds(values)
        missing = any(value is None for value in values)
        if kinds == {int}:
            # Without a type of its own a column of integers with a null would become floats.
            series = pandas.Series(values, dtype="Int64" if missing else "int64")
        elif kinds == {bool}:
            series = pandas.Series(values, dtype="boolean" if missing else "bool")
        elif kinds == {float}:
            series = pandas.Series(values, dtype="float64")
        elif kinds == {datetime.datetime}:
            series = _moments(pandas, values)
        else:
            series = pandas.Series(values, dtype="object")
        columns[name] = series
    return pandas.DataFrame(columns, columns=list(result.get_column_names()))


def _moments(pandas, values):
    """A column of ``datetime64`` where all moments are of one zone, or of none, and pandas reaches them."""
    if len({value.tzinfo for value in values if value is not None}) == 1:
        try:
            series = pandas.Series(pandas.DatetimeIndex(values))
            same = all(a is None or a == b for a, b in zip(values, series))
            if same and str(series.dtype).startswith("datetime64"):
                return series
        except (TypeError, ValueError, OverflowError):
            pass
    return pandas.Series(values, dtype="object")


def as_pl(result):
    """A Polars ``DataFrame``, by way of Arrow."""
    polars = _needs("polars", "get_as_pl")
    return polars.from_arrow(_table(result, "get_as_pl", _span))


def _span(name, value, pyarrow, method):
    """A duration as a fixed time, which is all that Polars has."""
    try:
        return value.to_timedelta()
    except (ValueError, OverflowError) as error:
        raise _unfit(name, f"holds durations that are no fixed time in whole microseconds ({error})", method) from error


def _parts(name, value, pyarrow, method):
    """A duration in its parts."""
    nanoseconds = value.seconds * 1_000_000_000 + value.nanoseconds
    try:
        return pyarrow.MonthDayNano([value.months, value.days, nanoseconds])
    except (OverflowError, ValueError) as error:
        raise _unfit(name, "holds durations that are too long for Arrow", method) from error


def as_arrow(result):
    """A ``pyarrow.Table``."""
    return _table(result, "get_as_arrow")


def _table(result, method, span=_parts):
    pyarrow = _needs("pyarrow", method)
    names, arrays = result.get_column_names(), []
    for name, values in zip(names, result.get_columns()):
        values = [_plain(value, lambda value: span(name, value, pyarrow, method)) for value in values]
        _check(name, values, method)
        if any(isinstance(value, pyarrow.MonthDayNano) for value in values):
            arrays.append(pyarrow.array(values, pyarrow.month_day_nano_interval()))
        else:
            arrays.append(pyarrow.array(values))
    return pyarrow.table(arrays, names=names)


def _check(name, values, method):
    """Raises where values would have to change to be of one type, at any depth."""
    kinds, inner, fields = set(), [], {}
    for value in values:
        if value is None:
            continue
        kind = type(value).__name__
        if isinstance(value, datetime.datetime) and value.tzinfo is not None:
            kind = "datetime with a zone"
        elif isinstance(value, datetime.time) and value.tzinfo is not None:
            raise _unfit(name, "holds times with an offset, which there is no type for", method)
        elif isinstance(value, list):
            inner.extend(value)
        elif isinstance(value, dict):
            for key, item in value.items():
                fields.setdefault(key, []).append(item)
        kinds.add(kind)
    if len(kinds) > 1:
        raise _unfit(name, f"has no one type (it holds {', '.join(sorted(kinds))})", method)
    if inner:
        _check(name, inner, method)
    for key, items in fields.items():
        _check(f"{name}.{key}", items, method)


def _unfit(name, what, method):
    message = (
        f"{method}(): column `{name}` {what}; "
        "convert it in the statement, with toString() for example, or take the rows with get_all()"
    )
    return Error("Result.MixedColumn", message)


def _plain(value, span):
    """A value as Arrow takes it: plain dictionaries, lists and texts, moments with a zone in UTC."""
    if isinstance(value, Duration):
        return span(value)
    if isinstance(value, Point):
        return value._asdict()
    if isinstance(value, Temporal):
        return str(value)
    if isinstance(value, dict):
        return {key: _plain(item, span) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, span) for item in value]
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(datetime.timezone.utc)
    return value


def as_networkx(result, directed=True):
    """A graph of the nodes, relationships and paths in the rows, by their ids."""
    networkx = _needs("networkx", "get_as_networkx")
    graph = networkx.MultiDiGraph() if directed else networkx.MultiGraph()

    def add(value):
        if isinstance(value, Node):
            graph.add_nodes_from([(value.id, _attributes(value))])
        elif isinstance(value, Relationship):
            graph.add_edges_from([(value.start, value.end, value.id, _attributes(value))])
        elif isinstance(value, Path):
            for item in value.nodes + value.relationships:
                add(item)
        elif isinstance(value, list):
            for item in value:
                add(item)
        elif isinstance(value, dict):
            for item in value.values():
                add(item)

    for column in result.get_columns():
        for value in column:
            add(value)
    return graph


def _attributes(entity):
    return {key: value for key, value in entity.items() if key not in ("_id", "_src", "_dst")}
