//! JSON: a list of objects, or one object after the other, whatever lies between them.
//!
//! # How it works
//! The extent of the next object is found byte by byte, then it is parsed by itself: neither a
//! large list nor a long file is ever in memory. Columns are the keys of the first objects, in the
//! order they come. Numbers become floats where they have a point or an exponent; where decimals
//! are declared, and where a number may be a whole one beyond 64 bits, its text is read.
//!
//! # Invariants
//! * FI-3 An object longer than four times [`Options::record_bytes`] is an error, and so is a key
//!   that the columns lack: nothing is left out silently.

use std::io::{BufRead, BufReader, Read};
use std::marker::PhantomData;
use std::sync::Arc;

use graven_types::PropertyValue;
use graven_types::told;
use serde_json::Value as Json;
use serde_json::value::RawValue;

use crate::cast::{cast, of_text};
use crate::column::{COLUMNS_MAX, Column};
use crate::datum::Datum;
use crate::decimal::comes_back;
use crate::error::{Error, Fault, Result};
use crate::kind::Kind;
use crate::options::Options;
use crate::ranges::{Cursor, Input};

/// An object with its keys in the order they are written.
struct Pairs<T>(Vec<(String, T)>);

impl<'de, T: serde::Deserialize<'de>> serde::Deserialize<'de> for Pairs<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<T>(PhantomData<T>);
        impl<'de, T: serde::Deserialize<'de>> serde::de::Visitor<'de> for Visitor<T> {
            type Value = Pairs<T>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Pairs<T>, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Visitor(PhantomData))
    }
}

/// Objects of a file.
pub(crate) struct Objects {
    name: String,
    input: BufReader<Box<dyn Read + Send>>,
    text: Vec<u8>,
    /// Longest object, in bytes.
    longest: usize,
    line: u64,
    row: u64,
    first: u64,
}

impl Objects {
    pub(crate) fn open(name: &str, file: Input, options: &Options) -> Result<Self> {
        let input = graven_import::unpacked(Cursor::new(file, 0)).map_err(|source| Error::Io {
            file: name.to_owned(),
            source,
        })?;
        Ok(Objects {
            name: name.to_owned(),
            input: BufReader::with_capacity(128 << 10, input),
            text: Vec::new(),
            longest: options.record_bytes.saturating_mul(4),
            line: 1,
            row: 0,
            first: 1,
        })
    }

    /// About how many bytes it holds.
    pub(crate) fn held(&self) -> usize {
        // The parsed object takes a few times its text.
        (128 << 10) + 4 * self.text.capacity()
    }

    fn fault(&self, column: Option<&str>, value: Option<String>, why: impl Into<String>) -> Fault {
        Fault {
            file: self.name.clone(),
            row: self.row,
            line: Some(self.first),
            column: column.map(str::to_owned),
            value: value.as_deref().map(Fault::shown),
            why: why.into(),
        }
    }

