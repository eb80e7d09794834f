"""Expressions of a plan as columns of Spark, with the meaning that they have in the language.

* SK-9: Null, three-valued logic, division of whole numbers and comparisons of NaN are the
  language's, not Spark's.
* SK-10: A property of a node is read through a join that :meth:`Expressions.prepared` makes before
  the expression is translated.
* SK-13: Where an expression walks over a list of nodes and reads their properties, the list is
  replaced by one of rows of an id and these properties, one join for each such list. Its nulls and
  its order stay.

Where both engines raise an error (overflow, whole numbers divided by zero) Spark must be in its
ANSI mode, which is its default.
"""

from __future__ import annotations

import datetime
import json

from pyspark.sql import functions as F

from .functions import OF_ENTITIES, called, null, part_of_moment
from .kinds import (
    BOOLEAN,
    DATE,
    FLOAT,
    INTEGER,
    LENGTH,
    LOCAL_DATETIME,
    MOMENT,
    NODE,
    NULL,
    NUMBERS,
    OPAQUE,
    ORDERED,
    PATH,
    RELATIONSHIP,
    STRING,
    ZONED_DATETIME,
    NotTranslated,
    common,
    holds,
    list_of,
    listed_id,
    listed_property,
    map_of,
    mixed_of,
    spark_type,
)
from .options import invalid
from .rows import Binding, fresh


def children(expression):
    """The direct parts of an expression."""
    for value in expression.values():
        if isinstance(value, dict):
            yield from [value] if "is" in value else children(value)
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, dict):
                    yield from [item] if "is" in item else children(item)


def read_of_items(expression):
    """The properties that a walk over a list reads of its items."""
    var, keys = expression.get("var"), set()

    def look(part):
        if part["is"] == "property" and part["base"] == {"is": "variable", "var": var}:
            keys.add(part["key"])
        for inner in children(part):
            look(inner)

    for name in ("filter", "map", "predicate", "step"):
        if expression.get(name):
            look(expression[name])
    return tuple(sorted(keys))


def own_variables(expression):
    """Variables that an expression makes for its own parts."""
    names = {"let": ("var",), "list_comprehension": ("var",), "quantifier": ("var",), "reduce": ("var", "accumulator")}
    return [expression[name] for name in names.get(expression["is"], ())]


def conjuncts(predicate):
    """The conditions that all must hold."""
    if predicate["is"] == "binary" and predicate["op"] == "and":
        return conjuncts(predicate["left"]) + conjuncts(predicate["right"])
    return [predicate]


