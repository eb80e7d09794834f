"""Operators of a logical plan as operations on DataFrames.

An expansion is a join with a frame of relationships. A subquery is computed once for all rows
around it: its leaf is the frame of the different values that it takes from them (the context), and
its rows are joined to them again. So there is no operation row by row.

* SK-11: What is not translated is refused before any job of Spark runs for an answer, by the name
  of the operator or function.
"""

from __future__ import annotations

from pyspark.sql import Window
from pyspark.sql import functions as F

from . import conditions, trails
from .aggregates import aggregated
from .expressions import Expressions, conjuncts
from .frames import column_of
from .kinds import (
    BOOLEAN,
    INTEGER,
    LENGTH,
    MOMENT,
    NODE,
    NULL,
    ORDERED,
    PATH,
    RELATIONSHIP,
    STRING,
    WHOLE_PATH,
    ZONED_DATETIME,
    NotTranslated,
    common,
    holds,
    list_of,
    listed_node,
    spark_type,
    told_apart,
)
from .needs import argument_vars, needed, operators
from .options import invalid
from .rows import Binding, Rows, fresh, renamed

_FORMAT = 1


def translated(graph, text, parameters):
    """The rows of a statement as a DataFrame."""
    if graph.spark.conf.get("spark.sql.ansi.enabled", "true") != "true":
        raise invalid("Spark's ANSI mode is off, and errors would become nulls: set spark.sql.ansi.enabled to true")
    plan = graph.plan(text)
    if plan["format"] != _FORMAT:
        raise invalid(f"the plan is of format {plan['format']}, this package reads {_FORMAT}: install the same release of both")
    if any(node["op"] in _WITH_JOBS for node in operators(plan["root"])):
        # What is refused is refused before the first job.
        Translation(graph, parameters, plan, runs_jobs=False).result()
    return Translation(graph, parameters, plan, runs_jobs=True).result()


_WITH_JOBS = ("Apply", "Optional", "SemiApply", "AntiSemiApply", "VarExpand", "VarExpandInto")


