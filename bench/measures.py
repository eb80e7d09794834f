"""What is measured: questions, their parameters, and where each system's text of a question lies."""
import csv
import json
import os
import random
import time
from dataclasses import dataclass, field

HERE = os.path.dirname(os.path.abspath(__file__))
OWN = [("queries/graven", "cypher"), ("../queries/lsqb", "cypher"), ("../queries/ldbc", "cypher")]
FOLDERS = {  # where a system's text is looked for, in this order
    "graven": OWN,
    "graven-python": OWN,
    "kuzu": [("queries/kuzu", "cypher")],
    "ladybug": [("queries/kuzu", "cypher")],
    "duckdb": [("queries/duckdb", "sql"), ("queries/sql", "sql")],
    "sqlite": [("queries/sql", "sql")],
}
FULL = "Full tables: SF10, 1.93 M KNOWS"
LSQB = "LSQB on SF0.1"
INTERACTIVE = "LDBC Interactive reads on SF0.1"
LSQB_CORE = "LSQB on SF1 without comments"
INTERACTIVE_CORE = "LDBC Interactive reads on SF1 without comments"
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
    of: str = ""            # what its texts are called, where another measure asks the same of another graph


def text(measure, system):
    if system == "sqlite" and measure.group not in (SHORT, COMMIT) and not (measure.of or measure.name).startswith("IS"):
        return None  # a row at a time, one thread: not made for these
    for folder, kind in FOLDERS[system]:
        path = os.path.join(HERE, folder, f"{measure.of or measure.name}.{kind}")
        if os.path.exists(path):
            with open(path) as f:
                return f.read()
    return None



def lines(path):
    import duckdb
    rows = duckdb.connect().execute(f"SELECT * FROM read_csv('{path}', delim='\x01', quote='', escape='', header=false, "
                                    "columns={'line': 'VARCHAR'}, max_line_size=10000000)").fetchall()
    return [row[0] for row in rows]


def core(folder):
    """Questions over the graph without comments; parameters are drawn from what is there, by a seed."""
    import duckdb
    con = duckdb.connect()

    def column(table, column, rest):
        path = os.path.join(folder, table + ".csv.zst")
        rows = con.execute(f"SELECT {column} FROM read_csv('{path}', delim='|', quote='', escape='', header=true, max_line_size=10000000) {rest}").fetchall()
        return [row[0] for row in rows]

    with open(os.path.join(folder, "three-hop-params.csv")) as f:
        persons = [int(row["personId"]) for row in csv.DictReader(f)]
    known = set(column("dynamic/person_knows_person", '"Person.id"', "") + column("dynamic/person_knows_person", '"Person.id_1"', ""))
    persons = [person for person in persons if person in known]  # the others know no person
    names = column("dynamic/person", "firstName", "GROUP BY firstName ORDER BY count(*) DESC, firstName LIMIT 30")
    used = column("dynamic/post_hasTag_tag", '"Tag.id"', 'GROUP BY "Tag.id" ORDER BY count(*) DESC, "Tag.id" LIMIT 100')
    tags = column("static/tag", "name", f"WHERE id IN ({', '.join(map(str, used))}) ORDER BY id")
    countries = column("static/place", "name", "WHERE type = 'country' ORDER BY id")
    chance, day = random.Random(7), 86_400_000
    date = lambda: 1_275_350_400_000 + chance.randrange(700) * day  # from June 2010 on
    drawn = {
        "IS1": lambda p: {"personId": p},
        "IS3": lambda p: {"personId": p},
        "IC1": lambda p: {"personId": p, "firstName": chance.choice(names)},
        "IC4": lambda p: {"personId": p, "startDate": date(), "durationDays": chance.randrange(30, 60)},
        "IC5": lambda p: {"personId": p, "minDate": date()},
        "IC6": lambda p: {"personId": p, "tagName": chance.choice(tags)},
        "IC10": lambda p: {"personId": p, "month": chance.randrange(1, 13)},
        "IC11": lambda p: {"personId": p, "countryName": chance.choice(countries), "workFromYear": chance.randrange(2000, 2013)},
        "IC13": lambda p: {"person1Id": p, "person2Id": chance.choice(persons[10:])},
    }
    for number in (3, 6, 9):
        yield Measure(f"q{number}-sf1", LSQB_CORE, of=f"q{number}")
    for name, draw in drawn.items():
        sets = [draw(person) for person in persons[:10]]
        yield Measure(f"{name}-sf1", INTERACTIVE_CORE, sets, clients=name.startswith("IS"), of=name)


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
    if graph == "sf1":
        yield from core(os.path.join(data, "ldbc-snb-sf1-core"))
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