class Expressions:
    """Translates expressions over rows; ``attach`` joins what belongs to a node, ``attach_items`` what to those of a list."""

    def __init__(self, parameters, attach, attach_items):
        self.parameters = parameters
        self.attach = attach
        self.attach_items = attach_items

    def values(self, rows, expressions):
        """Rows with what the expressions need, and the expressions as columns with kinds."""
        for expression in expressions:
            rows = self.prepared(rows, expression, frozenset())
        return rows, [self.value(rows, expression, {}) for expression in expressions]

    def constant(self, expression, what):
        """A value that depends on no row."""
        if expression["is"] == "literal":
            return expression["value"]
        if expression["is"] == "parameter":
            return self.given(expression["name"])
        raise NotTranslated(what, "it is neither a literal nor a parameter")

    def given(self, name):
        """The value of a parameter."""
        if name not in self.parameters:
            raise invalid(f"the statement has a parameter ${name}, which is not given")
        return self.parameters[name]

    def prepared(self, rows, expression, own):
        """Rows with the properties and labels that an expression reads."""
        for part in children(expression):
            rows = self.prepared(rows, part, own | set(own_variables(expression)))
        if expression["is"] in _WALKS:
            return self._with_items(rows, expression, own)
        wanted = None
        if expression["is"] == "property":
            base, wanted = expression["base"], expression["key"]
        elif expression["is"] == "has_labels":
            base, wanted = expression["base"], "@labels"
        elif expression["is"] == "call" and expression["name"] == "labels":
            base, wanted = expression["args"][0], "@labels"
        if wanted is None:
            return rows
        if base["is"] == "variable" and base["var"] not in own:
            binding = rows.binding(base["var"])
            if binding.kind == NODE and wanted not in binding.parts:
                return self.attach(rows, base["var"], {wanted})
            return rows
        if own & _variables(base):
            # A map has its fields with it; a node has not.
            return rows
        key = json.dumps(base, sort_keys=True)
        if key not in rows.computed:
            column, kind = self.value(rows, base, {})
            if kind != NODE:
                return rows
            name = fresh()
            rows = rows.with_columns({name: column})
            rows = rows.having(computed={**rows.computed, key: Binding(NODE, name)})
        return self.attach(rows, key, {wanted})

    def _with_items(self, rows, expression, own):
        """Rows with the properties that a walk over a list of nodes reads, if it does."""
        keys, of = read_of_items(expression), expression["list"]
        if not keys or own & _variables(of) or _items_key(of, keys) in rows.computed:
            return rows
        column, kind = self.value(rows, of, {})
        if kind != list_of(NODE):
            return rows
        return self.attach_items(rows, _items_key(of, keys), column, keys)

    def value(self, rows, expression, own):
        """A column with its kind; ``own`` are variables of lambdas."""
        make = getattr(self, "_" + expression["is"])
        return make(rows, expression, own)

    def condition(self, rows, expression, own):
        """A column of truth values."""
        column, kind = self.value(rows, expression, own)
        if kind == NULL:
            return column.cast("boolean")
        if kind != BOOLEAN:
            raise NotTranslated(f"a condition of kind {kind}", "conditions are BOOLEAN")
        return column

    def _literal(self, rows, expression, own):
        value, of = expression["value"], expression["type"]
        return literal(float(value) if of == "float" else value)

    def _parameter(self, rows, expression, own):
        return literal(self.given(expression["name"]))

    def _variable(self, rows, expression, own):
        var = expression["var"]
        if var in own:
            column, kind = own[var]
            return listed_id(column) if kind.name == "NODE IN A LIST" else (column, kind)
        binding = rows.binding(var)
        return F.col(binding.column), binding.kind

    def _property(self, rows, expression, own):
        base, key = expression["base"], expression["key"]
        if base["is"] == "variable" and base["var"] in own:
            column, kind = own[base["var"]]
            if kind.name == "NODE IN A LIST":
                return listed_property(column, kind, key)
        binding = self._binding(rows, base, own)
        if binding is not None and binding.kind in (NODE, RELATIONSHIP):
            if key not in binding.parts:
                raise NotTranslated(f"the property `{key}` of a {binding.kind}", "the value comes from a list or a projection")
            name, kind = binding.parts[key]
            return F.col(name), kind
        column, kind = self.value(rows, base, own)
        if kind == NULL:
            return null()
        if kind.name == "MAP":
            field = kind.field(key)
            return null() if field is None else (column.getField(key), field)
        if kind == MOMENT:
            return part_of_moment(column, key)
        raise NotTranslated(f"the property `{key}` of a {kind}", "it is not at hand there")

    def _binding(self, rows, base, own):
        """The node, relationship or path that an expression is, if it is one outside of lambdas."""
        if base["is"] == "variable":
            return None if base["var"] in own else rows.binding(base["var"])
        return rows.computed.get(json.dumps(base, sort_keys=True))

    def _index(self, rows, expression, own):
        column, kind = self.value(rows, expression["base"], own)
        if kind == NULL:
            return null()
        if kind.name in ("MAP", "MIXED LIST"):
            at = self.constant(expression["index"], f"an index of a {kind}")
            names = [name for name, _ in kind.fields]
            if kind.name == "MIXED LIST":
                at = names[at] if isinstance(at, int) and -len(names) <= at < len(names) else None
            return (column.getField(at), kind.field(at)) if at in names else null()
        at, of = self.value(rows, expression["index"], own)
        if of == NULL:
            return null()
        if kind.name != "LIST" or of != INTEGER:
            raise NotTranslated(f"an index of a {kind}", "only lists and maps have one")
        return F.get(column, F.when(at < 0, F.array_size(column) + at).otherwise(at).cast("int")), kind.item

    def _list(self, rows, expression, own):
        items = [self.value(rows, item, own) for item in expression["items"]]
        return list_literal(items)

    def _map(self, rows, expression, own):
        fields = [(one["key"], self.value(rows, one["value"], own)) for one in expression["entries"]]
        made = F.struct(*(column.alias(key) for key, (column, _) in fields)) if fields else F.lit(None)
        return made, map_of((key, kind) for key, (_, kind) in fields)

    def _unary(self, rows, expression, own):
        column, kind = self.value(rows, expression["operand"], own)
        op = expression["op"]
        if op in ("is null", "is not null"):
            return (column.isNull() if op == "is null" else column.isNotNull()), BOOLEAN
        if op == "not":
            return ~self.condition(rows, expression["operand"], own), BOOLEAN
        if kind == NULL:
            return null()
        if kind not in NUMBERS:
            raise NotTranslated(f"{op} of a {kind}", "it is no number")
        return (column if op == "+" else -column), kind

    def _binary(self, rows, expression, own):
        op = expression["op"]
        if op in ("and", "or", "xor"):
            left = self.condition(rows, expression["left"], own)
            right = self.condition(rows, expression["right"], own)
            return {"and": lambda: left & right, "or": lambda: left | right, "xor": lambda: left != right}[op](), BOOLEAN
        left = self.value(rows, expression["left"], own)
        right = self.value(rows, expression["right"], own)
        return operation(op, left, right)

    def _chain(self, rows, expression, own):
        left = self.value(rows, expression["first"], own)
        all_hold = F.lit(True)
        for one in expression["rest"]:
            right = self.value(rows, one["value"], own)
            all_hold = all_hold & operation(one["op"], left, right)[0]
            left = right
        return all_hold, BOOLEAN

    def _has_labels(self, rows, expression, own):
        binding = self._binding(rows, expression["base"], own)
        if binding is None or binding.kind not in (NODE, RELATIONSHIP):
            raise NotTranslated("a test of labels", "the value is no variable of the statement")
        if binding.kind == RELATIONSHIP:
            name, _ = binding.parts["@type"]
            has = F.lit(len(set(expression["labels"])) == 1) & (F.col(name) == expression["labels"][0])
            return F.when(F.col(name).isNotNull(), has), BOOLEAN
        name, _ = binding.parts["@labels"]
        has = F.lit(True)
        for label in expression["labels"]:
            has = has & F.array_contains(F.col(name), label)
        return has, BOOLEAN

    def _call(self, rows, expression, own):
        name = expression["name"]
        if name in OF_ENTITIES:
            return self._of_entity(rows, name, expression["args"][0], own)
        return called(name, [self.value(rows, arg, own) for arg in expression["args"]])

    def _of_entity(self, rows, name, arg, own):
        binding = self._binding(rows, arg, own)
        if binding is None or binding.kind.name != OF_ENTITIES[name].name:
            if self.value(rows, arg, own)[1] == NULL:
                return null()
            raise NotTranslated(f"function {name}()", f"its argument is no variable that holds a {OF_ENTITIES[name]}")
        part = {"startnode": "@src", "endnode": "@dst"}.get(name, "@" + name)
        if part not in binding.parts:
            raise NotTranslated(f"function {name}()", f"what it asks of this {binding.kind} is not kept")
        column, kind = binding.parts[part]
        return F.col(column), kind

    def _case(self, rows, expression, own):
        branches = [(self.condition(rows, one["when"], own), self.value(rows, one["then"], own)) for one in expression["branches"]]
        otherwise = self.value(rows, expression["otherwise"], own) if expression["otherwise"] else null()
        kind = otherwise[1]
        for _, (_, of) in branches:
            kind = common(kind, of, "a CASE")
        made = F
        for when, (column, _) in branches:
            made = made.when(when, _of_kind(column, kind))
        return made.otherwise(_of_kind(otherwise[0], kind)), kind

    def _let(self, rows, expression, own):
        value = self.value(rows, expression["value"], own)
        return self.value(rows, expression["body"], {**own, expression["var"]: value})

    def _list_of(self, rows, expression, own):
        keys = read_of_items(expression)
        found = rows.computed.get(_items_key(expression["list"], keys)) if keys else None
        if found is not None:
            return F.col(found.column), found.kind.item
        column, kind = self.value(rows, expression["list"], own)
        if kind == NULL:
            return column.cast("array<void>"), NULL
        if kind.name != "LIST":
            raise NotTranslated(f"a walk over a {kind}", "its items have several kinds, or it is no list")
        return column, kind.item

    def _list_comprehension(self, rows, expression, own):
        column, item = self._list_of(rows, expression, own)
        var, kinds = expression["var"], [item]
        if expression["filter"]:
            column = F.filter(column, lambda x: self.condition(rows, expression["filter"], {**own, var: (x, item)}))
        if expression["map"]:

            def mapped(x):
                made, kind = self.value(rows, expression["map"], {**own, var: (x, item)})
                kinds[0] = kind
                return made

            column = F.transform(column, mapped)
        elif item.name == "NODE IN A LIST":
            return F.transform(column, lambda x: listed_id(x)[0]), list_of(NODE)
        return column, list_of(kinds[0])

    def _quantifier(self, rows, expression, own):
        kind, var = expression["kind"], expression["var"]
        if kind == "single":
            raise NotTranslated("single()", "Spark has no such condition on lists")
        column, item = self._list_of(rows, expression, own)

        def holds(x):
            return self.condition(rows, expression["predicate"], {**own, var: (x, item)})

        if kind == "all":
            return F.forall(column, holds), BOOLEAN
        some = F.exists(column, holds)
        return (some if kind == "any" else ~some), BOOLEAN

    def _reduce(self, rows, expression, own):
        column, item = self._list_of(rows, expression, own)
        init, kind = self.value(rows, expression["init"], own)

        def step(accumulated, x):
            inner = {**own, expression["accumulator"]: (accumulated, kind), expression["var"]: (x, item)}
            made, of = self.value(rows, expression["step"], inner)
            if of != kind:
                raise NotTranslated("reduce()", f"it begins with {kind} and goes on with {of}")
            return made

        return F.aggregate(column, init, step), kind

    def _slice(self, rows, expression, own):
        column, kind = self.value(rows, expression["base"], own)
        bounds = [self.constant(expression[name], "a slice") if expression[name] else None for name in ("from", "to")]
        if any(expression[name] and bound is None for name, bound in zip(("from", "to"), bounds)):
            raise NotTranslated("a slice", "one of its bounds is null")
        if kind.name != "LIST" or any(not isinstance(b, (int, type(None))) or b is not None and b < 0 for b in bounds):
            raise NotTranslated("a slice", "only one of a list, from and to constant places, is")
        low, high = bounds[0] or 0, bounds[1]
        length = F.array_size(column) if high is None else F.lit(max(0, high - low))
        return F.slice(column, F.lit(low + 1), length), kind