class Translation:
    """One plan on its way."""

    def __init__(self, graph, parameters, plan, runs_jobs):
        self.graph = graph
        self.runs_jobs = runs_jobs
        self.plan = plan
        self.needed = needed(plan["root"])
        self.expressions = Expressions(parameters, self.attach, self.attach_items)

    def result(self):
        """The result's columns, in order and under their names."""
        rows = self.run(self.plan["root"], None).in_order()
        columns = []
        for column in self.plan["columns"]:
            binding = rows.binding(column["var"])
            columns.append(_shown(binding, column["name"]).alias(column["name"]))
        if not columns:
            raise NotTranslated("a statement without RETURN", "it has no rows")
        return rows.frame.select(*columns)

    def run(self, node, around):
        """The rows of an operator; ``around`` is the context of a subquery."""
        make = getattr(self, "_" + node["op"], None)
        if make is None or "details" in node:
            raise NotTranslated(f"operator {node['op']}", f"there is no operation of Spark for it ({node.get('details', '')})")
        return make(node, around)

    def shared(self, frame):
        """A frame that several operators read, computed once; Spark lets go of it with the last of them."""
        return frame.localCheckpoint(eager=False) if self.runs_jobs else frame

    def is_empty(self, frame):
        """Whether there is no row; without jobs, as if there were none."""
        return frame.isEmpty() if self.runs_jobs else True

    # Leaves.

    def _Unit(self, node, around):
        return Rows(self.graph.spark.range(1).select(F.lit(1).alias(fresh())), {})

    def _Argument(self, node, around):
        return around

    def _LabelScan(self, node, around):
        return self._scan(node, around, node["label"])

    def _AllNodesScan(self, node, around):
        return self._scan(node, around, None)

    def _scan(self, node, around, label, filters=()):
        var = node["var"]
        frame, column, parts = self.graph.nodes(label, self.needed.get(var, set()), filters=filters)
        bound = {var: Binding(NODE, column, parts)}
        if node["input"]["op"] == "Unit":
            return Rows(frame, bound)
        rows = self.run(node["input"], around).unsorted()
        return rows.having(frame=rows.frame.crossJoin(frame)).bound(bound)

    def _NodeByIdSeek(self, node, around):
        rows = self.run(node["input"], around).unsorted()
        rows, [(value, kind)] = self.expressions.values(rows, [node["value"]])
        frame, column, parts = self.graph.nodes(None, self.needed.get(node["var"], set()))
        if node["any"]:
            if kind != list_of(INTEGER):
                raise NotTranslated(f"id(n) IN a {kind}", "ids are whole numbers")
            value = F.explode(F.array_distinct(value))
        elif kind != INTEGER:
            raise NotTranslated(f"id(n) = a {kind}", "ids are whole numbers")
        name = fresh()
        rows = rows.with_columns({name: value})
        joined = rows.frame.join(frame, F.col(name) == F.col(column))
        return rows.having(frame=joined).bound({node["var"]: Binding(NODE, column, parts)})

    # Nodes and what belongs to them.

    def attach(self, rows, var, keys, label=None):
        """Joins properties or labels of a node; with a label only rows with such a node stay."""
        is_var = var in rows.vars
        binding = rows.vars[var] if is_var else rows.computed[var]
        with_labels = "@labels" in keys
        wanted = (keys - {"@labels"}) | (self.needed.get(var, set()) if is_var else set())
        frame, column, parts = self.graph.nodes(label, {key for key in wanted if key not in binding.parts}, with_labels)
        how = "left" if label is None else "inner"
        joined = rows.frame.join(frame, F.col(binding.column) == F.col(column), how)
        more = binding.with_parts(parts)
        rows = rows.joined(joined)
        if is_var:
            return rows.bound({var: more})
        return rows.having(computed={**rows.computed, var: more})

    def attach_items(self, rows, of, column, keys):
        """Puts properties beside the nodes of a list: one row for each node of each different list, joined and gathered again."""
        name, listed, place, node, made = (fresh() for _ in range(5))
        rows = rows.with_columns({name: column})
        rows = rows.having(frame=self.shared(rows.frame))
        lists = rows.frame.select(F.col(name).alias(listed)).filter(F.array_size(listed) > 0).distinct()
        frame, found, parts = self.graph.nodes(None, set(keys))
        kind = list_of(listed_node([(key, parts[key][1]) for key in keys]))
        items = lists.select(listed, F.posexplode(listed).alias(place, node)).join(frame, F.col(node) == F.col(found), "left")
        columns = [F.col(node), *(F.col(parts[key][0]) for key in keys)]
        item = F.struct(F.col(place).alias("place"), F.struct(*(of.alias(f"p{at}") for at, of in enumerate(columns))).alias("item"))
        in_order = F.array_sort(F.collect_list(item), lambda a, b: a.getField("place") - b.getField("place"))
        gathered = items.groupBy(listed).agg(F.transform(in_order, lambda one: one.getField("item")).alias(made))
        none = F.when(F.array_size(name) == 0, F.array().cast(gathered.schema[made].dataType))
        joined = rows.frame.join(gathered, F.col(name) == F.col(listed), "left")
        whole = fresh()
        rows = rows.joined(joined).with_columns({whole: F.coalesce(F.col(made), none)})
        return rows.having(computed={**rows.computed, of: Binding(kind, whole)})

    def _Filter(self, node, around):
        wanted = conjuncts(node["predicate"])
        below = node["input"]
        if below["op"] in ("LabelScan", "AllNodesScan") and below["input"]["op"] == "Unit":
            rows = self._scan(below, around, below.get("label"), self._pushed(below, wanted))
        else:
            rows = self.run(below, around)
        return self.filtered(rows, wanted)

    def _pushed(self, scan, wanted):
        """Conditions on properties of a scan's nodes, as the data source takes them; Spark judges them again."""
        pushed = []
        for one in wanted:
            if one["is"] != "binary" or one["op"] not in ("=", "<", "<=", ">", ">="):
                continue
            left, right = one["left"], one["right"]
            if left["is"] != "property" or left["base"] != {"is": "variable", "var": scan["var"]}:
                continue
            if right["is"] not in ("literal", "parameter"):
                continue
            value = self.expressions.constant(right, "a condition")
            of = self.graph.property_type("label", scan.get("label", "*"), left["key"])
            column = column_of("label", left["key"])
            kinds = {column: of.simpleString()} if of else {}
            if kinds.get(column) == "string" and not self.graph.is_text("label", scan.get("label") or "*", left["key"]):
                continue
            name = {"=": "EqualTo", "<": "LessThan", "<=": "LessThanOrEqual", ">": "GreaterThan", ">=": "GreaterThanOrEqual"}
            found = conditions.taken(name[one["op"]], column, value, kinds)
            pushed += [found] if found else []
        return pushed

    def filtered(self, rows, wanted):
        """Rows for which all conditions hold; a test of a label is a join that brings the properties with it."""
        others = []
        for one in wanted:
            base = one.get("base", {})
            binding = rows.vars.get(base.get("var")) if one["is"] == "has_labels" else None
            if binding is None or binding.kind != NODE or "@labels" in binding.parts:
                others.append(one)
                continue
            for label in one["labels"]:
                rows = self.attach(rows, base["var"], set(), label)
        for one in others:
            rows = self.expressions.prepared(rows, one, frozenset())
        for one in others:
            rows = rows.having(frame=rows.frame.filter(self.expressions.condition(rows, one, {})))
        return rows

    # Relationships.

    def _Expand(self, node, around):
        rows = self.run(node["input"], around).unsorted()
        return self._expanded(rows, node, into=False)

    def _ExpandInto(self, node, around):
        rows = self.run(node["input"], around).unsorted()
        return self._expanded(rows, node, into=True)

    def _expanded(self, rows, node, into):
        pattern, rel = node["pattern"], node["rel"]
        each = pattern["each"]
        keys = self.needed.get(rel, set()) | self.needed.get(each, set())
        with_id = rel is not None or each is not None or bool(pattern["distinct_from"] or pattern["disjoint_from"])
        frame, near, far, relationship = self.followed(pattern, keys, with_id)
        on = F.col(rows.binding(node["from"]).column) == F.col(near)
        if into:
            on = on & (F.col(rows.binding(node["to"]).column) == F.col(far))
        rows = rows.having(frame=rows.frame.join(frame, on))
        if not into:
            rows = rows.bound({node["to"]: Binding(NODE, far)})
        if each is not None:
            rows = self.filtered(rows.bound({each: relationship}), conjuncts(pattern["filter"]))
        rows = unlike(rows, relationship.column, pattern)
        return rows.bound({rel: relationship}) if rel is not None else rows

    def followed(self, pattern, keys, with_id=True):
        """Relationships of a pattern as a frame, the columns of its near and far ends, and the relationship as a variable."""
        frame, own, parts = self.graph.relationships(pattern["types"], keys, with_id or pattern["direction"] == "both")
        ends = own["src"], own["dst"]
        parts = {**parts, "@src": (ends[0], NODE), "@dst": (ends[1], NODE)}
        if "type" in own:
            parts["@type"] = (own["type"], STRING)
        # Without the id there is no column to take for it by mistake.
        relationship = Binding(RELATIONSHIP, own.get("id"), parts)
        if pattern["direction"] == "out":
            return frame, ends[0], ends[1], relationship
        if pattern["direction"] == "in":
            return frame, ends[1], ends[0], relationship
        near, far = fresh(), fresh()
        forth = frame.select("*", F.col(ends[0]).alias(near), F.col(ends[1]).alias(far))
        back = frame.filter(F.col(ends[0]) != F.col(ends[1])).select("*", F.col(ends[1]).alias(near), F.col(ends[0]).alias(far))
        return forth.union(back), near, far, relationship

    def _VarExpand(self, node, around):
        rows = self.run(node["input"], around).unsorted()
        return trails.expanded(self, rows, node)

    _VarExpandInto = _VarExpand

    def _BuildPath(self, node, around):
        rows = self.run(node["input"], around)
        length, there, whole = F.lit(0), F.lit(True), True
        # Nodes and relationships, as lists of one or of those of a trail, which has both of its ends.
        nodes, relationships, ends_at = [], [], None
        for var in node["parts"]:
            binding = rows.binding(var)
            column = F.col(binding.column)
            if binding.kind == NODE:
                there = there & column.isNotNull()
                if not ends_at:
                    nodes.append(F.array(column))
                ends_at = None
            elif binding.kind == RELATIONSHIP:
                length = length + 1
                relationships.append(F.array(column))
            elif binding.kind in (LENGTH, list_of(RELATIONSHIP)):
                own = binding.parts.get("@length")
                length = length + (F.col(own[0]) if own else F.array_size(column))
                relationships.append(column)
                ends_at = binding.parts.get("@nodes")
                whole = whole and ends_at is not None
                if whole:
                    trail = F.col(ends_at[0])
                    nodes[-1] = F.slice(nodes[-1], F.lit(1), F.array_size(nodes[-1]) - 1)
                    nodes.append(trail)
            else:
                raise NotTranslated("operator BuildPath", f"a part of it is a {binding.kind}")
        name = fresh()
        rows = rows.with_columns({name: F.when(there, length.cast("bigint"))})
        if not whole:
            return rows.bound({node["path"]: Binding(PATH, name, {"@length": (name, INTEGER)})})
        of_nodes, of_relationships, path = fresh(), fresh(), fresh()
        none = F.array().cast("array<bigint>")
        rows = rows.with_columns({of_nodes: F.when(there, F.concat(*nodes)), of_relationships: F.when(there, F.concat(none, *relationships))})
        parts = {
            "@length": (name, INTEGER),
            "@nodes": (of_nodes, list_of(NODE)),
            "@relationships": (of_relationships, list_of(RELATIONSHIP)),
        }
        pair = F.struct(F.col(of_nodes).alias("nodes"), F.col(of_relationships).alias("relationships"))
        rows = rows.with_columns({path: F.when(F.col(name).isNotNull(), pair)})
        return rows.bound({node["path"]: Binding(WHOLE_PATH, path, parts)})

    # Rows.

    def _items(self, rows, items):
        """Rows with values computed, and the variables that they are now."""
        rows, values = self.expressions.values(rows, [item["value"] for item in items])
        columns, bound = {}, {}
        for item, (column, kind) in zip(items, values):
            if item["value"]["is"] == "variable":
                bound[item["var"]] = rows.binding(item["value"]["var"])
                continue
            name = fresh()
            columns[name] = column
            parts = {}
            for part, (of, of_kind) in _turned(rows, item["value"]).items():
                parts[part] = (fresh(), of_kind)
                columns[parts[part][0]] = of
            bound[item["var"]] = Binding(kind, name, parts)
        return rows.with_columns(columns) if columns else rows, bound

    def _Project(self, node, around):
        rows, bound = self._items(self.run(node["input"], around), node["items"])
        return rows.having(vars=bound, computed={}).only(list(bound))

    def _Extend(self, node, around):
        rows, bound = self._items(self.run(node["input"], around), node["items"])
        return rows.bound(bound)

    def _Aggregate(self, node, around):
        rows = self.run(node["input"], around)
        rows, keys = self._items(rows, node["keys"])
        for binding in keys.values():
            told_apart(binding.kind, "a group")
        arguments = [call["argument"] for call in node["aggregates"] if call["argument"]]
        rows, values = self.expressions.values(rows, arguments)
        values = iter(values)
        calls = [(call, next(values) if call["argument"] else None) for call in node["aggregates"]]
        return aggregated(rows, keys, calls)

    def _Distinct(self, node, around):
        rows = self.run(node["input"], around).unsorted().only(node["vars"])
        for var in node["vars"]:
            told_apart(rows.binding(var).kind, "DISTINCT")
        unique = [rows.binding(var).column for var in node["vars"]] + list(rows.context)
        return rows.having(frame=rows.frame.dropDuplicates(list(dict.fromkeys(unique))))

    def _Sort(self, node, around):
        rows = self.run(node["input"], around)
        rows, values = self.expressions.values(rows, [key["value"] for key in node["keys"]])
        columns, by = {}, []
        for key, (column, kind) in zip(node["keys"], values):
            name = fresh()
            columns[name] = _sort_key(column, kind)
            by.append((name, key["descending"]))
        return rows.with_columns(columns).having(sorted=tuple(by), disturbed=True).in_order()

    def _Skip(self, node, around):
        return self._cut(node, around, skips=True)

    def _Limit(self, node, around):
        return self._cut(node, around, skips=False)

    def _cut(self, node, around, skips):
        rows = self.run(node["input"], around)
        count = self.expressions.constant(node["count"], "SKIP" if skips else "LIMIT")
        if type(count) is not int or count < 0:
            raise invalid(f"{'SKIP' if skips else 'LIMIT'} takes a whole number that is not negative, not {count!r}")
        if not rows.context:
            rows = rows.in_order()
            cut = rows.frame.offset(count) if skips else rows.frame.limit(count)
            return rows.having(frame=cut)
        # Within a subquery so many rows of each row around it.
        place = fresh()
        window = Window.partitionBy(*rows.context).orderBy(*rows.directions() or [F.lit(1)])
        numbered = rows.frame.select("*", F.row_number().over(window).alias(place))
        return rows.having(frame=numbered.filter(F.col(place) > count if skips else F.col(place) <= count).drop(place))

    def _Unwind(self, node, around):
        rows = self.run(node["input"], around).unsorted()
        rows, [(column, kind)] = self.expressions.values(rows, [node["list"]])
        name = fresh()
        if kind == NULL:
            return rows.having(frame=rows.frame.limit(0)).with_columns({name: F.lit(None)}).bound({node["var"]: Binding(NULL, name)})
        if kind.name == "MIXED LIST":
            raise NotTranslated("UNWIND of a list", "its items have several kinds")
        if kind.name == "LIST":
            return rows.with_columns({name: F.explode(column)}).bound({node["var"]: Binding(kind.item, name)})
        rows = rows.with_columns({name: column}).bound({node["var"]: Binding(kind, name)})
        return rows.having(frame=rows.frame.filter(F.col(name).isNotNull()))

    # Several inputs.

    def _inner(self, rows, inner):
        """The rows around a subquery, those of it, and the conditions that join both."""
        taken = [var for var in argument_vars(inner) if var in rows.vars]
        if not taken:
            return rows, self.run(inner, None), []
        for var in taken:
            if holds(rows.binding(var).kind, (PATH, LENGTH)):
                raise NotTranslated("a subquery that reads a path", "Spark has only its length")
        rows = rows.having(frame=self.shared(rows.frame))
        keys = list(dict.fromkeys(rows.binding(var).column for var in taken))
        names = {name: fresh() for var in taken for name in rows.binding(var).columns()}
        context = tuple(names[key] for key in keys)
        args = rows.frame.select(*(F.col(old).alias(new) for old, new in names.items())).dropDuplicates(list(context))
        bound = {}
        for var in taken:
            binding = rows.binding(var)
            parts = {key: (names[name], kind) for key, (name, kind) in binding.parts.items()}
            bound[var] = Binding(binding.kind, names[binding.column], parts)
        found = self.run(inner, Rows(args, bound, context, args.select(*context)))
        if not found.context:
            return rows, found, []
        return rows, found, [F.col(old).eqNullSafe(F.col(new)) for old, new in zip(keys, found.context)]

    def _joined(self, rows, found, on, how):
        new = {var: binding for var, binding in found.vars.items() if var not in rows.vars}
        condition = _all(on)
        frame = rows.frame.join(found.frame, condition, how)
        return rows.joined(frame).bound(new)

    def _Apply(self, node, around):
        rows = self.run(node["input"], around)
        rows, found, on = self._inner(rows, node["inner"])
        return self._joined(rows, found, on, "inner")

    def _Optional(self, node, around):
        rows = self.run(node["input"], around)
        rows, found, on = self._inner(rows, node["inner"])
        joined = self._joined(rows, found, on, "left")
        lost = [var for var in node["nulls"] if var not in joined.vars]
        columns = {fresh(): F.lit(None) for _ in lost}
        bound = {var: Binding(NULL, name) for var, name in zip(lost, columns)}
        return joined.with_columns(columns).bound(bound) if lost else joined

    def _SemiApply(self, node, around):
        rows = self.run(node["input"], around)
        rows, found, on = self._inner(rows, node["inner"])
        condition = _all(on)
        there = found.frame.select(*found.context) if on else found.frame.limit(1)
        return rows.joined(rows.frame.join(there, condition, "left_anti" if node["anti"] else "left_semi"))

    _AntiSemiApply = _SemiApply

    def _CartesianProduct(self, node, around):
        return self._both(node, around, [])

    def _HashJoin(self, node, around):
        return self._both(node, around, node["on"])

    def _both(self, node, around, on):
        rows = self.run(node["input"], around).unsorted()
        found = self.run(node["inner"], around)
        names = {name: fresh() for name in found.frame.columns}
        found = moved(found, names)
        condition = F.lit(True)
        for var in on:
            told_apart(rows.binding(var).kind, "a join")
            told_apart(found.binding(var).kind, "a join")
            condition = condition & (F.col(rows.binding(var).column) == F.col(found.binding(var).column))
        if rows.context and found.context:
            for left, right in zip(rows.context, found.context):
                condition = condition & F.col(left).eqNullSafe(F.col(right))
        joined = rows.having(frame=rows.frame.join(found.frame, condition))
        joined = joined.bound({var: binding for var, binding in found.vars.items() if var not in rows.vars})
        if rows.context or not found.context:
            return joined
        return joined.having(context=found.context, around=found.around)

    def _Union(self, node, around):
        several = [self.run(child, around).unsorted() for child in node["inputs"]]
        first = several[0]
        if any(bool(rows.context) != bool(first.context) for rows in several):
            raise NotTranslated("operator Union", "only some of its parts depend on the row around it")
        vars = list(first.vars)
        kinds = {}
        for var in vars:
            kinds[var] = NULL
            for rows in several:
                kinds[var] = common(kinds[var], rows.binding(var).kind, "a column of UNION")
        pieces = []
        for rows in several:
            columns = [_plain(rows.binding(var), kinds[var]) for var in vars]
            pieces.append(rows.frame.select(*columns, *(F.col(name) for name in rows.context)))
        frame = pieces[0]
        for more in pieces[1:]:
            frame = frame.union(more)
        names = [fresh() for _ in frame.columns]
        frame = frame.toDF(*names)
        bound = {var: Binding(kinds[var], name) for var, name in zip(vars, names)}
        context = tuple(names[len(vars) :])
        around_frame = renamed(first.around, dict(zip(first.context, context))) if context else None
        return Rows(frame, bound, context, around_frame)


