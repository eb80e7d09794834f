"""Loads the same files into Graven and its peers, in turns, and compares seconds, rows a second and peak memory.

    python3 load.py --graven ../target/release/graven --out ../docs/runs/load.json

Each load has a process of its own: it makes the tables, copies each file, writes a checkpoint and closes.  Kuzu,
Ladybug and Graven run the same statements (`CREATE NODE TABLE`, `COPY`); DuckDB makes a table for each file, with
primary keys and without other indexes.  After the first load the rows of all tables are counted and compared.
"""
import argparse
import dataclasses
import importlib
import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import time

import peers
import tables
from run import GRAPHS, processor

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = ("parquet", "csv")
# Runs a program and says its status, seconds and peak memory.  The kernel counts what a process held before it became
# another program, so that the one that starts it has to be small.
WAITER = """
import json, os, subprocess, sys, time
begun = time.monotonic()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(json.dumps([status, time.monotonic() - begun, usage.ru_maxrss]))
"""


def plain(table):
    """Without the columns that are lists: CSV has no form of them that all systems read."""
    columns = tuple(c for c in table.columns if not c[1].endswith("[]"))
    if len(columns) == len(table.columns):
        return table
    query = f"SELECT {', '.join(name for name, _ in columns)} FROM ({table.query})"
    return dataclasses.replace(table, columns=columns, query=query)


def path_of(folder, table, kind):
    return os.path.join(folder, key_of(table) + "." + kind)


def key_of(table):
    return "-".join([table.name, *table.ends])


def prepare(args, graph):
    """Writes each table that has rows in both forms: where they are, the tables, and the rows of each."""
    data, definitions = GRAPHS[graph]
    raw = os.path.join(args.work, graph, "parquet")
    tables.parquet(os.path.join(args.shared, "data", data), raw, definitions)
    source, folder = peers.views(raw), os.path.join(args.work, graph, "load")
    os.makedirs(folder, exist_ok=True)
    found, rows = [], {}
    for table in map(plain, peers.graph_tables(source, raw)):
        count = source.execute(f"SELECT count(*) FROM ({table.query})").fetchone()[0]
        if not count:
            continue
        found.append(table)
        rows[key_of(table)] = count
        for kind in KINDS:
            path = path_of(folder, table, kind)
            if not os.path.exists(path):
                options = "FORMAT parquet" if kind == "parquet" else "FORMAT csv, HEADER"
                source.execute(f"COPY ({table.query}) TO '{path}.part' ({options})")
                os.rename(path + ".part", path)
    return folder, found, rows


def graph_statements(folder, found, kind):
    """The statements of Kuzu, Ladybug and Graven."""
    yield from peers.table_statements(found)
    # Kuzu looks for quotes in the first rows only.
    options = ["HEADER=true", "QUOTE='\"'", "ESCAPE='\"'"] if kind == "csv" else []
    for table in found:
        yield peers.copy_statement(found, table, path_of(folder, table, kind), options)


def sql_statements(folder, found, kind):
    """The statements of DuckDB."""
    options = "FORMAT csv, HEADER" if kind == "csv" else "FORMAT parquet"
    for table in found:
        columns = [f"{name} {peers.SQL_TYPES[of]}" for name, of in table.columns]
        if table.ends:
            columns = ["a BIGINT", "b BIGINT"] + columns
        else:
            columns[0] += " PRIMARY KEY"
        yield f'CREATE TABLE "{key_of(table)}" ({", ".join(columns)})'
        yield f"COPY \"{key_of(table)}\" FROM '{path_of(folder, table, kind)}' ({options})"


def answers(system, db, texts):
    """What statements answer, the first value of each; in a process of its own, for two systems may not share one."""
    if system == "duckdb":
        import duckdb
        con = duckdb.connect(db, config={"threads": 2, "memory_limit": f"{peers.MEMORY >> 20}MB"})

        def ask(text):
            return con.execute(text).fetchone()
    else:
        module = importlib.import_module(system)
        database = module.Database(db, buffer_pool_size=peers.MEMORY, max_num_threads=2)
        con = module.Connection(database, num_threads=2)

        def ask(text):
            result = con.execute(text)
            return result.get_next() if result.has_next() else None
    found = [(ask(text) or [None])[0] for text in texts]
    con.close()
    return found


def command(args, system, db, script):
    if system == "graven":
        return [args.graven, "shell", db, "--memory", "2GiB"], open(script)
    return [sys.executable, os.path.abspath(__file__), "--answer", system, db], open(script)


