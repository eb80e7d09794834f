"""Loads a frame into the database.

Each task writes its rows to a Parquet file in a new folder that all reach. When all tasks have
succeeded the driver loads the files of those, and of no other attempt, by one `COPY`, which is one
transaction; then the folder is removed. If a task fails, it is removed only.

* SK-7: The rows of a write are there all, each once, or none is; files of attempts that were given
  up are never loaded.
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
from dataclasses import dataclass

import pyarrow.parquet
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from .options import invalid, quoted


@dataclass
class Written(WriterCommitMessage):
    """The file of one task, None where it had no rows."""

    file: str | None
    rows: int


class Writer(DataSourceArrowWriter):
    """Writes nodes of a label or relationships of a type."""

    def __init__(self, options, schema, overwrite):
        self.options = options
        self.kind, self.name = options.one_of(("label", "type"), "a write")
        self.columns = [field.name for field in schema.fields]
        if overwrite:
            raise invalid('graven does not overwrite: use mode("append"), and delete first what is to go')
        if "://" in options.path:
            raise invalid(f"{options.path} is a published snapshot, which cannot be written: write to the database file, and publish it")
        if self.kind == "type":
            self._check_ends()
        elif options.key is not None and options.key not in self.columns:
            raise invalid(f"the frame has no column `{options.key}`, which option `key` names; it has: {', '.join(self.columns)}")
        beside = options.given.get("staging") or os.path.dirname(options.path)
        if not os.path.isdir(beside):
            raise invalid(f"the folder {beside} for the files of a write is missing: make it, or name another by option `staging`")
        self.folder = os.path.join(os.path.abspath(beside), f".graven-spark-{uuid.uuid4().hex}")
        # Tasks do not make it: one that is late must not bring back what was removed.
        os.mkdir(self.folder)

    def _check_ends(self):
        for option in ("from", "to"):
            if not self.options.given.get(option):
                raise invalid(f"relationships need the option `{option}`: the label, or Label(key), where they {'begin' if option == 'from' else 'end'}")
        for column in ("src", "dst"):
            if column not in self.columns:
                raise invalid(f"a frame of relationships has the columns src and dst; this one has: {', '.join(self.columns)}")

    def write(self, iterator):
        """Writes the rows of a task to a file of its own; runs in the executor."""
        if not os.path.isdir(self.folder):
            raise invalid(f"the folder {self.folder} is missing here: the write has ended, or this executor does not reach it")
        context = TaskContext.get()
        file = os.path.join(self.folder, f"part-{context.partitionId()}-{context.taskAttemptId()}.parquet")
        rows, into = 0, None
        try:
            for batch in iterator:
                batch = batch.select(self._order())
                if into is None:
                    into = pyarrow.parquet.ParquetWriter(file, batch.schema)
                into.write_batch(batch)
                rows += batch.num_rows
        finally:
            if into is not None:
                into.close()
        return Written(file if rows else None, rows)

    def _order(self):
        """A `COPY` of relationships takes the ends from the first two columns."""
        if self.kind == "label":
            return self.columns
        return ["src", "dst"] + [column for column in self.columns if column not in ("src", "dst")]

    def commit(self, messages):
        """Loads the files of the tasks that succeeded; runs in the driver."""
        files = [message.file for message in messages if message is not None and message.file is not None]
        try:
            if files:
                with self.options.open(writing=True) as database, database.connect() as connection:
                    self._load(connection, files)
        finally:
            self._remove()

    def _remove(self):
        """Removes the folder, also where a task that is ending still writes to it."""
        for _ in range(20):
            shutil.rmtree(self.folder, ignore_errors=True)
            if not os.path.exists(self.folder):
                return
            time.sleep(0.1)

    def _load(self, connection, files):
        made = None
        if self.kind == "label" and self.options.key is not None:
            before = _constraints(connection)
            unique = f"FOR (n:{quoted(self.name)}) REQUIRE n.{quoted(self.options.key)} IS UNIQUE"
            connection.execute(f"CREATE CONSTRAINT IF NOT EXISTS {unique}")
            made = next(iter(_constraints(connection) - before), None)
        try:
            self._copy(connection, files)
        except BaseException:
            if made is not None:
                connection.execute(f"DROP CONSTRAINT {quoted(made)}")
            raise

    def _copy(self, connection, files):
        named = ", ".join(_text(file) for file in sorted(files))
        ends = ""
        if self.kind == "type":
            begin, end = (_text(self.options.given[option]) for option in ("from", "to"))
            ends = f" (from = {begin}, to = {end})"
        connection.execute(f"COPY {quoted(self.name)} FROM [{named}]{ends}").get_all()

    def abort(self, messages):
        """Removes what the tasks wrote; runs in the driver."""
        self._remove()


def _constraints(connection):
    """The names of all constraints."""
    return {row[0] for row in connection.execute("CALL db.constraints() YIELD name RETURN name").get_all()}


def _text(value):
    """A text as statements have it."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
