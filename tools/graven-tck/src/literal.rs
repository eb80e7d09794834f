//! Values as the kit writes them, and a normal form in which expected and actual values are
//! compared.
//!
//! # How it works
//! Both sides become a [`Literal`]; its text is the normal form: keys and labels sorted, floats in
//! shortest digits, and (where the order of lists does not count) the elements of lists sorted.
//! Dates, times and durations are their ISO text, as in the kit.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use graven::{Node, Relationship, Value};

use crate::feature::Ordered;

/// A value in the kit's syntax.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `null`
    Null,
    /// `true`
    Boolean(bool),
    /// `1`
    Integer(i64),
    /// `1.0`
    Float(f64),
    /// `'text'`
    String(String),
    /// `[1, 2]`
    List(Vec<Literal>),
    /// `{key: 1}`
    Map(BTreeMap<String, Literal>),
    /// `(:Label {key: 1})`
    Node(Vec<String>, BTreeMap<String, Literal>),
    /// `[:TYPE {key: 1}]`
    Relationship(String, BTreeMap<String, Literal>),
    /// `<(:A)-[:T]->(:B)>`: nodes, then relationships with whether they point forwards.
    Path(Vec<Literal>, Vec<(Literal, bool)>),
}

impl Literal {
    /// Reads a value.
    ///
    /// # Errors
    /// Text that is no value, with the place.
    pub fn parse(text: &str) -> Result<Literal, String> {
        let mut reader = Reader { text, at: 0 };
        let value = reader.value()?;
        reader.blanks();
        if reader.at < text.len() {
            return Err(reader.wrong("the end"));
        }
        Ok(value)
    }

    /// The value as a parameter; nodes, relationships and paths cannot be one.
    #[must_use]
    pub fn to_value(&self) -> Option<Value> {
        Some(match self {
            Literal::Null => Value::Null,
            Literal::Boolean(b) => Value::Boolean(*b),
            Literal::Integer(i) => Value::Integer(*i),
            Literal::Float(x) => Value::Float(*x),
            Literal::String(s) => Value::from(s.as_str()),
            Literal::List(items) => {
                Value::List(items.iter().map(Literal::to_value).collect::<Option<_>>()?)
            }
            Literal::Map(entries) => {
                let entries = entries.iter();
                let entries = entries.map(|(k, v)| Some((Arc::from(k.as_str()), v.to_value()?)));
                Value::Map(entries.collect::<Option<_>>()?)
            }
            Literal::Node(..) | Literal::Relationship(..) | Literal::Path(..) => return None,
        })
    }

    /// The literal of a value that came out of the database.
    #[must_use]
    pub fn of(value: &Value) -> Literal {
        match value {
            Value::Null => Literal::Null,
            Value::Boolean(b) => Literal::Boolean(*b),
            Value::Integer(i) => Literal::Integer(*i),
            Value::Float(x) => Literal::Float(*x),
            Value::String(s) => Literal::String(s.to_string()),
            Value::List(items) => Literal::List(items.iter().map(Literal::of).collect()),
            Value::Map(entries) => Literal::Map(properties(entries)),
            Value::Node(node) => of_node(node),
            Value::Relationship(relationship) => of_relationship(relationship),
            Value::Path(path) => {
                let mut at = path.nodes.first().map_or(0, |n| n.id);
                let mut relationships = Vec::new();
                for (relationship, node) in path.relationships.iter().zip(path.nodes.iter().skip(1))
                {
                    let forwards = relationship.start == at && relationship.end == node.id;
                    relationships.push((of_relationship(relationship), forwards));
                    at = node.id;
                }
                Literal::Path(
                    path.nodes.iter().map(|n| of_node(n)).collect(),
                    relationships,
                )
            }
            other => Literal::String(other.to_string()),
        }
    }

    /// The text in which two values are compared.
    #[must_use]
    pub fn normal_form(&self, lists: Ordered) -> String {
        let mut out = String::new();
        self.write(&mut out, lists);
        out
    }

