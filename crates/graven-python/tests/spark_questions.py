"""Questions of benchmarks by Cypher on Spark, row by row against Graven's own answers, as a table.

    python3 crates/graven-python/tests/spark_questions.py DATABASE FOLDER [--cases FILE] [--per N] [--only IC2,IC8] [--master local[2]]

FOLDER holds statements, such as queries/lsqb; FILE has their parameters, one JSON object a line
(``query``, ``params``), packed or not. Without it each statement is run once without parameters. A
question is ``same``, ``refused`` with what is not translated, or ``DIFFERENT``. Jobs are those of
Spark for one case, the frames being kept (``cache=True``). Ends with 1 where one is different.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import graven
import spark_session


def plain(value):
    """Lists and rows alike; floats without their last digits, which depend on the order of adding."""
    if hasattr(value, "asDict"):
        value = value.asDict() if not hasattr(value, "_1") else list(value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return float(f"{value:.12g}") if isinstance(value, float) else value


def sets(rows):
    """Lists within rows have the order of their collecting, which no statement here gives."""
    return [[sorted(value, key=repr) if isinstance(value, list) else value for value in row] for row in rows]


def cases(args):
    """Pairs of name and parameters."""
    if args.cases is None:
        found = sorted(Path(args.folder).glob("*.cypher"))
        return [(path.stem, {}) for path in found]
    packed = args.cases.endswith(".zst")
    text = subprocess.run(["zstd", "-dc", args.cases], check=True, capture_output=True).stdout if packed else Path(args.cases).read_bytes()
    listed, count = [], {}
    for line in text.decode().splitlines():
        case = json.loads(line)
        count[case["query"]] = count.get(case["query"], 0) + 1
        if count[case["query"]] <= args.per:
            listed.append((case["query"], case["params"]))
    return listed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("database")
    parser.add_argument("folder")
    parser.add_argument("--cases")
    parser.add_argument("--per", type=int, default=100, help="cases of one question, at most")
    parser.add_argument("--only", default="")
    parser.add_argument("--master", default="local[2]")
    args = parser.parse_args()
    why = spark_session.missing()
    if why is not None:
        sys.exit(f"Spark is missing: {why}")
    from graven.spark import Graph, NotTranslated

    spark = spark_session.session(args.master)
    graph = Graph(spark, args.database, cache=True)
    only = set(filter(None, args.only.split(",")))
    table, bad = {}, False
    with graven.Database(args.database, read_only=True, memory="256MiB") as database, database.connect() as connection:
        for number, (name, parameters) in enumerate(cases(args)):
            if only and name not in only or not (Path(args.folder) / f"{name}.cypher").exists():
                continue
            text = (Path(args.folder) / f"{name}.cypher").read_text()
            if name in table and not table[name]["same"]:
                continue
            row = table.setdefault(name, {"cases": 0, "rows": 0, "same": True, "told": "", "jobs": 0, "seconds": 0.0})
            spark.sparkContext.setJobGroup(f"{name}-{number}", name)
            begun = time.monotonic()
            try:
                found = plain([list(one) for one in graph.cypher(text, parameters).collect()])
            except NotTranslated as refused:
                row.update(same=False, told=f"refused: {refused.what}")
                print(f"{name}: {refused}", flush=True)
                continue
            row["seconds"] += time.monotonic() - begun
            wanted = plain(connection.execute(text, parameters).get_all())
            row["cases"] += 1
            row["rows"] += len(found)
            row["jobs"] = max(row["jobs"], len(spark.sparkContext.statusTracker().getJobIdsForGroup(f"{name}-{number}")))
            if sets(found) != sets(wanted):
                row.update(same=False, told=f"DIFFERENT with {json.dumps(parameters)}: {found[:3]} and not {wanted[:3]}")
                bad = True
            print(f"{name} {number}: {row['told'] or 'same'}, {len(found)} rows, {row['jobs']} jobs", flush=True)
    print("\n| question | cases | rows | on Spark | jobs | seconds a case |\n| --- | ---: | ---: | --- | ---: | ---: |")
    for name, row in table.items():
        each = f"{row['seconds'] / row['cases']:.1f}" if row["cases"] else "-"
        print(f"| {name} | {row['cases']} | {row['rows']} | {row['told'] or 'same'} | {row['jobs'] or '-'} | {each} |")
    graph.close()
    spark.stop()
    sys.exit(bad)


if __name__ == "__main__":
    main()
