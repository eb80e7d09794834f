"""How Graven grows: the same generated network at several sizes, imported and asked under one small memory limit.

    python3 bench/scale.py --graven target/release/graven --scales 12,100,1060 --out docs/runs/scale.json

Each scale is imported from the generator without files between, then asked with direct I/O.  A line of the run file says
the time, the bytes read from the device (`/proc/PID/io`) and the most memory the process held (`VmHWM`).  Nothing is
compared with another system: what grows faster than the data is what this looks for."""
import argparse
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import threading
import time

MIB = 1 << 20
# Name, statement, starts asked, clients.
QUESTIONS = [
    ("point", "MATCH (p:Person {id: $id}) RETURN p.birthday", 100, [1, 2, 8]),
    ("1 hop", "MATCH (p:Person {id: $id})-[:KNOWS]-(f:Person) RETURN count(DISTINCT f.id)", 100, [1, 2, 8]),
    ("2 hops", "MATCH (p:Person {id: $id})-[:KNOWS*1..2]-(f:Person) WHERE f <> p RETURN count(DISTINCT f)", 40, [1, 2, 8]),
    ("3 hops", "MATCH (p:Person {id: $id})-[:KNOWS*1..3]-(f:Person) WHERE f <> p RETURN count(DISTINCT f)", 20, [1, 2, 8]),
    ("shortest path", "MATCH (a:Person {id: $id}), (b:Person {id: $other}), p = shortestPath((a)-[:KNOWS*]-(b)) RETURN length(p)", 40, [1]),
    ("scan and group", "MATCH (p:Person) RETURN p.gender, p.browserUsed, count(*)", 1, [1]),
]
CHANGE = "MATCH (p:Person {id: $id}) SET p.seen = coalesce(p.seen, 0) + 1"


class FreeSpace(threading.Thread):
    """The least free space of a file system while something runs."""

    def __init__(self, folder):
        super().__init__(daemon=True)
        self.folder, self.least, self.done = folder, self.free(folder), False
        self.first = self.least

    @staticmethod
    def free(folder):
        stat = os.statvfs(folder)
        return stat.f_bavail * stat.f_frsize

    def run(self):
        while not self.done:
            self.least = min(self.least, self.free(self.folder))
            time.sleep(0.2)

    def most_used(self):
        self.done = True
        self.join()
        return self.first - self.least


def run(command):
    """Runs a command: its output, its seconds, the most memory it held."""
    begun = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(command)} failed")
    return out, {"seconds": round(time.monotonic() - begun, 3), "rss_peak_bytes": usage.ru_maxrss * 1024,
                 "device_bytes": usage.ru_inblock * 512}


class Asked:
    """A process that holds the database open and answers statements."""

    def __init__(self, args, db):
        command = [args.graven, "bench", "statements", db, "--memory", args.memory, "--io", "direct"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def proc(self, file, field):
        with open(f"/proc/{self.process.pid}/{file}") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith(field))

    def ask(self, **asked):
        before = self.proc("io", "read_bytes")
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        said = json.loads(self.process.stdout.readline())
        if "error" in said:
            return said
        said["device_bytes"] = self.proc("io", "read_bytes") - before
        said["rss_peak_bytes"] = self.proc("status", "VmHWM") * 1024
        return said

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def imported(args, scale, db):
    """The first part of a scale's results: a database is made."""
    result = {"scale": scale}
    for old in (db, db + "-wal"):
        if os.path.exists(old):
            os.remove(old)
    space = FreeSpace(args.work)
    space.start()
    command = [args.graven, "import", db, "--generate", "social", "--scale", f"{scale:g}", "--memory", args.import_memory]
    said, cost = run(command)
    words = said.split("\n")[0].split()
    result["nodes"], result["relationships"] = int(words[words.index("nodes,") - 1]), int(words[words.index("relationships") - 1])
    result["file_bytes"] = os.path.getsize(db)
    cost["relationships_a_second"] = round(result["relationships"] / cost["seconds"])
    cost["temporary_bytes"] = max(0, space.most_used() - result["file_bytes"])
    result["import"] = cost
    show(result)
    return result


def imported_before(args, scale, before):
    """The same part of an earlier run, of which the database was kept."""
    found = [entry for entry in before if entry["scale"] == scale]
    if not found:
        sys.exit(f"{args.out} has no scale {scale:g}: leave --ask out")
    return {name: found[0][name] for name in ("scale", "nodes", "relationships", "file_bytes", "import")}


