"""Graven with the conventions of Kuzu's package, for programs that move over: ``import graven.kuzu as kuzu``.

Statements, files and transactions are those of :mod:`graven`; what differs is the form of values:

* A value of a declared type (a column of a table, or a cast) is what Kuzu gives: ``uuid.UUID``, ``decimal.Decimal``,
  ``int`` for ``INT128`` and ``UINT64``, ``timedelta`` for ``INTERVAL`` (a month has 30 days), ``dict`` for ``STRUCT``
  and ``MAP``, the value itself for ``UNION``. Parts of microseconds are cut off.
* Nodes and relationships are plain dictionaries with all columns of their table. ``_id``, ``_src`` and ``_dst`` are
  ``{"offset": id, "table": 0}``: ids are unique in the whole database.
* Data frames and Arrow tables have the declared types; nodes of a NetworkX graph are called ``Label_key``.
* A parameter ``{"key": [...], "value": [...]}`` is a map. A column of a DataFrame with values of several types is text.
* ``EXPLAIN`` gives its plan as a row, a change of the schema or a ``COPY`` what it did, in the column ``result``.
* ``BEGIN TRANSACTION``, ``COMMIT``, ``ROLLBACK`` and ``CHECKPOINT`` are statements.
* A statement that cannot be prepared says so by ``is_success()``. No row can be read once the database is closed.
"""

from typing import TYPE_CHECKING

from .._graven import __version__, storage_version
from .._graven import __version__ as version
from ..types import Type
from .connection import Connection, PreparedStatement
from .database import Database
from .result import QueryResult

if TYPE_CHECKING:
    from .asynchronous import AsyncConnection

__all__ = [
    "AsyncConnection",
    "Connection",
    "Database",
    "PreparedStatement",
    "QueryResult",
    "Type",
    "__version__",
    "storage_version",
    "version",
]


def __getattr__(name):
    """As in :mod:`graven`: asyncio is loaded by the programs that use it."""
    if name == "AsyncConnection":
        from .asynchronous import AsyncConnection

        return AsyncConnection
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
