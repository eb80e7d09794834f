"""Graven: an embedded property-graph database.

    import graven

    db = graven.Database("social.graven", memory="64MiB")
    connection = graven.Connection(db)
    connection.execute("CREATE (:Person {name: $name})", {"name": "Ada"})
    for [name] in connection.execute("MATCH (p:Person) RETURN p.name"):
        print(name)

Classes and methods have the names that Kuzu's package gives them. :mod:`graven.kuzu` has Kuzu's form of values, too.
"""

from typing import TYPE_CHECKING

from ._graven import (
    Connection,
    Database,
    PreparedStatement,
    QueryResult,
    Transaction,
    __version__,
    storage_version,
)
from ._graven import __version__ as version
from .types import Type
from .values import Duration, Error, Node, ParameterError, Path, Point, Relationship, Temporal

if TYPE_CHECKING:
    from .asynchronous import AsyncConnection
    from .drawing import draw

__all__ = [
    "AsyncConnection",
    "Connection",
    "Database",
    "Duration",
    "Error",
    "Node",
    "ParameterError",
    "Path",
    "Point",
    "PreparedStatement",
    "QueryResult",
    "Relationship",
    "Temporal",
    "Transaction",
    "Type",
    "__version__",
    "draw",
    "storage_version",
    "version",
]


def __getattr__(name):
    """What not every program uses is loaded when it is asked for: asyncio alone takes longer than the rest."""
    if name == "AsyncConnection":
        from .asynchronous import AsyncConnection

        return AsyncConnection
    if name == "draw":
        from .drawing import draw

        return draw
    raise AttributeError(f"module 'graven' has no attribute {name!r}")


def load_ipython_extension(shell):
    """For ``%load_ext graven``: the magic ``%%cypher``."""
    from .notebook import load_ipython_extension as load

    load(shell)
