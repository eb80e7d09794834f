//! Procedures as lists show them: `SHOW PROCEDURES`, `graven.procedures` and `apoc.help`.
//!
//! # Source
//! What Neo4j 5.26 with APOC says of those that it has, too, is its `SHOW PROCEDURES YIELD *`
//! without descriptions. A line of the table has the mode, with `system`, `admin` and `deprecated`
//! behind it; what replaces the procedure; and the signature, between `|`.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use graven_cypher::TypeSet;
use graven_cypher::signature::{Part, Signature};
use graven_exec::Value;

use super::entry::{Field, Procedure};
use super::registered::Registry;
use super::{Rows, all};
use crate::instance::Instance;
use crate::right::Right;
use crate::summary::StatementKind;

const TABLE: &str = include_str!("described.txt");

/// Statements that are about the server, whatever database they are sent to.
const OF_SYSTEM: &[&str] = &[
    "dbms.clientConfig",
    "graven.databases.change",
    "graven.databases.changeAndWait",
    "graven.show.aliases",
    "graven.show.currentUser",
    "graven.show.databases",
    "graven.show.defaultDatabase",
    "graven.show.homeDatabase",
    "graven.show.roles",
    "graven.show.servers",
    "graven.show.users",
    "graven.show.usersWithAuth",
];

/// What Neo4j says of a procedure.
struct Known {
    mode: &'static str,
    on_system: bool,
    is_admin: bool,
    is_deprecated: bool,
    replacement: Option<&'static str>,
    text: &'static str,
    signature: Signature<'static>,
}

/// A procedure as lists show it.
pub(super) struct Described {
    pub(super) name: String,
    pub(super) about: &'static str,
    pub(super) right: Right,
    pub(super) mode: &'static str,
    /// Whether it can be called on the database `system`.
    pub(super) on_system: bool,
    pub(super) is_admin: bool,
    pub(super) is_deprecated: bool,
    pub(super) replacement: Option<&'static str>,
    pub(super) signature: String,
    /// Its arguments and its columns, each as a map.
    pub(super) arguments: Value,
    pub(super) returns: Value,
}

fn row(line: &'static str) -> Option<(&'static str, Known)> {
    let mut fields = line.splitn(3, '|').map(str::trim);
    let (flags, replacement, text) = (fields.next()?, fields.next()?, fields.next()?);
    let signature = Signature::read(text)?;
    let mut flags = flags.split(' ');
    let mode = flags.next()?;
    let flags: Vec<&str> = flags.collect();
    let known = Known {
        mode,
        on_system: flags.contains(&"system"),
        is_admin: flags.contains(&"admin"),
        is_deprecated: flags.contains(&"deprecated"),
        replacement: Some(replacement).filter(|name| !name.is_empty()),
        text,
        signature,
    };
    Some((known.signature.name, known))
}

fn known(name: &str) -> Option<&'static Known> {
    static KNOWN: OnceLock<HashMap<&str, Known>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| TABLE.lines().filter_map(row).collect());
    known.get(name)
}

/// What a statement is there for that calls this procedure, if the call decides it.
pub(crate) fn kind(name: &str) -> Option<StatementKind> {
    if OF_SYSTEM.contains(&name) {
        return Some(StatementKind::OfSystem);
    }
    match known(name)?.mode {
        "DBMS" => Some(StatementKind::OfSystem),
        "WRITE" | "SCHEMA" => Some(StatementKind::Writes),
        _ => None,
    }
}

/// An argument, a column or a setting of its own, as lists describe it.
pub(super) fn part_map(part: &Part<'_>) -> Value {
    let described = format!("{} :: {}", part.name, part.kind);
    let mut entries = vec![
        (Arc::from("name"), Value::text(part.name)),
        (Arc::from("type"), Value::text(part.kind)),
        (Arc::from("description"), Value::text(&described)),
        (Arc::from("isDeprecated"), Value::Boolean(false)),
    ];
    if let Some(default) = part.default {
        let kind = part.kind;
        let default = format!("DefaultParameterValue{{value={default}, type={kind}}}");
        entries.push((Arc::from("default"), Value::text(&default)));
    }
    Value::map(entries)
}

