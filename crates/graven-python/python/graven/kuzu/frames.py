"""Results as objects of pandas, Arrow, Polars and NetworkX, with columns of the declared types."""

from __future__ import annotations

import datetime
import decimal
import uuid
from typing import Any, Callable, Dict, List, Optional, Tuple

from ..constants import DST, ID, LABEL, NODES, RELS, SRC
from ..frames import _needs, _unfit
from ..values import Duration, Node, Path, Relationship, Temporal
from .kinds import ANY, Kind
from .values import Values

__all__ = ["as_arrow", "as_df", "as_networkx", "as_pl"]

_DTYPES = {
    **{name: name.lower() for name in ("INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64")},
    "INT128": "float64",
    "BOOL": "bool",
    "FLOAT": "float32",
    "DOUBLE": "float64",
    "DATE": "datetime64[us]",
    "TIMESTAMP": "datetime64[us]",
    "TIMESTAMP_TZ": "datetime64[us]",
    "TIMESTAMP_NS": "datetime64[ns]",
    "TIMESTAMP_MS": "datetime64[ms]",
    "TIMESTAMP_SEC": "datetime64[s]",
    "INTERVAL": "timedelta64[ns]",
}


def as_df(result: Any) -> Any:
    """A pandas ``DataFrame``."""
    pandas = _needs("pandas", "get_as_df")
    names, columns = result.get_column_names(), {}
    for name, kind, raw, values in _columns(result):
        kind = kind if kind is not ANY else kind_of(raw, result._values, None)
        columns[name] = _series(pandas, kind, values)
    return pandas.DataFrame(columns, columns=list(names))


def _columns(result: Any) -> List[Tuple[str, Kind, List[Any], List[Any]]]:
    """Name, declared type, values as Graven has them, and as Kuzu has them."""
    raw = result._open().get_columns()
    made = [[make(value) for value in column] if make else column for make, column in zip(result._makers, raw)]
    return list(zip(result.get_column_names(), result._kinds, raw, made))


def _series(pandas: Any, kind: Kind, values: List[Any]) -> Any:
    dtype = _DTYPES.get(kind.name, "object")
    if dtype.startswith("datetime64"):
        values = [value.replace(tzinfo=None) if isinstance(value, datetime.datetime) else value for value in values]
    has_nulls = any(value is None for value in values)
    if has_nulls and (dtype == "bool" or "int" in dtype):
        dtype = "boolean" if dtype == "bool" else dtype.replace("uint", "UInt").replace("int", "Int")
    try:
        return pandas.Series(values, dtype=dtype)
    except (ValueError, TypeError, OverflowError):
        # Beyond what pandas holds, or not of the declared type.
        return pandas.Series(values, dtype="object")


def as_arrow(result: Any, chunk_size: Optional[int] = None) -> Any:
    """A ``pyarrow.Table``."""
    pyarrow = _needs("pyarrow", "get_as_arrow")
    table = _table(result, "get_as_arrow", lambda kind: kind)
    if chunk_size is None or chunk_size <= 0 or table.num_rows <= chunk_size:
        return table
    return pyarrow.Table.from_batches(table.to_batches(max_chunksize=chunk_size), table.schema)


def as_pl(result: Any) -> Any:
    """A Polars ``DataFrame``; UUIDs and unions are text there."""
    polars = _needs("polars", "get_as_pl")
    return polars.from_arrow(_table(result, "get_as_pl", _plain))


def _table(result: Any, method: str, form: Callable[[Kind], Kind]) -> Any:
    pyarrow = _needs("pyarrow", method)
    arrays = []
    for name, kind, raw, values in _columns(result):
        kind = kind if kind is not ANY else kind_of(raw, result._values, (name, method))
        try:
            arrays.append(_array(pyarrow, form(kind), values))
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, OverflowError) as error:
            raise _unfit(name, f"of type {kind} holds what Arrow has no place for ({error})", method) from error
    return pyarrow.table(arrays, names=result.get_column_names())


def _plain(kind: Kind) -> Kind:
    if kind.name in ("UUID", "UNION"):
        return Kind("STRING")
    return kind._replace(parts=tuple((name, _plain(of)) for name, of in kind.parts))


_KINDS = (
    (bool, "BOOL"),
    (int, "INT64"),
    (float, "DOUBLE"),
    (str, "STRING"),
    (bytes, "BLOB"),
    (datetime.date, "DATE"),
    (datetime.time, "TIME"),
    (datetime.timedelta, "INTERVAL"),
    (Duration, "INTERVAL"),
)
_KEY = Kind("STRUCT", (("offset", Kind("INT64")), ("table", Kind("INT64"))))


