//! What GraphAr's YAML files say: of the graph, of a vertex type, of an edge type.
//!
//! # How it works
//! Keys that GraphAr had in earlier versions (`label` for `type`, property groups within adjacency
//! lists) are taken, too. A key that is unknown is an error: one letter too many would otherwise
//! leave properties out.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use graven_files::{Format, Kind};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::layout::{GRAPH_ENDINGS, KINDS, LABELS};
use super::types::kind_of;
use crate::error::{Error, Result};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GraphYaml {
    #[serde(default, rename = "name")]
    _name: Option<String>,
    #[serde(default)]
    prefix: Option<String>,
    #[serde(default)]
    vertices: Option<Vec<String>>,
    #[serde(default)]
    edges: Option<Vec<String>>,
    version: String,
    #[serde(default, rename = "labels")]
    _labels: Option<Vec<String>>,
    #[serde(default, rename = "extra_info")]
    _extra_info: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct VertexYaml {
    #[serde(alias = "label")]
    r#type: String,
    chunk_size: u64,
    #[serde(default)]
    prefix: Option<String>,
    #[serde(default)]
    labels: Option<Vec<String>>,
    #[serde(default)]
    property_groups: Option<Vec<GroupYaml>>,
    version: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EdgeYaml {
    #[serde(alias = "src_label")]
    src_type: String,
    #[serde(alias = "edge_label")]
    edge_type: String,
    #[serde(alias = "dst_label")]
    dst_type: String,
    chunk_size: u64,
    src_chunk_size: u64,
    dst_chunk_size: u64,
    #[serde(default, rename = "directed")]
    _directed: Option<bool>,
    #[serde(default)]
    prefix: Option<String>,
    adj_lists: Vec<ListYaml>,
    #[serde(default)]
    property_groups: Option<Vec<GroupYaml>>,
    version: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ListYaml {
    ordered: bool,
    aligned_by: String,
    #[serde(default)]
    prefix: Option<String>,
    file_type: String,
    #[serde(default)]
    property_groups: Option<Vec<GroupYaml>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupYaml {
    #[serde(default)]
    prefix: Option<String>,
    file_type: String,
    properties: Vec<PropertyYaml>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PropertyYaml {
    name: String,
    data_type: String,
    #[serde(default)]
    is_primary: Option<bool>,
    #[serde(default, rename = "is_nullable")]
    _is_nullable: Option<bool>,
    #[serde(default)]
    cardinality: Option<String>,
}

/// How to read properties that are text for want of a type: [`KINDS`].
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct KindsYaml {
    #[serde(default)]
    vertices: Vec<KindYaml>,
    #[serde(default)]
    edges: Vec<KindYaml>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KindYaml {
    file: String,
    property: String,
    kind: String,
}

/// A property, and what its values are.
#[derive(Clone, Debug)]
pub(super) struct Property {
    pub(super) name: String,
    /// The kind of the column, as the YAML declares it.
    pub(super) kind: Kind,
    /// What its text stands for, if it is text for want of a type.
    pub(super) text: Option<Kind>,
    /// It is the primary key of its type.
    pub(super) is_key: bool,
}

/// Properties that stand in one file.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// Its folder, in that of its vertex type or adjacency list.
    pub(super) folder: String,
    pub(super) format: Format,
    pub(super) properties: Vec<Property>,
}

/// A vertex type.
#[derive(Debug)]
pub(super) struct VertexInfo {
    pub(super) name: String,
    pub(super) labels: Vec<String>,
    /// Where a table says which of these labels each vertex has; else each has all of them.
    pub(super) labels_of_each: Option<PathBuf>,
    pub(super) chunk_size: u64,
    pub(super) folder: PathBuf,
    pub(super) groups: Vec<Group>,
}

/// The vertices that an adjacency list goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Source,
    Target,
}

/// An adjacency list: one way to find the edges.
#[derive(Debug)]
pub(super) struct List {
    pub(super) is_ordered: bool,
    pub(super) by: End,
    pub(super) folder: PathBuf,
    pub(super) format: Format,
    pub(super) groups: Vec<Group>,
}

/// An edge type.
#[derive(Debug)]
pub(super) struct EdgeInfo {
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) source: String,
    pub(super) target: String,
    pub(super) chunk_size: u64,
    pub(super) source_chunk_size: u64,
    pub(super) target_chunk_size: u64,
    /// All hold the same edges; there is at least one.
    pub(super) lists: Vec<List>,
}

/// A graph.
#[derive(Debug)]
pub(super) struct GraphInfo {
    pub(super) vertices: Vec<VertexInfo>,
    pub(super) edges: Vec<EdgeInfo>,
}

fn wrong(path: &Path, message: impl Into<String>) -> Error {
    Error::File {
        path: path.to_owned(),
        message: message.into(),
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
    // A node or an event takes a byte at least; aliases have limits of their own.
    let most = text.len().max(1000);
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_nodes: most, max_events: 2 * most },
    };
    // The message says the line.
    let read = serde_saphyr::from_str_with_options(&text, options);
    read.map_err(|error| wrong(path, error.without_snippet().to_string()))
}

/// The YAML of the graph: the file itself, or the only one of a folder.
pub(super) fn graph_file(path: &Path) -> Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(Error::io(path))? {
        let name = entry.map_err(Error::io(path))?.file_name();
        let name = name.to_string_lossy().into_owned();
        if GRAPH_ENDINGS.iter().any(|ending| name.ends_with(ending)) {
            found.push(name);
        }
    }
    found.sort();
    match found.as_slice() {
        [name] => Ok(path.join(name)),
        [] => Err(wrong(
            path,
            "has no file NAME.graph.yml: it is no graph of GraphAr, or the export that made it did \
             not end; or give the YAML of the graph itself",
        )),
        names => Err(wrong(
            path,
            format!(
                "has several graphs: give one of {} in this folder",
                names.join(", ")
            ),
        )),
    }
}

fn check_version(path: &Path, version: &str) -> Result<()> {
    // Types that a user defines follow the number in parentheses; a type that is unknown is
    // refused where a property has it.
    match version.split('(').next().unwrap_or_default().trim() {
        "gar/v1" => Ok(()),
        _ => Err(wrong(
            path,
            format!("is of the version {version}, and gar/v1 is read"),
        )),
    }
}

fn check_size(path: &Path, key: &str, size: u64) -> Result<u64> {
    match size {
        0 => Err(wrong(path, format!("{key} is 0: a chunk has at least one"))),
        size => Ok(size),
    }
}

fn format(path: &Path, file_type: &str) -> Result<Format> {
    match file_type {
        "parquet" => Ok(Format::Parquet),
        "csv" => Ok(Format::Csv),
        "json" => Ok(Format::Json),
        other => Err(wrong(
            path,
            format!(
                "file_type {other}: chunks of parquet, csv and json are read; write these chunks \
                 as parquet with GraphAr's libraries"
            ),
        )),
    }
}

/// A folder as a prefix names it, within another.
fn folder(path: &Path, base: &Path, prefix: &str) -> Result<PathBuf> {
    let prefix = prefix.strip_prefix("file://").unwrap_or(prefix);
    if prefix.contains("://") {
        return Err(wrong(
            path,
            format!(
                "prefix {prefix}: files are read from this machine; copy the graph here and \
                 remove the prefix"
            ),
        ));
    }
    Ok(base.join(prefix))
}

/// Reads groups of properties; `kinds`: what texts stand for.
fn groups(
    path: &Path,
    given: Option<Vec<GroupYaml>>,
    names: &mut HashSet<String>,
    kinds: &[KindYaml],
) -> Result<Vec<Group>> {
    let mut groups = Vec::new();
    for group in given.unwrap_or_default() {
        let mut properties = Vec::new();
        for property in group.properties {
            let PropertyYaml {
                name,
                data_type,
                is_primary,
                cardinality,
                ..
            } = property;
            let kind = kind_of(&data_type).ok_or_else(|| {
                wrong(
                    path,
                    format!(
                        "the property {name} has the type {data_type}, which is unknown: there are \
                         bool, int32, int64, float, double, string, date, timestamp and list<...>"
                    ),
                )
            })?;
            let kind = match cardinality.as_deref() {
                None | Some("single") => kind,
                Some("list" | "set") => Kind::List(Box::new(kind)),
                Some(other) => {
                    let message = format!(
                        "the property {name} has the cardinality {other}: there are single, list \
                         and set"
                    );
                    return Err(wrong(path, message));
                }
            };
            if !names.insert(name.clone()) {
                return Err(wrong(path, format!("has the property {name} twice")));
            }
            let text = kinds.iter().find(|given| given.property == name);
            let text = text.map(|given| {
                let unknown = || {
                    let kinds = path.with_file_name(KINDS);
                    wrong(&kinds, format!("the kind {} is unknown", given.kind))
                };
                Kind::parse(&given.kind).ok_or_else(unknown)
            });
            properties.push(Property {
                text: text.transpose()?,
                is_key: is_primary.unwrap_or(false),
                name,
                kind,
            });
        }
        if properties.is_empty() {
            continue;
        }
        let joined = || {
            let names: Vec<&str> = properties.iter().map(|p| p.name.as_str()).collect();
            names.join("_") + "/"
        };
        groups.push(Group {
            folder: group.prefix.unwrap_or_else(joined),
            format: format(path, &group.file_type)?,
            properties,
        });
    }
    Ok(groups)
}

fn vertex(path: &Path, base: &Path, kinds: &[KindYaml]) -> Result<VertexInfo> {
    let yaml: VertexYaml = read(path)?;
    check_version(path, &yaml.version)?;
    let default = format!("vertex/{}/", yaml.r#type);
    let home = folder(path, base, &yaml.prefix.unwrap_or(default))?;
    let groups = groups(path, yaml.property_groups, &mut HashSet::new(), kinds)?;
    // A group of one property of that name has this folder, too.
    let is_taken = |group: &Group| group.folder.trim_end_matches('/') == LABELS;
    let labels_of_each = home.join(LABELS);
    let is_there = yaml
        .labels
        .as_ref()
        .is_some_and(|labels| !labels.is_empty())
        && !groups.iter().any(is_taken)
        && labels_of_each.is_dir();
    Ok(VertexInfo {
        chunk_size: check_size(path, "chunk_size", yaml.chunk_size)?,
        folder: home,
        groups,
        labels: yaml.labels.unwrap_or_else(|| vec![yaml.r#type.clone()]),
        labels_of_each: is_there.then_some(labels_of_each),
        name: yaml.r#type,
    })
}

fn edge(path: &Path, base: &Path, kinds: &[KindYaml]) -> Result<EdgeInfo> {
    let yaml: EdgeYaml = read(path)?;
    check_version(path, &yaml.version)?;
    let default = format!(
        "edge/{}_{}_{}/",
        yaml.src_type, yaml.edge_type, yaml.dst_type
    );
    let home = folder(path, base, &yaml.prefix.unwrap_or(default))?;
    let mut names = HashSet::new();
    let common = groups(path, yaml.property_groups, &mut names, kinds)?;
    let mut lists = Vec::new();
    for list in yaml.adj_lists {
        let (by, word) = match list.aligned_by.as_str() {
            "src" => (End::Source, "source"),
            "dst" => (End::Target, "dest"),
            other => {
                let message = format!("aligned_by {other}: an adjacency list goes by src or dst");
                return Err(wrong(path, message));
            }
        };
        let order = if list.ordered { "ordered" } else { "unordered" };
        let prefix = list.prefix.unwrap_or_else(|| format!("{order}_by_{word}/"));
        let mut all = common.clone();
        all.extend(groups(
            path,
            list.property_groups,
            &mut names.clone(),
            kinds,
        )?);
        lists.push(List {
            is_ordered: list.ordered,
            by,
            folder: home.join(prefix),
            format: format(path, &list.file_type)?,
            groups: all,
        });
    }
    if lists.is_empty() {
        return Err(wrong(path, "has no adjacency list: there are no edges"));
    }
    Ok(EdgeInfo {
        name: yaml.edge_type,
        path: path.to_owned(),
        source: yaml.src_type,
        target: yaml.dst_type,
        chunk_size: check_size(path, "chunk_size", yaml.chunk_size)?,
        source_chunk_size: check_size(path, "src_chunk_size", yaml.src_chunk_size)?,
        target_chunk_size: check_size(path, "dst_chunk_size", yaml.dst_chunk_size)?,
        lists,
    })
}

/// Reads the YAML of a graph, and that of its types.
///
/// # Errors
/// A file cannot be read, or says what is unknown, with its line where that is known.
pub(super) fn graph(path: &Path) -> Result<GraphInfo> {
    let path = graph_file(path)?;
    let yaml: GraphYaml = read(&path)?;
    check_version(&path, &yaml.version)?;
    let beside = path.parent().unwrap_or(Path::new(""));
    let prefix = yaml.prefix.unwrap_or_default();
    let base = folder(&path, beside, &prefix)?;
    if base != *beside && !base.is_dir() {
        return Err(wrong(
            &path,
            format!(
                "prefix {prefix}: there is no such folder; remove the prefix if the files lie \
                 beside this one"
            ),
        ));
    }
    let kinds = beside.join(KINDS);
    let kinds: KindsYaml = match kinds.exists() {
        true => read(&kinds)?,
        false => KindsYaml::default(),
    };
    let mut info = GraphInfo {
        vertices: Vec::new(),
        edges: Vec::new(),
    };
    // Each type knows its own texts.
    let (mut of_vertices, mut of_edges) = (kinds.vertices, kinds.edges);
    let own = |kinds: &mut Vec<KindYaml>, name: &str| -> Vec<KindYaml> {
        kinds.extract_if(.., |kind| kind.file == *name).collect()
    };
    for name in yaml.vertices.unwrap_or_default() {
        let kinds = own(&mut of_vertices, &name);
        let vertex = vertex(&beside.join(&name), &base, &kinds)?;
        if info.vertices.iter().any(|known| known.name == vertex.name) {
            let message = format!("has the vertex type {} twice", vertex.name);
            return Err(wrong(&path, message));
        }
        info.vertices.push(vertex);
    }
    for name in yaml.edges.unwrap_or_default() {
        let kinds = own(&mut of_edges, &name);
        info.edges.push(edge(&beside.join(&name), &base, &kinds)?);
    }
    Ok(info)
}
