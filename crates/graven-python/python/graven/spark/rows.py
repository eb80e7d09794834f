"""Rows in the making: a DataFrame, and which of its columns hold which variables of the plan.

A node is the column of its id, a relationship that of its id with both ends beside it. Properties
and labels are columns beside them, once something has asked for them. All columns have names of
their own in the whole question, so that no join is ambiguous.

* SK-8: Columns of the context, by which the rows of a subquery find the rows around it, stay in
  every row of the subquery.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace

from pyspark.sql import functions as F

from .kinds import NotTranslated

_numbers = itertools.count()


def fresh():
    """A name that no other column has."""
    return f"c{next(_numbers)}"


@dataclass(frozen=True)
class Binding:
    """A variable: its kind, its column, and columns that belong to it, by name, each with its kind."""

    kind: object
    column: str
    parts: dict = field(default_factory=dict)

    def columns(self):
        """All of its columns."""
        return [self.column, *(name for name, _ in self.parts.values())]

    def with_parts(self, parts):
        """The same with more columns."""
        return replace(self, parts={**self.parts, **parts})


@dataclass(frozen=True)
class Rows:
    """A DataFrame with what its columns mean."""

    frame: object
    vars: dict
    # Columns of the subquery's context, and a frame with all rows of it.
    context: tuple = ()
    around: object = None
    # Columns by which the rows are sorted, each with whether it descends; a join after that may have
    # disturbed them.
    sorted: tuple = ()
    disturbed: bool = False
    # Nodes that are no variables but values of expressions, by the expression.
    computed: dict = field(default_factory=dict)

    def having(self, **changes):
        """The same with something else."""
        return replace(self, **changes)

    def binding(self, var):
        """What a variable is here."""
        if var not in self.vars:
            raise NotTranslated("a variable of another part of the statement", "the rows at hand do not have it")
        return self.vars[var]

    def columns(self):
        """Columns that are needed, each once."""
        bindings = [*self.vars.values(), *self.computed.values()]
        names = [name for binding in bindings for name in binding.columns()]
        names += [*self.context, *(name for name, _ in self.sorted)]
        return list(dict.fromkeys(names))

    def only(self, vars):
        """Rows with these variables alone."""
        kept = self.having(vars={var: self.vars[var] for var in vars}, computed={})
        return kept.having(frame=kept.frame.select(*kept.columns() or [F.lit(1).alias(fresh())]))

    def with_columns(self, columns):
        """The same with more columns: names with what they are."""
        return self.having(frame=self.frame.select("*", *(of.alias(name) for name, of in columns.items())))

    def bound(self, more):
        """The same with more variables."""
        return self.having(vars={**self.vars, **more})

    def unsorted(self):
        """The same without an order."""
        return self.having(sorted=(), disturbed=False)

    def joined(self, frame):
        """The same after a join, of which the order is to be made anew where it is asked for."""
        return self.having(frame=frame, disturbed=bool(self.sorted))

    def directions(self):
        """How rows are sorted: null is last, or first where it goes down."""
        return [F.col(name).desc_nulls_first() if down else F.col(name).asc_nulls_last() for name, down in self.sorted]

    def in_order(self):
        """The same, in its order."""
        return self.having(frame=self.frame.orderBy(*self.directions()), disturbed=False) if self.disturbed else self


def renamed(rows, names):
    """A frame with columns under new names: those of ``names``, a dictionary."""
    return rows.select(*(F.col(name).alias(names.get(name, name)) for name in rows.columns))
