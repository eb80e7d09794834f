"""The graph of a question: its nodes and relationships as frames, read when an operator asks for
them.

Each frame has only the columns that the question reads. All are of one state of the database. With
``cache=True`` whole frames are kept by Spark for later questions instead.
"""

from __future__ import annotations

import json

from pyspark.sql import functions as F
from pyspark.sql import types as T

from . import frames, types
from .kinds import NULL, STRING, as_opaque, common, list_of, of_spark
from .options import Options, invalid, snapshot_of
from .rows import fresh
from .source import register


class Graph:
    """A database or published snapshot, as it was when this was made, to be asked on Spark.

    ``options`` are those of the data source: ``memory``, ``partitions``, ``disk_cache`` and others.
    """

    def __init__(self, spark, path, cache=False, **options):
        self.spark = spark
        self.cache = cache
        register(spark)
        given = {"path": str(path), **{name: str(value) for name, value in options.items()}}
        given.setdefault("partitions", str(spark.sparkContext.defaultParallelism))
        unfit = sorted({"label", "type", "cypher", "parameters", "key", "filters"} & set(given))
        if unfit:
            raise invalid(f"option `{unfit[0]}` is one of a single frame, not of a graph")
        self._options = Options(given)
        self._kept, self._names = {}, {}
        with self._options.open() as database, database.connect() as connection:
            self.snapshot = snapshot_of(connection)
            self.labels = {row[0] for row in connection.execute("CALL db.labels() YIELD label").get_all()}
            listed = connection.execute("CALL db.relationshipTypes() YIELD relationshipType").get_all()
            self.types = {row[0] for row in listed}
            self._check(connection)

    def cypher(self, text, parameters=None):
        """The rows of a statement as a DataFrame; see :func:`graven.spark.cypher`."""
        from .operators import translated

        return translated(self, text, dict(parameters or {}))

    def plan(self, text):
        """The logical plan of a statement, as the database gives it."""
        with self._options.open() as database, database.connect() as connection:
            ask = "CALL graven.logicalPlan($text) YIELD plan RETURN plan"
            [[plan]] = connection.execute(ask, {"text": text}).get_all()
            self._check(connection)
        return json.loads(plan)

    def _property_names(self, kind, name):
        if (kind, name) not in self._names:
            with self._options.open() as database, database.connect() as connection:
                names = frames.property_type_names(connection, kind, name)
                self._check(connection)
            self._names[kind, name] = names
        return self._names[kind, name]

    def _check(self, connection):
        """Raises where the database is no longer of the state of this graph."""
        if snapshot_of(connection) != self.snapshot:
            raise invalid(f"{self._options.path} has changed since this graph was opened: make a new Graph")

    def _kind(self, kind, name, key, of):
        """The kind of a property's values; times and durations are texts in Spark alone."""
        found = of_spark(of)
        return as_opaque(found) if types.without_kind(self._property_names(kind, name)[key]) else found

    def is_text(self, kind, name, key):
        """Whether all values of a property are texts."""
        return types.is_text(self._property_names(kind, name).get(key, ()))

    def property_type(self, kind, name, key):
        """The type of Spark of a property; None where nothing has it."""
        names = self._property_names(kind, name).get(key)
        return names and types.of_names(names, f"the property `{key}` of {name}")

    def _read(self, kind, name, columns, filters=()):
        """A frame of these columns, with their types."""
        given = {**self._options.given, "path": self._options.path, kind: name, "snapshot": self.snapshot}
        if filters:
            given["filters"] = json.dumps(filters)
        schema = T.StructType([T.StructField(column, of) for column, of in columns.items()])
        return self.spark.read.format("graven").options(**given).schema(schema).load()

    def _whole(self, kind, name):
        """A frame with all columns, kept by Spark."""
        if (kind, name) not in self._kept:
            columns = dict(frames.own_columns(kind, name))
            for key, names in self._property_names(kind, name).items():
                # A property of several types is an error where it is asked for, not here.
                if types.is_one(names):
                    columns[frames.column_of(kind, key)] = types.of_names(names, key)
            self._kept[kind, name] = self._read(kind, name, columns).persist()
        return self._kept[kind, name]

    def close(self):
        """Lets go of what Spark keeps for it."""
        for frame in self._kept.values():
            frame.unpersist()
        self._kept.clear()
        self._names.clear()

    def _frame(self, kind, name, own, keys, filters):
        """A frame under new names: those of its own columns, and those of properties with their kinds."""
        known = {key: self.property_type(kind, name, key) for key in sorted(keys)}
        columns = {column: frames.own_columns(kind, name)[column] for column in own}
        columns.update({frames.column_of(kind, key): of for key, of in known.items() if of is not None})
        source = self._whole(kind, name) if self.cache else self._read(kind, name, columns, filters)
        names = {column: fresh() for column in columns}
        chosen = [F.col(f"`{column}`").alias(names[column]) for column in columns]
        parts = {}
        for key, of in known.items():
            new = names[frames.column_of(kind, key)] if of is not None else fresh()
            parts[key] = (new, NULL if of is None else self._kind(kind, name, key, of))
            if of is None:
                chosen.append(F.lit(None).alias(new))
        return source.select(*chosen), {column: names[column] for column in own}, parts

    def nodes(self, label, keys, with_labels=False, filters=()):
        """Nodes with a label, or all (None): a frame, the column of the id, and columns of properties and labels."""
        name = "*" if label is None else label
        own = ["id", "labels"] if with_labels else ["id"]
        if label is not None and label not in self.labels:
            return self._nothing(own, keys)
        frame, names, parts = self._frame("label", name, own, keys, () if self.cache else filters)
        return frame, names["id"], _with_labels(names, parts)

    def relationships(self, rel_types, keys, with_id=True):
        """Relationships of any of these types, of all where there are none: a frame, its own columns, columns of properties."""
        own = ["id", "src", "dst"] if with_id or self.cache else ["src", "dst"]
        if not rel_types:
            return self._frame("type", "*", [*own, "type"], keys, ())
        found = [name for name in dict.fromkeys(rel_types) if name in self.types]
        if not found:
            frame, _, parts = self._nothing([*own, "type"], keys)
            names = dict(zip([*own, "type"], frame.columns))
            return frame, names, parts
        pieces = []
        for name in found:
            frame, names, parts = self._frame("type", name, own, keys, ())
            kind = fresh()
            pieces.append((frame.select("*", F.lit(name).alias(kind)), {**names, "type": kind}, parts))
        return _united(pieces)

    def _nothing(self, own, keys):
        """No rows, with the columns that were asked for."""
        wide = {"labels": "array<string>", "type": "string"}
        names = {column: fresh() for column in own}
        fields = ", ".join(f"{names[column]} {wide.get(column, 'bigint')}" for column in own)
        frame = self.spark.createDataFrame([], fields)
        parts = {}
        for key in sorted(keys):
            parts[key] = (fresh(), NULL)
            frame = frame.withColumn(parts[key][0], F.lit(None))
        return frame, names.get("id"), _with_labels(names, parts)


def _with_labels(names, parts):
    return {**parts, "@labels": (names["labels"], list_of(STRING))} if "labels" in names else parts


def _united(pieces):
    """One frame of several of the same columns."""
    frame, names, parts = pieces[0]
    order = [*names.values(), *(name for name, _ in parts.values())]
    frame = frame.select(*order)
    for more, other_names, other_parts in pieces[1:]:
        others = [other_names[column] for column in names] + [other_parts[key][0] for key in parts]
        frame = frame.union(more.select(*others))
        parts = {key: (name, common(kind, other_parts[key][1], f"the property `{key}`")) for key, (name, kind) in parts.items()}
    return frame, names, parts
