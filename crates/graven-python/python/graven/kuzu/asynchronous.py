"""Statements for programs that run an event loop."""

from __future__ import annotations

from typing import Any, Optional

from .. import asynchronous
from ..values import Error
from .connection import Connection, control

__all__ = ["AsyncConnection"]


class AsyncConnection(asynchronous.AsyncConnection):
    """As :class:`graven.AsyncConnection`, with the values of this package.

    A transaction needs one of :meth:`acquire_connection`: other statements run on any connection of the pool.
    """

    _connection_class = Connection

    async def execute(self, query: Any, parameters: Optional[dict] = None) -> Any:
        """As ``Connection.execute``."""
        _check(query)
        return await super().execute(query, parameters)

    async def execute_all(self, query: Any, parameters: Optional[dict] = None) -> Any:
        """All rows of a statement, read on the thread that runs it."""
        _check(query)
        return await super().execute_all(query, parameters)


def _check(query: Any) -> None:
    word = control(query)
    if word not in (None, "CHECKPOINT"):
        message = f"{word} of a pool would run on any of its connections: take one by acquire_connection()"
        raise Error("Request.Invalid", message)
