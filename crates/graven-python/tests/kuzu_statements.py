"""Plays Kuzu's own statement files and counts which statements give Kuzu's result.

Run it by hand, it is no unit test::

    python kuzu_statements.py FOLDER [PART OF A FILE'S NAME] [--show differ,refused,accepted]

``FOLDER`` has ``test/test_files`` and ``dataset`` of Kuzu's sources. ``PYTHONPATH`` must name a folder with the package
``graven``. Each ``-CASE`` gets a new database with its data set, ``-IMPORT_DATABASE`` a new one without. Of a value with an id only the rest is compared, since ids
are Kuzu's own; a map is compared as a struct. What was declared as a ``DECIMAL``, ``STRUCT`` or ``MAP`` is shown as
``graven.kuzu`` reads it. A case ends at a statement that reads a missing file. Statements run as those of ``graven.kuzu`` do: ``BEGIN TRANSACTION`` and
``COMMIT`` are some. ``agree``: the rows, the success or the failure are Kuzu's; ``differ``: other
rows; ``refused``: an error where Kuzu has none; ``accepted``: none where Kuzu has one.
"""

from __future__ import annotations

import argparse
import collections
import datetime
import decimal
import glob
import os
import re
import shutil
import tempfile
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

import graven
from graven import kuzu
from graven.kuzu import kinds, texts as parts

OUTCOMES = ("agree", "differ", "refused", "accepted")
TIMEOUT_MS = 10_000


class Statement(NamedTuple):
    """A statement, what it must do and where it stands."""

    text: str
    line: int
    expected: str
    rows: List[str]
    ordered: bool


class Case(NamedTuple):
    """Statements that share a database."""

    name: str
    statements: List[Any]


def cases(path: str, root: str, scratch: str) -> Tuple[List[str], List[Case]]:
    """The data set of a file and its cases."""
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file]
    dataset: List[str] = []
    found = [Case("", [])]
    blocks: Dict[str, List[Any]] = {}
    block: Optional[str] = None
    ordered = False
    at = 0

    def add(item: Any) -> None:
        (blocks[block] if block else found[-1].statements).append(item)

    while at < len(lines):
        line = lines[at].strip()
        at += 1
        word, _, rest = line.partition(" ")
        if word == "-DATASET":
            dataset = rest.split()
        elif word == "-CASE":
            found.append(Case(rest, []))
        elif word == "-DEFINE_STATEMENT_BLOCK":
            block = rest.split()[0]
            blocks[block] = []
        elif line == "]":
            block = None
        elif word == "-INSERT_STATEMENT_BLOCK":
            for item in blocks.get(rest.strip(), []):
                add(item)
        elif word == "-CHECK_ORDER":
            ordered = True
        elif word in ("-RELOADDB", "-IMPORT_DATABASE"):
            add(word)
        elif word in ("-STATEMENT", "-BATCH_STATEMENTS"):
            first = at
            text = [rest]
            while at < len(lines) and not lines[at].startswith("----"):
                ordered = ordered or lines[at].strip() == "-CHECK_ORDER"
                if not re.match(r"-[A-Z_]+", lines[at].strip()):
                    text.append(lines[at])
                at += 1
            if at == len(lines):
                break
            expected = lines[at][4:].strip()
            at += 1
            rows: List[str] = []
            if expected.startswith("error"):
                while at < len(lines) and lines[at].strip() and not lines[at].startswith("-"):
                    rows.append(lines[at])
                    at += 1
            elif expected.isdigit():
                rows = lines[at : at + int(expected)]
                at += int(expected)
            statement = re.sub(r"^\[\w+\]\s*", "", " ".join(part.strip() for part in text).strip())
            for name, value in (
                ("KUZU_ROOT_DIRECTORY", root),
                ("DATABASE_PATH", scratch + "/db"),
                ("KUZU_EXPORT_DB_DIRECTORY", scratch + "/export"),
            ):
                statement = statement.replace("${" + name + "}", value)
            add(Statement(statement, first, expected, rows, ordered))
            ordered = False
    return dataset, [case for case in found if case.statements]


