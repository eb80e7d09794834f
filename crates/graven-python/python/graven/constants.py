"""Names that nodes, relationships and paths have beside their properties, where they are dictionaries."""

__all__ = ["DST", "ID", "LABEL", "NODES", "RELS", "SRC"]

ID = "_id"
LABEL = "_label"
SRC = "_src"
DST = "_dst"
NODES = "_nodes"
RELS = "_rels"
