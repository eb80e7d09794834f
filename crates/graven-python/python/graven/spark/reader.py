"""Reads a frame: parts of the ids, each by a task, as batches of Arrow.

The driver chooses the parts and notes the state of the database. Each task opens the database,
read-only and with a budget of its own, runs one statement for each few thousand ids, and closes it.

* SK-6: All parts are of one state of the database; a task that finds another one fails and says so.
"""

from __future__ import annotations

import pyarrow
from pyspark.sql.datasource import DataSourceReader
from pyspark.sql.pandas.types import to_arrow_schema

from . import conditions, frames, types
from .options import invalid, snapshot_of
from .parts import Part, parts

# Ids that one statement reads; rows of a batch where a part is not divided.
_IDS = 8192


class Reader(DataSourceReader):
    """Reads the columns of a schema, which may be fewer than there are."""

    def __init__(self, options, schema):
        self.options = options
        self.schema = schema
        self.kind, self.name = options.source()
        self.filters = options.filters
        self._types = {}
        with options.open() as database, database.connect() as connection:
            self.snapshot = snapshot_of(connection)
            if self.kind != "cypher":
                frames.check_name(connection, self.kind, self.name)
        if options.snapshot not in (None, self.snapshot):
            raise self._changed(options.snapshot, self.snapshot)

    def pushFilters(self, filters):
        """Takes what the database can decide itself; gives back the others. Spark asks from 4.1 on."""
        kinds = {field.name: field.dataType.simpleString() for field in self.schema.fields}
        for condition in filters:
            found = conditions.of_filter(condition, kinds) if self.kind != "cypher" else None
            if found is None or not self._decides(*found[:2], kinds):
                yield condition
            else:
                self.filters = [*self.filters, found]

    def _decides(self, column, sign, kinds):
        """Whether the database has a column under this name, and a text in it is a text there, too, and no time."""
        own = frames.own_columns(self.kind, self.name)
        if column in own and column not in ("id", "src", "dst"):
            return False
        if kinds[column] != "string" or sign.endswith("NULL"):
            return True
        kind, name, key = self.kind, self.name, frames.key_of(self.kind, self.name, column)
        if column in own:
            key = self.options.key
            if kind == "type":
                kind, name = "label", "*"
        if (kind, name) not in self._types:
            with self.options.open() as database, database.connect() as connection:
                self._types[kind, name] = frames.property_type_names(connection, kind, name)
        return types.is_text(self._types[kind, name].get(key, ()))

    def partitions(self):
        """The parts, about as many as asked for, or one for each 100,000 entities."""
        if self.kind == "cypher" or conditions.is_selective(self.kind, self.filters):
            return [Part()]
        with self.options.open() as database, database.connect() as connection:
            return parts(connection, self.kind, self.name, self.options.partitions)

    def read(self, partition):
        """Batches of Arrow of one part."""
        with self.options.open() as database, database.connect() as connection:
            found = snapshot_of(connection)
            if found != self.snapshot:
                raise self._changed(self.snapshot, found)
            if self.kind == "cypher":
                yield from self._rows_of_statement(connection)
            else:
                yield from self._rows_of_part(connection, partition)
            # Each statement reads the newest state: one that came meanwhile is found here.
            found = snapshot_of(connection)
            if found != self.snapshot:
                raise self._changed(self.snapshot, found)

    def _rows_of_statement(self, connection):
        result = connection.execute(self.name, self.options.parameters)
        missing = [field.name for field in self.schema.fields if field.name not in result.get_column_names()]
        if missing:
            raise invalid(f"the statement returns no column `{missing[0]}`; it returns: {', '.join(result.get_column_names())}")
        places = [result.get_column_names().index(field.name) for field in self.schema.fields]
        rows = result.get_n(_IDS)
        while rows:
            yield self._batch([[row[place] for row in rows] for place in places], len(rows))
            rows = result.get_n(_IDS)

    def _rows_of_part(self, connection, part):
        columns = [field.name for field in self.schema.fields]
        texts, parameters = conditions.written(self.kind, self.name, self.options.key, self.filters)
        text = frames.statement(self.kind, self.name, columns, self.options.key, texts, part.low is None)
        statement = connection.prepare(text)
        if part.low is None:
            yield from self._batches(statement.execute(parameters), columns)
            return
        for low in range(part.low, part.high + 1, _IDS):
            bounds = {"low": low, "high": min(low + _IDS - 1, part.high)}
            yield from self._batches(statement.execute({**parameters, **bounds}), columns)

    def _batches(self, result, columns):
        found = result.get_columns()
        if found and found[0]:
            yield self._batch(found[: len(columns)], len(found[0]))

    def _batch(self, columns, rows):
        fields = self.schema.fields
        if not fields:
            return pyarrow.RecordBatch.from_struct_array(pyarrow.array([{}] * rows, pyarrow.struct([])))
        arrays = [
            types.array(values, field.dataType, f"the column `{field.name}` of {self.name}")
            for values, field in zip(columns, fields)
        ]
        return pyarrow.RecordBatch.from_arrays(arrays, schema=to_arrow_schema(self.schema))

    def _changed(self, wanted, found):
        return invalid(
            f"{self.options.path}: the database changed while it was read (from state {wanted} to {found}): "
            "read it again, or publish a snapshot and read that by its URL"
        )