    fn write(&self, out: &mut String, lists: Ordered) {
        match self {
            Literal::Null => out.push_str("null"),
            Literal::Boolean(b) => {
                let _ = write!(out, "{b}");
            }
            Literal::Integer(i) => {
                let _ = write!(out, "{i}");
            }
            Literal::Float(x) => {
                // Both zeros are one value.
                let _ = write!(out, "{:?}", x + 0.0);
            }
            Literal::String(s) => {
                let _ = write!(out, "{s:?}");
            }
            Literal::List(items) => {
                let mut texts: Vec<String> = items.iter().map(|i| i.normal_form(lists)).collect();
                if lists == Ordered::No {
                    texts.sort();
                }
                let _ = write!(out, "[{}]", texts.join(", "));
            }
            Literal::Map(entries) => write_entries(entries, out, lists),
            Literal::Node(labels, entries) => {
                out.push('(');
                for label in labels {
                    let _ = write!(out, ":{label}");
                }
                write_entries(entries, out, lists);
                out.push(')');
            }
            Literal::Relationship(name, entries) => {
                let _ = write!(out, "[:{name}");
                write_entries(entries, out, lists);
                out.push(']');
            }
            Literal::Path(nodes, relationships) => {
                out.push('<');
                for (index, node) in nodes.iter().enumerate() {
                    if let Some((relationship, forwards)) =
                        index.checked_sub(1).and_then(|i| relationships.get(i))
                    {
                        out.push_str(if *forwards { "-" } else { "<-" });
                        relationship.write(out, lists);
                        out.push_str(if *forwards { "->" } else { "-" });
                    }
                    node.write(out, lists);
                }
                out.push('>');
            }
        }
    }
}

fn write_entries(entries: &BTreeMap<String, Literal>, out: &mut String, lists: Ordered) {
    let texts: Vec<String> = entries
        .iter()
        .map(|(key, value)| format!("{key}: {}", value.normal_form(lists)))
        .collect();
    let _ = write!(out, "{{{}}}", texts.join(", "));
}

fn properties(entries: &BTreeMap<Arc<str>, Value>) -> BTreeMap<String, Literal> {
    let entries = entries.iter();
    entries
        .map(|(k, v)| (k.to_string(), Literal::of(v)))
        .collect()
}

fn of_node(node: &Node) -> Literal {
    let mut labels: Vec<String> = node.labels.iter().map(ToString::to_string).collect();
    labels.sort();
    Literal::Node(labels, properties(&node.properties))
}

fn of_relationship(relationship: &Relationship) -> Literal {
    Literal::Relationship(
        relationship.rel_type.to_string(),
        properties(&relationship.properties),
    )
}