class Texts:
    """Values as Kuzu writes them."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._columns: Dict[str, Dict[str, kinds.Kind]] = {}

    def columns(self, table: str) -> Dict[str, kinds.Kind]:
        """The columns of a table in their order, with their types."""
        if table not in self._columns:
            try:
                rows = self._connection.execute(f"CALL table_info('{table}') RETURN name, type").get_all()
            except graven.Error:
                rows = []
            self._columns[table] = {name: kinds.read(of) for name, of in rows}
        return self._columns[table]

    def row(self, row: List[Any], of: List[kinds.Kind]) -> str:
        """One row."""
        return "|".join(self.typed(value, kind) for value, kind in zip(row, of))

    def typed(self, value: Any, kind: kinds.Kind) -> str:
        """A value of a declared type."""
        try:
            return self._typed(value, kind)
        except (ValueError, TypeError, AttributeError, ArithmeticError):
            return self.value(value)

    def _typed(self, value: Any, kind: kinds.Kind) -> str:
        if value is None:
            return ""
        if kind.name == "DECIMAL":
            return str(decimal.Decimal(str(value)).quantize(decimal.Decimal(1).scaleb(-kind.scale)))
        if kind.name == "LIST" and kind.parts:
            items = parts.items(value) if isinstance(value, str) else value
            return "[" + ",".join(self.typed(item, kind.element) for item in items) + "]"
        if kind.name == "STRUCT" and kind.parts:
            fields = dict(parts.entries(value, quoted_keys=False)) if isinstance(value, str) else value
            return "{" + ", ".join(f"{name}: {self.typed(fields.get(name), of)}" for name, of in kind.parts) + "}"
        if kind.name == "MAP" and kind.parts:
            entries = parts.entries(value) if isinstance(value, str) else value.items()
            key, of = (part for _, part in kind.parts)
            return "{" + ", ".join(f"{self.typed(k, key)}: {self.typed(v, of)}" for k, v in entries) + "}"
        if isinstance(value, str) and kind.name in ("FLOAT", "DOUBLE"):
            return self.value(float(value))
        if isinstance(value, str) and kind.name.startswith("TIMESTAMP"):
            return self.value(kinds.moment(value))
        return self.value(value)

    def value(self, value: Any) -> str:
        """One value."""
        if value is None:
            return ""
        if isinstance(value, bool):
            return str(value)
        if isinstance(value, float):
            return f"{value:.6f}"
        if isinstance(value, graven.Node):
            return self._entity(list(value.labels), value.properties)
        if isinstance(value, graven.Relationship):
            return f"()-{self._entity([value.type], value.properties)}->()"
        if isinstance(value, graven.Path):
            nodes = ",".join(self.value(node) for node in value.nodes)
            rels = ",".join(self.value(relationship) for relationship in value.relationships)
            return f"{{_NODES: [{nodes}], _RELS: [{rels}]}}"
        if isinstance(value, graven.Duration):
            return span(value)
        if isinstance(value, datetime.datetime):
            return moment_text(value)
        if isinstance(value, (bytes, bytearray)):
            return "".join(chr(byte) if 32 <= byte < 127 else f"\\x{byte:02X}" for byte in value)
        if isinstance(value, list):
            return "[" + ",".join(self.value(item) for item in value) + "]"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{key}: {self.value(item)}" for key, item in value.items()) + "}"
        text = str(value)
        moment = re.fullmatch(r"(-?\d+-\d\d-\d\d)T(\d\d:\d\d)(:\d\d(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)?", text)
        if moment and not isinstance(value, str):
            seconds = re.sub(r"(\.\d{6})\d+$", r"\1", moment[3] or ":00")
            seconds = re.sub(r"0+$", "", seconds) if "." in seconds else seconds
            return f"{moment[1]} {moment[2]}{seconds}" + ("+00" if moment[4] else "")
        return text

    def _entity(self, names: List[str], properties: Dict[str, Any]) -> str:
        of = {column: kind for name in names for column, kind in self.columns(name).items()}
        of.update({key: kinds.ANY for key in properties if key not in of})
        shown = [f"{key}: {self.typed(properties[key], of[key])}" for key in of if properties.get(key) is not None]
        return "{" + ", ".join([f"_LABEL: {':'.join(names)}", *shown]) + "}"


def moment_text(value: datetime.datetime) -> str:
    """A time as Kuzu writes it: no zeros at the end of its seconds, a zone as hours."""
    text = value.isoformat(sep=" ")
    text, zone = (text[:-6], "+00") if text.endswith("+00:00") else (text, "")
    return (text.rstrip("0") if "." in text else text) + zone


def span(value: Any) -> str:
    """A duration as Kuzu writes an interval."""
    months, days = value.months, value.days
    parts = []
    for count, unit in ((months // 12, "year"), (months % 12, "month"), (days, "day")):
        if count:
            parts.append(f"{count} {unit}{'' if count == 1 else 's'}")
    micros = value.seconds * 1_000_000 + value.nanoseconds // 1000
    if micros or not parts:
        sign, micros = ("-", -micros) if micros < 0 else ("", micros)
        seconds, rest = divmod(micros, 1_000_000)
        text = f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        parts.append(text + (f".{rest:06}".rstrip("0") if rest else ""))
    return " ".join(parts)


def comparable(row: str) -> str:
    """A row without ids, and with maps as structs."""
    row = re.sub(r"_ID: \d+:\d+(, )?", "", row)
    row = re.sub(r"\(\d+:\d+\)", "()", row)
    row = re.sub(r"([{ ][^{}=:, \[\]]+)=", r"\1: ", row)
    return row.replace(", }", "}").strip()


def last_rows(connection: Any, text: str) -> Tuple[List[List[Any]], List[kinds.Kind]]:
    """The rows of the last statement of a text, and the types of its columns."""
    result = connection.execute(text)
    if isinstance(result, list):
        result = result[-1]
    # The values as Graven has them: those of Kuzu's package are less than what its files show.
    return [list(row) for row in result._inner.get_all()], result._kinds


def open_database(folder: str) -> Any:
    """A connection to the database of a case."""
    connection = kuzu.Connection(kuzu.Database(os.path.join(folder, "db")))
    connection.set_query_timeout(TIMEOUT_MS)
    return connection


def load(connection: Any, root: str, dataset: List[str]) -> Optional[str]:
    """Loads a data set; why it cannot be."""
    if len(dataset) < 2 or dataset[1].lower() == "empty":
        return None
    name = re.sub(r".*\(|\)", "", dataset[1])
    for file in ("schema.cypher", "copy.cypher"):
        path = os.path.join(root, "dataset", name, file)
        if not os.path.exists(path):
            return f"no {name}"
        with open(path, encoding="utf-8") as script:
            statements = list(filter(str.strip, script))
        for statement in statements:
            try:
                connection.execute(statement)
            except graven.Error as error:
                return f"{file} of {name}: {error}"
    return None


def outcome(connection: Any, texts: Texts, statement: Statement) -> Tuple[str, str]:
    """What a statement did beside what it must do."""
    try:
        rows, of = last_rows(connection, statement.text)
    except (graven.Error, ValueError, RuntimeError) as error:
        return ("agree", "") if statement.expected.startswith("error") else ("refused", str(error))
    if statement.expected.startswith("error"):
        return "accepted", " ".join(statement.rows)
    if not statement.expected.isdigit():
        return "agree", ""
    ours = [comparable(texts.row(row, of)) for row in rows]
    theirs = [comparable(row) for row in statement.rows]
    if not statement.ordered:
        ours, theirs = sorted(ours), sorted(theirs)
    return ("agree", "") if ours == theirs else ("differ", f"ours {ours[:4]}, Kuzu's {theirs[:4]}")


def missing_file(text: str, root: str) -> bool:
    """Whether a statement names a file of Kuzu's sources that is not there."""
    names = re.findall(r"""["']((?:%s/)?dataset/[^"']+)["']""" % re.escape(root), text)
    return any(not glob.glob(os.path.join(root, name)) for name in names)