    /// The next object.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<(String, Json)>>> {
        self.text.clear();
        let (mut depth, mut quoted, mut escaped) = (0_u32, false, false);
        'file: loop {
            let block = self.input.fill_buf().map_err(|source| Error::Io {
                file: self.name.clone(),
                source,
            })?;
            if block.is_empty() {
                break;
            }
            let mut from = None;
            for (at, byte) in block.iter().enumerate() {
                if depth == 0 {
                    match byte {
                        b'{' => {
                            from = Some(at);
                            depth = 1;
                            self.first = self.line;
                        }
                        b'\n' => self.line += 1,
                        b' ' | b'\t' | b'\r' | b',' | b'[' | b']' | 0xef | 0xbb | 0xbf => {}
                        _ => {
                            self.first = self.line;
                            self.row += 1;
                            let why =
                                "an object is wanted: a list of objects, or one object a line";
                            return Err(self.fault(None, None, why).into());
                        }
                    }
                    continue;
                }
                match byte {
                    b'\n' => self.line += 1,
                    _ if escaped => escaped = false,
                    b'\\' if quoted => escaped = true,
                    b'"' => quoted = !quoted,
                    b'{' | b'[' if !quoted => depth += 1,
                    b'}' | b']' if !quoted => {
                        depth -= 1;
                        if depth == 0 {
                            self.text.extend_from_slice(&block[from.unwrap_or(0)..=at]);
                            self.input.consume(at + 1);
                            break 'file;
                        }
                    }
                    _ => {}
                }
            }
            let whole = block.len();
            if depth > 0 {
                self.text.extend_from_slice(&block[from.unwrap_or(0)..]);
            }
            self.input.consume(whole);
            if self.text.len() > self.longest {
                let why = told!(
                    "the object is longer than {} bytes: is a quote missing? A higher memory limit \
                        takes longer ones",
                    self.longest
                );
                return Err(self.fault(None, None, why).into());
            }
        }
        if self.text.is_empty() {
            return Ok(None);
        }
        self.row += 1;
        match serde_json::from_slice(&self.text) {
            Ok(Pairs(object)) if object.len() > COLUMNS_MAX => {
                let why = told!("the object has more than {COLUMNS_MAX} keys");
                Err(self.fault(None, None, why).into())
            }
            Ok(Pairs(object)) => Ok(Some(object)),
            Err(error) => Err(self.fault(None, None, told!("is no JSON: {error}")).into()),
        }
    }

    /// The next row, as [`crate::csv::Reader::next`].
    pub(crate) fn row(
        &mut self,
        columns: &[Column],
        wanted: &[usize],
        into: &mut [Vec<Datum>],
    ) -> Result<bool> {
        let Some(mut object) = self.next()? else {
            return Ok(false);
        };
        let unknown = |(key, _): &&(String, Json)| columns.iter().all(|c| c.name != *key);
        if let Some((unknown, _)) = object.iter().find(unknown) {
            let why = "is a key that the objects before did not have: declare the columns, or \
                raise SAMPLE_SIZE";
            return Err(self.fault(None, Some(unknown.clone()), why).into());
        }
        let is_wanted = |key: &str| wanted.iter().any(|at| columns[*at].name == *key);
        let mut values = object.iter().filter(|(key, _)| is_wanted(key));
        let has_decimals = wanted.iter().any(|at| columns[*at].kind.has_decimals());
        let is_exact = has_decimals || values.any(|(_, json)| may_be_whole(json));
        let texts: Option<Pairs<&RawValue>> = match is_exact {
            true => serde_json::from_slice(&self.text).ok(),
            false => None,
        };
        let text_of = |name: &str| {
            let texts = &texts.as_ref()?.0;
            texts.iter().rfind(|(key, _)| *key == *name)
        };
        for (slot, at) in wanted.iter().enumerate() {
            let column = &columns[*at];
            // The last of several with one name counts, as everywhere.
            let json = object.iter().rposition(|(key, _)| *key == column.name);
            let json = json.map_or(Json::Null, |place| object.swap_remove(place).1);
            let value = match text_of(&column.name) {
                Some((_, text)) => exact(text, &column.kind),
                None => datum(&json),
            };
            let value = value.and_then(|value| match (&value, &column.kind) {
                // A file says itself which values are texts.
                (Datum::Value(PropertyValue::Integer(_)), Kind::String)
                | (Datum::Value(PropertyValue::Boolean(_)), Kind::String) => {
                    Err("is no STRING".to_owned())
                }
                _ => cast(value, &column.kind),
            });
            let value = value.map_err(|why| {
                let shown = match (&json, text_of(&column.name)) {
                    (Json::String(text), _) => told!("{text}"),
                    (Json::Number(_), Some((_, text))) => told!("{}", text.get()),
                    (other, _) => told!("{other}"),
                };
                self.fault(Some(&column.name), Some(shown), why)
            })?;
            into[slot].push(value);
        }
        Ok(true)
    }
}

fn datum(json: &Json) -> Result<Datum, String> {
    let value = match json {
        Json::Null => PropertyValue::Null,
        Json::Bool(b) => PropertyValue::Boolean(*b),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => PropertyValue::Integer(integer),
            (None, _) if number.is_u64() => {
                return Err("is larger than a 64-bit integer".to_owned());
            }
            (None, Some(float)) => PropertyValue::Float(float),
            (None, None) => return Err("is no 64-bit number".to_owned()),
        },
        Json::String(text) => PropertyValue::String(text.as_str().into()),
        Json::Array(items) => {
            let items = items.iter().map(datum);
            return Ok(Datum::list(items.collect::<Result<_, _>>()?));
        }
        Json::Object(entries) => {
            let entries = entries.iter();
            let entries = entries.map(|(key, value)| Ok((Arc::from(key.as_str()), datum(value)?)));
            return Ok(Datum::Map(entries.collect::<Result<_, String>>()?));
        }
    };
    Ok(Datum::Value(value))
}

/// From here on a number may be a whole one that no 64 bits hold.
const WHOLE_MAX: f64 = 9_223_372_036_854_775_807.0;

