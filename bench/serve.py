"""What a server gives its clients: look-ups, rows, many busy connections, many idle ones; Graven's, and Neo4j's beside it.

    python3 bench/serve.py --graven target/release/graven --neo4j target/neo4j --out docs/runs/serve.json

It makes a database of 100,000 people, starts `graven serve` on it, and speaks Bolt 5.4 by hand, so that no driver's work is
measured.  Client and server share the machine: a figure is a lower bound of what the server gives."""
import argparse
import json
import os
import platform
import random
import selectors
import socket
import struct
import subprocess
import sys
import tempfile
import time

PEOPLE = 100_000
ROWS = 1_000_000
SUCCESS, RECORD = 0x70, 0x71


def packed(value):
    """A value as PackStream has it: texts, integers, maps."""
    if isinstance(value, str):
        data = value.encode()
        if len(data) < 16:
            return bytes([0x80 + len(data)]) + data
        return (b"\xd0" + bytes([len(data)]) if len(data) < 256 else b"\xd1" + struct.pack(">H", len(data))) + data
    if isinstance(value, int):
        return struct.pack(">b", value) if -16 <= value < 128 else b"\xcb" + struct.pack(">q", value)
    return bytes([0xA0 + len(value)]) + b"".join(packed(key) + packed(item) for key, item in value.items())


def message(kind, *fields):
    """A message in one chunk."""
    data = bytes([0xB0 + len(fields), kind]) + b"".join(packed(field) for field in fields)
    return struct.pack(">H", len(data)) + data + b"\0\0"


def request(text, **parameters):
    return message(0x10, text, parameters, {}) + message(0x3F, {"n": -1})


class Connection:
    """One that is logged in; `feed` takes what came and says whether an answer is whole."""

    def __init__(self, address):
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(b"\x60\x60\xb0\x17" + b"\0\0\4\5" + b"\0" * 12)
        chosen = self.socket.recv(4)
        assert chosen == b"\0\0\4\5", chosen
        self.rest, self.left, self.rows, self.bytes = b"", 0, 0, 0
        self.send(message(0x01, {"user_agent": "bench/1", "bolt_agent": {"product": "bench/1"}}) + message(0x6A, {"scheme": "none"}), 2)
        self.wait()

    def send(self, data, answers=2):
        self.left = answers
        self.socket.sendall(data)

    def feed(self, data):
        self.bytes += len(data)
        data, at = self.rest + data, 0
        end = len(data)
        while at + 4 <= end:
            length = data[at] << 8 | data[at + 1]
            if length == 0:
                at += 2
                continue
            if at + 2 + length > end:
                break
            kind = data[at + 3]
            if kind == RECORD:
                self.rows += 1
            elif kind == SUCCESS:
                self.left -= 1
            else:
                sys.exit(f"the server answers {data[at:at + 200]!r}")
            at += 2 + length
        # What is left of an end of a message begins the next.
        self.rest = data[at:] if self.left else data[at:].lstrip(b"\0")
        return self.left == 0

    def wait(self):
        while not self.feed(self.socket.recv(1 << 18)):
            pass


