//! Reads GraphML: that of Neo4j's APOC, of Graven, and of other programs.
//!
//! # How it works
//! One pass over the text; a node or edge is handed on when it ends. Nodes without `labels` have no
//! label, edges without `label` the type `RELATED`. Where a file has no `labels` at all it is
//! another program's: its ids are data and become the property `id`, unless the node has one.

use std::collections::HashMap;
use std::io::{BufRead, Read};

use graven_types::PropertyValue;
use graven_types::told;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::{Element, Properties, Wrong, labels};
use crate::kind::Kind;
use crate::plain;
use crate::xml::predefined;

type Result<T> = std::result::Result<T, Wrong>;

/// The type of relationships that name none, unless the caller says another.
const UNNAMED: &str = "RELATED";

/// A property, as the file declares it.
struct Key {
    name: String,
    kind: Kind,
    /// What elements have that no `<data>` names it for.
    default: Option<PropertyValue>,
    /// It holds the labels of nodes, or the types of edges.
    is_name: bool,
}

/// Counts the lines that have been read.
struct Lines<R> {
    inner: R,
    lines: u64,
}

impl<R: Read> Read for Lines<R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(out)?;
        self.lines += out[..count].iter().filter(|b| **b == b'\n').count() as u64;
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Lines<R> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        if let Ok(buffer) = self.inner.fill_buf() {
            let read = &buffer[..count.min(buffer.len())];
            self.lines += read.iter().filter(|b| **b == b'\n').count() as u64;
        }
        self.inner.consume(count);
    }
}

/// What is being read.
enum Open {
    Node {
        id: String,
        labels: Option<String>,
    },
    Edge {
        source: String,
        target: String,
        label: Option<String>,
    },
}

/// The nodes and relationships of a text of GraphML, each with the line on which it ends.
pub struct GraphMl<R> {
    reader: Reader<Lines<R>>,
    document: Document,
    buffer: Vec<u8>,
    is_rooted: bool,
    is_whole: bool,
}

impl<R: BufRead> GraphMl<R> {
    /// Reads from the start of a text.
    pub fn new(input: R) -> Self {
        let mut reader = Reader::from_reader(Lines {
            inner: input,
            lines: 0,
        });
        reader.config_mut().expand_empty_elements = true;
        GraphMl {
            reader,
            document: Document {
                keys: HashMap::new(),
                key: None,
                has_labels: false,
                open: None,
                data: None,
                default: None,
                properties: Vec::new(),
                unnamed: UNNAMED.to_owned(),
            },
            buffer: Vec::new(),
            is_rooted: false,
            is_whole: false,
        }
    }

    /// With this type for relationships that name none.
    #[must_use]
    pub fn with_unnamed(mut self, name: &str) -> Self {
        name.clone_into(&mut self.document.unnamed);
        self
    }

    fn step(&mut self) -> Result<Option<(Element, u64)>> {
        let document = &mut self.document;
        loop {
            self.buffer.clear();
            let event = self.reader.read_event_into(&mut self.buffer);
            let line = self.reader.get_ref().lines + 1;
            match event.map_err(|error| wrong(line, error.to_string()))? {
                Event::Start(start) => {
                    if !self.is_rooted && start.local_name().as_ref() != "graphml" {
                        return Err(wrong(line, "is no GraphML: no <graphml>"));
                    }
                    self.is_rooted = true;
                    document.start(&start, line)?;
                }
                Event::Text(text) => document.text(&text.xml10_content()),
                Event::CData(text) => document.text(&text.xml10_content()),
                Event::GeneralRef(reference) => {
                    let resolved = reference.resolve_char_ref();
                    let resolved = resolved.map_err(|e| wrong(line, e.to_string()))?;
                    let resolved = resolved.or_else(|| predefined(&reference.xml10_content()));
                    let c = resolved.ok_or_else(|| wrong(line, "has an unknown entity"))?;
                    document.text(c.encode_utf8(&mut [0; 4]));
                }
                Event::End(end) => {
                    self.is_whole |= end.local_name().as_ref() == "graphml";
                    if let Some(element) = document.end(end.local_name().as_ref(), line)? {
                        return Ok(Some((element, line)));
                    }
                }
                Event::Eof if self.is_whole => return Ok(None),
                Event::Eof if self.is_rooted => {
                    return Err(wrong(line, "ends before </graphml>: is the file whole?"));
                }
                Event::Eof => return Err(wrong(line, "is no GraphML: it is empty")),
                _ => {}
            }
        }
    }
}

