"""Values without a declared type, nodes and relationships, and what tables say of them."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from ..constants import DST, ID, LABEL, NODES, RELS, SRC
from ..values import Duration, Error, Node, Path, Relationship, Temporal
from .kinds import Kind, converter, read, span, without_type

__all__ = ["Table", "Values"]


class Table(NamedTuple):
    """A table: its columns with their types, and the one that is the key."""

    columns: List[Tuple[str, Kind]]
    makers: List[Tuple[str, Callable[[Any], Any]]]
    key: Optional[str]


class Values:
    """What makes Kuzu's form of values, with the tables of a connection, each looked up once for a result."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._tables: Dict[str, Optional[Table]] = {}

    def table(self, name: str) -> Optional[Table]:
        """The table of this label or type; None if it is none."""
        if name not in self._tables:
            self._tables[name] = self._found(name)
        return self._tables[name]

    def _found(self, name: str) -> Optional[Table]:
        quoted = name.replace("\\", "\\\\").replace("'", "\\'")
        try:
            rows = self._connection.execute(f"CALL table_info('{quoted}') RETURN name, type, `primary key`").get_all()
        except Error:
            return None
        columns = [(column, read(of)) for column, of, _ in rows]
        makers = [(column, converter(kind, self.make)) for column, kind in columns]
        return Table(columns, makers, next((column for column, _, is_key in rows if is_key is True), None))

    def make(self, value: Any) -> Any:
        """Kuzu's form of a value, as far as the value itself tells."""
        if value is None or type(value) in _SAME:
            return value
        if isinstance(value, Node):
            names = {ID: _id(value.id), LABEL: value["_label"]}
            return {**names, **self._properties(value.labels, value.properties)}
        if isinstance(value, Relationship):
            names = {SRC: _id(value.start), DST: _id(value.end), LABEL: value.type, ID: _id(value.id)}
            return {**names, **self._properties([value.type], value.properties)}
        if isinstance(value, Path):
            return {
                NODES: [self.make(node) for node in value.nodes],
                RELS: [self.make(relationship) for relationship in value.relationships],
            }
        if isinstance(value, Duration):
            return span(value)
        if isinstance(value, Temporal):
            return without_type(value)
        if isinstance(value, list):
            return [self.make(item) for item in value]
        if isinstance(value, dict):
            return {key: self.make(item) for key, item in value.items()}
        return value

    def _properties(self, names: Any, properties: Dict[str, Any]) -> Dict[str, Any]:
        found = (self.table(name) for name in names)
        table = next((table for table in found if table), None)
        if table is None:
            return {key: self.make(value) for key, value in properties.items()}
        made = {column: make(properties.get(column)) for column, make in table.makers}
        others = {key: self.make(value) for key, value in properties.items() if key not in made}
        return {**made, **others}


_SAME = frozenset((bool, int, float, str, bytes))


def _id(number: int) -> Dict[str, int]:
    """Ids are unique in the whole database, so that no table has to tell them apart."""
    return {"offset": number, "table": 0}
