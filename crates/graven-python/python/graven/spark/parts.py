"""Which part of the ids each task reads.

Nodes are divided by their ids, relationships by the ids of the nodes where they start. The parts
cover all ids, so that each entity is in exactly one; what is known of labels and counts only makes
them about equal.

Cost: the ids of a label are listed, no property is read.
"""

from __future__ import annotations

import re

from pyspark.sql.datasource import InputPartition

from .frames import node_span

# Entities of a part where the number of parts is not given.
_ENTITIES = 100_000
_PARTS_MAX = 1000


class Part(InputPartition):
    """Ids from ``low`` to ``high``; ``low`` is None for all of them at once."""

    def __init__(self, low=None, high=None):
        self.low = low
        self.high = high


def parts(connection, kind, name, wanted):
    """The parts of a frame of nodes or relationships."""
    if kind == "label":
        low, high, count = node_span(connection, name)
        return _cut([(low, high, count)], low, high, wanted) if count else [Part(0, -1)]
    low, high, count = node_span(connection, "*")
    return _cut(_starts(connection, name), low, high, wanted) if count else [Part(0, -1)]


def _starts(connection, name):
    """Where relationships of a type start: spans of ids with how many relationships they have, about."""
    [[counts]] = connection.execute("CALL apoc.meta.stats() YIELD relTypes RETURN relTypes").get_all()
    spans = []
    for text, count in counts.items():
        found = re.fullmatch(r"\(:(.*)\)-\[:(.*)\]->\(\)", text)
        if found and count and (name == "*" or found.group(2) == name):
            low, high, nodes = node_span(connection, found.group(1))
            if nodes:
                spans.append((low, high, count))
    return spans


def _cut(spans, low, high, wanted):
    """Parts that cover ``low`` to ``high``, about as many as wanted and about equal."""
    total = sum(count for _, _, count in spans)
    wanted = wanted or min(_PARTS_MAX, max(1, -(-total // _ENTITIES)))
    cuts = set()
    for begin, end, count in spans:
        pieces = max(1, round(wanted * count / total))
        if pieces > 1:
            cuts.update(begin + piece * (end + 1 - begin) // pieces for piece in range(pieces))
    edges = sorted({low, high + 1} | {cut for cut in cuts if low < cut <= high})
    return [Part(begin, end - 1) for begin, end in zip(edges, edges[1:])]