_WALKS = ("list_comprehension", "quantifier", "reduce")


def _items_key(of, keys):
    return json.dumps(["items", of, keys], sort_keys=True)


def _variables(expression):
    found = {expression["var"]} if expression["is"] == "variable" else set()
    for part in children(expression):
        found |= _variables(part)
    return found


def _of_kind(column, kind):
    return column if kind == NULL else column.cast(spark_type(kind))


def list_literal(items):
    """A list of columns with kinds; of several kinds, a row of them."""
    kinds = [kind for _, kind in items]
    try:
        kind = NULL
        for of in kinds:
            kind = common(kind, of, "a list")
    except NotTranslated:
        made = F.struct(*(column.alias(f"_{place}") for place, (column, _) in enumerate(items, 1)))
        return made, mixed_of(kinds)
    made = F.array(*(_of_kind(column, kind) for column, _ in items))
    return (made.cast(f"array<{spark_type(kind)}>") if not items else made), list_of(kind)


def literal(value):
    """A value of Python as a column with its kind."""
    simple = {bool: BOOLEAN, int: INTEGER, float: FLOAT, str: STRING, datetime.date: DATE}.get(type(value))
    if value is None:
        return null()
    if simple is not None:
        return F.lit(value).cast(spark_type(simple)), simple
    if isinstance(value, datetime.datetime):
        kind = LOCAL_DATETIME if value.tzinfo is None else ZONED_DATETIME
        return F.lit(value).cast(spark_type(kind)), kind
    if isinstance(value, (list, tuple)):
        return list_literal([literal(item) for item in value])
    if isinstance(value, dict):
        fields = [(key, literal(item)) for key, item in value.items()]
        if fields:
            return F.struct(*(c.alias(key) for key, (c, _) in fields)), map_of((key, k) for key, (_, k) in fields)
    raise NotTranslated(f"the value {value!r}", "it has no kind that Spark has")


