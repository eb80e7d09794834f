"""Results as objects of pandas, Polars, Arrow and NetworkX: what the methods ``get_as_...`` of a result do.

Each takes the rows that are left. No integer becomes a float and no date loses its digits on the way.
"""

from __future__ import annotations

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
        else:
            series = pandas.Series(values, dtype="object")
        columns[name] = series
    return pandas.DataFrame(columns, columns=list(result.get_column_names()))


def as_pl(result):
    """A Polars ``DataFrame``."""
    polars = _needs("polars", "get_as_pl")
    columns = []
    for name, values in zip(result.get_column_names(), result.get_columns()):
        try:
            columns.append(polars.Series(name, [_plain(value) for value in values], strict=True))
        except (TypeError, polars.exceptions.PolarsError) as error:
            raise _mixed(name, values, "get_as_pl") from error
    return polars.DataFrame(columns)


def as_arrow(result):
    """A ``pyarrow.Table``."""
    pyarrow = _needs("pyarrow", "get_as_arrow")
    names, arrays = result.get_column_names(), []
    for name, values in zip(names, result.get_columns()):
        durations = _kinds(values) == {Duration}
        try:
            if durations:
                values = [None if v is None else _interval(pyarrow, v) for v in values]
                arrays.append(pyarrow.array(values, pyarrow.month_day_nano_interval()))
            else:
                arrays.append(pyarrow.array([_plain(value) for value in values]))
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, OverflowError) as error:
            raise _mixed(name, values, "get_as_arrow") from error
    return pyarrow.table(arrays, names=names)


def _interval(pyarrow, duration):
    nanoseconds = duration.seconds * 1_000_000_000 + duration.nanoseconds
    return pyarrow.MonthDayNano([duration.months, duration.days, nanoseconds])


def _mixed(name, values, method):
    kinds = ", ".join(sorted(kind.__name__ for kind in _kinds(values)))
    message = (
        f"{method}(): column `{name}` has no one type (it holds {kinds}); "
        "convert it in the statement, with toString() for example, or take the rows with get_all()"
    )
    return Error("Result.MixedColumn", message)


def _plain(value):
    """A value as those packages take it: plain dictionaries, lists and texts."""
    if isinstance(value, (Node, Relationship)):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Path):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (Duration, Point)):
        return value._asdict()
    if isinstance(value, Temporal):
        return str(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def as_networkx(result, directed=True):
    """A graph of the nodes, relationships and paths in the rows, by their ids."""
    networkx = _needs("networkx", "get_as_networkx")
    graph = networkx.MultiDiGraph() if directed else networkx.MultiGraph()

    def add(value):
        if isinstance(value, Node):
            graph.add_node(value.id, **_attributes(value))
        elif isinstance(value, Relationship):
            graph.add_edge(value.start, value.end, key=value.id, **_attributes(value))
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
