"""Results as data of PyTorch Geometric."""

from __future__ import annotations

import warnings
from typing import Any, Dict, List, Optional, Set, Tuple

from ..constants import DST, ID, SRC
from ..frames import _needs
from ..values import Error, Node, Relationship
from .kinds import Kind
from .values import Values

__all__ = ["as_torch_geometric"]

_TENSORS = {"INT64": "LongTensor", "DOUBLE": "FloatTensor", "BOOL": "BoolTensor"}


def as_torch_geometric(result: Any) -> Tuple[Any, Dict[Any, Any], Dict[Any, Any], Dict[Any, Any]]:
    """``Data`` of one table of nodes, ``HeteroData`` of several; keys by position, properties that are no tensors,
    and those of relationships."""
    with warnings.catch_warnings():
        # What these say of themselves while they are loaded is not about the result.
        warnings.simplefilter("ignore")
        torch = _needs("torch", "get_as_torch_geometric")
        data_of = _needs("torch_geometric", "get_as_torch_geometric").data
    known: Values = result._values
    nodes, relationships = _found(result)
    tensors: Dict[str, Dict[str, Any]] = {}
    others: Dict[str, Dict[str, List[Any]]] = {}
    keys: Dict[str, Dict[int, Any]] = {}
    places: Dict[int, Tuple[str, int]] = {}
    messages: Set[str] = set()
    for label, found in nodes.items():
        table = known.table(label)
        rows = [known.make(node) for node in found]
        places.update((node.id, (label, at)) for at, node in enumerate(found))
        keys[label] = {at: row.get(table.key) if table and table.key else row[ID] for at, row in enumerate(rows)}
        for name, kind in table.columns if table else ():
            values = [row[name] for row in rows]
            tensor, why = _tensor(torch, kind, values)
            if why is None:
                tensors.setdefault(label, {})[name] = tensor
            else:
                others.setdefault(label, {})[name] = values
                messages.add(f"Property {label}.{name} {why}. The property is marked as unconverted.")
    if not tensors:
        messages.add("No nodes found or all node properties are not converted.")
    edges, properties = _edges(known, relationships, places)
    is_plain = len(tensors) == 1
    data = data_of.Data() if is_plain else data_of.HeteroData()
    for label, columns in tensors.items():
        for name, tensor in columns.items():
            (data if is_plain else data[label])[name] = tensor
    for ends, pairs in edges.items():
        (data if is_plain else data[ends]).edge_index = torch.tensor(pairs, dtype=torch.long).t().contiguous()
    for message in messages:
        warnings.warn(message, stacklevel=3)
    if not is_plain:
        return data, keys, others, properties
    return data, keys[next(iter(tensors))], next(iter(others.values()), {}), next(iter(properties.values()), {})


def _found(result: Any) -> Tuple[Dict[str, List[Node]], Dict[Tuple[int, int], Relationship]]:
    """Nodes by label, each once, and one relationship of two nodes."""
    nodes: Dict[str, List[Node]] = {}
    relationships: Dict[Tuple[int, int], Relationship] = {}
    seen: Set[int] = set()
    result.reset_iterator()
    for column in result._open().get_columns():
        for value in column:
            if isinstance(value, Node) and value.id not in seen:
                seen.add(value.id)
                nodes.setdefault(value["_label"], []).append(value)
            elif isinstance(value, Relationship):
                relationships[value.start, value.end] = value
    return nodes, relationships


def _tensor(torch: Any, kind: Kind, values: List[Any]) -> Tuple[Any, Optional[str]]:
    """The tensor of a column, or why there is none."""
    of = kind
    while of.name == "LIST" and of.parts:
        of = of.element
    if of.name not in _TENSORS:
        return None, f"of type {of} is not supported by torch_geometric"
    if any(value is None for value in values):
        return None, "has a null value. torch_geometric does not support null values"
    make = getattr(torch, _TENSORS[of.name])
    if of is kind:
        return make(values), None
    try:
        made = [make(value) for value in values]
    except (TypeError, ValueError):
        return None, "cannot be converted to Tensor (likely due to nested list of variable length)"
    if any(one.shape != made[0].shape for one in made):
        return None, "has an inconsistent shape"
    return torch.stack(made, dim=0), None


def _edges(
    known: Values, relationships: Dict[Tuple[int, int], Relationship], places: Dict[int, Tuple[str, int]]
) -> Tuple[Dict[Tuple[str, str], List[Tuple[int, int]]], Dict[Tuple[str, str], Dict[str, List[Any]]]]:
    """Positions of the ends by their labels, and the properties by them."""
    edges: Dict[Tuple[str, str], List[Tuple[int, int]]] = {}
    properties: Dict[Tuple[str, str], Dict[str, List[Any]]] = {}
    for relationship in relationships.values():
        ends = [places.get(number) for number in (relationship.start, relationship.end)]
        if ends[0] is None or ends[1] is None:
            message = f"a relationship of type {relationship.type} has an end that is in no row: return both of its nodes"
            raise Error("Request.Invalid", message)
        (start, first), (end, last) = ends[0], ends[1]
        edges.setdefault((start, end), []).append((first, last))
        columns = properties.setdefault((start, end), {})
        for name, value in known.make(relationship).items():
            if name not in (SRC, DST, ID):
                columns.setdefault(name, []).append(value)
    return edges, properties