impl<R: BufRead> Iterator for GraphMl<R> {
    type Item = Result<(Element, u64)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}

fn wrong(line: u64, message: impl Into<String>) -> Wrong {
    Wrong {
        line,
        message: message.into(),
    }
}

struct Document {
    /// By what they are for and their id.
    keys: HashMap<(String, String), Key>,
    /// The key that is open.
    key: Option<(String, String)>,
    has_labels: bool,
    open: Option<Open>,
    /// Key of the `<data>` that is open, and its text so far.
    data: Option<(String, String)>,
    default: Option<String>,
    properties: Properties,
    /// The type of relationships that name none.
    unnamed: String,
}

impl Document {
    fn start(&mut self, start: &BytesStart<'_>, line: u64) -> Result<()> {
        match start.local_name().as_ref() {
            "key" => {
                let id = needed(start, "id", line)?;
                let name = attribute(start, "attr.name", line)?;
                let kind = kind_of(start, line)?;
                let of = attribute(start, "for", line)?;
                let of = of.filter(|of| of != "all").unwrap_or_default();
                let name = name.unwrap_or_else(|| id.clone());
                let is_name = match of.as_str() {
                    "edge" => id == "label",
                    _ => id == "labels",
                };
                self.has_labels |= is_name && of != "edge";
                let key = Key {
                    name,
                    kind,
                    default: None,
                    is_name,
                };
                self.key = Some((of.clone(), id.clone()));
                self.keys.insert((of, id), key);
            }
            "default" => self.default = Some(String::new()),
            "node" | "edge" if self.open.is_some() => {
                let message =
                    "has a graph within a node or edge, which a property graph cannot hold";
                return Err(wrong(line, message));
            }
            "node" => {
                let labels = attribute(start, "labels", line)?;
                self.has_labels |= labels.is_some();
                self.open = Some(Open::Node {
                    id: needed(start, "id", line)?,
                    labels,
                });
            }
            "edge" => {
                self.open = Some(Open::Edge {
                    source: needed(start, "source", line)?,
                    target: needed(start, "target", line)?,
                    label: attribute(start, "label", line)?,
                });
            }
            "data" if self.open.is_some() => {
                self.data = Some((needed(start, "key", line)?, String::new()));
            }
            "hyperedge" => {
                let message = "has a <hyperedge>, which a property graph cannot hold";
                return Err(wrong(line, message));
            }
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, text: &str) {
        if let Some((_, data)) = &mut self.data {
            data.push_str(text);
        } else if let Some(default) = &mut self.default {
            default.push_str(text);
        }
    }

    fn end(&mut self, name: &str, line: u64) -> Result<Option<Element>> {
        match name {
            "default" => {
                let text = self.default.take().unwrap_or_default();
                let Some(key) = self.key.as_ref().and_then(|key| self.keys.get(key)) else {
                    return Ok(None);
                };
                let value = plain::read(&key.kind, &text)
                    .map_err(|why| wrong(line, told!("the default of {} {why}", key.name)))?;
                if let Some(key) = self.key.as_ref().and_then(|key| self.keys.get_mut(key)) {
                    key.default = Some(value);
                }
            }
            "key" => self.key = None,
            "data" => {
                if let Some((key, text)) = self.data.take() {
                    self.property(&key, text, line)?;
                }
            }
            "node" | "edge" => {
                let mut properties = std::mem::take(&mut self.properties);
                self.add_defaults(self.of(), &mut properties);
                return Ok(self.open.take().map(|open| self.element(open, properties)));
            }
            _ => {}
        }
        Ok(None)
    }

    /// What the open element is, as keys name it.
    fn of(&self) -> &'static str {
        match self.open {
            Some(Open::Edge { .. }) => "edge",
            _ => "node",
        }
    }