def operation(op, left, right):
    """A binary operator other than AND, OR and XOR."""
    (a, of_a), (b, of_b) = left, right
    if op == "in":
        return _contained(a, of_a, b, of_b)
    if op in ("=", "<>"):
        equal = _equal(a, of_a, b, of_b)
        return (equal if op == "=" else ~equal), BOOLEAN
    if of_a == NULL or of_b == NULL:
        return (F.lit(None).cast("boolean"), BOOLEAN) if op in _ORDER or op in _TEXT else null()
    if op in _ORDER:
        return _ordered(op, a, of_a, b, of_b), BOOLEAN
    if op in _TEXT:
        _comparable(op, of_a, of_b)
        if of_a != STRING or of_b != STRING:
            return F.lit(None).cast("boolean"), BOOLEAN
        return _TEXT[op](a, b), BOOLEAN
    return _arithmetic(op, a, of_a, b, of_b)


_ORDER = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
_TEXT = {"starts with": F.startswith, "ends with": F.endswith, "contains": F.contains}


def _of_numbers(compared, a, of_a, b, of_b):
    """A comparison that is false where one side is NaN, and null where one is null."""
    for column, kind in ((a, of_a), (b, of_b)):
        if kind == FLOAT:
            compared = compared & ~F.isnan(column)
    return F.when(a.isNotNull() & b.isNotNull(), compared) if FLOAT in (of_a, of_b) else compared


