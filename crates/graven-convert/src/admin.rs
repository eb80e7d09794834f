//! A graph as the tables that `neo4j-admin database import` and `graven import` read.
//!
//! # How it works
//! Nodes are read twice: first the types of all properties are seen, then the rows are written.
//! There is a file for each set of labels, and one for each type of relationship. Where a property
//! has values of several types, each combination of types has a file of its own, as a column has
//! one type. [`ARGUMENTS`] holds the command line for the folder.
//!
//! # Source
//! Neo4j Operations Manual, "Import": header format, `@` argument files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use graven::{Connection, PropertyValue, Value};
use graven_files::Datum;

use crate::error::{Error, Result};
use crate::graph::{Exported, Graph, sorted};
use crate::text::{datum, plain};

/// The file with the arguments of an import.
const ARGUMENTS: &str = "import.args";
/// Bytes of rows that wait, over all files.
const WAITING: usize = 16 << 20;
/// What may stand between the elements of a list, in order of preference.
const DELIMITERS: &[u8] = b";|\t\x1f";

/// The tables of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    /// Files of nodes.
    pub nodes: Vec<PathBuf>,
    /// Files of relationships.
    pub relationships: Vec<PathBuf>,
    /// What stands between the elements of lists and between labels.
    pub array_delimiter: u8,
}

/// The type of a column, as headers name it.
fn type_of(value: &PropertyValue) -> Option<String> {
    let name = match value {
        PropertyValue::Boolean(_) => "boolean",
        PropertyValue::Integer(_) => "long",
        PropertyValue::Float(_) => "double",
        PropertyValue::String(_) => "string",
        PropertyValue::Date(_) => "date",
        PropertyValue::LocalTime(_) => "localtime",
        PropertyValue::Time(_) => "time",
        PropertyValue::LocalDateTime(_) => "localdatetime",
        PropertyValue::DateTime(_) => "datetime",
        PropertyValue::Duration(_) => "duration",
        PropertyValue::Point(_) => "point",
        PropertyValue::List(items) => {
            let types: BTreeSet<Option<String>> = items.iter().map(type_of).collect();
            let only = types
                .into_iter()
                .next()
                .flatten()
                .filter(|t| !t.ends_with("[]"))?;
            let same = |item: &PropertyValue| type_of(item).as_ref() == Some(&only);
            let empty = matches!(&items[..], [PropertyValue::String(text)] if text.is_empty());
            return (items.iter().all(same) && !empty).then(|| format!("{only}[]"));
        }
        _ => return None,
    };
    let empty = matches!(value, PropertyValue::String(text) if text.is_empty());
    (!empty).then(|| name.to_owned())
}

/// The value if tables can hold it, and its type.
fn held(value: &Value) -> Option<(PropertyValue, String)> {
    match datum(value) {
        Datum::Value(value) => {
            let kind = type_of(&value)?;
            Some((value, kind))
        }
        _ => None,
    }
}

/// What values tables cannot hold are called that are like this one.
fn untold(value: &Value) -> &'static str {
    fn is_vector(value: &Value) -> bool {
        matches!(value, Value::Stored(stored) if matches!(**stored, PropertyValue::Vector(_)))
    }
    let is_bytes = |value: &Value| matches!(value, Value::Bytes(_));
    match value {
        Value::String(_) => "empty texts",
        Value::List(items) if items.is_empty() => "empty lists",
        Value::List(items) if items.iter().all(is_vector) => "lists of vectors",
        Value::List(items) if items.iter().all(is_bytes) => "lists of bytes",
        Value::List(_) => "lists that have several types or hold one empty text",
        value if is_vector(value) => "vectors",
        _ => "values of bytes",
    }
}

/// What nodes or relationships of one file have in common: labels, or a type.
type Group = Vec<Arc<str>>;

/// Types of the values of each property.
type Types = BTreeMap<Arc<str>, BTreeSet<String>>;

/// What the first pass has seen.
#[derive(Default)]
struct Seen {
    /// Types of each property, by the name of the group: its labels, or its type.
    types: BTreeMap<Group, Types>,
    /// Bytes that stand within elements of lists or labels.
    taken: BTreeSet<u8>,
    has_line_feeds: bool,
    /// Values that are left out, by reason.
    left_out: BTreeMap<&'static str, u64>,
}

impl Seen {
    fn text(&mut self, text: &str) {
        let taken = DELIMITERS.iter().filter(|d| text.as_bytes().contains(d));
        self.taken.extend(taken);
    }

