"""Replacement policies, simulated on traces of page accesses.

    from graven import lab

    class MyPolicy(lab.Policy):  # first in, first out
        def __init__(self, capacity):
            self.queue = []

        def load(self, page):
            self.queue.append(page)

        def evict(self):
            return self.queue.pop(0)

    frame = lab.simulate("oltp.u64.zst", policy=[MyPolicy, "lru", "min"], sizes=[0.01, 0.1, 4096])

Policies of Graven, given by name, run as in ``graven lab simulate`` and give the same hits. Policies written in Python run in a loop of Python, some hundred times
slower: ``accesses=`` takes the first accesses of a trace only.
"""

from __future__ import annotations

import os
import time

from ._graven import Trace
from .values import Error

__all__ = ["Policy", "Trace", "counts", "simulate"]


class Policy:
    """What a policy of one's own is derived from: it is told of every access and chooses what leaves.

    It is made anew for every size, with the capacity in pages; pages are numbers from 0.
    """

    def __init__(self, capacity):
        self.capacity = capacity

    def hit(self, page):
        """The page is in the cache and is used."""

    def load(self, page):
        """The page comes into the cache."""
        raise NotImplementedError("a policy has a method load(page)")

    def evict(self):
        """Gives a page that leaves; it must be in the cache."""
        raise NotImplementedError("a policy has a method evict()")


def simulate(trace, policy, sizes, accesses=None, seed=1, column=None, page_bytes=8192):
    """Counts hits; a pandas ``DataFrame`` with a row for every policy and size.

    ``trace``: a file in any format of ``graven lab``, a list of page numbers, or a ``Trace``. ``policy``: a name of ``graven lab policies``, a subclass of ``Policy``
    or anything else that makes one from a capacity, an object of one (for one size), or a list of these. ``sizes``: pages, or shares of the different pages where below
    1; one or a list.
    """
    try:
        import pandas
    except ImportError as error:
        raise ImportError("simulate() needs the package pandas: pip install pandas") from error
    return pandas.DataFrame(counts(trace, policy, sizes, accesses, seed, column, page_bytes))


def counts(trace, policy, sizes, accesses=None, seed=1, column=None, page_bytes=8192):
    """The rows of ``simulate``, as dictionaries: without pandas."""
    if not isinstance(trace, Trace):
        is_path = isinstance(trace, (str, os.PathLike))
        trace = Trace(os.fspath(trace), None, column, page_bytes) if is_path else Trace(None, list(trace))
    if accesses:
        trace = trace.first(accesses)
    policies = policy if isinstance(policy, (list, tuple)) else [policy]
    sizes = sizes if isinstance(sizes, (list, tuple)) else [sizes]
    rows = []
    for size in sizes:
        pages = max(1, round(size * trace.unique)) if 0 < size < 1 else int(size)
        if pages < 1:
            raise Error("Request.Invalid", f"a cache of {size} pages cannot be simulated; sizes are pages, or shares below 1")
        for one in policies:
            begun = time.process_time()
            if isinstance(one, str):
                name, (hits, _, _) = one, trace.replay(one, pages, seed)
            else:
                if isinstance(one, Policy) and len(sizes) > 1:
                    raise Error("Request.Invalid", "an object of a policy is for one size: give its class for several")
                own = one if isinstance(one, Policy) else one(pages)
                name, hits = type(own).__name__, _hits(trace.pages(), own, pages)
            count = len(trace)
            rows.append(
                {
                    "trace": trace.name,
                    "policy": name,
                    "pages": pages,
                    "accesses": count,
                    "hits": hits,
                    "faults": count - hits,
                    "hit_ratio": hits / count,
                    "seconds": time.process_time() - begun,
                }
            )
    return rows


def _hits(accesses, policy, capacity):
    """The loop of Python: an empty cache of ``capacity`` pages."""
    cached, hits = set(), 0
    for page in accesses:
        if page in cached:
            hits += 1
            policy.hit(page)
            continue
        if len(cached) == capacity:
            victim = policy.evict()
            if victim not in cached:
                name = type(policy).__name__
                raise Error("Request.Invalid", f"{name}.evict() gave {victim!r}, which is not in the cache")
            cached.remove(victim)
        cached.add(page)
        policy.load(page)
    return hits