def memory(process):
    """Bytes that a process holds."""
    with open(f"/proc/{process}/status") as status:
        line = next(line for line in status if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


def share(times, part):
    return sorted(times)[min(len(times) - 1, int(len(times) * part))]


def busy(address, count, seconds, text, rng):
    """So many connections that each ask again as soon as they have their answer."""
    connections = [Connection(address) for _ in range(count)]
    waiting = selectors.DefaultSelector()
    begun, times = {}, []

    def ask(connection):
        begun[connection] = time.perf_counter()
        connection.send(request(text, id=rng.randrange(PEOPLE)))

    for connection in connections:
        waiting.register(connection.socket, selectors.EVENT_READ, connection)
    start = time.perf_counter()
    for connection in connections:
        ask(connection)
    while time.perf_counter() - start < seconds:
        for key, _ in waiting.select():
            connection = key.data
            if connection.feed(connection.socket.recv(1 << 16)):
                times.append(time.perf_counter() - begun[connection])
                ask(connection)
    took = time.perf_counter() - start
    for connection in connections:
        connection.socket.close()
    return {
        "connections": count,
        "per_second": round(len(times) / took),
        "p50_ms": round(share(times, 0.5) * 1000, 3),
        "p99_ms": round(share(times, 0.99) * 1000, 3),
    }


def streamed(address):
    """A million rows of three columns: seconds, and bytes on the wire."""
    connection = Connection(address)
    before, start = connection.bytes, time.perf_counter()
    connection.send(request(f"UNWIND range(1, {ROWS}) AS x RETURN x, toString(x) AS text, x / 2.0 AS half"))
    connection.wait()
    took = time.perf_counter() - start
    assert connection.rows == ROWS, connection.rows
    connection.socket.close()
    return {"rows": ROWS, "seconds": round(took, 3), "rows_per_second": round(ROWS / took), "bytes": connection.bytes - before}


def idle(address, process, count):
    """Connections that say nothing: kB of the server for each."""
    before = memory(process)
    connections = [Connection(address) for _ in range(count)]
    time.sleep(1)
    each = (memory(process) - before) / count / 1000
    for connection in connections:
        connection.socket.close()
    return {"connections": count, "kB_each": round(each, 1)}


def serve(graven, folder):
    """A server of a new database: the process, and its address."""
    command = [graven, "serve", os.path.join(folder, "people.graven"), "--create", "--open-to-all", "--bolt", "127.0.0.1:0", "--connections", "2000", "--memory", "512MiB"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for line in process.stdout:
        if "bolt://" in line:
            host, port = line.split("bolt://")[1].split(";")[0].split()[0].rsplit(":", 1)
            return process, (host, int(port))
    sys.exit("the server did not start")


def machine():
    with open("/proc/cpuinfo") as info:
        name = next((line.split(":")[1].strip() for line in info if line.startswith("model name")), platform.machine())
    return {"cpu": name, "cores": os.cpu_count(), "system": platform.platform()}


def measure(address, process, given):
    """Every figure of one server with an empty database."""
    rng = random.Random(given.seed)
    loader = Connection(address)
    for text in [
        f"UNWIND range(0, {PEOPLE - 1}) AS i CREATE (:Person {{id: i, name: 'person ' + toString(i)}})",
        "CREATE INDEX FOR (p:Person) ON (p.id)",
        "CALL db.awaitIndexes(300)",
    ]:
        loader.send(request(text))
        loader.wait()
    lookup = "MATCH (p:Person {id: $id}) RETURN p.name"
    # A server that compiles what it runs often is warm before anything is measured.
    busy(address, 4, given.warm, lookup, rng)
    if given.warm:
        streamed(address)
    return {
        "idle": idle(address, process.pid, given.idle),
        "lookups": [busy(address, count, given.seconds, lookup, rng) for count in given.busy],
        "stream": streamed(address),
        "server_bytes": memory(process.pid),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graven", default="target/release/graven")
    parser.add_argument("--neo4j", metavar="DIR", help="measure Neo4j, too; its classes and database are kept in DIR")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--warm", type=float, default=5, help="seconds of look-ups before the first figure")
    parser.add_argument("--busy", type=lambda text: [int(count) for count in text.split(",")], default=[1, 4, 16, 500])
    parser.add_argument("--idle", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out")
    given = parser.parse_args()
    result = {"machine": machine(), "people": PEOPLE, "seed": given.seed, "warm_seconds": given.warm}
    with tempfile.TemporaryDirectory() as folder:
        process, address = serve(given.graven, folder)
        try:
            result["graven"] = measure(address, process, given)
        finally:
            process.terminate()
            process.wait()
    if given.neo4j:
        os.makedirs(given.neo4j, exist_ok=True)
        process, port = neo4j_server().start(os.path.abspath(given.neo4j))
        try:
            result["neo4j"] = measure(("127.0.0.1", port), process, given)
        finally:
            process.terminate()
            process.wait()
    text = json.dumps(result, indent=1)
    print(text)
    if given.out:
        with open(given.out, "w") as out:
            out.write(text + "\n")


def neo4j_server():
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "neo4j"))
    import server

    return server


if __name__ == "__main__":
    main()
