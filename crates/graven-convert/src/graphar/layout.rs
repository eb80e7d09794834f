//! Names of GraphAr's files and columns.

/// The number of a vertex within its type.
pub(super) const VERTEX: &str = "_graphArVertexIndex";
/// The number of the vertex that an edge starts at.
pub(super) const SOURCE: &str = "_graphArSrcIndex";
/// The number of the vertex that it ends at.
pub(super) const TARGET: &str = "_graphArDstIndex";
/// The place of the first edge of a vertex.
pub(super) const OFFSET: &str = "_graphArOffset";
/// Columns that are GraphAr's own.
pub(super) const RESERVED: &[&str] = &[VERTEX, SOURCE, TARGET, OFFSET];

/// The version that is written.
pub(super) const VERSION: &str = "gar/v1";
/// How many vertices a type has, or an adjacency list is made for.
pub(super) const VERTEX_COUNT: &str = "vertex_count";
/// How many edges a vertex chunk has; its number follows.
pub(super) const EDGE_COUNT: &str = "edge_count";
/// The folder of the ends of edges.
pub(super) const ENDS: &str = "adj_list";
/// The folder of the places of edges.
pub(super) const OFFSETS: &str = "offset";
/// The folder of the labels of vertices.
pub(super) const LABELS: &str = "labels";
/// The folder of the properties, in what is exported.
pub(super) const PROPERTIES: &str = "properties";
/// How to read properties that are text for want of a type.
pub(super) const KINDS: &str = "graven.kinds.yml";
/// How the name of the graph's file ends.
pub(super) const GRAPH_ENDINGS: &[&str] = &[".graph.yml", ".graph.yaml"];

/// The name of a chunk of that number.
pub(super) fn chunk(number: u64) -> String {
    format!("chunk{number}")
}

/// The name of the folder with the edges of a vertex chunk.
pub(super) fn part(number: u64) -> String {
    format!("part{number}")
}
