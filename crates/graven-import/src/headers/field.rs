//! One field of a header line: `name:TYPE(Space){options}`.

use crate::plan::IdKind;
use crate::value::Kind;

/// What a column is for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Role {
    Property { kind: Kind },
    Id { ids: Option<IdKind> },
    Label,
    Start,
    End,
    Type,
    Ignore,
}

/// A field, read.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Field {
    pub(super) name: Option<String>,
    pub(super) role: Role,
    pub(super) space: Option<String>,
}

impl Field {
    /// Reads a field; the error says what is wrong and what to do.
    pub(super) fn parse(text: &str, array_delimiter: u8) -> Result<Self, String> {
        let (name, rest) = match text.rsplit_once(':') {
            // The options may hold a colon: `id:ID(Person){id-type:long}`.
            Some(_) if text.contains('{') => {
                let brace = text.find('{').unwrap_or(text.len());
                let colon = text[..brace].rfind(':');
                match colon {
                    Some(colon) => (&text[..colon], &text[colon + 1..]),
                    None => (text, ""),
                }
            }
            Some((name, rest)) => (name, rest),
            None => (text, ""),
        };
        let (rest, options) = match rest.split_once('{') {
            Some((rest, options)) => {
                let inner = options.strip_suffix('}').ok_or("has no closing brace")?;
                (rest, Some(inner))
            }
            None => (rest, None),
        };
        let (word, space) = match rest.split_once('(') {
            Some((word, space)) => {
                let inner = space
                    .strip_suffix(')')
                    .ok_or("has no closing parenthesis")?;
                (word, Some(inner.trim().to_owned()))
            }
            None => (rest, None),
        };
        let role = role(word.trim(), options, array_delimiter)?;
        let name = Some(name.trim())
            .filter(|n| !n.is_empty())
            .map(str::to_owned);
        Ok(Self { name, role, space })
    }

    /// Whether both become a property of one name.
    pub(super) fn is_same_key(&self, other: &Self) -> bool {
        let is_key = |field: &Self| matches!(field.role, Role::Property { .. } | Role::Id { .. });
        self.name.is_some() && self.name == other.name && is_key(self) && is_key(other)
    }
}

fn role(word: &str, options: Option<&str>, array_delimiter: u8) -> Result<Role, String> {
    let upper = word.to_ascii_uppercase();
    let ids = options.map(id_kind).transpose()?.flatten();
    Ok(match upper.as_str() {
        "ID" => Role::Id { ids },
        "START_ID" => Role::Start,
        "END_ID" => Role::End,
        "LABEL" => Role::Label,
        "TYPE" => Role::Type,
        "IGNORE" => Role::Ignore,
        _ => Role::Property {
            kind: kind(&word.to_ascii_lowercase(), array_delimiter)?,
        },
    })
}

/// The kind of ids named in `{id-type:long}`.
fn id_kind(options: &str) -> Result<Option<IdKind>, String> {
    for option in options.split(',') {
        let Some((name, value)) = option.split_once([':', '=']) else {
            continue;
        };
        if name.trim() == "id-type" {
            return match value.trim().to_ascii_lowercase().as_str() {
                "long" | "int" | "integer" | "actual" => Ok(Some(IdKind::Integer)),
                "string" => Ok(Some(IdKind::Text)),
                other => Err(format!("has the id-type '{other}': use long or string")),
            };
        }
    }
    Ok(None)
}

fn kind(word: &str, array_delimiter: u8) -> Result<Kind, String> {
    if let Some(element) = word.strip_suffix("[]") {
        return Ok(Kind::Array(
            Box::new(kind(element, array_delimiter)?),
            array_delimiter,
        ));
    }
    Ok(match word {
        "" | "string" => Kind::Text,
        "int" | "integer" => Kind::Integer(32),
        "long" => Kind::Integer(64),
        "short" => Kind::Integer(16),
        "byte" => Kind::Integer(8),
        "float" | "double" => Kind::Float,
        "boolean" | "bool" => Kind::Boolean,
        "char" => Kind::Character,
        "date" => Kind::Date,
        "localtime" => Kind::LocalTime,
        "time" => Kind::Time,
        "localdatetime" => Kind::LocalDateTime,
        "datetime" => Kind::DateTime,
        "duration" => Kind::Duration,
        "point" => Kind::Point,
        other => {
            return Err(format!(
                "has the unknown type '{other}': use string, int, long, float, double, boolean, \
                 date, localdatetime, datetime, duration, point, a list such as string[], or \
                 :ID, :LABEL, :START_ID, :END_ID, :TYPE, :IGNORE"
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(text: &str) -> Field {
        Field::parse(text, b';').unwrap()
    }

    #[test]
    fn the_convention_is_read() {
        let id = field("id:ID(Person)");
        assert_eq!(
            (id.name.as_deref(), id.space.as_deref()),
            (Some("id"), Some("Person"))
        );
        assert_eq!(id.role, Role::Id { ids: None });
        let typed = field("id:ID(Person){id-type:long}");
        assert_eq!(
            (typed.name.as_deref(), typed.space.as_deref()),
            (Some("id"), Some("Person"))
        );
        assert_eq!(
            typed.role,
            Role::Id {
                ids: Some(IdKind::Integer)
            }
        );
        assert_eq!(field(":LABEL").role, Role::Label);
        assert_eq!(field(":START_ID").role, Role::Start);
        assert_eq!(field("old:IGNORE").role, Role::Ignore);
        assert_eq!(field("name").role, Role::Property { kind: Kind::Text });
        assert_eq!(field("a:b:int").name.as_deref(), Some("a:b"));
        let list = Kind::Array(Box::new(Kind::Text), b';');
        assert_eq!(field("tags:string[]").role, Role::Property { kind: list });
    }

    #[test]
    fn mistakes_are_named() {
        assert!(
            Field::parse("age:number", b';')
                .unwrap_err()
                .contains("unknown type 'number'")
        );
        assert!(
            Field::parse("id:ID(Person", b';')
                .unwrap_err()
                .contains("parenthesis")
        );
        assert!(
            Field::parse("id:ID{id-type:uuid}", b';')
                .unwrap_err()
                .contains("long or string")
        );
    }
}