def kind_of(values: List[Any], known: Values, place: Optional[Tuple[str, str]]) -> Kind:
    """The type that all of these values have, as Graven has them.

    Where they have none: an error that names the column and the method (``place``), or ``ANY``.
    """
    there = [value for value in values if value is not None]
    if not there:
        return Kind("NULL")
    if all(isinstance(value, (Node, Relationship)) for value in there):
        return _kind_of_entities(there, known, place)
    if all(isinstance(value, Path) for value in there):
        nodes = kind_of([node for value in there for node in value.nodes], known, place)
        rels = kind_of([it for value in there for it in value.relationships], known, place)
        return Kind("STRUCT", ((NODES, Kind("LIST", (("", nodes),))), (RELS, Kind("LIST", (("", rels),)))))
    if all(type(value) is dict for value in there):
        fields = {key: [value.get(key) for value in there] for value in there for key in value}
        return Kind("STRUCT", tuple((key, kind_of(items, known, place)) for key, items in fields.items()))
    if all(type(value) is list for value in there):
        return Kind("LIST", (("", kind_of([item for value in there for item in value], known, place)),))
    names = {_name_of(value) for value in there}
    if len(names) == 1:
        return Kind(names.pop())
    if place is None:
        return ANY
    raise _unfit(place[0], f"has no one type (it holds {', '.join(sorted(names))})", place[1])


def _name_of(value: Any) -> str:
    if isinstance(value, Temporal):
        return {"localdatetime": "TIMESTAMP", "datetime": "TIMESTAMP_TZ"}.get(value.type, "STRING")
    if isinstance(value, datetime.datetime):
        return "TIMESTAMP" if value.tzinfo is None else "TIMESTAMP_TZ"
    return next((name for kind, name in _KINDS if isinstance(value, kind)), type(value).__name__)


def _kind_of_entities(there: List[Any], known: Values, place: Optional[Tuple[str, str]]) -> Kind:
    fields: Dict[str, Kind] = {ID: _KEY, LABEL: Kind("STRING")}
    if isinstance(there[0], Relationship):
        fields = {SRC: _KEY, DST: _KEY, LABEL: Kind("STRING"), ID: _KEY}
    others: Dict[str, List[Any]] = {}
    for entity in there:
        for name in entity.labels if isinstance(entity, Node) else (entity.type,):
            table = known.table(name)
            for column, kind in table.columns if table else ():
                fields.setdefault(column, kind)
        for key, value in entity.properties.items():
            if key not in fields:
                others.setdefault(key, []).append(value)
    fields.update((key, kind_of(values, known, place)) for key, values in others.items() if key not in fields)
    return Kind("STRUCT", tuple(fields.items()))


def _array(pyarrow: Any, kind: Kind, values: List[Any]) -> Any:
    """An Arrow array of the type. A value that is not of it is an error of Arrow."""
    nulls = [value is None for value in values]
    if kind.name == "STRUCT" and kind.parts:
        children = [
            _array(pyarrow, of, [None if value is None else value.get(name) for value in values])
            for name, of in kind.parts
        ]
        mask = pyarrow.array(nulls, pyarrow.bool_())
        return pyarrow.StructArray.from_arrays(children, [name for name, _ in kind.parts], mask=mask)
    if kind.name in ("LIST", "MAP") and kind.parts:
        return _lists(pyarrow, kind, values, nulls)
    if kind.name == "UNION" and kind.parts:
        return _union(pyarrow, kind, values)
    if kind.name == "UUID":
        stored = [value.bytes if isinstance(value, uuid.UUID) else value for value in values]
        return pyarrow.ExtensionArray.from_storage(pyarrow.uuid(), pyarrow.array(stored, pyarrow.binary(16)))
    if kind.name == "STRING":
        values = [value if value is None or isinstance(value, str) else str(value) for value in values]
    if kind.name == "INT128":
        values = [value if value is None else decimal.Decimal(value) for value in values]
    return pyarrow.array(values, _arrow_type(pyarrow, kind))


