//! Literals of the language, in and out: the text form in which every value keeps its type.
//!
//! # How it works
//! What is written can be read back by [`read`], and stands for the same value in a statement.
//! [`read`] takes literals only, and besides them what lists of other programs look like: JSON's,
//! and texts without quotes within brackets (`[a, b]`), or within backquotes.

use std::fmt::{self, Write};
use std::sync::Arc;

use graven_temporal::{Kind as Temporal, Zone, duration, text};
use graven_types::PropertyValue;
use graven_types::told;
use graven_types::vector::{CoordinateType, Number, Vector};
use graven_types::{LocalDateTime, Point};

use crate::datum::Datum;
use crate::decimal;

/// Nesting that is read.
const DEPTH_MAX: usize = 100;

/// Appends the literal of a value.
pub fn write(out: &mut String, datum: &Datum) {
    // Nothing is refused by a text.
    let _ = write_to(out, datum);
}

/// Writes the literal of a value.
///
/// # Errors
/// What `out` says.
pub fn write_to(out: &mut impl Write, datum: &Datum) -> fmt::Result {
    match datum {
        Datum::Value(value) => write_value(out, value),
        Datum::List(items) => between(out, ('[', ']'), items.iter(), write_to),
        Datum::Map(entries) => between(out, ('{', '}'), entries.iter(), |out, (key, value)| {
            write_name(out, key)?;
            out.write_str(": ")?;
            write_to(out, value)
        }),
    }
}

fn between<T, W: Write>(
    out: &mut W,
    (open, close): (char, char),
    items: impl Iterator<Item = T>,
    one: impl Fn(&mut W, T) -> fmt::Result,
) -> fmt::Result {
    out.write_char(open)?;
    for (at, item) in items.enumerate() {
        if at > 0 {
            out.write_str(", ")?;
        }
        one(out, item)?;
    }
    out.write_char(close)
}

/// Appends a name, in backquotes where it needs them.
pub fn name(out: &mut String, name: &str) {
    let _ = write_name(out, name);
}

fn write_name(out: &mut impl Write, name: &str) -> fmt::Result {
    let mut chars = name.chars();
    let plain = chars.next().is_some_and(|c| c.is_ascii_alphabetic())
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_');
    match plain {
        true => out.write_str(name),
        false => out.write_str(&graven_types::name::quoted(name)),
    }
}

/// Appends a text in quotes.
pub fn quoted(out: &mut String, text: &str) {
    let _ = write_quoted(out, text);
}

fn write_quoted(out: &mut impl Write, text: &str) -> fmt::Result {
    // XML, which may carry the literal, has no such characters.
    let is_special = |c: char| matches!(c, '\'' | '\\' | '\u{FFFE}' | '\u{FFFF}') || c.is_control();
    out.write_char('\'')?;
    let mut rest = text;
    while let Some(at) = rest.find(is_special) {
        out.write_str(&rest[..at])?;
        let mut chars = rest[at..].chars();
        match chars.next().unwrap_or_default() {
            '\'' => out.write_str("\\'")?,
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            c => write!(out, "\\u{:04X}", u32::from(c))?,
        }
        rest = chars.as_str();
    }
    out.write_str(rest)?;
    out.write_char('\'')
}

fn write_value(out: &mut impl Write, value: &PropertyValue) -> fmt::Result {
    let function = match value {
        PropertyValue::Boolean(b) => return out.write_str(if *b { "true" } else { "false" }),
        // The least integer has no literal of its own.
        PropertyValue::Integer(i64::MIN) => return out.write_str("(-9223372036854775807 - 1)"),
        PropertyValue::Integer(i) => return write!(out, "{i}"),
        PropertyValue::Float(x) if x.is_nan() => return out.write_str("(0.0 / 0.0)"),
        PropertyValue::Float(x) if x.is_infinite() => {
            return out.write_str(if *x > 0.0 {
                "(1.0 / 0.0)"
            } else {
                "(-1.0 / 0.0)"
            });
        }
        PropertyValue::Float(x) => return write!(out, "{x:?}"),
        PropertyValue::String(s) => return write_quoted(out, s),
        PropertyValue::Bytes(bytes) => {
            out.write_str("bytes('")?;
            bytes.iter().try_for_each(|b| write!(out, "{b:02x}"))?;
            return out.write_str("')");
        }
        PropertyValue::List(items) => {
            return between(out, ('[', ']'), items.iter(), write_value);
        }
        PropertyValue::Point(p) => {
            let (srid, x, y) = (p.srid, p.x, p.y);
            write!(out, "point({{srid: {srid}, x: {x:?}, y: {y:?}")?;
            if let Some(z) = p.z {
                write!(out, ", z: {z:?}")?;
            }
            return out.write_str("})");
        }
        PropertyValue::Vector(vector) => return write!(out, "{vector}"),
        PropertyValue::Null => return out.write_str("null"),
        PropertyValue::Date(_) => "date",
        PropertyValue::LocalTime(_) => "localtime",
        PropertyValue::Time(_) => "time",
        PropertyValue::LocalDateTime(_) => "localdatetime",
        PropertyValue::DateTime(_) => "datetime",
        PropertyValue::Duration(_) => "duration",
    };
    let text = text::write(value).unwrap_or_default();
    write!(out, "{function}('{text}')")
}

