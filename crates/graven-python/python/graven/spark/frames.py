"""What a frame of nodes or relationships looks like: its columns, their types, and the statement
that reads some of them.

Nodes have ``id``, ``labels`` and their properties, relationships ``id``, ``src``, ``dst`` and
theirs: the form that GraphFrames takes. A property with one of these names, in whatever letters,
is the column ``property_`` and its name.

* SK-4: Which properties there are is exact: keys of the database that a sample does not show are
  looked for. Their types come from the sample, and a value of another type is an error when it is
  read, never changed.

Cost of a schema: about 2,000 nodes or relationships, and for each key that none of them has a look
through that property.
"""

from __future__ import annotations

from pyspark.sql import types as T

from . import types
from .options import invalid, quoted

_SAMPLE = 2048
_RUN = 32
_PREFIX = "property_"

_OWN = {
    "label": {"id": T.LongType(), "labels": T.ArrayType(T.StringType())},
    "type": {"id": T.LongType(), "src": T.LongType(), "dst": T.LongType()},
}


def own_columns(kind, name):
    """The columns that are no properties, with their types."""
    own = dict(_OWN[kind])
    if kind == "type" and name == "*":
        own["type"] = T.StringType()
    return own


def column_of(kind, key):
    """The name of the column of a property."""
    reserved = {"id", "labels", "src", "dst", "type"}
    return _PREFIX + key if key.lower() in reserved or key.lower().startswith(_PREFIX) else key


def key_of(kind, name, column):
    """The property of a column; None for a column that is none."""
    if column in own_columns(kind, name):
        return None
    return column[len(_PREFIX) :] if column.startswith(_PREFIX) else column


def pattern(kind, name):
    """The pattern that finds the entity ``x``."""
    of = "" if name == "*" else ":" + quoted(name)
    return f"(x{of})" if kind == "label" else f"(a)-[x{of}]->(b)"


def check_name(connection, kind, name):
    """Raises where the database has no such label or type."""
    if name == "*":
        return
    procedure, column, what = {
        "label": ("db.labels", "label", "label"),
        "type": ("db.relationshipTypes", "relationshipType", "relationship type"),
    }[kind]
    known = [row[0] for row in connection.execute(f"CALL {procedure}() YIELD {column}").get_all()]
    if name not in known:
        told = ", ".join(sorted(known)) or "none"
        raise invalid(f"the database has no {what} `{name}`; it has: {told}")


def property_types(connection, kind, name):
    """Properties of the nodes with a label, or of the relationships of a type, with their types of Spark."""
    found = property_type_names(connection, kind, name)
    return {key: types.of_names(of, f"the property `{key}` of {name}") for key, of in found.items()}


def property_type_names(connection, kind, name):
    """Properties by key, with the types that their values have, as ``valueType`` names them."""
    found = {}
    for key, of in _sampled(connection, kind, name):
        found.setdefault(key, set()).add(of)
    found_in = pattern(kind, name)
    for [key] in connection.execute("CALL db.propertyKeys() YIELD propertyKey").get_all():
        if key not in found:
            first = f"MATCH {found_in} WHERE x.{quoted(key)} IS NOT NULL RETURN valueType(x.{quoted(key)}) LIMIT 1"
            for [of] in connection.execute(first).get_all():
                found[key] = {of}
    return dict(sorted(found.items()))


def _sampled(connection, kind, name):
    """Pairs of key and type of value."""
    pairs = " UNWIND keys(x) AS key RETURN DISTINCT key, valueType(x[key])"
    first = f"MATCH {pattern(kind, name)} WITH x LIMIT {_SAMPLE}" + pairs
    rows = connection.execute(first).get_all()
    if kind == "label":
        low, high, count = node_span(connection, name)
        if count > _SAMPLE:
            runs = _SAMPLE // _RUN
            starts = [low + run * (high - low) // runs for run in range(runs)]
            of = "" if name == "*" else f" AND x:{quoted(name)}"
            spread = f"UNWIND $starts AS s UNWIND range(s, s + {_RUN - 1}) AS i MATCH (x) WHERE id(x) = i{of}" + pairs
            rows += connection.execute(spread, {"starts": starts}).get_all()
    return rows


def node_span(connection, label):
    """The smallest and the largest id of nodes with a label, and how many there are; no property is read."""
    [span] = connection.execute(f"MATCH {pattern('label', label)} RETURN min(id(x)), max(id(x)), count(x)").get_all()
    return span if span[2] else [0, -1, 0]


def schema(connection, options):
    """The schema of a frame."""
    kind, name = options.source()
    if kind == "cypher":
        return _of_statement(connection, name, options.parameters)
    check_name(connection, kind, name)
    fields = [T.StructField(column, of) for column, of in own_columns(kind, name).items()]
    properties = property_types(connection, kind, name)
    if options.key is not None:
        fields = _with_key(connection, kind, name, options.key, properties, fields)
    fields += [T.StructField(column_of(kind, key), of) for key, of in properties.items()]
    return T.StructType(fields)


def _with_key(connection, kind, name, key, properties, fields):
    """Ids are values of a property: their type is that of the property."""
    if kind == "label":
        of = properties.pop(key, None)
        if of is None:
            raise invalid(f"no node with the label `{name}` has the property `{key}` that is to be its id")
        return [T.StructField("id", of)] + fields[1:]
    names = property_type_names(connection, "label", "*").get(key)
    if names is None:
        raise invalid(f"no node has the property `{key}` that is to be its id")
    of = types.of_names(names, f"the property `{key}`")
    return [T.StructField(f.name, of if f.name in ("src", "dst") else f.dataType) for f in fields]


def _of_statement(connection, text, parameters):
    """The types of a statement's columns: those of all its values, so it runs to its end."""
    result = connection.execute(text, parameters)
    if isinstance(result, list):
        raise invalid("option `cypher` is one statement, not several")
    names = result.get_column_names()
    if not names:
        raise invalid("the statement of option `cypher` returns no columns")
    found = [None] * len(names)
    rows = result.get_n(10_000)
    while rows:
        for place, name in enumerate(names):
            what = f"the column `{name}`"
            for row in rows:
                found[place] = types.common(found[place], types.of_value(row[place], what), what)
        rows = result.get_n(10_000)
    fields = (T.StructField(name, of or T.StringType()) for name, of in zip(names, found))
    return T.StructType(list(fields))


def statement(kind, name, columns, key, conditions, one_part):
    """The statement that reads columns of a part of the ids, ``$low`` to ``$high``, or of all."""
    where = list(conditions)
    begin = ""
    if not one_part:
        begin = "UNWIND range($low, $high) AS i "
        where.insert(0, "id(x) = i" if kind == "label" else "id(a) = i")
    written = " WHERE " + " AND ".join(where) if where else ""
    returned = ", ".join(f"{_read(kind, name, column, key)} AS {quoted(column)}" for column in columns) or "1 AS one"
    return f"{begin}MATCH {pattern(kind, name)}{written} RETURN {returned}"


def _read(kind, name, column, key):
    own = {
        "id": f"x.{quoted(key)}" if key and kind == "label" else "id(x)",
        "labels": "labels(x)",
        "src": f"a.{quoted(key)}" if key else "id(a)",
        "dst": f"b.{quoted(key)}" if key else "id(b)",
        "type": "type(x)",
    }
    if column in own_columns(kind, name):
        return own[column]
    return "x." + quoted(key_of(kind, name, column))