def play(path: str, root: str) -> Iterator[Tuple[Statement, str, str]]:
    """The statements of a file with what they did."""
    with tempfile.TemporaryDirectory() as scratch:
        dataset, found = cases(path, root, scratch)
        for number, case in enumerate(found):
            folder = os.path.join(scratch, str(number))
            os.mkdir(folder)
            for within in ("db", "export"):
                shutil.rmtree(os.path.join(scratch, within), ignore_errors=True)
            os.mkdir(os.path.join(scratch, "db"))
            connection = open_database(folder)
            missing = load(connection, root, dataset)
            if missing:
                print(f"SKIPPED {path} {case.name}: {missing}")
                continue
            texts = Texts(connection)
            for statement in case.statements:
                if statement == "-IMPORT_DATABASE":
                    connection.close()
                    folder += "-next"
                    os.mkdir(folder)
                    connection = open_database(folder)
                if not isinstance(statement, Statement):
                    continue
                if missing_file(statement.text, root):
                    break
                texts = Texts(connection)
                yield (statement, *outcome(connection, texts, statement))
            connection.close()


def main() -> None:
    """Plays the files and prints the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root")
    parser.add_argument("part", nargs="?", default="")
    parser.add_argument("--show", default="", help="outcomes to list: " + ", ".join(OUTCOMES))
    asked = parser.parse_args()
    root = os.path.abspath(asked.root)
    shown = asked.show.split(",")
    os.chdir(root)
    total: collections.Counter = collections.Counter()
    for folder, _, files in sorted(os.walk(os.path.join(root, "test/test_files"))):
        for file in sorted(files):
            path = os.path.join(folder, file)
            if not file.endswith(".test") or asked.part not in path:
                continue
            counts: collections.Counter = collections.Counter()
            for statement, result, why in play(path, root):
                counts[result] += 1
                if result in shown:
                    print(f"{result} {file}:{statement.line} {statement.text[:300]}\n    {why[:400]}")
            total += counts
            print(os.path.relpath(path, root), *(f"{name} {counts[name]}" for name in OUTCOMES), flush=True)
    whole = max(sum(total.values()), 1)
    print("total", *(f"{name} {total[name]}" for name in OUTCOMES), f"of {whole}: {100 * total['agree'] / whole:.1f} % agree")


if __name__ == "__main__":
    main()