def at_scale(args, scale, before, write):
    db = os.path.join(args.work, f"scale-{scale:g}.graven")
    result = imported_before(args, scale, before) if args.ask else imported(args, scale, db)
    write(result)
    drop_cache(args, db)
    _, result["open and return 1"] = run([args.graven, "query", db, "RETURN 1", "--memory", args.memory])
    asked = Asked(args, db)
    random.seed(1)
    persons = [{"at": random.randrange(result["nodes"] * 99 // 100)} for _ in range(200)]
    rows = asked.ask(text="MATCH (p:Person) WHERE id(p) = $at RETURN p.id", params=persons, answer=True)["answers"]
    ids = [answer["rows"][0][0] for answer in rows if answer["rows"]]
    starts = [{"id": ids[i], "other": ids[-1 - i]} for i in range(100)]
    result["questions"] = []
    for name, text, count, clients in QUESTIONS:
        for number in clients:
            said = asked.ask(text=text, params=starts[:count] if "$" in text else [], clients=number, seconds=args.seconds)
            if "error" in said:
                result["questions"].append({"question": name, "clients": number, "error": said["error"]})
                print(f"  {name}, {number} clients: {said['error']}", flush=True)
                continue
            rate = said["statements"] / said["seconds"]
            result["questions"].append({
                "question": name, "clients": number, "statements": said["statements"], "a_second": round(rate, 3),
                "p50_ms": said["p50_ms"], "p99_ms": said["p99_ms"],
                "device_bytes_a_statement": round(said["device_bytes"] / said["statements"]), "rss_peak_bytes": said["rss_peak_bytes"]})
            print(f"  {name}, {number} clients: {rate:.1f} /s, {said['device_bytes'] / said['statements'] / 1e6:.2f} MB read a statement", flush=True)
    changes = [{"id": ids[i % len(ids)]} for i in range(1000)]
    said = asked.ask(text=CHANGE, params=changes, passes=1, seconds=0)
    result["1,000 transactions"] = {"seconds": round(said["seconds"], 3), "p50_ms": said["p50_ms"], "p99_ms": said["p99_ms"]}
    said = asked.ask(text="CALL graven.checkpoint()", passes=1, seconds=0)
    result["checkpoint of 1,000 transactions"] = {"seconds": round(said["seconds"], 3)}
    asked.ask(text=CHANGE, params=changes, passes=1, seconds=0)
    asked.process.kill()
    asked.process.wait()
    _, result["recovery after a kill"] = run([args.graven, "query", db, "RETURN 1", "--memory", args.memory])
    _, result["check"] = run([args.graven, "check", db])
    copy = db + ".copy"
    if FreeSpace.free(args.work) > 2 * result["file_bytes"]:
        _, result["backup"] = run([args.graven, "backup", db, copy])
        os.remove(copy)
    if not args.keep:
        os.remove(db)
    return result


def drop_cache(args, db):
    """Lets the system forget the file, so that opening reads the device."""
    with open(db, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def show(result):
    cost = result["import"]
    print(f"scale {result['scale']:g}: {result['relationships']:,} relationships in {cost['seconds']:.0f} s, "
          f"{cost['relationships_a_second'] / 1e6:.2f} M/s, file {result['file_bytes'] / result['relationships']:.2f} B and "
          f"temporary files {cost['temporary_bytes'] / result['relationships']:.1f} B a relationship, "
          f"{cost['rss_peak_bytes'] / MIB:.0f} MiB of memory", flush=True)


def machine():
    with open("/proc/cpuinfo") as lines:
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
    return {"processor": model, "cores": os.cpu_count(), "system": f"{platform.system()} {platform.release()}"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graven", default="target/release/graven")
    parser.add_argument("--scales", default="12,100", help="sizes for the generator: 12 is 2.4 million friendships, 100 is 19 million")
    parser.add_argument("--memory", default="256MiB", help="the memory limit of the questions")
    parser.add_argument("--import-memory", default="1GiB")
    parser.add_argument("--seconds", type=float, default=3, help="the least time of a question")
    parser.add_argument("--work", default="bench-work", help="where the databases are made")
    parser.add_argument("--keep", action="store_true", help="keep the databases")
    parser.add_argument("--ask", action="store_true", help="ask the databases that an earlier run has kept")
    parser.add_argument("--out", help="the run file")
    args = parser.parse_args()
    if not shutil.which(args.graven):
        sys.exit(f"{args.graven} is no program: build it, or name it with --graven")
    os.makedirs(args.work, exist_ok=True)
    if args.ask and not (args.out and os.path.exists(args.out)):
        sys.exit("--ask needs --out with the run file of the run that made the databases")
    before = []
    if args.ask:
        with open(args.out) as run:
            before = json.load(run)["scales"]
    scales = [float(scale) for scale in args.scales.split(",")]
    report = {"date": time.strftime("%Y-%m-%d"), "machine": machine(), "memory": args.memory, "import_memory": args.import_memory,
              "io": "direct", "scales": [entry for entry in before if entry["scale"] not in scales]}

    def write(result):
        if result not in report["scales"]:
            report["scales"].append(result)
        if args.out:
            with open(args.out, "w") as out:
                json.dump(report, out, indent=1)
                out.write("\n")

    for scale in scales:
        write(at_scale(args, scale, before, write))


if __name__ == "__main__":
    main()
