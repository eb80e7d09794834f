"""What a plan reads of each variable: keys of properties, so that a frame is read once with all of
them.

A variable that is only another name of one is followed to it, also into lists and maps that later
fall apart again as far as names go.
"""

from __future__ import annotations

from .expressions import children


def operators(node):
    """All operators of a plan."""
    yield node
    for child in inputs(node):
        yield from operators(child)


def inputs(node):
    """Where the rows of an operator come from."""
    return [node[name] for name in ("input", "inner") if name in node] + node.get("inputs", [])


def needed(root):
    """Keys by variable."""
    keys, names = {}, []
    for node in operators(root):
        for item in [*node.get("items", []), *node.get("keys", [])]:
            if "var" in item and item["value"]["is"] == "variable":
                names.append((item["value"]["var"], item["var"]))
        for expression in _expressions(node):
            _read(expression, keys)
        pattern = node.get("pattern")
        if pattern and pattern["each"] is not None and node.get("rel") is not None:
            names.append((node["rel"], pattern["each"]))
    changed = True
    while changed:
        changed = False
        for source, name in names:
            more = keys.get(name, set()) - keys.get(source, set())
            if more:
                keys.setdefault(source, set()).update(more)
                changed = True
    return keys


def _expressions(node):
    """The expressions of one operator."""
    own = {name: value for name, value in node.items() if name not in ("input", "inner", "inputs")}
    return children(own)


def _read(expression, keys):
    if expression["is"] == "property" and expression["base"]["is"] == "variable":
        keys.setdefault(expression["base"]["var"], set()).add(expression["key"])
    for part in children(expression):
        _read(part, keys)


def argument_vars(node):
    """The variables that the leaves of a subquery take from the row around it."""
    if node["op"] == "Argument":
        return list(node["vars"])
    below = inputs(node)
    if node["op"] in ("Apply", "Optional", "AntiSemiApply", "SemiApply"):
        below = below[:1]
    return list(dict.fromkeys(var for child in below for var in argument_vars(child)))
