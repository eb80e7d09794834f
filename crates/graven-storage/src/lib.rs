//! The data file: segments, adjacency, columns, indexes, catalogue, bulk import, check.