    fn see(&mut self, group: Group, properties: &BTreeMap<Arc<str>, Value>) {
        let mut found = Vec::new();
        for (key, value) in properties {
            let Some((value, kind)) = held(value) else {
                *self.left_out.entry(untold(value)).or_default() += 1;
                continue;
            };
            match &value {
                PropertyValue::String(text) => self.has_line_feeds |= text.contains(['\n', '\r']),
                PropertyValue::List(items) => {
                    for item in items.iter() {
                        let text = plain(item);
                        self.has_line_feeds |= text.contains(['\n', '\r']);
                        self.text(&text);
                    }
                }
                _ => {}
            }
            found.push((Arc::clone(key), kind));
        }
        let types = self.types.entry(group).or_default();
        for (key, kind) in found {
            types.entry(key).or_default().insert(kind);
        }
    }
}

/// A field of a row, in quotes where it needs them.
fn field(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) || text != text.trim() {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

/// The name of a file, and the rows that wait for it.
type Waiting = (String, String);

/// The files of one kind of element, and the rows that wait for them.
struct Files<'a> {
    folder: &'a Path,
    of: &'static str,
    /// Name of the file and rows that wait, by group and columns.
    names: BTreeMap<(Group, Vec<String>), Waiting>,
    bytes: usize,
}

impl Files<'_> {
    /// Takes a row: the fixed fields, then the properties of the group.
    fn row(
        &mut self,
        fixed: (&str, &[String]),
        group: Group,
        seen: &Seen,
        properties: &BTreeMap<Arc<str>, Value>,
        delimiter: u8,
    ) -> Result<()> {
        let (head, fixed) = fixed;
        let no_types = BTreeMap::new();
        let types = seen.types.get(&group).unwrap_or(&no_types);
        // Of a property with several types, the type of this row decides about the file.
        let (mut columns, mut row) = (Vec::new(), fixed.to_vec());
        for (key, types) in types {
            let value = properties.get(key).and_then(held);
            let kind = match (&value, types.first()) {
                (Some((_, kind)), _) => kind.clone(),
                (None, Some(kind)) => kind.clone(),
                (None, None) => continue,
            };
            columns.push(format!("{key}:{kind}"));
            row.push(value.map_or(String::new(), |(value, _)| match value {
                PropertyValue::List(items) => {
                    let items: Vec<String> = items.iter().map(plain).collect();
                    items.join(char::from(delimiter).encode_utf8(&mut [0; 4]))
                }
                value => plain(&value),
            }));
        }
        let number = self.names.len();
        let entry = self.names.entry((group, columns));
        let folder = self.folder;
        let of = self.of;
        let key = entry.key().1.clone();
        let (name, waiting) = match entry {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                let name = format!("{of}-{number}.csv");
                let path = folder.join(&name);
                File::create_new(&path).map_err(Error::io(&path))?;
                let columns = std::iter::once(head.to_owned()).chain(key.iter().map(|c| field(c)));
                let head = columns.collect::<Vec<_>>().join(",") + "\n";
                entry.insert((name, head))
            }
        };
        let before = waiting.len();
        let fields: Vec<String> = row.iter().map(|text| field(text)).collect();
        waiting.push_str(&fields.join(","));
        waiting.push('\n');
        self.bytes += waiting.len() - before;
        let own = waiting.len();
        if self.bytes >= WAITING {
            self.flush()?;
        } else if own >= WAITING / 16 {
            let (name, rows) = (name.clone(), std::mem::take(waiting));
            self.bytes -= rows.len().min(self.bytes);
            append(&self.folder.join(name), &rows)?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.bytes = 0;
        for (name, rows) in self.names.values_mut() {
            append(&self.folder.join(name), &std::mem::take(rows))?;
        }
        Ok(())
    }
}

fn append(path: &Path, rows: &str) -> Result<()> {
    let file = OpenOptions::new().append(true).open(path);
    let written = file.and_then(|mut file| file.write_all(rows.as_bytes()));
    written.map_err(Error::io(path))
}

/// Writes the graph as tables, in a new folder.
///
/// # Errors
/// The folder exists or cannot be written, the graph cannot be read, or a name cannot stand in a
/// header. Nothing is left of a failed export.
///
/// # Examples
/// ```no_run
/// let db = graven::Database::open("social.graven", graven::Config::default())?;
/// let exported = graven_convert::export_tables(&db.connect(), "tables".as_ref())?;
/// exported.notes.iter().for_each(|note| eprintln!("note: {note}"));
/// # Ok::<(), graven_convert::Error>(())
/// ```
pub fn export_tables(connection: &Connection, folder: &Path) -> Result<Exported> {
    fs::create_dir(folder).map_err(Error::io(folder))?;
    let exported = tables(connection, folder);
    if exported.is_err() {
        // What cannot be removed is no export: its arguments are written last.
        let _ = fs::remove_dir_all(folder);
    }
    exported
}

