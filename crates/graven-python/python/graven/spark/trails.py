"""Relationships of variable length: trails, one join a step, and reachability, one join of the
frontier a step.

* SK-12: A trail holds no relationship twice; a node is an end of a search exactly where a trail
  leads to it.
* SK-14: Of all shortest paths each is a row: from the end, a step of the search is followed back by
  every relationship that leads to a node one step nearer to the start.

Cost: a bounded pattern of up to four steps runs no job of its own. Otherwise each step is a job,
until one finds nothing; its rows are kept by a local checkpoint.
"""

from __future__ import annotations

from pyspark.sql import functions as F

from .expressions import conjuncts
from .kinds import INTEGER, LENGTH, NODE, RELATIONSHIP, NotTranslated, list_of
from .needs import operators
from .rows import Binding, Rows, fresh, renamed

# Steps that are planned as one question, without looking whether there is anything left.
_PLANNED = 4


def expanded(translation, rows, node):
    """The rows of ``VarExpand``."""
    mode = node["mode"]["is"]
    if any(below["op"] in ("Limit", "Skip") for below in operators(node["input"])):
        # Each step reads the rows again, and another reading might have other ones.
        rows = rows.having(frame=translation.shared(rows.frame))
    if mode == "shortest":
        return _shortest(translation, rows, node)
    if mode == "trails":
        return _trails(translation, rows, node, node["rels"] is not None)
    bounded = node["max"] is not None and node["max"] <= _PLANNED
    if not node["mode"]["proven"] or bounded:
        found = _trails(translation, rows, node, with_list=False)
        return _once(rows, found, node)
    if node["pattern"]["disjoint_from"] or node["pattern"]["distinct_from"] or node["pattern"]["filter"]:
        raise NotTranslated("operator VarExpand", "a search without a small bound that depends on other parts of the row")
    return _reachable(translation, rows, node)


def known(binding):
    """Raises where of several relationships only their number is known."""
    if binding.kind == LENGTH:
        raise NotTranslated("a relationship beside shortestPath()", "which ones that has is not known")


def _once(rows, found, node):
    """Each end once for each row that the search began with."""
    to = found.binding(node["to"]).column
    unique = [name for name in rows.columns() if name in found.frame.columns]
    return found.having(frame=found.frame.dropDuplicates(list(dict.fromkeys([*unique, to]))))


def _steps(translation, node):
    """The relationships of a step: a frame, and names of its near and far ends and of the relationship."""
    pattern = node["pattern"]
    keys = translation.needed.get(pattern["each"], set())
    frame, near, far, relationship = translation.followed(pattern, keys)
    if pattern["each"] is not None:
        # A condition that reads other variables is refused: they are not in these rows.
        own = Rows(frame, {pattern["each"]: relationship})
        frame = translation.filtered(own, conjuncts(pattern["filter"])).frame
    return frame.select(F.col(near).alias("near"), F.col(far).alias("far"), F.col(relationship.column).alias("rel"))


