"""What is measured: questions, their parameters, and where each system's text of a question lies."""
import csv
import json
import os
import time
from dataclasses import dataclass, field

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDERS = {  # where a system's text is looked for, in this order
    "graven": [("queries/graven", "cypher"), ("../queries/lsqb", "cypher"), ("../queries/ldbc", "cypher")],
    "kuzu": [("queries/kuzu", "cypher")],
    "ladybug": [("queries/kuzu", "cypher")],
    "duckdb": [("queries/duckdb", "sql"), ("queries/sql", "sql")],
    "sqlite": [("queries/sql", "sql")],
}
FULL = "Full tables: SF10, 1.93 M KNOWS"
LSQB = "LSQB on SF0.1"
INTERACTIVE = "LDBC Interactive reads on SF0.1"
SHORT = "Points and hops: SF10 KNOWS"
COMMIT = "Durable commits of one node"


@dataclass
class Measure:
    name: str
    group: str
    params: list = field(default_factory=list)
    ordered: bool = True
    few: bool = False       # the result is large: it may be taken in columns, and peers need not turn each row into Python objects
    clients: bool = False   # further threads are further clients, not parts of one statement
    write: bool = False
    compared: int = 20      # sets of parameters whose answers are compared


def text(measure, system):
    if system == "sqlite" and measure.group not in (SHORT, COMMIT) and not measure.name.startswith("IS"):
        return None  # a row at a time, one thread: not made for these
    for folder, kind in FOLDERS[system]:
        path = os.path.join(HERE, folder, f"{measure.name}.{kind}")
        if os.path.exists(path):
            with open(path) as f:
                return f.read()
    return None



def lines(path):
    import duckdb
    rows = duckdb.connect().execute(f"SELECT * FROM read_csv('{path}', delim='\x01', quote='', escape='', header=false, "
                                    "columns={'line': 'VARCHAR'}, max_line_size=10000000)").fetchall()
    return [row[0] for row in rows]


def measures(shared, graph):
    data = os.path.join(shared, "data")
    if graph == "sf10":
        with open(os.path.join(data, "ldbc-snb-sf10-knows", "three-hop-params.csv")) as f:
            starts = [{"id": int(row["personId"])} for row in csv.DictReader(f)]
        for name in ("point", "hop1", "hop1-rows", "hop2", "hop3"):
            few = {"hop2": 32, "hop3": 16}.get(name, 64)
            yield Measure(name, SHORT, starts[:few], clients=True, ordered=name != "hop1-rows", compared=20)
        for name in ("sort-all", "sort-top", "group-a", "group-ab"):
            yield Measure(name, FULL, ordered=name.startswith("sort"), few=name != "sort-top")
        yield Measure("commit", COMMIT, write=True, clients=True)
        return
    for number in range(1, 10):
        yield Measure(f"q{number}", LSQB)
    cases = {}
    for line in lines(os.path.join(data, "ldbc-snb-sf0.1", "interactive-expected.jsonl.zst")):
        case = json.loads(line)
        cases.setdefault(case["query"], []).append(case["params"])
    for name in [f"IS{n}" for n in range(1, 8)] + [f"IC{n}" for n in range(1, 15)]:
        yield Measure(name, INTERACTIVE, cases[name], clients=name.startswith("IS"))


# By the clock, as databases are kept from one run to the next.
WRITTEN = [int(time.time()) << 20]


def fresh(measure, number, threads):
    """Keys that no system has seen: a set for every statement of a turn."""
    WRITTEN[0] += 100 * threads
    return [{"id": WRITTEN[0] - n} for n in range(100 * threads)]
