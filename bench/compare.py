"""Compares two builds of Graven on every question of `run.py`: times in turns, and instructions.

    python3 bench/compare.py OLD NEW --shared ../shared --work /tmp/graven-compare --out run.json --table compare.md

OLD and NEW are two `graven` programs, built alike.  Each imports its own database and answers in a process of its own.
For each question the answers are compared first; then come the rounds, in each of which both have a turn in random
order.  `x` is the rate of NEW over that of OLD in the same round: the median of the rounds, with the lowest and highest.
Give the same program twice to see how far `x` strays by itself.

With `--instructions` each question runs under valgrind as well, on one thread, with few and with more passes over its
parameters; the difference is what a statement costs, without opening and warming.  These counts hold on a busy machine.
"""
import argparse
import hashlib
import io
import json
import math
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import time

import measures
import run

PASSES = 2  # passes over the parameters whose instructions are counted


def digest(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def databases(args, graph):
    """The database of each program; one that the same program has made before is kept."""
    source = os.path.join(args.shared, "data", run.GRAPHS[graph][0])
    if not os.path.isdir(source):
        sys.exit(f"{source} is missing: --shared names the folder with the data")
    paths = {}
    for name, program in args.programs.items():
        path = paths[name] = os.path.join(args.work, graph, name, "db.graven")
        mark = path + ".made-by"
        if os.path.exists(mark):
            with open(mark) as f:
                if f.read() == args.digests[name]:
                    continue
        shutil.rmtree(os.path.dirname(path), ignore_errors=True)
        os.makedirs(os.path.dirname(path))
        print(f"importing {graph} with {name}", file=sys.stderr, flush=True)
        subprocess.run([program, "import", path, "--ldbc", source], check=True, stdout=subprocess.DEVNULL)
        with open(mark, "w") as f:
            f.write(args.digests[name])
    return paths


def command(program, path, threads):
    return [program, "bench", "statements", path, "--memory", "2GiB", "--threads", str(threads)]


def turns(args, measure, children, threads):
    """The rates of both programs by round, or why there are none."""
    ask = {"text": measures.text(measure, "graven"), "params": measure.params, "clients": threads if measure.clients else 1}
    result = {"rates": {name: [] for name in children}}
    if not measure.write:
        said = {name: child.ask({**ask, "answer": True, "params": measure.params[:measure.compared]}) for name, child in children.items()}
        for name, answer in said.items():
            if "error" in answer:
                return {"error": f"{name}: {answer['error']}"}
        result["agrees"] = run.agree(measure, said["old"], said["new"])
        ask |= {"seconds": args.seconds, "columns": measure.few}
    for number in range(args.rounds):
        order = list(children)
        random.Random(f"{measure.name} {number}").shuffle(order)
        for name in order:
            if measure.write:
                ask["params"] = measures.fresh(measure, number, threads)
            said = children[name].ask(ask)
            if "error" in said:
                return {"error": f"{name}: {said['error']}"}
            result["rates"][name].append(said["statements"] / said["seconds"])
    return result


def counted(program, path, measure):
    """Instructions of one statement, on one thread."""
    ask = {"text": measures.text(measure, "graven"), "params": measure.params, "columns": measure.few}
    totals, statements = [], []
    for passes in (1, 1 + PASSES):
        if measure.write:
            ask["params"] = [set for _ in range(passes) for set in measures.fresh(measure, passes, 1)]
        line = json.dumps(ask if measure.write else {**ask, "passes": passes})
        done = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
                               *command(program, path, 1)], input=line, capture_output=True, text=True)
        found = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
        answer = json.loads(done.stdout or "{}")
        if done.returncode or not found or "statements" not in answer:
            return {"error": (answer.get("error") or done.stderr.strip().splitlines()[-1])[:200]}
        totals.append(int(found[1].replace(",", "")))
        statements.append(answer["statements"])
    return {"instructions": (totals[1] - totals[0]) / (statements[1] - statements[0])}


def ratios(entry):
    """Of each round: the rate of the new program over that of the old one."""
    rates = entry.get("rates")
    return [new / old for old, new in zip(rates["old"], rates["new"], strict=True)] if rates else []


def saved(entry):
    """Instructions of the old program over those of the new one."""
    both = [entry.get("instructions", {}).get(name, {}).get("instructions") for name in ("old", "new")]
    return both[0] / both[1] if all(both) else None


def mean(values):
    return math.exp(statistics.fmean(map(math.log, values))) if values else None


def shown(value):
    return "-" if value is None else f"{value:.2f}"


def groups(done):
    """Each suite and number of threads, with the geometric means of times and instructions."""
    for threads, group in dict.fromkeys((m["threads"], m["group"]) for m in done["measures"]):
        of = [m for m in done["measures"] if m["threads"] == threads and m["group"] == group]
        times = mean([statistics.median(ratios(m)) for m in of if ratios(m)])
        counts = mean([saved(m) for m in of if saved(m)])
        yield threads, group, of, times, counts


