"""A database that tells its connections and results when it is closed."""

from __future__ import annotations

from typing import Any

from .. import _graven
from ..values import Error
from .delegate import Delegate

__all__ = ["Database"]


class Database(Delegate):
    """As :class:`graven.Database`, with the same arguments, attributes and methods."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._inner = _graven.Database(*args, **options)

    @staticmethod
    def get_storage_version() -> int:
        """As ``graven.Database.get_storage_version``."""
        return _graven.storage_version

    def check_for_database_close(self) -> None:
        """Raises once the database is closed."""
        if self._inner.is_closed:
            raise Error("Database.Closed", "Database is closed: open it again")
