"""Results with values as Kuzu's package gives them."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Optional

from ..values import Error
from .delegate import Delegate
from .kinds import ANY, SAME, Kind, converter, read
from .values import Values

__all__ = ["QueryResult"]


class QueryResult(Delegate):
    """As :class:`graven.QueryResult`, but for the form of values. Made by :class:`Connection`."""

    def __init__(self, inner: Any, database: Any, values: Values, parameters: Dict[str, Kind]) -> None:
        self._inner = inner
        self._parent = database
        self._values = values
        self._kinds: List[Kind] = [_kind(declared, parameters) for declared in inner.declared_types]
        self._makers = [None if kind.name in SAME else converter(kind, values.make) for kind in self._kinds]
        self._is_same = not any(self._makers)

    def _open(self) -> Any:
        if self._parent.is_closed:
            raise Error("Database.Closed", "the result cannot be used, since the parent database is closed")
        return self._inner

    def _row(self, row: Any) -> Any:
        if self._is_same:
            return row
        if isinstance(row, dict):
            makers = zip(self._makers, row.items())
            return {name: make(value) if make else value for make, (name, value) in makers}
        return [make(value) if make else value for make, value in zip(self._makers, row)]

    def has_next(self) -> bool:
        """Whether there are more rows."""
        return self._open().has_next()

    def get_next(self) -> Any:
        """The next row."""
        return self._row(self._open().get_next())

    def get_all(self) -> List[Any]:
        """The rows that are left."""
        rows = self._open().get_all()
        return rows if self._is_same else [self._row(row) for row in rows]

    def get_n(self, count: int) -> List[Any]:
        """The next rows, up to ``count``."""
        return [self._row(row) for row in self._open().get_n(count)]

    def get_columns(self) -> List[List[Any]]:
        """The rows that are left, a list for each column."""
        columns = zip(self._makers, self._open().get_columns())
        return [[make(value) for value in column] if make else column for make, column in columns]

    def rows_as_dict(self, state: bool = True) -> "QueryResult":
        """Rows as dictionaries from now on."""
        self._open().rows_as_dict(state)
        return self

    def get_num_tuples(self) -> int:
        """All rows, those handed out included."""
        return self._open().get_num_tuples()

    def get_column_data_types(self) -> List[str]:
        """The declared types of the columns; for a column without one what its values are."""
        if ANY not in self._kinds:
            return [str(kind) for kind in self._kinds]
        found = self._open().get_column_data_types()
        return [of if kind == ANY else str(kind) for kind, of in zip(self._kinds, found)]

    def get_schema(self) -> Dict[str, str]:
        """The types of ``get_column_data_types`` by the names of the columns."""
        return dict(zip(self._inner.get_column_names(), self.get_column_data_types()))

    def get_as_df(self) -> Any:
        """A pandas ``DataFrame`` whose columns have the declared types."""
        from . import frames

        return frames.as_df(self)

    def get_as_arrow(self, chunk_size: Optional[int] = None) -> Any:
        """A ``pyarrow.Table`` whose columns have the declared types, in pieces of ``chunk_size`` rows."""
        from . import frames

        return frames.as_arrow(self, chunk_size)

    def get_as_pl(self) -> Any:
        """A Polars ``DataFrame``, by way of Arrow."""
        from . import frames

        return frames.as_pl(self)

    def get_as_networkx(self, directed: bool = True) -> Any:
        """A graph whose nodes are called by label and key, ``person_7``."""
        from . import frames

        return frames.as_networkx(self, directed)

    def get_as_torch_geometric(self) -> Any:
        """``Data`` or ``HeteroData`` of PyTorch Geometric, keys by position, unconverted properties, those of relationships."""
        from . import tensors

        return tensors.as_torch_geometric(self)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.get_as_arrow().__arrow_c_stream__(requested_schema)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self._row(next(self._open()))


def _kind(declared: Optional[str], parameters: Dict[str, Kind]) -> Kind:
    if declared is None:
        return ANY
    if declared.startswith("$"):
        return parameters.get(declared[1:], ANY)
    return read(declared)