def _lists(pyarrow: Any, kind: Kind, values: List[Any], nulls: List[bool]) -> Any:
    if kind.length is not None:
        filled = [[None] * kind.length if value is None else value for value in values]
        flat = _array(pyarrow, kind.element, [item for value in filled for item in value])
        mask = pyarrow.array(nulls, pyarrow.bool_())
        return pyarrow.FixedSizeListArray.from_arrays(flat, kind.length, mask=mask)
    offsets: List[Optional[int]] = []
    at = 0
    for value in values:
        offsets.append(None if value is None else at)
        at += 0 if value is None else len(value)
    starts = pyarrow.array([*offsets, at], pyarrow.int32())
    if kind.name == "LIST":
        flat = _array(pyarrow, kind.element, [item for value in values for item in value or ()])
        return pyarrow.ListArray.from_arrays(starts, flat)
    entries = [entry for value in values for entry in (value or {}).items()]
    keys, items = (
        _array(pyarrow, of, [entry[at] for entry in entries]) for at, (_, of) in enumerate(kind.parts)
    )
    return pyarrow.MapArray.from_arrays(starts, keys, items)


#: Members of a union that a value may belong to, by what it is in Python.
_MEMBERS = {
    "INT64": ("INT64", "INT32", "INT16", "INT8", "INT128", "UINT64", "UINT32", "UINT16", "UINT8"),
    "DOUBLE": ("DOUBLE", "FLOAT"),
    "TIMESTAMP": ("TIMESTAMP", "TIMESTAMP_NS", "TIMESTAMP_MS", "TIMESTAMP_SEC"),
}


def _union(pyarrow: Any, kind: Kind, values: List[Any]) -> Any:
    names = [of.name for _, of in kind.parts]
    children: List[List[Any]] = [[] for _ in names]
    members, offsets = [], []
    for value in values:
        name = None if value is None else _name_of(value)
        member = next((at for at, it in enumerate(names) if name and it in _MEMBERS.get(name, (name,))), 0)
        members.append(member)
        offsets.append(len(children[member]))
        children[member].append(value)
    arrays = [_array(pyarrow, of, items) for (_, of), items in zip(kind.parts, children)]
    types, places = pyarrow.array(members, pyarrow.int8()), pyarrow.array(offsets, pyarrow.int32())
    return pyarrow.UnionArray.from_dense(types, places, arrays, [name for name, _ in kind.parts])


def _arrow_type(pyarrow: Any, kind: Kind) -> Any:
    if kind.name == "DECIMAL":
        return pyarrow.decimal128(min(kind.precision, 38), kind.scale)
    types = {
        "BOOL": pyarrow.bool_(),
        "FLOAT": pyarrow.float32(),
        "DOUBLE": pyarrow.float64(),
        "STRING": pyarrow.string(),
        "json": pyarrow.string(),
        "BLOB": pyarrow.binary(),
        "DATE": pyarrow.date32(),
        "TIMESTAMP": pyarrow.timestamp("us"),
        "TIMESTAMP_NS": pyarrow.timestamp("ns"),
        "TIMESTAMP_MS": pyarrow.timestamp("ms"),
        "TIMESTAMP_SEC": pyarrow.timestamp("s"),
        "TIMESTAMP_TZ": pyarrow.timestamp("us", tz="UTC"),
        "INTERVAL": pyarrow.duration("us"),
        "INT128": pyarrow.decimal128(38, 0),
        "NULL": pyarrow.null(),
    }
    if kind.name in types:
        return types[kind.name]
    is_integer = kind.name.startswith(("INT", "UINT"))
    return getattr(pyarrow, kind.name.lower())() if is_integer else None


def as_networkx(result: Any, directed: bool = True) -> Any:
    """A graph of the nodes and relationships in the rows; those of paths are in it, too."""
    networkx = _needs("networkx", "get_as_networkx")
    graph = networkx.MultiDiGraph() if directed else networkx.MultiGraph()
    known: Values = result._values
    nodes: Dict[int, Node] = {}
    relationships: Dict[int, Relationship] = {}

    def collect(value: Any) -> None:
        if isinstance(value, Node):
            nodes.setdefault(value.id, value)
        elif isinstance(value, Relationship):
            relationships.setdefault(value.id, value)
        elif isinstance(value, dict):
            collect(list(value.values()))
        elif isinstance(value, list):
            for item in value:
                collect(item)

    for column in result._open().get_columns():
        collect(column)
    names = {number: _name(node, known) for number, node in nodes.items()}
    for number, node in nodes.items():
        graph.add_node(names[number])
        graph.nodes[names[number]].update(known.make(node), **{label: True for label in node.labels})
    for relationship in relationships.values():
        # The ends that no row has are called by their ids.
        start, end = (names.get(number, number) for number in (relationship.start, relationship.end))
        key = graph.add_edge(start, end)
        graph.edges[start, end, key].update(known.make(relationship))
    return graph


def _name(node: Node, known: Values) -> str:
    for label in node.labels:
        table = known.table(label)
        if table and table.key in node.properties:
            return f"{label}_{node.properties[table.key]}"
    return f"{node['_label']}_{node.id}"
