"""One peer in a process of its own: loads data, then answers JSON lines as `graven bench statements` does, so that all
systems can be measured by the same program.

    python worker.py PEER load  GRAPH PARQUET_FOLDER DATABASE
    python worker.py PEER serve GRAPH DATABASE THREADS
"""
import json
import sys
import threading
import time

import peers


def client(peer, ask, first, out):
    """Asks all sets of parameters, beginning at `first`, until the time is over and each was asked."""
    try:
        run = peer.client(ask)
        sets = ask.get("params") or [{}]
        sets = sets[first:] + sets[:first]
        until, passes = ask.get("seconds", 0.0), ask.get("passes", 0)
        times, rows, done = [], 0, 0
        clock = time.perf_counter
        start = before = clock()
        while True:
            for params in sets:
                rows += run(params)
                now = clock()
                times.append(now - before)
                before = now
                if done and done >= passes and now - start >= until:
                    break
            done += 1
            if done >= passes and before - start >= until:
                break
        out.append((times, rows))
    except Exception as e:  # whatever a peer raises is its answer
        out.append(e)


def measured(peer, ask):
    clients, out = ask.get("clients", 1), []
    step = -(-len(ask.get("params") or [{}]) // clients)
    start = time.perf_counter()
    if clients == 1:
        client(peer, ask, 0, out)
    else:
        threads = [threading.Thread(target=client, args=(peer, ask, n * step, out)) for n in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    seconds = time.perf_counter() - start
    for one in out:
        if isinstance(one, Exception):
            raise one
    times = sorted(t for one, _ in out for t in one)
    return {"statements": len(times), "rows": sum(rows for _, rows in out), "seconds": seconds,
            "p50_ms": times[len(times) // 2] * 1e3, "p99_ms": times[min(len(times) * 99 // 100, len(times) - 1)] * 1e3}


def serve(peer):
    for line in sys.stdin:
        try:
            ask = json.loads(line)
            if ask.get("answer"):
                said = {"answers": [peer.answer(ask, params, ask.get("rows", 1000)) for params in ask.get("params") or [{}]]}
            else:
                said = measured(peer, ask)
        except Exception as e:
            said = {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps(said, default=str), flush=True)


def main():
    name, what, graph = sys.argv[1:4]
    peer = peers.PEERS[name]()
    if what == "load":
        peer.load(graph, sys.argv[4], sys.argv[5])
    else:
        peer.open(graph, sys.argv[4], int(sys.argv[5]))
        print(json.dumps({"version": peer.version(), "settings": peer.settings}), flush=True)
        serve(peer)
    sys.stdout.flush()
    # Some of these libraries take long, or fail, when the interpreter takes itself apart.
    import os
    os._exit(0)


if __name__ == "__main__":
    main()