/// Whether some number may be whole and beyond 64 bits.
fn may_be_whole(json: &Json) -> bool {
    match json {
        Json::Number(number) => {
            number.as_i64().is_none() && number.as_f64().is_some_and(|it| it.abs() >= WHOLE_MAX)
        }
        Json::Array(items) => items.iter().any(may_be_whole),
        Json::Object(entries) => entries.values().any(may_be_whole),
        _ => false,
    }
}

/// The value of a text of JSON, with all digits of its numbers.
fn exact(raw: &RawValue, kind: &Kind) -> Result<Datum, String> {
    let text = raw.get();
    let broken = |error: serde_json::Error| told!("is no JSON: {error}");
    match (text.as_bytes().first(), kind) {
        (Some(b'['), kind) => {
            let element = match kind {
                Kind::List(element) => element,
                Kind::Vector(of, _) if of.is_float() => &Kind::Float,
                _ => &Kind::Any,
            };
            let items: Vec<&RawValue> = serde_json::from_str(text).map_err(broken)?;
            let items = items.into_iter().map(|item| exact(item, element));
            Ok(Datum::list(items.collect::<Result<_, _>>()?))
        }
        (Some(b'{'), kind) => {
            let fields: &[(String, Kind)] = match kind {
                Kind::Map(fields) => fields,
                _ => &[],
            };
            let entries: Pairs<&RawValue> = serde_json::from_str(text).map_err(broken)?;
            let entries = entries.0.into_iter().map(|(key, value)| {
                let field = fields.iter().find(|(name, _)| *name == key);
                let kind = field.map_or(&Kind::Any, |(_, kind)| kind);
                Ok((Arc::from(key), exact(value, kind)?))
            });
            Ok(Datum::Map(entries.collect::<Result<_, String>>()?))
        }
        (Some(b'-' | b'0'..=b'9'), Kind::Decimal(..)) => of_text(text, kind),
        (Some(b'-' | b'0'..=b'9'), _) => {
            let number: f64 = text.parse().unwrap_or(f64::NAN);
            let is_whole = !text.contains(['.', 'e', 'E']) && text.parse::<i64>().is_err();
            match is_whole {
                true if *kind == Kind::Float && comes_back(text, number) => {
                    Ok(Datum::Value(PropertyValue::Float(number)))
                }
                true => Err("is larger than a 64-bit integer".to_owned()),
                false => datum(&serde_json::from_str(text).map_err(broken)?),
            }
        }
        _ => datum(&serde_json::from_str(text).map_err(broken)?),
    }
}

/// The columns that the first objects show.
pub(crate) fn sniff(name: &str, file: Input, options: &Options) -> Result<Vec<Column>> {
    let mut objects = Objects::open(name, file, options)?;
    let mut columns: Vec<Column> = Vec::new();
    let mut rows = 0;
    while rows < options.sample {
        let Some(object) = objects.next()? else {
            break;
        };
        rows += 1;
        for (key, json) in &object {
            let kind = datum(json).map_or(Kind::Any, |value| Kind::of(&value));
            match columns.iter_mut().find(|column| column.name == *key) {
                Some(column) => {
                    let known = std::mem::replace(&mut column.kind, Kind::Null);
                    column.kind = json_both(known, kind);
                }
                None => columns.push(Column {
                    name: key.clone(),
                    kind,
                    stated: None,
                }),
            }
        }
        // The caller says that they are too many.
        if columns.len() > COLUMNS_MAX {
            break;
        }
    }
    for column in &mut columns {
        column.kind = open_kind(std::mem::replace(&mut column.kind, Kind::Null));
    }
    Ok(columns)
}

/// Numbers of JSON are of one kind; maps may lack keys.
fn json_both(a: Kind, b: Kind) -> Kind {
    match (a, b) {
        (Kind::Integer, Kind::Float) | (Kind::Float, Kind::Integer) => Kind::Float,
        (Kind::List(a), Kind::List(b)) => Kind::List(Box::new(json_both(*a, *b))),
        (Kind::Map(_), Kind::Map(_)) => Kind::Map(Vec::new()),
        (a, b) => a.with(b),
    }
}

/// What the sample did not decide may be anything.
fn open_kind(kind: Kind) -> Kind {
    match kind {
        Kind::Null => Kind::Any,
        Kind::List(element) => Kind::List(Box::new(open_kind(*element))),
        Kind::Map(_) => Kind::Map(Vec::new()),
        other => other,
    }
}
