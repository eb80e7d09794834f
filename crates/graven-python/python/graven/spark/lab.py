"""Replacement policies simulated by Spark's executors, with the numbers of ``graven.lab.simulate``.

Each task reads the trace itself, so its file must be where all executors reach it; a task that has
several simulations of one trace reads it once.

``graven lab simulate --engine spark`` runs this module as a program: a request as JSON on standard
input, answers as JSON on standard output.
"""

from __future__ import annotations

import json
import os
import sys
import time

from graven import lab
from graven._graven import Trace

from .options import invalid

TASKS_EACH = 4  # tasks for each core, so that a long one does not keep the others waiting


def simulate(spark, trace, policy, sizes, accesses=None, seed=1, column=None, page_bytes=8192):
    """Counts hits as :func:`graven.lab.simulate` does; a pandas ``DataFrame`` with the same rows in the same order.

    ``trace`` is a file in any format of ``graven lab``. A policy of Python is given by its class.
    """
    if not isinstance(trace, (str, os.PathLike)):
        raise invalid("the trace is the path of a file, which executors can read: a list of pages is simulated by graven.lab")
    path = os.path.abspath(os.fspath(trace))
    policies = policy if isinstance(policy, (list, tuple)) else [policy]
    sizes = sizes if isinstance(sizes, (list, tuple)) else [sizes]
    jobs = [(size, one) for size in sizes for one in policies]
    for _, one in jobs:
        if isinstance(one, lab.Policy):
            raise invalid(f"an object of {type(one).__name__} is for one simulation: give its class")

    def counted(some):
        read = None
        for size, one in some:
            read = read or Trace(path, None, column, page_bytes)
            yield lab.counts(read, one, size, accesses, seed)

    # Looked at here, a missing file is one error and not one of each task.
    Trace(path, None, column, page_bytes)
    found = _spread(spark, jobs, counted)

    import pandas

    return pandas.DataFrame([row for rows in found for row in rows])


def _spread(spark, jobs, counted):
    """What ``counted`` gives for the jobs of each task, in the order of the jobs."""
    context = spark.sparkContext
    tasks = max(1, min(len(jobs), context.defaultParallelism * TASKS_EACH))
    return context.parallelize(jobs, tasks).mapPartitions(counted).collect()


def answers(spark, request):
    """What the jobs of a request count: for each a trace, a policy and the pages of the cache."""
    seed, accesses = request["seed"], request["accesses"]
    column, page_bytes, form = request["column"], request["page_bytes"], request["format"]

    def counted(some):
        name, read = None, None
        for path, policy, pages in some:
            if path != name:
                name, read = path, Trace(path, None, column, page_bytes, form)
                read = read.first(accesses) if accesses else read
            begun = time.thread_time()
            hits, evictions, figures = read.replay(policy, pages, seed)
            yield {"hits": hits, "evictions": evictions, "figures": figures, "seconds": time.thread_time() - begun}

    return _spread(spark, request["jobs"], counted)


def main():
    """Answers one request."""
    request = json.load(sys.stdin)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("graven lab simulate")
    if request["master"]:
        builder = builder.master(request["master"])
    spark = builder.getOrCreate()
    try:
        json.dump(answers(spark, request), sys.stdout)
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