/// Names with kinds, as lists of procedures and functions describe them.
pub(super) fn field_maps<'a>(fields: impl Iterator<Item = (&'a str, TypeSet)>) -> Value {
    let map = |(name, kind): (&str, TypeSet)| {
        let kind = &kind.to_string();
        let default = None;
        part_map(&Part {
            name,
            default,
            kind,
        })
    };
    Value::list(fields.map(map).collect())
}

fn part_maps(parts: &[Part<'_>]) -> Value {
    Value::list(parts.iter().map(part_map).collect())
}

fn fields<'a>(list: impl Iterator<Item = (&'a str, TypeSet)>) -> String {
    let fields = list.map(|(name, kind)| format!("{name} :: {kind}"));
    fields.collect::<Vec<_>>().join(", ")
}

fn of_build(p: &'static Procedure) -> Described {
    let known = known(p.name);
    let list = |list: &'static [Field]| fields(list.iter().copied());
    let (signature, arguments, returns) = match known {
        Some(known) => (
            known.text.to_owned(),
            part_maps(&known.signature.arguments),
            part_maps(&known.signature.columns()),
        ),
        None => (
            format!("{}({}) :: ({})", p.name, list(p.arguments), list(p.columns)),
            field_maps(p.arguments.iter().copied()),
            field_maps(p.columns.iter().copied()),
        ),
    };
    let is_admin = p.right == Right::Admin;
    Described {
        name: p.name.to_owned(),
        about: p.about,
        right: p.right,
        mode: known.map_or(p.right.mode(), |known| known.mode),
        on_system: known.is_some_and(|known| known.on_system),
        is_admin: known.map_or(is_admin, |known| known.is_admin),
        is_deprecated: known.is_some_and(|known| known.is_deprecated),
        replacement: known.and_then(|known| known.replacement),
        signature,
        arguments,
        returns,
    }
}

/// Every procedure, those of the program included, by name.
pub(super) fn described(registry: &Registry) -> Vec<Described> {
    let added = |list: &[(String, TypeSet)]| fields(list.iter().map(|(n, kind)| (&**n, *kind)));
    let of_program = registry.all().into_iter().map(|(name, it)| Described {
        about: "added by the program",
        right: it.right,
        mode: it.right.mode(),
        on_system: false,
        is_admin: it.right == Right::Admin,
        is_deprecated: false,
        replacement: None,
        signature: format!(
            "{name}({}) :: ({})",
            added(&it.view.arguments),
            added(&it.view.columns)
        ),
        arguments: field_maps(it.view.arguments.iter().map(|(n, kind)| (&**n, *kind))),
        returns: field_maps(it.view.columns.iter().map(|(n, kind)| (&**n, *kind))),
        name,
    });
    let mut all: Vec<_> = all().map(of_build).chain(of_program).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// `CALL graven.procedures()`.
#[expect(clippy::unnecessary_wraps, reason = "the signature of every procedure")]
pub(super) fn list(db: &Arc<Instance>, _: &[Value]) -> Result<Rows, String> {
    let rows = described(&db.registered).into_iter();
    let rows = rows.map(|it| vec![Value::text(&it.name), Value::text(&it.signature)]);
    Ok(rows.collect())
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::{TABLE, row};

    /// Goal: lists tell of each procedure the arguments and columns that it has.
    #[test]
    fn signatures_have_the_names_of_the_table() {
        for line in TABLE.lines() {
            let (name, known) = row(line).expect("a line of the table");
            let procedure = find(name).unwrap_or_else(|| panic!("{name} is not there"));
            let own: Vec<&str> = procedure.arguments.iter().map(|(name, _)| *name).collect();
            let told = known.signature.arguments.iter();
            let told: Vec<&str> = told.map(|part| part.name).collect();
            assert_eq!(own, told, "arguments of {name}");
            let own: Vec<&str> = procedure.columns.iter().map(|(name, _)| *name).collect();
            let told = known.signature.columns();
            let told: Vec<&str> = told.iter().map(|part| part.name).collect();
            assert_eq!(own, told, "columns of {name}");
            let needed = known.signature.arguments.iter();
            let needed = needed.filter(|part| part.default.is_none()).count();
            let own = procedure.arguments.len() - procedure.optional;
            assert!(own <= needed, "arguments of {name} that must be given");
        }
    }
}
