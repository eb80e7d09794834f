"""Graphs as drawings: ``graven.draw`` makes an SVG picture of the nodes and relationships in a result.

Nodes are placed by forces (Fruchterman and Reingold, 1991): relationships pull their ends together, nodes push each other away. The first
places are on a circle, so that the same graph gives the same picture. The cost grows with the square of the nodes, of which
there are ``limit`` at most; a picture says how many it leaves out.
"""

from __future__ import annotations

import html
import math

__all__ = ["Drawing", "draw"]

#: Colours of labels, by their order in the picture: those of Okabe and Ito, told apart also without red or green.
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999933", "#666666")

_RADIUS = 14


class Drawing:
    """A picture, shown by notebooks. ``svg`` is its text, and ``save(path)`` writes it to a file."""

    def __init__(self, svg, nodes, relationships):
        self.svg = svg
        self.nodes = nodes
        self.relationships = relationships

    def save(self, path):
        """Writes the picture to a file, which browsers open."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)

    def _repr_html_(self):
        return self.svg

    def __repr__(self):
        return f"<Drawing of {self.nodes} nodes and {self.relationships} relationships>"


class _Graph:
    """Nodes and relationships by their ids, up to a limit of nodes."""

    def __init__(self, limit):
        self.limit = limit
        self.nodes = {}
        self.relationships = {}
        self.left_out = set()

    def add(self, value):
        # What a value is, its attributes say: its class draws itself by this module.
        if hasattr(value, "labels"):
            self._node(value.id, value)
        elif hasattr(value, "start"):
            self._relationship(value)
        elif hasattr(value, "relationships"):
            for node in value.nodes:
                self.add(node)
            for relationship in value.relationships:
                self.add(relationship)
        elif isinstance(value, (list, tuple)):
            for item in value:
                self.add(item)
        elif isinstance(value, dict):
            for item in value.values():
                self.add(item)

    def _node(self, id, node):
        if id in self.nodes or len(self.nodes) < self.limit:
            # An end of a relationship may come before its node.
            self.nodes[id] = node or self.nodes.get(id)
            return True
        self.left_out.add(id)
        return False

    def _relationship(self, relationship):
        ends = [self._node(id, None) for id in (relationship.start, relationship.end)]
        if all(ends):
            self.relationships[relationship.id] = relationship


def draw(source, *, width=640, height=420, limit=100):
    """A drawing of the nodes, relationships and paths in a result, in its rows, or in one value.

    Of a result it takes the next rows and leaves them there. Lines of ``properties`` show when the mouse rests on a node.
    ``limit``: nodes drawn at most.
    """
    if limit < 1:
        raise ValueError("limit is a number of nodes from 1 on")
    graph = _Graph(limit)
    rows = source.peek(10 * limit) if hasattr(source, "peek") else source
    graph.add(rows)
    ids = list(graph.nodes)
    places = _layout(ids, graph.relationships.values(), width, height)
    svg = _svg(graph, places, width, height)
    return Drawing(svg, len(ids), len(graph.relationships))


def _layout(ids, relationships, width, height):
    """Places of nodes within the picture."""
    count = len(ids)
    angle = 2 * math.pi / max(count, 1)
    x = [math.cos(angle * at) for at in range(count)]
    y = [math.sin(angle * at) for at in range(count)]
    index = {id: at for at, id in enumerate(ids)}
    edges = {(index[it.start], index[it.end]) for it in relationships if it.start != it.end}
    ideal = math.sqrt(4 / max(count, 1))
    # About as much work for any number of nodes.
    steps = min(120, max(30, 400_000 // max(count * count, 1)))
    for step in range(steps):
        dx, dy = [0.0] * count, [0.0] * count
        for a in range(count):
            for b in range(a + 1, count):
                along, across = x[a] - x[b], y[a] - y[b]
                push = ideal * ideal / max(along * along + across * across, 1e-6)
                dx[a] += along * push
                dy[a] += across * push
                dx[b] -= along * push
                dy[b] -= across * push
        for a, b in edges:
            along, across = x[a] - x[b], y[a] - y[b]
            pull = math.hypot(along, across) / ideal
            dx[a] -= along * pull
            dy[a] -= across * pull
            dx[b] += along * pull
            dy[b] += across * pull
        most = 0.2 * (1 - step / steps)
        for at in range(count):
            # Towards the middle, so that parts that nothing ties stay in the picture.
            dx[at] -= 0.3 * x[at]
            dy[at] -= 0.3 * y[at]
            length = math.hypot(dx[at], dy[at]) or 1.0
            x[at] += dx[at] / length * min(length, most)
            y[at] += dy[at] / length * min(length, most)
    return dict(zip(ids, zip(_scaled(x, width), _scaled(y, height))))


def _scaled(values, size):
    margin = 3 * _RADIUS
    if not values:
        return []
    low, high = min(values), max(values)
    if high - low < 1e-9:
        return [size / 2] * len(values)
    return [margin + (value - low) / (high - low) * (size - 2 * margin) for value in values]


def _caption(node, id):
    """What stands below a node: a name if it has one, else its id."""
    if node is not None:
        for key in ("name", "title", "firstName", "id", "label"):
            value = node.properties.get(key)
            if value is not None:
                return _short(value, 18)
    return f"#{id}"


def _short(value, most):
    text = str(value)
    return text if len(text) <= most else text[: most - 1] + "\u2026"


def _lines(properties):
    return "".join(f"\n{key}: {_short(value, 80)}" for key, value in properties.items())


def _svg(graph, places, width, height):
    text = html.escape
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="11" role="img">',
        '<defs><marker id="graven-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#888"/></marker></defs>',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    between = {}
    for it in graph.relationships.values():
        beside = between.setdefault(frozenset((it.start, it.end)), [])
        beside.append(it)
        parts.append(_edge(it, places, len(beside) - 1))
    colours = {}
    for id, node in graph.nodes.items():
        x, y = places[id]
        label = node.labels[0] if node is not None and node.labels else ""
        colour = colours.setdefault(label, _COLOURS[len(colours) % len(_COLOURS)])
        about = "".join(f":{label}" for label in node.labels) + _lines(node.properties) if node is not None else f"#{id}"
        parts.append(
            f'<g><title>{text(about)}</title><circle cx="{x:.1f}" cy="{y:.1f}" r="{_RADIUS}" fill="{colour}" '
            f'stroke="#fff" stroke-width="2"/><text x="{x:.1f}" y="{y + _RADIUS + 11:.1f}" text-anchor="middle" '
            f'fill="#222">{text(_caption(node, id))}</text></g>'
        )
    for at, (label, colour) in enumerate(colours.items()):
        y = 14 + 15 * at
        parts.append(f'<circle cx="10" cy="{y - 4}" r="5" fill="{colour}"/>')
        parts.append(f'<text x="19" y="{y}" fill="#222">{text(label or "no label")}</text>')
    if graph.left_out:
        said = f"{len(graph.left_out)} more nodes are not drawn"
        parts.append(f'<text x="{width - 8}" y="{height - 8}" text-anchor="end" fill="#a00">{said}</text>')
    parts.append("</svg>")
    return "".join(parts)


def _edge(it, places, beside):
    """A relationship; several between the same nodes bend away from each other."""
    (x1, y1), (x2, y2) = places[it.start], places[it.end]
    about = html.escape(f":{it.type}{_lines(it.properties)}")
    if it.start == it.end:
        reach = 30 + 12 * beside
        path = f"M{x1 - 6:.1f},{y1 - _RADIUS:.1f} c-{reach},-{reach} {reach + 12},-{reach} 12,0"
        middle = (x1, y1 - _RADIUS - reach * 0.8)
    else:
        length = math.hypot(x2 - x1, y2 - y1) or 1.0
        along, across = (x2 - x1) / length, (y2 - y1) / length
        # The same side for both directions.
        side = 1 if it.start < it.end else -1
        bend = 22 * ((beside + 1) // 2) * (1 if beside % 2 else -1) * side
        cx, cy = (x1 + x2) / 2 - across * bend, (y1 + y2) / 2 + along * bend
        path = (
            f"M{x1 + along * _RADIUS:.1f},{y1 + across * _RADIUS:.1f} Q{cx:.1f},{cy:.1f} "
            f"{x2 - along * (_RADIUS + 2):.1f},{y2 - across * (_RADIUS + 2):.1f}"
        )
        middle = ((x1 + x2) / 4 + cx / 2, (y1 + y2) / 4 + cy / 2)
    return (
        f'<g><title>{about}</title><path d="{path}" fill="none" stroke="#888" marker-end="url(#graven-arrow)"/>'
        f'<text x="{middle[0]:.1f}" y="{middle[1] - 2:.1f}" text-anchor="middle" fill="#666" font-size="9">'
        f"{html.escape(it.type)}</text></g>"
    )
