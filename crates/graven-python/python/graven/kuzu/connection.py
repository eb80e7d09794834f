"""Connections whose results have Kuzu's values, and prepared statements."""

from __future__ import annotations

import re
import sys
from typing import Any, Dict, List, Optional, Union

from .. import _graven
from ..values import Error
from . import given
from .delegate import Delegate
from .kinds import Kind
from .messages import message
from .result import QueryResult
from .values import Values

__all__ = ["Connection", "PreparedStatement"]

#: Statements that are none of the language: they begin and end transactions, and care for the file.
_CONTROL = re.compile(r"\s*(BEGIN\s+TRANSACTION(?:\s+READ\s+ONLY)?|COMMIT|ROLLBACK|CHECKPOINT)\s*;?\s*", re.IGNORECASE)
_TIMEOUT = re.compile(r"\s*CALL\s+timeout\s*=\s*(\d+)\s*;?\s*", re.IGNORECASE)
#: Statements whose rows are Graven's own.
_WHOLE = re.compile(r"\s*(EXPORT|IMPORT)\s+DATABASE\b", re.IGNORECASE)
_NOTHING = "UNWIND [] AS nothing FINISH"
_INTERRUPTED = ("Statement.Cancelled", "Statement.TimedOut")


def control(statement: Any) -> Optional[str]:
    """``BEGIN TRANSACTION [READ ONLY]``, ``COMMIT``, ``ROLLBACK`` or ``CHECKPOINT`` if the statement is one of these."""
    found = _CONTROL.fullmatch(statement) if isinstance(statement, str) else None
    return " ".join(found.group(1).upper().split()) if found else None


class PreparedStatement:
    """A statement that is checked and planned; one that is wrong says so when it is asked, and raises when it is run."""

    def __init__(self, query: str, inner: Optional[_graven.PreparedStatement], error: Optional[Error]) -> None:
        self.query = query
        self.inner = inner
        self.error = error

    def is_success(self) -> bool:
        """Whether it can be run."""
        return self.error is None

    def get_error_message(self) -> str:
        """What is wrong with it; nothing if it can be run."""
        return "" if self.error is None else str(self.error)


class Connection(Delegate):
    """As :class:`graven.Connection`, with the same arguments and methods.

    ``BEGIN TRANSACTION [READ ONLY]``, ``COMMIT``, ``ROLLBACK``, ``CHECKPOINT`` and ``CALL timeout = milliseconds`` are
    statements here.
    """

    def __init__(self, database: Any, num_threads: int = 0, **options: Any) -> None:
        database.check_for_database_close()
        self.database = database
        self._inner = _graven.Connection(database._inner, num_threads, **options)
        self._transaction: Any = None

    def prepare(self, query: str, parameters: Optional[Dict[str, Any]] = None) -> PreparedStatement:
        """Checks and plans a statement, for :meth:`execute`."""
        self.database.check_for_database_close()
        try:
            return PreparedStatement(query, self._inner.prepare(query, parameters), None)
        except Error as error:
            return PreparedStatement(query, None, error)

    def execute(self, query: Union[str, PreparedStatement], parameters: Optional[Dict[str, Any]] = None) -> Any:
        """Runs a statement; a :class:`QueryResult`, or a list of them for several statements."""
        self.database.check_for_database_close()
        text = query.query if isinstance(query, PreparedStatement) else query
        kinds: Dict[str, Kind] = {}
        if isinstance(text, str):
            word = control(text)
            if word:
                return self._control(word)
            timeout = _TIMEOUT.fullmatch(text)
            if timeout:
                self._inner.set_query_timeout(int(timeout.group(1)))
                return self._made(self._inner.execute(_NOTHING), {})
            if isinstance(parameters, dict):
                parameters = _prepared(parameters, kinds)
            if parameters is None or isinstance(parameters, dict):
                frames = _prepared(_frames(text, parameters or {}, sys._getframe(1)), kinds)
                parameters = {**(parameters or {}), **frames} if frames else parameters
        try:
            result = self._run(query, parameters)
        except Error as error:
            if error.code not in _INTERRUPTED:
                raise
            raise Error(error.code, f"Interrupted. {error.message}", retryable=error.retryable) from error
        if isinstance(result, list):
            return [self._made(one, kinds) for one in result]
        if isinstance(text, str) and re.match(r"\s*EXPLAIN\b", text, re.IGNORECASE):
            result = self._inner.execute("RETURN $plan AS `explain result`", {"plan": result.summary["plan"]})
        elif isinstance(text, str) and (not result.get_column_names() or _WHOLE.match(text)):
            told = message(text, result.summary["counters"], self._called)
            if told is not None:
                result.get_all()
                result = self._inner.execute("RETURN $told AS result", {"told": told})
        return self._made(result, kinds)

    def _run(self, query: Union[str, PreparedStatement], parameters: Optional[Dict[str, Any]]) -> Any:
        if isinstance(query, PreparedStatement):
            if query.error is not None:
                raise query.error
            if self._transaction is None:
                return self._inner.execute(query.inner, parameters)
            query = query.query
        return (self._transaction or self._inner).execute(query, parameters)

    def _called(self, table: str) -> str:
        """The name of a table as it was declared, for one in any letter case."""
        names = [row[0] for row in self._run("CALL show_tables() RETURN name", None).get_all()]
        same = (name for name in names if name.lower() == table.lower())
        return table if table in names else next(same, table)

    def _control(self, word: str) -> QueryResult:
        if word == "CHECKPOINT":
            self.database.checkpoint()
        elif word.startswith("BEGIN"):
            if self._transaction is not None:
                raise Error("Request.Invalid", "the connection has a transaction already: COMMIT or ROLLBACK it before")
            self._transaction = self._inner.begin(read_only=word.endswith("ONLY"))
        else:
            if self._transaction is None:
                raise Error("Request.Invalid", f"there is no transaction to {word}: BEGIN TRANSACTION makes one")
            transaction, self._transaction = self._transaction, None
            getattr(transaction, word.lower())()
        return self._made(self._inner.execute(_NOTHING), {})

    def _made(self, inner: Any, kinds: Dict[str, Kind]) -> QueryResult:
        return QueryResult(inner, self.database, Values(self._inner), kinds)

    def close(self) -> None:
        """Closes it; a transaction that was not committed is rolled back."""
        if self._transaction is not None and not self.database.is_closed:
            self._transaction.rollback()
        self._transaction = None
        self._inner.close()


def _prepared(parameters: Dict[Any, Any], kinds: Dict[str, Kind]) -> Dict[Any, Any]:
    """Parameters and frames as Graven takes them; their types are added to ``kinds``."""
    made = {}
    for name, value in parameters.items():
        made[name] = given.parameter(value)
        plain = str(name).lstrip("$")
        kinds[plain] = given.kind(value)
        if given.is_frame(value):
            kinds.update(given.columns(plain, made[name], value))
    return made


def _frames(query: str, parameters: Dict[str, Any], caller: Any) -> Dict[str, Any]:
    """Frames that a statement names without ``$``, by the variables of the caller."""
    names: List[str] = re.findall(r"\bFROM\s+([^\W\d]\w*)", query, re.IGNORECASE)
    found = {}
    for name in names:
        if name in parameters:
            continue
        for scope in (caller.f_locals, caller.f_globals):
            if given.is_frame(scope.get(name)):
                found[name] = scope[name]
                break
    return found
