"""Loads the same files into Graven and its peers, in turns, and compares seconds, rows a second and peak memory.

    python3 load.py --graven ../target/release/graven --out ../docs/runs/load.json

Each load has a process of its own: it makes the tables, copies each file, writes a checkpoint and closes.  Kuzu, Ladybug
and Graven run the same statements (`CREATE NODE TABLE`, `COPY`); DuckDB makes a table for each file, with primary keys and
without other indexes.  After the first load the rows of all tables are counted and compared.
"""
import argparse
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
SQL_TYPES = {"INT64": "BIGINT", "STRING": "VARCHAR", "STRING[]": "VARCHAR[]"}


def connected(folder):
    """The tables of a graph as views of DuckDB."""
    import duckdb
    source = duckdb.connect()
    for name, file in peers.folder_tables(folder).items():
        source.execute(f"CREATE VIEW {name} AS SELECT * FROM '{file}'")
    return source


def layout(source, folder):
    """What is to be loaded: (kind, name, columns with types, ends, query) of each file."""
    have = peers.folder_tables(folder)
    made = {label for label, (table, _) in peers.KUZU_NODES.items() if table in have}
    files = []
    for label, (table, columns) in peers.KUZU_NODES.items():
        if label not in made:
            continue
        known = [d[0] for d in source.execute(f"SELECT * FROM {table} LIMIT 0").description]
        columns = [c.split() for c in columns.split(", ") if c.split()[0] in known]
        query = ", ".join(f"CAST({name} AS {SQL_TYPES[kind]}) AS {name}" for name, kind in columns)
        files.append(("node", label, columns, None, f"SELECT {query} FROM {table}"))
    for name, (properties, pairs) in peers.KUZU_RELS.items():
        columns = [c.split() for c in properties.split(", ") if c]
        for a, b, query in pairs:
            if a in made and b in made:
                files.append(("relationship", name, columns, (a, b), query))
    filled = []
    for file in files:
        if source.execute(f"SELECT count(*) FROM ({file[4]})").fetchone()[0]:
            filled.append(file)
    return filled


def path_of(folder, file, kind):
    _, name, _, ends, _ = file
    return os.path.join(folder, "-".join([name, *(ends or [])]) + "." + kind)


def prepare(args, graph):
    """Writes each file in both forms; returns the layout and the rows of each file."""
    data, definitions = GRAPHS[graph]
    raw = os.path.join(args.work, graph, "parquet")
    tables.parquet(os.path.join(args.shared, "data", data), raw, definitions)
    source, folder = connected(raw), os.path.join(args.work, graph, "load")
    os.makedirs(folder, exist_ok=True)
    files, rows = layout(source, raw), {}
    for file in files:
        for kind in KINDS:
            path = path_of(folder, file, kind)
            if not os.path.exists(path):
                options = "FORMAT parquet" if kind == "parquet" else "FORMAT csv, HEADER"
                source.execute(f"COPY ({file[4]}) TO '{path}.part' ({options})")
                os.rename(path + ".part", path)
        rows[path_of("", file, "")] = source.execute(f"SELECT count(*) FROM ({file[4]})").fetchone()[0]
    return folder, files, rows


def graph_statements(folder, files, kind):
    """The statements of Kuzu, Ladybug and Graven."""
    options = ["HEADER=true"] if kind == "csv" else []
    for sort, label, columns, _, _ in files:
        if sort == "node":
            yield f"CREATE NODE TABLE {label}({', '.join(' '.join(c) for c in columns)}, PRIMARY KEY(id))"
    pairs = {}
    for sort, name, columns, ends, _ in files:
        if sort == "relationship":
            pairs.setdefault((name, tuple(map(tuple, columns))), []).append(ends)
    for (name, columns), ends in pairs.items():
        parts = [f"FROM {a} TO {b}" for a, b in ends] + [" ".join(c) for c in columns]
        yield f"CREATE REL TABLE {name}({', '.join(parts)})"
    several = {name for (name, _), ends in pairs.items() if len(ends) > 1}
    for file in files:
        _, name, _, ends, _ = file
        wanted = options + ([f"from='{ends[0]}'", f"to='{ends[1]}'"] if name in several else [])
        yield f"COPY {name} FROM '{path_of(folder, file, kind)}'" + (f" ({', '.join(wanted)})" if wanted else "")
    yield "CHECKPOINT"


