"""Runs Graven and its peers on the same data, one after another in turns, and compares answers and times.

    python3 run.py --graven ../target/release/graven --shared ../../shared --work /tmp/graven-bench

Every system answers in a process of its own that keeps its database open.  A measure is one question with its sets of
parameters.  First every system answers it once, and the answers are compared (this also warms the system); then come the
rounds, and in each round every system has its turn.  What is written: the run as JSON (`--out`) and the table for the
documentation (`--table`).
"""
import argparse
import csv
import io
import json
import math
import os
import platform
import random
import select
import statistics
import subprocess
import sys
import time

import measures
import tables

HERE = os.path.dirname(os.path.abspath(__file__))
GRAPHS = {"sf0.1": ("ldbc-snb-sf0.1", tables.NETWORK), "sf1": ("ldbc-snb-sf1-core", tables.CORE),
          "sf10": ("ldbc-snb-sf10-knows", tables.FRIENDS)}
SLOW = 60.0  # seconds after which a question is given up


class Child:
    """A system in its process: one JSON line in, one out."""

    def __init__(self, name, command, greets):
        self.name, self.command, self.greets = name, command, greets
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.hello = self.read(120) if self.greets else {}

    def read(self, limit):
        line = b""
        end = time.monotonic() + limit
        while not line.endswith(b"\n"):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                return {"error": f"no answer within {limit:.0f} s", "late": True}
            part = os.read(self.process.stdout.fileno(), 1 << 20)
            if not part:
                return {"error": f"ended with {self.process.wait()}", "late": True}
            line += part
        return json.loads(line)

    def ask(self, question, limit=SLOW):
        self.process.stdin.write(json.dumps(question).encode() + b"\n")
        self.process.stdin.flush()
        said = self.read(limit + question.get("seconds", 0))
        if said.get("late"):
            self.end()
            self.start()
        return said

    def end(self):
        self.process.kill()
        self.process.wait()


def prepare(args):
    """Tables, and every system's database of every graph; what is there is kept."""
    databases = {}
    for graph, (folder, definitions) in GRAPHS.items():
        if not args.chosen[graph]:
            continue
        source = os.path.join(args.shared, "data", folder)
        if not os.path.isdir(source):
            sys.exit(f"{source} is missing: --shared names the folder with the data")
        parquet = os.path.join(args.work, graph, "parquet")
        tables.parquet(source, parquet, definitions)
        for system in args.systems:
            path = os.path.join(args.work, graph, system, "db.graven" if system.startswith("graven") else "db")
            databases[graph, system] = path
            if os.path.exists(path + ".loaded"):
                continue
            os.makedirs(os.path.dirname(path), exist_ok=True)
            print(f"loading {graph} into {system}", file=sys.stderr, flush=True)
            for left in os.listdir(os.path.dirname(path)):
                os.remove(os.path.join(os.path.dirname(path), left))
            if system.startswith("graven"):
                command = [args.graven, "import", path, "--ldbc", source]
            else:
                command = [sys.executable, os.path.join(HERE, "worker.py"), system, "load", graph, parquet, path]
            start = time.monotonic()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            with open(path + ".loaded", "w") as done:
                json.dump({"seconds": time.monotonic() - start}, done)
    return databases


def serve(args, databases, graph, threads):
    children = {}
    for system in args.systems:
        path = databases[graph, system]
        if system == "graven":
            command = [args.graven, "bench", "statements", path, "--memory", "2GiB"] + args.graven_options
            if args.graven_threads:
                command += ["--threads", str(threads)]
        else:
            command = [sys.executable, os.path.join(HERE, "worker.py"), system, "serve", graph, path, str(threads)]
        children[system] = Child(system, command, system != "graven")
    return children


def plain(value):
    """A value in the form in which answers are compared: lists without order, truth as a number."""
    if isinstance(value, str) and value.startswith("["):
        try:
            value = json.loads(value)
        except ValueError:
            return value
    if value is None:
        return []
    if isinstance(value, list):
        return sorted((plain(item) for item in value), key=str)
    if isinstance(value, dict):
        return sorted((plain(item) for item in value.values()), key=str)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str) and value.lstrip("-").isdigit():
        return int(value)
    return value


def agree(measure, one, other):
    if "error" in one or "error" in other:
        return False
    for a, b in zip(one["answers"], other["answers"], strict=True):
        rows = [[plain(v) for v in row] for row in a["rows"]], [[plain(v) for v in row] for row in b["rows"]]
        if not measure.ordered:
            rows = sorted(map(str, rows[0])), sorted(map(str, rows[1]))
        if a["count"] != b["count"] or (measure.ordered or a["count"] <= len(rows[0])) and rows[0] != rows[1]:
            return False
    return True