def _comparable(op, of_a, of_b):
    """Raises where Spark has not all that the language compares: zones of datetimes, times and durations, paths."""
    kinds = (of_a, of_b)
    zoned = ZONED_DATETIME in kinds and all(kind in (ZONED_DATETIME, MOMENT) for kind in kinds)
    if zoned:
        raise NotTranslated(f"{op} of {of_a} and {of_b}", "Spark has no zones, by which equal moments differ")
    if any(holds(kind, (OPAQUE, PATH, LENGTH)) for kind in kinds):
        raise NotTranslated(f"{op} of {of_a} and {of_b}", "Spark has no such values to compare")


def _equal(a, of_a, b, of_b):
    if of_a == NULL or of_b == NULL:
        return F.lit(None).cast("boolean")
    _comparable("=", of_a, of_b)
    alike = of_a == of_b or of_a in NUMBERS and of_b in NUMBERS
    if not alike:
        if of_a.name == of_b.name:
            raise NotTranslated(f"= of {of_a} and {of_b}", "lists and maps are not compared")
        return F.when(a.isNotNull() & b.isNotNull(), F.lit(False))
    if of_a not in (*ORDERED, NODE, RELATIONSHIP):
        raise NotTranslated(f"= of {of_a} and {of_b}", "a null within them has another meaning in Spark")
    return _of_numbers(a == b, a, of_a, b, of_b)