def sql_statements(folder, files, kind):
    """The statements of DuckDB."""
    for file in files:
        sort, name, columns, ends, _ = file
        table = "_".join([name, *(ends or [])])
        columns = [f"{c} {SQL_TYPES[t]}" for c, t in columns]
        if sort == "node":
            columns[0] += " PRIMARY KEY"
        else:
            columns = ["a BIGINT", "b BIGINT"] + columns
        yield f'CREATE TABLE "{table}" ({", ".join(columns)})'
        options = "FORMAT csv, HEADER" if kind == "csv" else "FORMAT parquet"
        yield f"COPY \"{table}\" FROM '{path_of(folder, file, kind)}' ({options})"
    yield "CHECKPOINT"


def load_peer(system, db, statements):
    """Runs in a process of its own."""
    if system == "duckdb":
        import duckdb
        con = duckdb.connect(db, config={"threads": 2, "memory_limit": f"{peers.MEMORY >> 20}MB"})
        for statement in statements:
            con.execute(statement)
        con.close()
        return
    module = importlib.import_module(system)
    database = module.Database(db, buffer_pool_size=peers.MEMORY, max_num_threads=2)
    con = module.Connection(database, num_threads=2)
    for statement in statements:
        con.execute(statement)
    con.close()
    database.close()


def command(args, system, db, script):
    if system == "graven":
        return [args.graven, "shell", db, "--memory", "2GiB"], open(script)
    return [sys.executable, os.path.abspath(__file__), "--one", system, db, script], subprocess.DEVNULL


def measured(args, system, db, script):
    """One load: seconds, peak memory, bytes of the database."""
    for left in (db, db + "-wal", db + ".wal"):
        if os.path.isdir(left):
            shutil.rmtree(left)
        elif os.path.exists(left):
            os.remove(left)
    words, stdin = command(args, system, db, script)
    begun = time.monotonic()
    process = subprocess.Popen(words, stdin=stdin, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        return {"error": f"ended with {status}"}
    parts = [db, db + "-wal", db + ".wal"]
    size = sum(os.path.getsize(p) for p in parts if os.path.isfile(p))
    return {"seconds": round(time.monotonic() - begun, 3), "peak_bytes": usage.ru_maxrss * 1024, "file_bytes": size}


def counted(args, system, db, files):
    """Rows of each table in a loaded database."""
    names = {path_of("", f, ""): f for f in files}
    if system == "duckdb":
        import duckdb
        con = duckdb.connect(db, read_only=True)
        ask = lambda f: con.execute(f'SELECT count(*) FROM "{"_".join([f[1], *(f[3] or [])])}"').fetchone()[0]
        return {key: ask(f) for key, f in names.items()}
    def text(f):
        pattern = f"(n:{f[1]})" if f[0] == "node" else f"(:{f[3][0]})-[n:{f[1]}]->(:{f[3][1]})"
        return f"MATCH {pattern} RETURN count(n) AS n"
    if system == "graven":
        def ask(f):
            out = subprocess.run([args.graven, "query", db, text(f), "--format", "json"], capture_output=True, text=True, check=True).stdout
            return json.loads(out)["rows"][0][0]
    else:
        module = importlib.import_module(system)
        con = module.Connection(module.Database(db))
        ask = lambda f: con.execute(text(f)).get_next()[0]
    return {key: ask(f) for key, f in names.items()}


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
        folder, files, rows = prepare(args, graph)
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
                        out.writelines(f"{s};\n" for s in statements(folder, files, kind) if system != "graven" or s != "CHECKPOINT")
                    db = os.path.join(args.work, graph, f"load-{system}.graven" if system == "graven" else f"load-{system}")
                    said = measured(args, system, db, script)
                    if "error" in said:
                        result.update(said)
                        continue
                    result["seconds"].append(said["seconds"])
                    result["peak_bytes"].append(said["peak_bytes"])
                    result["file_bytes"] = said["file_bytes"]
                    if number == 0 and (found := counted(args, system, db, files)) != rows:
                        differ = {k: (v, found.get(k)) for k, v in rows.items() if found.get(k) != v}
                        sys.exit(f"{system} has other rows than the files: {differ}")
            run["loads"].append({"graph": graph, "files": kind, "rows": sum(rows.values()), "results": results})
    show(run)
    if args.out:
        with open(args.out, "w") as out:
            json.dump(run, out, indent=1)
            out.write("\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        with open(sys.argv[4]) as text:
            load_peer(sys.argv[2], sys.argv[3], [s for s in text.read().split(";\n") if s.strip()])
    else:
        main()
