"""Names that nodes, relationships and paths have beside their properties."""

from graven.constants import DST, ID, LABEL, NODES, RELS, SRC

__all__ = ["DST", "ID", "LABEL", "NODES", "RELS", "SRC"]
