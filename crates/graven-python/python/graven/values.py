"""What values of the database are in Python, where Python has nothing of its own for them.

Nodes, relationships and paths are dictionaries in the form that programs for Kuzu expect (``_id``, ``_label``, ``_src``,
``_dst``, ``_nodes``, ``_rels`` beside the properties), with attributes that say the same in plain words.
"""

from __future__ import annotations

import datetime as _datetime
from typing import NamedTuple, Optional

__all__ = ["Duration", "Error", "Node", "ParameterError", "Path", "Point", "Relationship", "Temporal"]


class Error(RuntimeError):
    """What went wrong in the database.

    ``code`` is stable and for programs, the text is for people. ``retryable`` says whether the same statement or
    transaction may succeed when it is run again; ``durable`` is "yes", "no" or "unknown" for commits that failed.
    ``line`` and ``column`` are the place in the statement, from 1, or None.
    """

    def __init__(self, code, message, line=None, column=None, retryable=False, durable=None):
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.line = line
        self.column = column
        self.retryable = retryable
        self.durable = durable

    def __reduce__(self):
        return (
            type(self),
            (self.code, self.message, self.line, self.column, self.retryable, self.durable),
        )


class ParameterError(Error, TypeError):
    """Parameters that are no dictionary of texts and values."""


def _drawn(value):
    """For notebooks: a picture."""
    from .drawing import draw

    return draw(value, width=360, height=200).svg


class _Entity(dict):
    """A dictionary of properties and of what names the entity."""

    __slots__ = ("id", "properties")

    def __hash__(self):
        return hash((type(self), self.id))

    def _repr_html_(self):
        return _drawn(self)


class Node(_Entity):
    """A node: ``id``, ``labels`` (a tuple) and ``properties``."""

    __slots__ = ("labels",)

    def __init__(self, id, labels, properties):
        super().__init__(properties, _id=id, _label=":".join(labels), _labels=list(labels))
        self.id = id
        self.labels = labels
        self.properties = properties

    def __repr__(self):
        labels = "".join(f":{label}" for label in self.labels)
        return f"<Node {self.id} {labels} {self.properties!r}>"

    def __reduce__(self):
        return (Node, (self.id, self.labels, self.properties))


class Relationship(_Entity):
    """A relationship: ``id``, ``type``, ``start`` and ``end`` (ids of nodes) and ``properties``."""

    __slots__ = ("type", "start", "end")

    def __init__(self, id, type, start, end, properties):
        super().__init__(properties, _id=id, _label=type, _src=start, _dst=end)
        self.id = id
        self.type = type
        self.start = start
        self.end = end
        self.properties = properties

    def __repr__(self):
        return f"<Relationship {self.id} :{self.type} {self.start}->{self.end} {self.properties!r}>"

    def __reduce__(self):
        return (Relationship, (self.id, self.type, self.start, self.end, self.properties))


class Path(dict):
    """A path: ``nodes``, one more than ``relationships``, both in the order of travel."""

    __slots__ = ("nodes", "relationships")

    def __init__(self, nodes, relationships):
        super().__init__(_nodes=nodes, _rels=relationships)
        self.nodes = nodes
        self.relationships = relationships

    def _repr_html_(self):
        return _drawn(self)

    def __repr__(self):
        return f"<Path of {len(self.relationships)}: {self.nodes!r} {self.relationships!r}>"

    def __reduce__(self):
        return (Path, (self.nodes, self.relationships))


class Duration(NamedTuple):
    """A span of time in four parts that do not carry into each other."""

    months: int = 0
    days: int = 0
    seconds: int = 0
    nanoseconds: int = 0

    def to_timedelta(self) -> _datetime.timedelta:
        """The same as a ``timedelta``; raises where there are months or parts of a microsecond."""
        if self.months:
            raise ValueError(f"{self.months} months are no fixed time")
        if self.nanoseconds % 1000:
            raise ValueError(f"{self.nanoseconds} ns are no whole microseconds")
        return _datetime.timedelta(self.days, self.seconds, self.nanoseconds // 1000)


class Point(NamedTuple):
    """A point of a coordinate system: 7203 and 9157 are Cartesian in two and three dimensions, 4326 and 4979 WGS 84."""

    srid: int
    x: float
    y: float
    z: Optional[float] = None


class Temporal(str):
    """The text of a date or time that Python's ``datetime`` cannot hold, for its nanoseconds, its year or its zone.

    ``type`` is its type in the language. Given as a parameter it is that value again.
    """

    __slots__ = ("type",)

    type: str

    def __new__(cls, text, type):
        made = super().__new__(cls, text)
        made.type = type
        return made

    def __reduce__(self):
        return (Temporal, (str(self), self.type))
