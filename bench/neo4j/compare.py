"""Statements asked of Neo4j and of Graven: what they answer differently.

    target/debug/graven-fuzz --print --queries 4000 > statements.jsonl
    python3 bench/neo4j/compare.py --graven target/debug/graven --out differences.jsonl statements.jsonl

A line of a file has a `statement`, the statements of its `setup`, which make its graph, and `params`, if any.  `--neo4j PORT` asks a
server that runs already; without it Neo4j is started from Maven's artifacts.  The package `neo4j` of Python must be there."""
import argparse
import collections
import json
import logging
import math
import os
import subprocess
import sys
import tempfile
import warnings

import neo4j.spatial
import neo4j.time
from neo4j import GraphDatabase, Query
from neo4j.graph import Node, Path, Relationship

import server

COUNTERS = [
    f"{what}_{how}"
    for what, hows in {
        "nodes": ("created", "deleted"),
        "relationships": ("created", "deleted"),
        "properties": ("set",),
        "labels": ("added", "removed"),
        "indexes": ("added", "removed"),
        "constraints": ("added", "removed"),
    }.items()
    for how in hows
]
# What Neo4j refuses because the function, procedure or syntax is Graven's alone.
GRAVENS_OWN = ("Unknown function", "There is no procedure with the name")


def text(value):
    """A value as a text that tells types apart."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return "fNaN" if math.isnan(value) else f"f{value!r}"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (bytes, bytearray)):
        return "bytes " + value.hex()
    if isinstance(value, list):
        return "[" + ", ".join(map(text, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {text(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, Node):
        return "(" + "".join(":" + label for label in sorted(value.labels)) + " " + text(dict(value)) + ")"
    if isinstance(value, Relationship):
        return f"[:{value.type} {text(dict(value))}]"
    if isinstance(value, Path):
        parts = [text(value.nodes[0])]
        for at, step in enumerate(value.relationships):
            ahead = step.start_node.element_id == value.nodes[at].element_id
            parts += ["-" if ahead else "<-", text(step), "->" if ahead else "-", text(value.nodes[at + 1])]
        return "<" + "".join(parts) + ">"
    if isinstance(value, neo4j.time.Duration):
        return f"duration {value.months} {value.days} {value.seconds} {value.nanoseconds}"
    if isinstance(value, neo4j.time.DateTime):
        zone = getattr(value.tzinfo, "zone", None) or getattr(value.tzinfo, "key", None)
        return f"{type(value).__name__} {value.iso_format()} {zone or ''}"
    if hasattr(value, "iso_format"):
        return f"{type(value).__name__} {value.iso_format()}"
    if isinstance(value, neo4j.spatial.Point):
        return f"point {value.srid} " + " ".join(map(repr, value))
    return f"{type(value).__name__} {value!r}"


class Side:
    """One of both systems."""

    def __init__(self, port):
        self.driver = GraphDatabase.driver(f"bolt://127.0.0.1:{port}", connection_timeout=5, max_transaction_retry_time=0)
        self.session = self.driver.session()

    def ask(self, statement, params, seconds=10):
        try:
            result = self.session.run(Query(statement, timeout=seconds), params)
            columns = list(result.keys())
            rows = [[text(cell) for cell in row.values()] for row in result]
            summary = result.consume()
            counted = {name: getattr(summary.counters, name) for name in COUNTERS}
            return {
                "columns": columns,
                "rows": rows,
                "counters": {name: count for name, count in counted.items() if count},
                "notifications": sorted(note["code"] for note in summary.notifications or []),
                "type": summary.query_type,
            }
        except Exception as error:  # What the driver makes of an answer that it cannot read is a difference, too.
            self.session.close()
            self.session = self.driver.session()
            return {"error": getattr(error, "code", None) or type(error).__name__, "message": str(getattr(error, "message", error))[:400]}

    def make(self, setup):
        self.ask("MATCH (n) DETACH DELETE n", {}, 60)
        for kind, all_of_them in (("CONSTRAINT", "CONSTRAINTS"), ("INDEX", "INDEXES")):
            for name, of in self.ask(f"SHOW {all_of_them} YIELD name, type RETURN name, type", {})["rows"]:
                if "LOOKUP" not in of:
                    self.ask(f"DROP {kind} `{json.loads(name)}` IF EXISTS", {})
        for statement in setup:
            made = self.ask(statement, {}, 60)
            if "error" in made:
                sys.exit(f"{statement}: {made}")


def differ(theirs, ours, statement, notifications):
    """How two answers differ, in a word; none if they do not, `own` where only Graven can answer."""
    if "error" in theirs and "error" in ours:
        return None if theirs["error"] == ours["error"] else "code"
    if "error" in theirs:
        return "own" if any(words in theirs["message"] for words in GRAVENS_OWN) else "only Graven answers"
    if "error" in ours:
        return "only Neo4j answers"
    if theirs["columns"] != ours["columns"]:
        return "columns"
    if sorted(theirs["rows"]) != sorted(ours["rows"]):
        return "rows"
    if theirs["counters"] != ours["counters"]:
        return "counters"
    if theirs["rows"] != ours["rows"] and "order by" in statement.lower():
        return "order"
    if notifications and theirs["notifications"] != ours["notifications"]:
        return "notifications"
    return None if theirs["type"] == ours["type"] else "type of statement"


def compare(files, sides, given, out):
    """Asks both sides every statement; a graph is made anew after a statement that may have changed it."""
    kinds, made = collections.Counter(), None
    for file in files:
        for line in open(file):
            case = json.loads(line)
            setup, params = case.get("setup") or [], case.get("params") or {}
            if made != setup:
                for side in sides:
                    side.make(setup)
                made = setup
            theirs, ours = (side.ask(case["statement"], params, given.seconds) for side in sides)
            if any(answer.get("type", "r") != "r" for answer in (theirs, ours)):
                made = None
            kind = differ(theirs, ours, case["statement"], given.notifications)
            kinds[kind or "same"] += 1
            if kind and kind != "own":
                out.write(json.dumps({**case, "kind": kind, "neo4j": theirs, "graven": ours}, ensure_ascii=False) + "\n")
    return kinds


def graven(program, folder):
    """A server of a new database: the process, and its port."""
    command = [program, "serve", os.path.join(folder, "beside.graven"), "--create", "--open-to-all", "--bolt", "127.0.0.1:0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in process.stdout:
        if "bolt://" in line:
            return process, int(line.split("bolt://")[1].split(";")[0].split()[0].rsplit(":", 1)[1])
    sys.exit("Graven's server did not start")


def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--graven", default="target/debug/graven", help="the program")
    parser.add_argument("--neo4j", type=int, help="port of a Neo4j that runs already")
    parser.add_argument("--work", default="target/neo4j", help="where Neo4j's classes and database are kept")
    parser.add_argument("--out", required=True, help="the differences, a line of JSON each")
    parser.add_argument("--notifications", action="store_true", help="compare their codes, too")
    parser.add_argument("--seconds", type=float, default=10, help="the most that a statement may take")
    given = parser.parse_args()
    os.makedirs(given.work, exist_ok=True)
    started = []
    with tempfile.TemporaryDirectory() as folder, open(given.out, "w") as out:
        try:
            ports = [given.neo4j]
            if given.neo4j is None:
                process, ports[0] = server.start(os.path.abspath(given.work))
                started.append(process)
            process, port = graven(given.graven, folder)
            started.append(process)
            kinds = compare(given.files, [Side(ports[0]), Side(port)], given, out)
        finally:
            for process in started:
                process.terminate()
                process.wait()
    print(f"{sum(kinds.values())} statements: " + ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()))


if __name__ == "__main__":
    main()