/// A cursor over the text of a value.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn wrong(&self, wanted: &str) -> String {
        format!(
            "{wanted} is missing at character {} of `{}`",
            self.at, self.text
        )
    }

    fn blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn take(&mut self, word: &str) -> bool {
        self.blanks();
        let found = self.rest().starts_with(word);
        if found {
            self.at += word.len();
        }
        found
    }

    fn need(&mut self, word: &str) -> Result<(), String> {
        if self.take(word) {
            return Ok(());
        }
        Err(self.wrong(word))
    }

    fn value(&mut self) -> Result<Literal, String> {
        self.blanks();
        match self.rest().chars().next() {
            Some('\'') => self.string().map(Literal::String),
            Some('{') => self.entries().map(Literal::Map),
            Some('(') => self.node(),
            Some('<') => self.path(),
            Some('[') if self.rest()[1..].trim_start().starts_with(':') => self.relationship(),
            Some('[') => self.list(),
            _ => self.word(),
        }
    }

    fn list(&mut self) -> Result<Literal, String> {
        self.need("[")?;
        let mut items = Vec::new();
        if self.take("]") {
            return Ok(Literal::List(items));
        }
        loop {
            items.push(self.value()?);
            if self.take("]") {
                return Ok(Literal::List(items));
            }
            self.need(",")?;
        }
    }

    fn name(&mut self) -> Result<String, String> {
        self.blanks();
        let rest = self.rest();
        let len = if let Some(quoted) = rest.strip_prefix('`') {
            quoted.find('`').map_or(0, |end| end + 2)
        } else {
            rest.find(|c: char| !(c.is_alphanumeric() || c == '_'))
                .unwrap_or(rest.len())
        };
        if len == 0 {
            return Err(self.wrong("a name"));
        }
        self.at += len;
        Ok(rest[..len].trim_matches('`').to_owned())
    }

    fn entries(&mut self) -> Result<BTreeMap<String, Literal>, String> {
        self.need("{")?;
        let mut entries = BTreeMap::new();
        if self.take("}") {
            return Ok(entries);
        }
        loop {
            let key = self.name()?;
            self.need(":")?;
            entries.insert(key, self.value()?);
            if self.take("}") {
                return Ok(entries);
            }
            self.need(",")?;
        }
    }

    fn optional_entries(&mut self) -> Result<BTreeMap<String, Literal>, String> {
        self.blanks();
        if self.rest().starts_with('{') {
            self.entries()
        } else {
            Ok(BTreeMap::new())
        }
    }

    fn node(&mut self) -> Result<Literal, String> {
        self.need("(")?;
        let mut labels = Vec::new();
        while self.take(":") {
            labels.push(self.name()?);
        }
        labels.sort();
        let entries = self.optional_entries()?;
        self.need(")")?;
        Ok(Literal::Node(labels, entries))
    }

    fn relationship(&mut self) -> Result<Literal, String> {
        self.need("[")?;
        self.need(":")?;
        let name = self.name()?;
        let entries = self.optional_entries()?;
        self.need("]")?;
        Ok(Literal::Relationship(name, entries))
    }

    fn path(&mut self) -> Result<Literal, String> {
        self.need("<")?;
        let mut nodes = vec![self.node()?];
        let mut relationships = Vec::new();
        while !self.take(">") {
            let backwards = self.take("<-");
            if !backwards {
                self.need("-")?;
            }
            let relationship = self.relationship()?;
            self.need(if backwards { "-" } else { "->" })?;
            relationships.push((relationship, !backwards));
            nodes.push(self.node()?);
        }
        Ok(Literal::Path(nodes, relationships))
    }

    fn string(&mut self) -> Result<String, String> {
        self.need("'")?;
        let mut text = String::new();
        let mut chars = self.rest().char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '\'' => {
                    self.at += at + 1;
                    return Ok(text);
                }
                '\\' => match chars.next() {
                    Some((_, c @ ('\\' | '\''))) => text.push(c),
                    Some((_, c)) => {
                        text.push('\\');
                        text.push(c);
                    }
                    None => break,
                },
                c => text.push(c),
            }
        }
        Err(self.wrong("the closing quote"))
    }

    fn word(&mut self) -> Result<Literal, String> {
        let rest = self.rest();
        let end = rest.find([',', ']', '}', ' ']).unwrap_or(rest.len());
        let word = &rest[..end];
        let value = match word {
            "null" => Literal::Null,
            "true" => Literal::Boolean(true),
            "false" => Literal::Boolean(false),
            "NaN" => Literal::Float(f64::NAN),
            "Inf" | "Infinity" => Literal::Float(f64::INFINITY),
            "-Inf" | "-Infinity" => Literal::Float(f64::NEG_INFINITY),
            _ => match (word.parse(), word.parse()) {
                (Ok(integer), _) => Literal::Integer(integer),
                (_, Ok(float)) => Literal::Float(float),
                _ => return Err(self.wrong("a value")),
            },
        };
        self.at += end;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_one_normal_form() {
        let same = |a: &str, b: &str| {
            let form = |text| Literal::parse(text).expect(text).normal_form(Ordered::No);
            assert_eq!(form(a), form(b));
        };
        same("(:B:A {y: 1, x: 'a'})", "( :A :B { x: 'a' , y : 1 } )");
        same("[1, 2.0, null]", "[null, 2.0, 1]");
        same(
            "<(:A)-[:T]->(:B)<-[:U {k: 1}]-()>",
            "<(:A)-[:T]->(:B)<-[:U {k: 1}]-()>",
        );
        same("{a: [], b: {}}", "{b: {}, a: []}");
        assert_eq!(
            Literal::parse("'it\\'s'"),
            Ok(Literal::String("it's".into()))
        );
        assert_ne!(Literal::parse("1"), Literal::parse("1.0"));
        assert!(Literal::parse("[1").is_err());
    }
}