def table(done):
    """The Markdown page of a comparison."""
    out = io.StringIO()
    machine = done["machine"]
    print(f"# {done['programs']['old']} against {done['programs']['new']}\n", file=out)
    print(f"Written by `bench/compare.py` on {done['date']}: {machine['processor']}, {machine['cores']} cores, {machine['system']}; "
          f"{done['rounds']} rounds in turns of at least {done['seconds']} s. `x`: rate of the new program over that of the old one in the same round, "
          "median (lowest to highest). `fewer`: instructions of the old one over those of the new one.\n", file=out)
    for threads, group, of, times, counts in groups(done):
        print(f"## {group}, {threads} thread{'s' if threads > 1 else ''}\n", file=out)
        print("| question | old, ms | new, ms | x | instructions, old | new | fewer |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |", file=out)
        for m in of:
            cells = ["-", "-", m.get("error", "-")]
            if ratios(m):
                cells = [f"{1e3 / statistics.median(m['rates'][name]):.4g}" for name in ("old", "new")]
                cells.append(f"{statistics.median(ratios(m)):.2f} ({min(ratios(m)):.2f} to {max(ratios(m)):.2f})" + ("" if m.get("agrees", True) else " !"))
            for name in ("old", "new"):
                count = m.get("instructions", {}).get(name, {})
                cells.append(f"{count['instructions']:,.0f}" if "instructions" in count else count.get("error", "-"))
            print(f"| {m['name']} | " + " | ".join([*cells, shown(saved(m))]) + " |", file=out)
        print(f"\nGeometric means: x {shown(times)}, fewer {shown(counts)}.\n", file=out)
    return out.getvalue()


def failures(args, done):
    """What is slower than the gates allow, and answers that differ."""
    for threads, group, of, times, _ in groups(done):
        if args.mean and times and times < args.mean:
            yield f"{group} ({threads}): geometric mean {times:.3f} < {args.mean}"
        for m in of:
            if "error" in m or not m.get("agrees", True):
                yield f"{m['name']} ({threads}): {m.get('error', 'the answers differ')}"
            elif args.least and ratios(m) and statistics.median(ratios(m)) < args.least:
                yield f"{m['name']} ({threads}): {statistics.median(ratios(m)):.3f} < {args.least}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("old", help="the program that is compared with")
    parser.add_argument("new", help="the program that is judged")
    parser.add_argument("--shared", default=os.environ.get("GRAVEN_SHARED", os.path.join(run.HERE, "../../shared")))
    parser.add_argument("--work", default="/tmp/graven-compare", help="folder for the databases; kept for the next run")
    parser.add_argument("--threads", default="1,2", help="numbers of threads; nothing: no times")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.2, help="least time of a turn")
    parser.add_argument("--only", default="", help="names of measures or groups, parted by commas")
    parser.add_argument("--instructions", action="store_true", help="count instructions under valgrind, too")
    parser.add_argument("--mean", type=float, help="gate: least geometric mean of a suite")
    parser.add_argument("--least", type=float, help="gate: least x of a question")
    parser.add_argument("--out", help="the run as JSON")
    parser.add_argument("--table", help="the run as a Markdown page")
    args = parser.parse_args()
    if args.instructions and not shutil.which("valgrind"):
        sys.exit("--instructions needs valgrind, which is not installed")
    args.programs = {"old": os.path.abspath(args.old), "new": os.path.abspath(args.new)}
    args.digests = {name: digest(path) for name, path in args.programs.items()}
    versions = {name: subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout.strip() + f" ({args.digests[name][:12]})"
                for name, path in args.programs.items()}
    wanted = set(args.only.split(",")) - {""}
    threads = [int(count) for count in args.threads.split(",") if count]
    done = {"date": time.strftime("%Y-%m-%d"), "programs": versions, "rounds": args.rounds, "seconds": args.seconds, "measures": [],
            "machine": {"processor": run.processor(), "cores": os.cpu_count(), "system": f"{os.uname().sysname} {os.uname().release}"}}
    for graph in run.GRAPHS:
        chosen = [m for m in measures.measures(args.shared, graph) if not wanted or {m.name, m.group} & wanted]
        if not chosen:
            continue
        paths = databases(args, graph)
        for count in threads or [1]:
            children = {name: run.Child(name, command(program, paths[name], count), False) for name, program in args.programs.items()} if threads else {}
            entries = []
            for measure in chosen:
                entry = {"name": measure.name, "group": measure.group, "threads": count, **(turns(args, measure, children, count) if threads else {})}
                entries.append((measure, entry))
                if threads:
                    said = f"x {statistics.median(ratios(entry)):.2f}" if ratios(entry) else entry.get("error")
                    print(f"{count} {measure.name}: {said}", file=sys.stderr, flush=True)
            for child in children.values():
                child.process.stdin.close()  # its database is closed, so that counting begins with no log to read
                child.process.wait()
            for measure, entry in entries:
                if args.instructions and count == (threads or [1])[0]:
                    entry["instructions"] = {name: counted(program, paths[name], measure) for name, program in args.programs.items()}
                    print(f"{measure.name}: fewer {shown(saved(entry))}", file=sys.stderr, flush=True)
                done["measures"].append(entry)
    done["measures"].sort(key=lambda m: m["threads"])
    if args.out:
        with open(args.out, "w") as f:
            json.dump(done, f, indent=1)
            f.write("\n")
    page = table(done)
    if args.table:
        with open(args.table, "w") as f:
            f.write(page)
    else:
        print(page)
    wrong = list(failures(args, done))
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