def question(measure, system, threads):
    text = measures.text(measure, system)
    if text is None:
        return None
    clients = threads if measure.clients else 1
    return {"text": text, "params": measure.params, "clients": clients}


def measured(args, measure, children, threads):
    """Compares answers, then lets the systems take turns; the results by system."""
    results, asks = {}, {}
    for system, child in children.items():
        ask = question(measure, system, threads)
        if ask is None:
            continue
        result = results[system] = {"rates": [], "p50_ms": [], "p99_ms": []}
        if not measure.write:
            sample = {**ask, "answer": True, "params": ask["params"][:measure.compared]}
            said = child.ask(sample)
            if "error" in said:
                result["error"] = said["error"]
                continue
            result["answer"] = said
        asks[system] = ask
    reference = results.get("graven", {}).get("answer")
    for system, result in results.items():
        if reference and "answer" in result and system != "graven":
            result["agrees"] = agree(measure, reference, result["answer"])
    for result in results.values():
        result.pop("answer", None)
    for number in range(args.rounds):
        order = sorted(asks)
        random.Random(number).shuffle(order)
        for system in order:
            ask = dict(asks[system])
            if system != "graven":
                ask["few"] = measure.few
                ask["write"] = measure.write
            else:
                ask["columns"] = measure.few
            if measure.write:
                ask["params"] = measures.fresh(measure, number, threads)
            else:
                ask["seconds"] = args.seconds
            said = children[system].ask(ask)
            if "error" in said:
                results[system]["error"] = said["error"]
                asks.pop(system)
                continue
            results[system]["rates"].append(said["statements"] / said["seconds"])
            for key in ("p50_ms", "p99_ms"):
                results[system][key].append(said[key])
    return results


def rate(result):
    return statistics.median(result["rates"]) if result["rates"] else None


def shown(rate):
    if rate >= 100:
        return f"{rate:,.0f} /s"
    if rate >= 1:
        return f"{rate:.1f} /s"
    return f"{1 / rate:.2f} s"


def losses(run):
    """The questions that a peer answers faster, each with Graven's part of its rate."""
    slower = [f"{m['name']} ({m['threads']} thread{'s' if m['threads'] > 1 else ''}): {advantage(m):.2f}" for m in run["measures"] if (advantage(m) or 1) < 1]
    return "; ".join(slower) or "nothing"


def table(run):
    """The Markdown page of a run."""
    out = io.StringIO()
    systems, machine = run["systems"], run["machine"]
    through = ", and `graven-python` through its package for Python, as the peers are" if "graven-python" in systems else ""
    print("# Graven beside its peers\n", file=out)
    print(f"Written by `bench/run.py` on {run['date']}: {machine['processor']}, {machine['cores']} cores, {machine['system']}; {run['rounds']} rounds of at least "
          f"{run['seconds']} s in turns, the median of the rounds, everything warm. Statements a second, or seconds a statement. "
          "**Peers are called through their Python bindings, and their figures include them; `graven` is called in its own process "
          f"(`graven bench statements`), without a binding{through}.** Every row that is handed out is taken, except in the full-table questions: there Kuzu and Ladybug keep "
          "their result to themselves, DuckDB hands out NumPy columns, and Graven columns of its own (`QueryResult::next_rows`).\n", file=out)
    print(f"`x` is Graven's rate over the best peer's{', without a binding and through its own' if through else ''}. `-`: there is no form of the question for that system. An answer that differs from Graven's is marked with `!`.\n", file=out)
    print(f"**Slower than the best peer:** {losses(run)}.\n", file=out)
    for threads in run["threads"]:
        for group in dict.fromkeys(m["group"] for m in run["measures"]):
            rows = [m for m in run["measures"] if m["group"] == group and m["threads"] == threads]
            if not rows:
                continue
            print(f"## {group}, {threads} thread{'s' if threads > 1 else ''}\n", file=out)
            own = [system for system in systems if system.startswith("graven")]
            heads = ["x" if system == "graven" else "x by binding" for system in own]
            print("| question | " + " | ".join(systems + heads) + " |", file=out)
            print("| --- |" + " ---: |" * len(systems + heads), file=out)
            ratios = {system: [] for system in own}
            for m in rows:
                cells = []
                for system in systems:
                    result = m["results"].get(system)
                    if result is None:
                        cells.append("-")
                    elif result.get("error"):
                        cells.append("over time" if "no answer" in result["error"] else "error")
                    else:
                        cells.append(shown(rate(result)) + ("" if result.get("agrees", True) else " !"))
                for system in own:
                    ratio = advantage(m, system)
                    cells.append(f"{ratio:.2f}" if ratio else "-")
                    ratios[system] += [ratio] if ratio else []
                print(f"| {m['name']} | " + " | ".join(cells) + " |", file=out)
            means = [f"{math.exp(statistics.fmean(map(math.log, of))):.2f}" for of in ratios.values() if len(of) > 1]
            print(f"\nGeometric mean of x: {', '.join(means)}.\n" if means else "", file=out)
    print("## Settings\n\n| system | version | settings |\n| --- | --- | --- |", file=out)
    for system in systems:
        s = run["settings"][system]
        print(f"| {system} | {s['version']} | {s['settings']} |", file=out)
    return out.getvalue()


