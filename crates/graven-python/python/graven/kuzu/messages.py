"""What Kuzu says of a statement that changes the schema, or that copies: its row of the column ``result``."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, Optional, Tuple

__all__ = ["message"]

_NAME = r"(?P<{}>`(?:[^`]|``)+`|\w+)"
_TABLE = _NAME.format("table")
_COLUMN = _NAME.format("column")
_ENDS = r"FROM\s+" + _NAME.format("start") + r"\s+TO\s+" + _NAME.format("end")

#: Beginnings of statements; the counter that tells whether something was done; what is said of it, or else.
_FORMS: List[Tuple[str, str, str, str]] = [
    (
        rf"CREATE\s+(?:NODE|REL)\s+TABLE\s+(?:GROUP\s+)?(?P<if>IF\s+NOT\s+EXISTS\s+)?{_TABLE}",
        "constraints_added",
        "Table {table} has been created.",
        "Table {table} already exists.",
    ),
    (
        rf"DROP\s+TABLE\s+(?P<if>IF\s+EXISTS\s+)?{_TABLE}",
        "constraints_removed",
        "Table {table} has been dropped.",
        "Table {table} does not exist.",
    ),
    (
        rf"ALTER\s+TABLE\s+{_TABLE}\s+ADD\s+(?P<if>IF\s+NOT\s+EXISTS\s+)?{_ENDS}",
        "constraints",
        "{start}->{end} added to table {table}.",
        "{start}->{end} already exists in {table} table.",
    ),
    (
        rf"ALTER\s+TABLE\s+{_TABLE}\s+DROP\s+(?P<if>IF\s+EXISTS\s+)?{_ENDS}",
        "constraints",
        "{start}->{end} has been dropped from table {table}.",
        "{start}->{end} does not exist in {table} table.",
    ),
    (
        rf"ALTER\s+TABLE\s+{_TABLE}\s+ADD\s+(?P<if>IF\s+NOT\s+EXISTS\s+)?{_COLUMN}",
        "constraints_added",
        "Property {column} added to table {table}.",
        "Property {column} already exists in table {table}.",
    ),
    (
        rf"ALTER\s+TABLE\s+{_TABLE}\s+DROP\s+(?P<if>IF\s+EXISTS\s+)?{_COLUMN}",
        "constraints_removed",
        "Property {column} has been dropped from table {table}.",
        "Property {column} does not exist in table {table}.",
    ),
    (
        rf"ALTER\s+TABLE\s+{_TABLE}\s+RENAME\s+TO\s+{_COLUMN}",
        "constraints",
        "Table {table} renamed to {column}.",
        "",
    ),
    (
        rf"ALTER\s+TABLE\s+{_TABLE}\s+RENAME\s+(?P<start>\w+)\s+TO\s+{_COLUMN}",
        "constraints",
        "Property {start} renamed to {column}.",
        "",
    ),
    (rf"COMMENT\s+ON\s+TABLE\s+{_TABLE}", "", "Table {table} comment updated.", ""),
    # Nothing counts sequences: what a condition came to is not said.
    (rf"CREATE\s+SEQUENCE\s+(?!IF\b){_TABLE}", "", "Sequence {table} has been created.", ""),
    (rf"DROP\s+SEQUENCE\s+(?!IF\b){_TABLE}", "", "Sequence {table} has been dropped.", ""),
    (rf"CREATE\s+TYPE\s+{_TABLE}", "", "Type {table} has been created.", ""),
    (rf"CREATE\s+MACRO\s+{_TABLE}", "", "Macro: {table} has been created.", ""),
    (r"EXPORT\s+DATABASE\b", "", "Exported database successfully.", ""),
    (r"IMPORT\s+DATABASE\b", "", "Imported database successfully.", ""),
    (rf"COPY\s+{_TABLE}\s*(?:\([^)]*\)\s*)?FROM\b", "made", "{made} tuples have been copied to the {table} table.", ""),
]
_PATTERNS = [(re.compile(r"\s*" + form, re.IGNORECASE), *rest) for form, *rest in _FORMS]


def message(statement: str, counters: Dict[str, Any], called: Callable[[str], str]) -> Optional[str]:
    """What is said of a statement that was run and has changed so much; nothing of one without rows of this kind.

    ``called`` gives the name of a table as it was declared.
    """
    for pattern, counter, done, otherwise in _PATTERNS:
        found = pattern.match(statement)
        if not found:
            continue
        told = {key: value.strip("`").replace("``", "`") for key, value in found.groupdict().items() if value}
        if "table" in told:
            told["table"] = called(told["table"])
        told["made"] = str(counters["nodes_created"] + counters["relationships_created"])
        counts = {**counters, "constraints": counters["constraints_added"] + counters["constraints_removed"]}
        unchanged = "if" in told and not counts[counter]
        return (otherwise if unchanged else done).format(**told)
    return None