    fn property(&mut self, id: &str, text: String, line: u64) -> Result<()> {
        let of = self.of();
        let known = |of: &str| self.keys.get(&(of.to_owned(), id.to_owned()));
        let (name, kind, is_name) = match known(of).or_else(|| known("")) {
            Some(key) => (key.name.clone(), key.kind.clone(), key.is_name),
            None => (id.to_owned(), Kind::String, false),
        };
        match &mut self.open {
            Some(Open::Node { labels, .. }) if is_name => {
                labels.get_or_insert(text);
            }
            Some(Open::Edge { label, .. }) if is_name => {
                label.get_or_insert(text);
            }
            _ => {
                let value = plain::read(&kind, &text)
                    .map_err(|why| wrong(line, told!("the property {name} {why}")))?;
                self.properties.push((name, value));
            }
        }
        Ok(())
    }

    /// Adds what the file says of elements that do not say it themselves.
    fn add_defaults(&self, of: &str, properties: &mut Properties) {
        for ((own, _), key) in &self.keys {
            let missing = properties.iter().all(|(name, _)| *name != key.name);
            if let Some(default) = &key.default
                && (own.is_empty() || own == of)
                && missing
                && !key.is_name
            {
                properties.push((key.name.clone(), default.clone()));
            }
        }
    }

    fn element(&self, open: Open, mut properties: Properties) -> Element {
        match open {
            Open::Node { id, labels: names } => {
                if !self.has_labels && properties.iter().all(|(key, _)| key != "id") {
                    properties.push(("id".to_owned(), PropertyValue::String(id.as_str().into())));
                }
                Element::Node {
                    id,
                    labels: names.as_deref().map(labels).unwrap_or_default(),
                    properties,
                }
            }
            Open::Edge {
                source,
                target,
                label,
            } => Element::Relationship {
                start: source,
                end: target,
                name: label
                    .filter(|l| !l.is_empty())
                    .unwrap_or_else(|| self.unnamed.clone()),
                properties,
            },
        }
    }
}

fn attribute(start: &BytesStart<'_>, name: &str, line: u64) -> Result<Option<String>> {
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| wrong(line, error.to_string()))?;
        if attribute.key.as_ref() == name {
            let value = attribute.normalized_value(XmlVersion::Implicit1_0);
            let value = value.map_err(|error| wrong(line, error.to_string()))?;
            return Ok(Some(value.into_owned()));
        }
    }
    Ok(None)
}

fn needed(start: &BytesStart<'_>, name: &str, line: u64) -> Result<String> {
    attribute(start, name, line)?.ok_or_else(|| {
        let element = start.local_name();
        wrong(line, told!("<{}> has no {name}", element.as_ref()))
    })
}

fn kind_of(start: &BytesStart<'_>, line: u64) -> Result<Kind> {
    if let Some(kind) = attribute(start, "graven.kind", line)? {
        let unknown = || wrong(line, told!("has the unknown kind {kind}"));
        return match kind.as_str() {
            "LITERAL" => Ok(Kind::Literal),
            kind => Kind::parse(kind).ok_or_else(unknown),
        };
    }
    let plain = |name: &str| match name {
        "boolean" => Kind::Boolean,
        "int" | "long" | "integer" | "short" | "byte" => Kind::Integer,
        "float" | "double" => Kind::Float,
        _ => Kind::String,
    };
    if let Some(element) = attribute(start, "attr.list", line)? {
        return Ok(Kind::List(Box::new(plain(&element))));
    }
    let named = attribute(start, "attr.type", line)?;
    Ok(named.map_or(Kind::String, |name| plain(&name)))
}