def advantage(m, system="graven"):
    """Graven's rate, with or without its binding, over that of the best peer."""
    graven = m["results"].get(system, {"rates": []})
    peers = [rate(r) for s, r in m["results"].items() if not s.startswith("graven") and r["rates"] and not r.get("error")]
    return rate(graven) / max(peers) if peers and graven["rates"] else None


def processor():
    try:
        with open("/proc/cpuinfo") as f:
            return next(line.split(":")[1].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--graven", default=os.path.join(HERE, "../target/release/graven"), help="the program, built with --release")
    parser.add_argument("--graven-option", dest="graven_options", action="append", default=[], help="passed to `graven bench statements`")
    parser.add_argument("--shared", default=os.environ.get("GRAVEN_SHARED", os.path.join(HERE, "../../shared")))
    parser.add_argument("--work", default="/tmp/graven-bench", help="folder for tables and databases; kept for the next run")
    parser.add_argument("--systems", default="graven,graven-python,kuzu,ladybug,duckdb,sqlite")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.15, help="least time of a turn")
    parser.add_argument("--only", default="", help="names of measures or groups, parted by commas")
    parser.add_argument("--out", help="the run as JSON")
    parser.add_argument("--table", help="the run as a Markdown page")
    args = parser.parse_args()
    args.systems = args.systems.split(",")
    helped = subprocess.run([args.graven, "bench", "statements", "--help"], capture_output=True, text=True)
    if helped.returncode:
        sys.exit(f"{args.graven} does not know `bench statements`: {helped.stderr.strip()}")
    args.graven_threads = "--threads" in helped.stdout
    wanted = set(args.only.split(",")) - {""}
    args.chosen = {graph: [m for m in measures.measures(args.shared, graph) if not wanted or {m.name, m.group} & wanted] for graph in GRAPHS}
    databases = prepare(args)
    run = {"date": time.strftime("%Y-%m-%d"), "rounds": args.rounds, "seconds": args.seconds, "systems": args.systems,
           "threads": [int(t) for t in args.threads.split(",")], "measures": [], "settings": {},
           "machine": {"processor": processor(), "cores": os.cpu_count(), "system": f"{platform.system()} {platform.release()}"}}
    version = subprocess.run([args.graven, "--version"], capture_output=True, text=True).stdout.split()[-1]
    options = " ".join(["--memory 2GiB"] + args.graven_options)
    run["settings"]["graven"] = {"version": version, "settings": f"default indexes of the import, {options}, default durability (log synced at each commit)"}
    differences = 0
    for threads in run["threads"]:
        for graph in GRAPHS:
            chosen = args.chosen[graph]
            if not chosen:
                continue
            children = serve(args, databases, graph, threads)
            for system, child in children.items():
                run["settings"].setdefault(system, child.hello)
            for measure in chosen:
                results = measured(args, measure, children, threads)
                entry = {"name": measure.name, "group": measure.group, "graph": graph, "threads": threads, "results": results}
                run["measures"].append(entry)
                differences += sum(not r.get("agrees", True) for r in results.values())
                ratio = advantage(entry)
                said = ", ".join(f"{s} {r['error'][:60] if r.get('error') else shown(rate(r))}{'' if r.get('agrees', True) else ' DIFFERS'}" for s, r in results.items())
                print(f"{threads} {measure.name}: {said}; x {ratio:.2f}" if ratio else f"{threads} {measure.name}: {said}", file=sys.stderr, flush=True)
            for child in children.values():
                child.end()
    print(f"slower than the best peer: {losses(run)}", file=sys.stderr)
    if args.out:
        with open(args.out, "w") as f:
            json.dump(run, f, indent=1)
            f.write("\n")
    page = table(run)
    if args.table:
        with open(args.table, "w") as f:
            f.write(page)
    else:
        print(page)
    if differences:
        sys.exit(f"{differences} answers differ")


if __name__ == "__main__":
    main()