def _trails(translation, rows, node, with_list):
    """A row for each trail."""
    steps = _steps(translation, node)
    low, high = node["min"], node["max"]
    used, end, passed = fresh(), fresh(), fresh()
    start = F.col(rows.binding(node["from"]).column)
    none = F.array().cast("array<bigint>")
    frame = rows.frame.filter(start.isNotNull()).select("*", none.alias(used), start.alias(end), F.array(start).alias(passed))
    found, length = [frame] if low == 0 else [], 0
    while high is None or length < high:
        length += 1
        names = {"near": fresh(), "far": fresh(), "rel": fresh()}
        step = renamed(steps, names)
        rel = F.col(names["rel"])
        joined = frame.join(step, F.col(end) == F.col(names["near"])).filter(~F.array_contains(F.col(used), rel))
        for var in node["pattern"]["distinct_from"]:
            joined = joined.filter(rel != F.col(rows.binding(var).column))
        for var in node["pattern"]["disjoint_from"]:
            known(rows.binding(var))
            joined = joined.filter(~F.array_contains(F.col(rows.binding(var).column), rel))
        kept = [F.col(name) for name in frame.columns if name not in (used, end, passed)]
        far = F.col(names["far"])
        further = F.array_append(F.col(passed), far).alias(passed)
        frame = joined.select(*kept, F.array_append(F.col(used), rel).alias(used), far.alias(end), further)
        if high is None or high > _PLANNED:
            frame = translation.shared(frame)
            if translation.is_empty(frame):
                break
        if length >= low:
            found.append(frame)
    if not found:
        found = [frame.limit(0)]
    all_found = found[0]
    for more in found[1:]:
        all_found = all_found.unionByName(more)
    rows = rows.having(frame=all_found)
    if node["into"]:
        rows = rows.having(frame=rows.frame.filter(F.col(rows.binding(node["to"]).column) == F.col(end)))
    else:
        rows = rows.bound({node["to"]: Binding(NODE, end)})
    if with_list:
        size = fresh()
        rows = rows.with_columns({size: F.array_size(F.col(used)).cast("bigint")})
        parts = {"@length": (size, INTEGER), "@nodes": (passed, list_of(NODE))}
        rows = rows.bound({node["rels"]: Binding(list_of(RELATIONSHIP), used, parts)})
    return rows


def _frontier(translation, node, starts, most, goals=None):
    """Pairs of start and node reached with the number of steps, from 0 on, each once; with goals no further than these need."""
    steps = _steps(translation, node).select("near", "far").distinct()
    seen = starts.select(F.col("start"), F.col("start").alias("node"), F.lit(0).cast("bigint").alias("steps"))
    seen = translation.shared(seen)
    frontier, length = seen, 0
    while most is None or length < most:
        if goals is not None:
            reached = seen.select(F.col("start").alias("s"), F.col("node").alias("n"))
            left = goals.join(reached, (F.col("start") == F.col("s")) & (F.col("goal") == F.col("n")), "left_anti")
            waiting = left.select(F.col("start").alias("w")).distinct()
            frontier = frontier.join(waiting, F.col("start") == F.col("w"), "left_semi")
        length += 1
        reached = frontier.join(steps, F.col("node") == F.col("near")).select("start", F.col("far").alias("node")).distinct()
        known = seen.select(F.col("start").alias("s"), F.col("node").alias("n"))
        new = reached.join(known, (F.col("start") == F.col("s")) & (F.col("node") == F.col("n")), "left_anti")
        frontier = translation.shared(new.select("start", "node", F.lit(length).cast("bigint").alias("steps")))
        if translation.is_empty(frontier):
            break
        seen = translation.shared(seen.union(frontier))
    return seen


def _starts(rows, node):
    column = rows.binding(node["from"]).column
    return rows.frame.select(F.col(column).alias("start")).filter(F.col("start").isNotNull()).distinct()


def _reachable(translation, rows, node):
    """Ends of a search with lower bound 0 or 1, each once for a row."""
    if node["min"] == 1 and node["pattern"]["direction"] == "both":
        raise NotTranslated("operator VarExpand", "whether the start is met again, without direction and without a small upper bound")
    seen = _frontier(translation, node, _starts(rows, node), node["max"])
    if node["min"] == 1:
        seen = seen.filter(F.col("steps") > 0).select("start", "node").union(_closed(translation, node, seen))
    start, end = fresh(), fresh()
    pairs = seen.select(F.col("start").alias(start), F.col("node").alias(end))
    on = F.col(rows.binding(node["from"]).column) == F.col(start)
    if node["into"]:
        on = on & (F.col(rows.binding(node["to"]).column) == F.col(end))
        return rows.having(frame=rows.frame.join(pairs, on, "left_semi"))
    return rows.having(frame=rows.frame.join(pairs, on)).bound({node["to"]: Binding(NODE, end)})