def _ordered(op, a, of_a, b, of_b):
    if of_a in NUMBERS and of_b in NUMBERS:
        return _of_numbers(_ORDER[op](a, b), a, of_a, b, of_b)
    _comparable(op, of_a, of_b)
    if of_a != of_b:
        return F.lit(None).cast("boolean")
    if of_a not in ORDERED:
        raise NotTranslated(f"{op} of {of_a}", "Spark orders it otherwise")
    return _ORDER[op](a, b)


def _contained(a, of_a, b, of_b):
    if of_b == NULL:
        return F.lit(None).cast("boolean"), BOOLEAN
    if of_b.name == "MIXED LIST":
        found = F.lit(False)
        for key, kind in of_b.fields:
            found = found | _equal(a, of_a, b.getField(key), kind)
        return found, BOOLEAN
    if of_b.name != "LIST":
        raise NotTranslated(f"IN a {of_b}", "it is no list")
    empty = F.array_size(b) == 0
    if of_a == NULL or of_b.item == NULL:
        return F.when(empty, F.lit(False)).otherwise(F.lit(None).cast("boolean")), BOOLEAN
    if of_a != of_b.item or of_a in (FLOAT, ZONED_DATETIME) or of_a not in (*ORDERED, NODE, RELATIONSHIP):
        raise NotTranslated(f"IN of {of_a} in {of_b}", "only values of the list's own kind are compared")
    return F.when(empty, F.lit(False)).otherwise(F.array_contains(b, a)), BOOLEAN


def _arithmetic(op, a, of_a, b, of_b):
    if op == "+":
        if of_a.name == of_b.name == "LIST":
            kind = common(of_a, of_b, "+ of lists")
            return F.concat(_of_kind(a, kind), _of_kind(b, kind)), kind
        if of_a == STRING and of_b == STRING:
            return F.concat(a, b), STRING
        if {of_a, of_b} == {STRING, INTEGER}:
            return F.concat(a.cast("string"), b.cast("string")), STRING
    if of_a not in NUMBERS or of_b not in NUMBERS:
        raise NotTranslated(f"{op} of {of_a} and {of_b}", "only numbers and texts have it")
    whole = of_a == of_b == INTEGER
    kind = INTEGER if whole else FLOAT
    if op == "^":
        return F.pow(a, b), FLOAT
    if op == "/":
        if whole:
            return F.call_function("div", a, b), INTEGER
        return _divided(a.cast("double"), b.cast("double")), FLOAT
    if op == "%":
        if whole:
            return a % b, INTEGER
        a, b = a.cast("double"), b.cast("double")
        return F.when(b == 0, F.when(a.isNotNull(), F.lit(float("nan")))).otherwise(a % b), FLOAT
    made = {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b}.get(op)
    if made is None:
        raise NotTranslated(f"the operator {op}", "Spark has none of the same meaning")
    return made(), kind


def _divided(a, b):
    """Floats divided as IEEE 754 has it, where Spark raises an error."""
    down = (b.cast("string") == "-0.0") != (a < 0)
    infinite = F.when(down, F.lit(float("-inf"))).otherwise(F.lit(float("inf")))
    by_zero = F.when((a == 0) | F.isnan(a), F.lit(float("nan"))).otherwise(infinite)
    return F.when(b == 0, F.when(a.isNotNull(), by_zero)).otherwise(a / b)