def _turned(rows, value):
    """What is known of a trail that was followed from its other end: its nodes the other way round."""
    if value["is"] != "call" or value["name"] != "reverse" or value["args"][0]["is"] != "variable":
        return {}
    parts = rows.binding(value["args"][0]["var"]).parts
    if "@nodes" not in parts:
        return {}
    (length, of_length), (nodes, of_nodes) = parts["@length"], parts["@nodes"]
    return {"@length": (F.col(length), of_length), "@nodes": (F.reverse(F.col(nodes)), of_nodes)}


def _all(conditions_to_hold):
    """Whether all hold."""
    all_hold = F.lit(True)
    for one in conditions_to_hold:
        all_hold = all_hold & one
    return all_hold


def moved(rows, names):
    """Rows with other names of columns."""

    def of(name):
        return names.get(name, name)

    bound = {}
    for var, binding in rows.vars.items():
        parts = {key: (of(name), kind) for key, (name, kind) in binding.parts.items()}
        bound[var] = Binding(binding.kind, of(binding.column), parts)
    around = renamed(rows.around, names) if rows.around is not None else None
    return Rows(renamed(rows.frame, names), bound, tuple(of(name) for name in rows.context), around)


def unlike(rows, column, pattern):
    """Rows with a relationship that is none of those before it in the same MATCH."""
    frame = rows.frame
    for var in pattern["distinct_from"]:
        frame = frame.filter(F.col(column) != F.col(rows.binding(var).column))
    for var in pattern["disjoint_from"]:
        trails.known(rows.binding(var))
        frame = frame.filter(~F.array_contains(F.col(rows.binding(var).column), F.col(column)))
    return rows.having(frame=frame)