/// A value as its literal.
pub(crate) struct Shown<'a>(pub(crate) &'a Datum);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_to(f, self.0)
    }
}

/// The value of a literal.
///
/// # Errors
/// What is wrong with the text.
pub fn read(text: &str) -> Result<Datum, String> {
    read_noting_pairs(text).map(|(value, _)| value)
}

/// The same, and whether entries of a map are written with `=`.
pub(crate) fn read_noting_pairs(text: &str) -> Result<(Datum, bool), String> {
    let mut reader = Reader {
        text,
        at: 0,
        depth: 0,
        has_pairs: false,
    };
    let value = reader.value(false)?;
    reader.blank();
    match &text[reader.at..] {
        "" => Ok((value, reader.has_pairs)),
        rest => Err(told!("has '{}' after its end", crate::Fault::shown(rest))),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    has_pairs: bool,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn blank(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn eat(&mut self, what: &str) -> bool {
        self.blank();
        let eaten = self.rest().starts_with(what);
        self.at += if eaten { what.len() } else { 0 };
        eaten
    }

    fn expect(&mut self, what: &str) -> Result<(), String> {
        match self.eat(what) {
            true => Ok(()),
            false => Err(told!(
                "is no literal: {what} is missing at byte {}",
                self.at + 1
            )),
        }
    }

    /// A value; within a list a text may stand without quotes.
    fn value(&mut self, listed: bool) -> Result<Datum, String> {
        self.blank();
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("is nested too deeply".to_owned());
        }
        let value = match self.rest().chars().next() {
            None => Err("is no literal: it is empty".to_owned()),
            Some('[') => self.list(),
            Some('{') => self.map(),
            Some('\'' | '"' | '`') => self.string().map(|text| Datum::text(&text)),
            Some('(') => self.special(),
            Some(_) => self.word(listed),
        };
        self.depth -= 1;
        value
    }

    fn list(&mut self) -> Result<Datum, String> {
        self.at += 1;
        let mut items = Vec::new();
        if self.eat("]") {
            return Ok(Datum::list(items));
        }
        loop {
            items.push(self.value(true)?);
            if self.eat("]") {
                return Ok(Datum::list(items));
            }
            self.expect(",")?;
        }
    }

    fn map(&mut self) -> Result<Datum, String> {
        self.at += 1;
        let mut entries = Vec::new();
        if self.eat("}") {
            return Ok(Datum::Map(entries));
        }
        loop {
            self.blank();
            let key = match self.rest().chars().next() {
                Some('\'' | '"' | '`') => self.string()?,
                _ => {
                    let rest = self.rest();
                    let end = rest.find([':', '=', '}', ',']).unwrap_or(rest.len());
                    self.at += end;
                    rest[..end].trim().to_owned()
                }
            };
            // Kuzu writes the entries of a map with `=`.
            match self.eat("=") {
                true => self.has_pairs = true,
                false => self.expect(":")?,
            }
            entries.push((Arc::from(key), self.value(true)?));
            if self.eat("}") {
                return Ok(Datum::Map(entries));
            }
            self.expect(",")?;
        }
    }

    fn string(&mut self) -> Result<String, String> {
        let quote = self.rest().chars().next().expect("a quote");
        self.at += 1;
        let mut out = String::new();
        let mut chars = self.rest().char_indices();
        while let Some((at, c)) = chars.next() {
            if c == quote {
                self.at += at + 1;
                if quote == '`' && self.rest().starts_with('`') {
                    out.push('`');
                    chars.next();
                    self.at -= at + 1;
                    continue;
                }
                return Ok(out);
            }
            if c != '\\' || quote == '`' {
                out.push(c);
                continue;
            }
            let (_, escaped) = chars.next().ok_or("ends after a backslash")?;
            out.push(match escaped {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'b' => '\u{8}',
                'f' => '\u{c}',
                'u' => {
                    let digits: String = chars.by_ref().take(4).map(|(_, c)| c).collect();
                    let code = u32::from_str_radix(&digits, 16).ok();
                    let code = code.and_then(char::from_u32);
                    code.ok_or_else(|| told!("has no character \\u{digits}"))?
                }
                other => other,
            });
        }
        Err("is no literal: a quote is not closed".to_owned())
    }

    /// What has no plain literal.
    fn special(&mut self) -> Result<Datum, String> {
        let forms = [
            (
                "(-9223372036854775807 - 1)",
                PropertyValue::Integer(i64::MIN),
            ),
            ("(0.0 / 0.0)", PropertyValue::Float(f64::NAN)),
            ("(1.0 / 0.0)", PropertyValue::Float(f64::INFINITY)),
            ("(-1.0 / 0.0)", PropertyValue::Float(f64::NEG_INFINITY)),
        ];
        for (text, value) in forms {
            if self.eat(text) {
                return Ok(Datum::Value(value));
            }
        }
        Err(told!("is no literal at byte {}", self.at + 1))
    }

    fn word(&mut self, listed: bool) -> Result<Datum, String> {
        let rest = self.rest();
        let ends: &[char] = match listed {
            true => &[',', ']', '}', '('],
            false => &['('],
        };
        let end = rest.find(ends).unwrap_or(rest.len());
        let word = rest[..end].trim();
        self.at += end;
        if self.rest().starts_with('(') && word.chars().all(|c| c.is_ascii_alphabetic()) {
            return self.call(word);
        }
        let value = match word.to_ascii_lowercase().as_str() {
            "null" | "" => PropertyValue::Null,
            "true" => PropertyValue::Boolean(true),
            "false" => PropertyValue::Boolean(false),
            // Reading it as a number would change it.
            _ if listed && is_padded(word) => PropertyValue::String(word.into()),
            _ => match (word.parse(), float(word)) {
                (Ok(integer), _) => PropertyValue::Integer(integer),
                // More digits than a number holds are kept, as a text.
                _ if listed && is_whole(word) => PropertyValue::String(word.into()),
                (_, Some(float)) if float.is_finite() => match decimal::comes_back(word, float) {
                    false if listed => PropertyValue::String(word.into()),
                    _ => PropertyValue::Float(float),
                },
                _ if listed => PropertyValue::String(word.into()),
                _ => return Err("is no literal".to_owned()),
            },
        };
        Ok(Datum::Value(value))
    }

    fn call(&mut self, function: &str) -> Result<Datum, String> {
        self.expect("(")?;
        let argument = self.value(false)?;
        let function = function.to_ascii_lowercase();
        if function == "vector" {
            return self.vector(&argument);
        }
        self.expect(")")?;
        match (function.as_str(), argument) {
            ("point", Datum::Map(entries)) => point(&entries),
            (_, Datum::Value(PropertyValue::String(text))) => called(&function, &text),
            _ => Err(told!(
                "is no literal: {function}() of something else than a text"
            )),
        }
    }

    /// The rest of `vector([1.0, 2.0], 2, FLOAT32)`, behind the list.
    fn vector(&mut self, numbers: &Datum) -> Result<Datum, String> {
        self.expect(",")?;
        let rest = self.rest();
        let (inside, _) = rest.split_once(')').ok_or("ends within vector()")?;
        self.at += inside.len() + 1;
        let kind = inside.split_once(',').and_then(|(dimension, of)| {
            let dimension = dimension.trim().parse().ok()?;
            Some((CoordinateType::parse(of.trim())?, dimension))
        });
        let (of, dimension) = kind.ok_or("is no vector: it wants a dimension and a type")?;
        vector(numbers, of, dimension).map(Datum::Value)
    }
}

/// The vector of a list of so many numbers.
pub(crate) fn vector(
    numbers: &Datum,
    of: CoordinateType,
    dimension: usize,
) -> Result<PropertyValue, String> {
    let Datum::Value(PropertyValue::List(items)) = numbers else {
        return Err("is no list of numbers".to_owned());
    };
    if items.len() != dimension {
        return Err(told!("has {} numbers, not {dimension}", items.len()));
    }
    let numbers = items.iter().map(|item| match item {
        PropertyValue::Integer(integer) => Some(Number::Integer(*integer)),
        PropertyValue::Float(float) => Some(Number::Float(*float)),
        _ => None,
    });
    let numbers: Option<Vec<Number>> = numbers.collect();
    let numbers = numbers.ok_or("has something else than numbers")?;
    // Digits behind those of a type of floats are lost in any text; others are not.
    let exact = match of {
        CoordinateType::Float32 => 1 << 24,
        CoordinateType::Float64 => 1 << 53,
        _ => u64::MAX,
    };
    let is_kept = |number: &Number| match number {
        Number::Integer(integer) => integer.unsigned_abs() <= exact,
        Number::Float(float) => of.is_float() || float.fract() == 0.0,
    };
    if let Some(lossy) = numbers.iter().find(|number| !is_kept(number)) {
        return Err(told!("has the number {lossy}, which is no {of}"));
    }
    let made = Vector::new(of, numbers).map_err(|fault| fault.to_string())?;
    Ok(PropertyValue::Vector(made))
}

/// Whether a text begins as a number with a needless zero.
pub(crate) fn is_padded(text: &str) -> bool {
    let plain = text.strip_prefix(['-', '+']).unwrap_or(text);
    matches!(plain.as_bytes(), [b'0', b'0'..=b'9', ..])
}

/// The float that a word is; none if it is a number beyond all of them.
pub(crate) fn float(word: &str) -> Option<f64> {
    let float: f64 = word.parse().ok()?;
    let has_digits = word.contains(|c: char| c.is_ascii_digit());
    (float.is_finite() || !has_digits).then_some(float)
}

/// Whether a word is a whole number, however large.
fn is_whole(word: &str) -> bool {
    let digits = word.strip_prefix(['-', '+']).unwrap_or(word);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

fn called(function: &str, argument: &str) -> Result<Datum, String> {
    let kind = match function {
        "date" => Temporal::Date,
        "localtime" => Temporal::LocalTime,
        "time" => Temporal::Time,
        "localdatetime" => Temporal::LocalDateTime,
        "datetime" => Temporal::DateTime,
        "duration" => {
            let read = duration::parse(argument).map_err(|e| e.to_string())?;
            return Ok(Datum::Value(PropertyValue::Duration(read)));
        }
        "bytes" => return hexadecimal(argument).map(Datum::Value),
        _ => return Err(told!("is no literal: there is no {function}()")),
    };
    let read = text::parse(kind, argument, &Zone::UTC);
    read.map(Datum::Value).map_err(|e| e.to_string())
}

/// The bytes of hexadecimal digits.
pub(crate) fn hexadecimal(text: &str) -> Result<PropertyValue, String> {
    let digits = text.as_bytes().chunks(2);
    let byte = |pair: &[u8]| {
        let pair = std::str::from_utf8(pair).ok().filter(|p| p.len() == 2)?;
        u8::from_str_radix(pair, 16).ok()
    };
    let bytes: Option<Arc<[u8]>> = digits.map(byte).collect();
    bytes
        .map(PropertyValue::Bytes)
        .ok_or_else(|| "is no text of hexadecimal digits".to_owned())
}

/// A point of its parts.
pub(crate) fn point(entries: &[(Arc<str>, Datum)]) -> Result<Datum, String> {
    let part = |name: &str| {
        let found = entries.iter().find(|(key, _)| **key == *name)?;
        match found.1 {
            Datum::Value(PropertyValue::Float(x)) => Some(x),
            Datum::Value(PropertyValue::Integer(i)) => Some(i as f64),
            _ => None,
        }
    };
    let z = part("z");
    let (Some(x), Some(y), Some(srid)) = (part("x"), part("y"), part("srid")) else {
        return Err("is no point: it wants srid, x and y".to_owned());
    };
    let wanted: &[u32] = match z {
        None => &[7203, 4326],
        Some(_) => &[9157, 4979],
    };
    let srid = wanted.iter().find(|known| f64::from(**known) == srid);
    let srid = *srid.ok_or("is no point: no such srid with so many coordinates")?;
    Ok(Datum::Value(PropertyValue::Point(Point { srid, x, y, z })))
}

/// A date and time at so many nanoseconds of 1970.
pub(crate) fn local_date_time(nanoseconds: i128) -> LocalDateTime {
    const SECOND: i128 = 1_000_000_000;
    LocalDateTime {
        seconds: i64::try_from(nanoseconds.div_euclid(SECOND)).unwrap_or(i64::MAX),
        nanoseconds: u32::try_from(nanoseconds.rem_euclid(SECOND)).expect("below 10^9"),
    }
}