def _closed(translation, node, seen):
    """Starts that a step leads back to: with direction a closed walk holds a closed trail that is no longer."""
    steps = _steps(translation, node).select("near", "far").distinct()
    within = seen if node["max"] is None else seen.filter(F.col("steps") < node["max"])
    back = within.join(steps, (F.col("node") == F.col("near")) & (F.col("start") == F.col("far")))
    return back.select("start", F.col("start").alias("node")).distinct()


def _shortest(translation, rows, node):
    """The number of steps of a shortest trail between two bound ends, which one it is stays open; or all that are shortest."""
    mode, pattern = node["mode"], node["pattern"]
    if mode["count"] != 1 or mode["closed"]:
        raise NotTranslated("operator VarExpandInto", "of shortest paths only shortestPath() and allShortestPaths() are")
    if node["min"] > 1 or pattern["disjoint_from"] or pattern["distinct_from"]:
        raise NotTranslated("operator VarExpandInto", "a shortest path with a lower bound above 1 or beside other relationships")
    begin, goal = rows.binding(node["from"]).column, rows.binding(node["to"]).column
    ends = rows.frame.select(F.col(begin).alias("start"), F.col(goal).alias("goal")).dropna().distinct()
    starts = ends.select("start").distinct()
    goals = translation.shared(ends.filter(F.col("start") != F.col("goal")))
    seen = _frontier(translation, node, starts, node["max"], goals)
    start, end, length = fresh(), fresh(), fresh()
    if mode["of"] == "lengths":
        found = _all_shortest(translation, node, ends, seen)
        relationships, passed = fresh(), fresh()
        more = [F.col("rels").alias(relationships), F.col("nodes").alias(passed)]
        binding = Binding(list_of(RELATIONSHIP), relationships, {"@length": (length, INTEGER), "@nodes": (passed, list_of(NODE))})
    else:
        found = seen.select("start", F.col("node").alias("goal"), "steps")
        more, binding = [], Binding(LENGTH, length, {"@length": (length, INTEGER)})
    if node["min"] > 0:
        found = found.filter(F.col("steps") > 0)
    found = found.select(F.col("start").alias(start), F.col("goal").alias(end), F.col("steps").alias(length), *more)
    on = (F.col(begin) == F.col(start)) & (F.col(goal) == F.col(end))
    rows = rows.having(frame=rows.frame.join(found, on))
    return rows if node["rels"] is None else rows.bound({node["rels"]: binding})


def _all_shortest(translation, node, ends, seen):
    """A row for each shortest path between two ends: the number of its steps, its relationships and nodes in order."""
    steps, none = _steps(translation, node), F.array().cast("array<bigint>")
    reached = seen.select(F.col("start").alias("s"), F.col("node").alias("n"), F.col("steps").alias("left"))
    found = ends.join(reached, (F.col("start") == F.col("s")) & (F.col("goal") == F.col("n")))
    found = found.select("start", "goal", F.col("left").alias("steps"), "left", F.col("goal").alias("at"), none.alias("rels"), F.array("goal").alias("nodes"))
    whole = found.filter(F.col("left") == 0)
    open_paths = translation.shared(found.filter(F.col("left") > 0))
    nearer = reached.select("s", "n", F.col("left").alias("before"))
    while not translation.is_empty(open_paths):
        back = open_paths.join(steps, F.col("at") == F.col("far"))
        on = (F.col("start") == F.col("s")) & (F.col("near") == F.col("n")) & (F.col("left") == F.col("before") + 1)
        back = back.join(nearer, on)
        open_paths = translation.shared(
            back.select(
                "start",
                "goal",
                "steps",
                F.col("before").alias("left"),
                F.col("near").alias("at"),
                F.concat(F.array("rel"), "rels").alias("rels"),
                F.concat(F.array("near"), "nodes").alias("nodes"),
            )
        )
        whole = whole.unionByName(open_paths.filter(F.col("left") == 0))
        open_paths = open_paths.filter(F.col("left") > 0)
    return whole