def _sort_key(column, kind):
    """What Spark sorts by as the language sorts: within a list, too, null is last."""
    items = kind.item if kind.name == "LIST" else kind
    if items == ZONED_DATETIME or items not in (*ORDERED, NULL, NODE, RELATIONSHIP):
        raise NotTranslated(f"an order by {kind}", "Spark orders it otherwise")
    if kind.name != "LIST":
        return column
    return F.transform(column, lambda item: F.struct(item.isNull(), item))


def _plain(binding, kind):
    column = F.col(binding.column)
    return column.cast(spark_type(kind)).alias(fresh()) if binding.kind != kind else column.alias(fresh())


def _shown(binding, name):
    """A column of the result."""
    kind, column = binding.kind, F.col(binding.column)
    if holds(kind, (NODE, RELATIONSHIP, PATH, LENGTH)):
        raise NotTranslated(f"the column `{name}` of kind {kind}", "a frame has no nodes, relationships or paths: return ids and properties")
    return column.cast("boolean") if kind == BOOLEAN else _with_moments(column, kind)


def _with_moments(column, kind):
    """The same with moments as Spark has them, also those within lists and maps."""
    if not holds(kind, (MOMENT,)):
        return column
    if kind == MOMENT:
        return F.timestamp_millis(column)
    if kind.item is not None:
        return F.transform(column, lambda item: _with_moments(item, kind.item))
    fields = [_with_moments(column.getField(key), of).alias(key) for key, of in kind.fields]
    return F.when(column.isNotNull(), F.struct(*fields))