fn tables(connection: &Connection, folder: &Path) -> Result<Exported> {
    let mut graph = Graph::begin(connection)?;
    let (mut of_nodes, mut of_relationships) = (Seen::default(), Seen::default());
    graph.nodes(|node| {
        node.labels.iter().for_each(|label| of_nodes.text(label));
        of_nodes.see(sorted(&node.labels), &node.properties);
        Ok(())
    })?;
    graph.relationships(|relationship| {
        let group = vec![Arc::clone(&relationship.rel_type)];
        of_relationships.see(group, &relationship.properties);
        Ok(())
    })?;
    let is_free = |d: &&u8| !of_nodes.taken.contains(d) && !of_relationships.taken.contains(d);
    let delimiter = *DELIMITERS.iter().find(is_free).ok_or_else(|| {
        Error::Form(
            "texts in lists, or labels, hold every character that could stand between elements \
             (; | tab and U+001F): replace one of them, or export in another form"
                .to_owned(),
        )
    })?;
    let has_outer_blanks = |name: &&Arc<str>| name.trim() != &***name;
    for seen in [&of_nodes, &of_relationships] {
        let keys = seen.types.values().flat_map(BTreeMap::keys);
        let cannot = |key: &&Arc<str>| key.contains(['{', '(', ':']) || has_outer_blanks(key);
        if let Some(key) = keys.into_iter().find(cannot) {
            return Err(Error::Form(format!(
                "the header of a table cannot name the property {key:?}: rename it, or export in \
                 another form"
            )));
        }
    }
    if let Some(label) = of_nodes.types.keys().flatten().find(has_outer_blanks) {
        return Err(Error::Form(format!(
            "readers of tables drop the blanks around the label {label:?}: rename it, or export in \
             another form"
        )));
    }
    let mut exported = Exported::default();
    let files = |of| Files {
        folder,
        of,
        names: BTreeMap::new(),
        bytes: 0,
    };
    let mut nodes = files("nodes");
    graph.nodes(|node| {
        exported.nodes += 1;
        let labels = sorted(&node.labels);
        let joined = labels.join(char::from(delimiter).encode_utf8(&mut [0; 4]));
        let fixed = [node.id.to_string(), joined];
        nodes.row(
            (":ID,:LABEL", &fixed),
            labels,
            &of_nodes,
            &node.properties,
            delimiter,
        )
    })?;
    nodes.flush()?;
    let mut relationships = files("relationships");
    graph.relationships(|r| {
        exported.relationships += 1;
        let group = vec![Arc::clone(&r.rel_type)];
        let fixed = [
            r.start.to_string(),
            r.end.to_string(),
            r.rel_type.to_string(),
        ];
        let fixed = (":START_ID,:END_ID,:TYPE", &fixed[..]);
        relationships.row(fixed, group, &of_relationships, &r.properties, delimiter)
    })?;
    relationships.flush()?;
    let mut arguments = String::new();
    for files in [&nodes, &relationships] {
        for (name, _) in files.names.values() {
            arguments.push_str(&format!("--{}={name}\n", files.of));
        }
    }
    arguments.push_str(&format!(
        "--array-delimiter=U+{delimiter:04X}\n--id-type=integer\n"
    ));
    if of_nodes.has_line_feeds || of_relationships.has_line_feeds {
        arguments.push_str("--multiline-fields=true\n");
    }
    for (why, count) in of_nodes.left_out.iter().chain(&of_relationships.left_out) {
        exported.notes.push(format!(
            "{count} {why} are left out: tables cannot hold them"
        ));
    }
    let path = folder.join(ARGUMENTS);
    fs::write(&path, arguments).map_err(Error::io(&path))?;
    Ok(exported)
}

/// The tables of a folder that [`export_tables`] wrote.
///
/// # Errors
/// The folder has no arguments, or they name something unknown, with the line.
pub fn read_tables(folder: &Path) -> Result<Tables> {
    let path = folder.join(ARGUMENTS);
    let text = fs::read_to_string(&path).map_err(Error::io(&path))?;
    let mut tables = Tables {
        nodes: Vec::new(),
        relationships: Vec::new(),
        array_delimiter: b';',
    };
    for (line, argument) in (1..).zip(text.lines()) {
        let unknown = || Error::Input {
            path: path.clone(),
            line,
            message: format!("the argument {argument} is unknown"),
        };
        let (name, value) = argument.split_once('=').ok_or_else(unknown)?;
        match name {
            "--nodes" => tables.nodes.push(folder.join(value)),
            "--relationships" => tables.relationships.push(folder.join(value)),
            "--array-delimiter" => {
                let code = value.strip_prefix("U+");
                let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
                tables.array_delimiter = code.ok_or_else(unknown)?;
            }
            "--id-type" | "--multiline-fields" => {}
            _ => return Err(unknown()),
        }
    }
    Ok(tables)
}
