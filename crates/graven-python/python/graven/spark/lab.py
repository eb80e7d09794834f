"""Replacement policies simulated by Spark's executors: one task for each policy and size, with the
numbers of ``graven.lab.simulate``.

Each task reads the trace itself, so its file must be where all executors reach it.
"""

from __future__ import annotations

import os

from graven import lab

from .options import invalid


def simulate(spark, trace, policy, sizes, accesses=None, seed=1, column=None, page_bytes=8192):
    """Counts hits as :func:`graven.lab.simulate` does; a pandas ``DataFrame`` with the same rows in the same order.

    ``trace`` is a file in any format of ``graven lab``. A policy of Python is given by its class.
    """
    if not isinstance(trace, (str, os.PathLike)):
        raise invalid("the trace is the path of a file, which executors can read: a list of pages is simulated by graven.lab")
    path = os.path.abspath(os.fspath(trace))
    policies = policy if isinstance(policy, (list, tuple)) else [policy]
    sizes = sizes if isinstance(sizes, (list, tuple)) else [sizes]
    tasks = [(size, one) for size in sizes for one in policies]
    for _, one in tasks:
        if isinstance(one, lab.Policy):
            raise invalid(f"an object of {type(one).__name__} is for one simulation: give its class")

    def counted(task):
        size, one = task
        return lab.counts(path, one, size, accesses, seed, column, page_bytes)

    # Looked at here, a missing file is one error and not one of each task.
    lab.Trace(path, None, column, page_bytes)
    found = spark.sparkContext.parallelize(tasks, max(1, len(tasks))).map(counted).collect()

    import pandas

    return pandas.DataFrame([row for rows in found for row in rows])
