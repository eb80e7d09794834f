"""Connections whose results have Kuzu's values."""

from __future__ import annotations

import re
import sys
from typing import Any, Dict, Optional, Union

from .. import _graven
from . import given
from .result import QueryResult
from .values import Values

__all__ = ["Connection"]


class Connection:
    """As :class:`graven.Connection`, with the same arguments and methods."""

    def __init__(self, database: Any, num_threads: int = 0, **options: Any) -> None:
        database.check_for_database_close()
        self.database = database
        self._inner = _graven.Connection(database._inner, num_threads, **options)

    def __getattr__(self, name: str) -> Any:
        if name == "_inner":
            raise AttributeError(name)
        return getattr(self._inner, name)

    @property
    def _connection(self) -> Any:
        """None once it is closed."""
        return self._inner._connection

    def execute(
        self, query: Union[str, _graven.PreparedStatement], parameters: Optional[Dict[str, Any]] = None
    ) -> Any:
        """Runs a statement; a :class:`QueryResult`, or a list of them for several statements."""
        self.database.check_for_database_close()
        kinds: Dict[str, Any] = {}
        if isinstance(parameters, dict):
            kinds = {name: given.kind(value) for name, value in parameters.items()}
            parameters = {name: given.parameter(value) for name, value in parameters.items()}
        if isinstance(query, str) and (parameters is None or isinstance(parameters, dict)):
            frames = _frames(query, parameters or {}, sys._getframe(1))
            if frames:
                parameters = {**(parameters or {}), **frames}
        result = self._inner.execute(query, parameters)
        if isinstance(query, str) and re.match(r"\s*EXPLAIN\b", query, re.IGNORECASE) and not isinstance(result, list):
            result = self._inner.execute("RETURN $plan AS `explain result`", {"plan": result.summary["plan"]})
        if isinstance(result, list):
            return [self._made(one, kinds) for one in result]
        return self._made(result, kinds)

    def _made(self, inner: Any, kinds: Dict[str, Any]) -> QueryResult:
        return QueryResult(inner, self.database, Values(self._inner), kinds)

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *error: Any) -> None:
        self._inner.close()


def _frames(query: str, parameters: Dict[str, Any], caller: Any) -> Dict[str, Any]:
    """Frames that a statement names without ``$``, by the variables of the caller."""
    found = {}
    for name in re.findall(r"\bFROM\s+([^\W\d]\w*)", query, re.IGNORECASE):
        if name in parameters:
            continue
        for scope in (caller.f_locals, caller.f_globals):
            if given.is_frame(scope.get(name)):
                found[name] = given.frame(scope[name])
                break
    return found
