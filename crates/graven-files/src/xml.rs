//! XML as maps, and paths into it.
//!
//! # How it works
//! A text is read into a [`Document`], whose elements lie in one list, so that deep ones need no
//! deep stack. [`Document::map`] gives an element as Neo4j's APOC does: `_type` is its name, its
//! attributes are entries, `_text` is its text and `_children` is the list of what lies within.
//!
//! # Source
//! Neo4j APOC Core 5, `apoc.load.xml` and `apoc.xml.parse`; the steps of paths are those of XPath.

mod path;

use std::sync::Arc;

use graven_types::told;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use crate::datum::Datum;

/// Elements within elements that are read.
const DEPTH_MAX: usize = 200;

/// An element, by its place.
pub type At = usize;

/// Texts that stand directly within an element, and the elements between them.
enum Child {
    Element(At),
    Text(String),
}

struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    parent: Option<At>,
    children: Vec<Child>,
}

/// The elements of a text.
pub struct Document {
    /// The first one holds all others.
    elements: Vec<Element>,
}

impl Document {
    /// Reads a text.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut reader = Reader::from_str(text);
        reader.config_mut().expand_empty_elements = true;
        let mut document = Document {
            elements: Vec::new(),
        };
        let mut open: Vec<At> = Vec::new();
        loop {
            match reader.read_event().map_err(|error| error.to_string())? {
                Event::Start(start) => {
                    if open.is_empty() && !document.elements.is_empty() {
                        return Err("there is more than one element at the top".to_owned());
                    }
                    if open.len() == DEPTH_MAX {
                        return Err(told!("elements lie more than {DEPTH_MAX} deep"));
                    }
                    let at = document.elements.len();
                    let parent = open.last().copied();
                    document.elements.push(element(&start, parent)?);
                    if let Some(parent) = parent {
                        document.elements[parent].children.push(Child::Element(at));
                    }
                    open.push(at);
                }
                Event::End(_) => {
                    open.pop();
                }
                Event::Text(text) => document.text(&open, &text.xml10_content()),
                Event::CData(text) => document.text(&open, &text.xml10_content()),
                Event::GeneralRef(reference) => {
                    let resolved = reference.resolve_char_ref();
                    let resolved = resolved.map_err(|error| error.to_string())?;
                    let resolved = resolved.or_else(|| predefined(&reference.xml10_content()));
                    let c = resolved.ok_or("there is an unknown entity")?;
                    document.text(&open, c.encode_utf8(&mut [0; 4]));
                }
                Event::Eof if !open.is_empty() => {
                    return Err("the text ends within an element".to_owned());
                }
                Event::Eof if document.elements.is_empty() => {
                    return Err("there is no element".to_owned());
                }
                Event::Eof => return Ok(document),
                _ => {}
            }
        }
    }

    fn text(&mut self, open: &[At], text: &str) {
        let Some(at) = open.last() else {
            return;
        };
        let children = &mut self.elements[*at].children;
        match children.last_mut() {
            Some(Child::Text(before)) => before.push_str(text),
            _ => children.push(Child::Text(text.to_owned())),
        }
    }

    /// The element as a map. The children of a simple map have the name of the element as their
    /// key, behind `_`.
    #[must_use]
    pub fn map(&self, at: At, is_simple: bool) -> Datum {
        let element = &self.elements[at];
        let mut entries: Vec<(Arc<str>, Datum)> = Vec::new();
        let mut put = |key: &str, value: Datum| {
            entries.retain(|(known, _)| **known != *key);
            entries.push((key.into(), value));
        };
        put("_type", Datum::text(&element.name));
        for (name, value) in &element.attributes {
            put(name, Datum::text(value));
        }
        let (mut within, mut texts) = (Vec::new(), Vec::new());
        for child in &element.children {
            match child {
                Child::Element(at) => within.push(self.map(*at, is_simple)),
                Child::Text(text) => {
                    let lines: String = text.lines().map(str::trim).collect();
                    if !lines.is_empty() {
                        texts.push(Datum::text(&lines));
                    }
                }
            }
        }
        if !within.is_empty() {
            // Texts between elements stand behind these.
            within.append(&mut texts);
            match is_simple {
                true => put(&format!("_{}", element.name), Datum::list(within)),
                false => put("_children", Datum::list(within)),
            }
        }
        match texts.len() {
            0 => {}
            1 => put("_text", texts.swap_remove(0)),
            _ => put("_text", Datum::list(texts)),
        }
        Datum::Map(entries)
    }

    /// All text within an element.
    fn whole_text(&self, at: At) -> String {
        let parts = self.elements[at].children.iter();
        let parts = parts.map(|child| match child {
            Child::Text(text) => text.clone(),
            Child::Element(at) => self.whole_text(*at),
        });
        parts.collect()
    }

    fn within(&self, at: At) -> impl Iterator<Item = At> + '_ {
        let children = self.elements[at].children.iter();
        children.filter_map(|child| match child {
            Child::Element(at) => Some(*at),
            Child::Text(_) => None,
        })
    }
}

/// The entities that XML itself names.
pub(crate) fn predefined(name: &str) -> Option<char> {
    Some(match name {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        _ => return None,
    })
}

fn element(start: &BytesStart<'_>, parent: Option<At>) -> Result<Element, String> {
    let mut attributes = Vec::new();
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| error.to_string())?;
        let value = attribute.normalized_value(XmlVersion::Implicit1_0);
        let value = value.map_err(|error| error.to_string())?;
        attributes.push((attribute.key.as_ref().to_owned(), value.into_owned()));
    }
    Ok(Element {
        name: start.name().as_ref().to_owned(),
        attributes,
        parent,
        children: Vec::new(),
    })
}
