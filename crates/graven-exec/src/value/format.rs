//! Values as text: what `toString` and concatenation give, and a readable form for messages.

use graven_types::PropertyValue;
use std::fmt::{self, Display, Formatter};

use super::Value;

impl Display for Value {
    /// Text at the top level stands without quotes, inside lists and maps with quotes. Nodes and
    /// relationships show their ids only; the result layer writes them with labels and properties.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Value::String(s) => f.write_str(s),
            _ => {
                let mut cut = Cut {
                    left: CUT_AT,
                    to: f,
                };
                match write_nested(self, &mut cut) {
                    Err(_) if cut.left == 0 => f.write_str("..."),
                    done => done,
                }
            }
        }
    }
}

/// Bytes of a list or map that are written: it stands in messages only.
const CUT_AT: usize = 1000;

/// Writes no more than some bytes.
struct Cut<'a, 'f> {
    left: usize,
    to: &'a mut Formatter<'f>,
}

impl fmt::Write for Cut<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if text.len() <= self.left {
            self.left -= text.len();
            return self.to.write_str(text);
        }
        let end = text.floor_char_boundary(self.left);
        self.left = 0;
        self.to.write_str(&text[..end])?;
        Err(fmt::Error)
    }
}

/// The float as the language writes it: always with a point or an exponent.
#[must_use]
pub fn float_text(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let magnitude = value.abs();
    if magnitude != 0.0 && !(1e-3..1e7).contains(&magnitude) {
        // The shortest digits that read back to the same float, in scientific form.
        let text = format!("{value:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let point = if mantissa.contains('.') { "" } else { ".0" };
        return format!("{mantissa}{point}E{exponent}");
    }
    let text = format!("{value}");
    if text.contains('.') {
        text
    } else {
        format!("{text}.0")
    }
}

fn write_nested(value: &Value, f: &mut impl fmt::Write) -> fmt::Result {
    match value {
        Value::Null => f.write_str("null"),
        Value::Boolean(b) => write!(f, "{b}"),
        Value::Integer(i) => write!(f, "{i}"),
        Value::Float(x) => f.write_str(&float_text(*x)),
        Value::String(s) => {
            f.write_str("'")?;
            for part in s.split_inclusive(['\\', '\'']) {
                match part.strip_suffix(['\\', '\'']) {
                    Some(plain) => write!(f, "{plain}\\{}", &part[plain.len()..])?,
                    None => f.write_str(part)?,
                }
            }
            f.write_str("'")
        }
        Value::Bytes(b) => write!(f, "<{} bytes>", b.len()),
        Value::List(items) => {
            f.write_str("[")?;
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    f.write_str(", ")?;
                }
                write_nested(item, f)?;
            }
            f.write_str("]")
        }
        Value::Map(map) => {
            f.write_str("{")?;
            for (i, (key, item)) in map.entries().iter().enumerate() {
                if i > 0 {
                    f.write_str(", ")?;
                }
                write!(f, "{key}: ")?;
                write_nested(item, f)?;
            }
            f.write_str("}")
        }
        Value::Node(id) => write!(f, "(#{})", id.0),
        Value::Relationship(id) => write!(f, "[#{}]", id.0),
        Value::Path(path) => {
            write!(f, "<(#{})", path.nodes[0].0)?;
            for (relationship, node) in path.relationships.iter().zip(&path.nodes[1..]) {
                write!(f, "-[#{}]-(#{})", relationship.0, node.0)?;
            }
            f.write_str(">")
        }
        Value::Stored(stored) => f.write_str(&stored_text(stored)),
    }
}

/// ISO text of temporal values, `point({...})` of points, `vector([...], ...)` of vectors.
pub(super) fn stored_text(stored: &PropertyValue) -> String {
    if let Some(text) = graven_temporal::text::write(stored) {
        return text;
    }
    match stored {
        PropertyValue::Point(p) => {
            let number = float_text;
            let z = p.z.map_or(String::new(), |z| format!(", z: {}", number(z)));
            let system = super::coordinate_system::system_name(p.srid);
            let (x, y) = (number(p.x), number(p.y));
            format!("point({{x: {x}, y: {y}{z}, crs: '{system}'}})")
        }
        PropertyValue::Vector(vector) => vector.to_string(),
        other => Value::from(other.clone()).to_string(),
    }
}