def measured(args, system, db, script):
    """One load: seconds, peak memory, bytes of the database."""
    for left in (db, db + "-wal", db + ".wal"):
        if os.path.isdir(left):
            shutil.rmtree(left)
        elif os.path.exists(left):
            os.remove(left)
    words, stdin = command(args, system, db, script)
    small = [sys.executable, "-S", "-E", "-c", WAITER, *words]
    out = subprocess.run(small, stdin=stdin, capture_output=True, text=True, check=True).stdout
    status, seconds, kibibytes = json.loads(out)
    if status:
        return {"error": f"ended with {status}"}
    parts = [db, db + "-wal", db + ".wal"]
    size = sum(os.path.getsize(p) for p in parts if os.path.isfile(p))
    return {"seconds": round(seconds, 3), "peak_bytes": kibibytes * 1024, "file_bytes": size}


def counted(args, system, db, found):
    """Rows of each table in a loaded database."""
    def text(table):
        if system == "duckdb":
            return f'SELECT count(*) FROM "{key_of(table)}"'
        pattern = f"(:{table.ends[0]})-[n:{table.name}]->(:{table.ends[1]})" if table.ends else f"(n:{table.name})"
        return f"MATCH {pattern} RETURN count(n) AS n"

    if system == "graven":
        def ask(text):
            out = subprocess.run([args.graven, "query", db, text, "--format", "json"], capture_output=True, text=True, check=True).stdout
            return json.loads(out)["rows"][0][0]
        values = [ask(text(table)) for table in found]
    else:
        texts = "".join(f"{text(table)};\n" for table in found)
        words = [sys.executable, os.path.abspath(__file__), "--answer", system, db]
        values = json.loads(subprocess.run(words, input=texts, capture_output=True, text=True, check=True).stdout)
    return dict(zip(map(key_of, found), values, strict=True))


def show(run):
    print("| graph, files | rows | system | seconds | rows/s | peak memory | file |")
    print("| --- | ---: | --- | ---: | ---: | ---: | ---: |")
    for entry in run["loads"]:
        for system, result in entry["results"].items():
            if "error" in result:
                print(f"| {entry['graph']}, {entry['files']} | {entry['rows']:,} | {system} | {result['error']} | - | - | - |")
                continue
            seconds = statistics.median(result["seconds"])
            print(f"| {entry['graph']}, {entry['files']} | {entry['rows']:,} | {system} | {seconds:.2f} | {entry['rows'] / seconds:,.0f} | "
                  f"{max(result['peak_bytes']) >> 20:,} MiB | {result['file_bytes'] >> 20:,} MiB |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--graven", default=os.path.join(HERE, "../target/release/graven"), help="the program, built with --release")
    parser.add_argument("--shared", default=os.environ.get("GRAVEN_SHARED", os.path.join(HERE, "../../shared")))
    parser.add_argument("--work", default="/tmp/graven-bench", help="folder for files and databases")
    parser.add_argument("--systems", default="graven,kuzu,ladybug,duckdb")
    parser.add_argument("--graphs", default="sf1,sf10")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", help="the run as JSON")
    args = parser.parse_args()
    run = {"date": time.strftime("%Y-%m-%d"), "rounds": args.rounds, "loads": [],
           "machine": {"processor": processor(), "cores": os.cpu_count(), "system": f"{platform.system()} {platform.release()}"}}
    for graph in args.graphs.split(","):
        folder, found, rows = prepare(args, graph)
        for kind in KINDS:
            results = {system: {"seconds": [], "peak_bytes": []} for system in args.systems.split(",")}
            for number in range(args.rounds):
                order = sorted(results)
                random.Random(number).shuffle(order)
                for system in order:
                    result = results[system]
                    if "error" in result:
                        continue
                    statements = sql_statements if system == "duckdb" else graph_statements
                    script = os.path.join(folder, f"{system}-{kind}.cypher")
                    with open(script, "w") as out:
                        out.writelines(f"{statement};\n" for statement in statements(folder, found, kind))
                        out.write("CALL graven.checkpoint();\n" if system == "graven" else "CHECKPOINT;\n")
                    db = os.path.join(args.work, graph, f"load-{system}.graven" if system == "graven" else f"load-{system}")
                    said = measured(args, system, db, script)
                    if "error" in said:
                        result.update(said)
                        continue
                    result["seconds"].append(said["seconds"])
                    result["peak_bytes"].append(said["peak_bytes"])
                    result["file_bytes"] = said["file_bytes"]
                    if number == 0 and (have := counted(args, system, db, found)) != rows:
                        differ = {k: (v, have.get(k)) for k, v in rows.items() if have.get(k) != v}
                        sys.exit(f"{system} has other rows than the files: {differ}")
            run["loads"].append({"graph": graph, "files": kind, "rows": sum(rows.values()), "results": results})
    show(run)
    if args.out:
        with open(args.out, "w") as out:
            json.dump(run, out, indent=1)
            out.write("\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--answer"]:
        texts = [text for text in sys.stdin.read().split(";\n") if text.strip()]
        json.dump(answers(*sys.argv[2:4], texts), sys.stdout, default=str)
    else:
        main()
