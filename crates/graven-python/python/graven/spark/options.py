"""Options of ``spark.read.format("graven")`` and ``df.write.format("graven")``, checked, and how
the database is opened by them."""

from __future__ import annotations

import difflib
import json
import os

import graven
from graven import Error

_READ = ("label", "type", "cypher")
_ALL = {
    "path": "the database file, or the URL of a published snapshot",
    "label": "nodes with this label; * for all nodes",
    "type": "relationships of this type; * for all relationships",
    "cypher": "the rows of a statement that only reads",
    "parameters": "parameters of the statement, as JSON",
    "key": "the property that is the id of nodes in place of Graven's own ids",
    "from": "where relationships written begin: a label, or Label(key)",
    "to": "where relationships written end: a label, or Label(key)",
    "staging": "the folder for the files of a write, which all executors and the driver reach",
    "partitions": "in how many parts, about, the ids are read",
    "memory": "the whole budget of one opened database, such as 64MiB",
    "disk_cache": "the folder where blocks of a published snapshot are kept",
    "disk_budget": "how large that folder may become, such as 10GiB",
    "snapshot": "the state that must be read, as graven.snapshot() tells it",
    "filters": "conditions on properties, as JSON",
}

# What one opened database may take where nothing is said: a task has it beside those of others.
_MEMORY = "64MiB"


def _is_url(path):
    return "://" in path


class Options:
    """The options of one frame. Raises ``graven.Error`` with the name of the option that is wrong."""

    def __init__(self, given):
        given = {key.lower(): value for key, value in dict(given).items()}
        for name in given:
            if name not in _ALL:
                near = difflib.get_close_matches(name, _ALL, 1)
                hint = f"; did you mean `{near[0]}`?" if near else ""
                raise invalid(f"graven has no option `{name}`{hint} It has: {', '.join(sorted(_ALL))}")
        if not given.get("path"):
            raise invalid('which database? give .option("path", FILE), or the path to load() or save()')
        # Executors have other working directories.
        path = given["path"]
        self.path = path if _is_url(path) else os.path.abspath(os.path.expanduser(path))
        self.given = given
        self.memory = given.get("memory", _MEMORY)
        self.key = given.get("key")
        self.snapshot = given.get("snapshot")
        self.partitions = self._number("partitions")
        self.parameters = self._json("parameters", dict)
        self.filters = [tuple(one) for one in self._json("filters", list)]

    def _number(self, name):
        text = self.given.get(name)
        if text is None:
            return None
        if not text.strip().isdigit() or not 1 <= int(text) <= 100_000:
            raise invalid(f"option `{name}` is a number from 1 to 100000, not {text!r}")
        return int(text)

    def _json(self, name, kind):
        text = self.given.get(name)
        if text is None:
            return kind()
        try:
            value = json.loads(text)
        except ValueError as error:
            raise invalid(f"option `{name}` is no JSON ({error}): {text!r}") from error
        if not isinstance(value, kind):
            wanted = {dict: "an object", list: "a list"}[kind]
            raise invalid(f"option `{name}` is {wanted} of JSON, not {text!r}")
        return value

    def one_of(self, names, what):
        """The one of these options that is given, with its value."""
        found = [name for name in names if self.given.get(name)]
        if len(found) != 1:
            told = " and ".join(f"`{name}`" for name in found) or "none of them"
            raise invalid(f"{what} needs one of the options {', '.join(f'`{n}`' for n in names)}; given: {told}")
        return found[0], self.given[found[0]]

    def source(self):
        """What is read: ``("label" | "type" | "cypher", its text)``."""
        return self.one_of(_READ, "a frame")

    def open(self, writing=False):
        """The database; to read it, only where it exists."""
        return graven.Database(
            self.path,
            read_only=not writing,
            memory=self.memory,
            disk_cache=self.given.get("disk_cache"),
            disk_budget=self.given.get("disk_budget"),
        )


def invalid(message):
    """The error of a request that cannot be met."""
    return Error("Request.Invalid", message)


def quoted(name):
    """A name as statements have it."""
    # A backslash before this letter would begin the number of a character.
    return "`" + name.replace("`", "``").replace("\\u", "\\u005cu") + "`"


def snapshot_of(connection):
    """Which state of which database a connection reads, as a text that changes with it."""
    [[database, position]] = connection.execute("CALL graven.snapshot() YIELD database, position").get_all()
    return f"{database}:{position}"
