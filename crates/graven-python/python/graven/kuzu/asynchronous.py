"""Statements for programs that run an event loop."""

from __future__ import annotations

from .. import asynchronous
from .connection import Connection

__all__ = ["AsyncConnection"]


class AsyncConnection(asynchronous.AsyncConnection):
    """As :class:`graven.AsyncConnection`, with the values of this package."""

    _connection_class = Connection
