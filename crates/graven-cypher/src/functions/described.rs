//! What lists say of the functions that Neo4j has, too: categories, names and types of arguments,
//! what is deprecated.
//!
//! # Source
//! `SHOW FUNCTIONS YIELD *` of Neo4j 5.26 with APOC, without its descriptions. A line of the table
//! has the category, `deprecated`, what replaces it, `aggregating` and the signature, between `|`.
//! Behind `@` are the arguments where the signature does not tell them.

use crate::signature::{Part, Signature, parts};

const TABLE: &str = include_str!("described.txt");

/// A function as Neo4j lists it.
#[derive(Clone, Debug)]
pub struct Described {
    /// Its name.
    pub name: &'static str,
    /// Its category; empty of a function of a library.
    pub category: &'static str,
    /// Whether it is to be dropped.
    pub is_deprecated: bool,
    /// What takes its place.
    pub replacement: Option<&'static str>,
    /// Whether it takes all rows of a group.
    pub aggregates: bool,
    /// Name, arguments and type.
    pub signature: &'static str,
    /// What it takes.
    pub arguments: Vec<Part<'static>>,
    /// The type of what it gives.
    pub returns: &'static str,
}

/// All of them, by name; one that takes arguments in several ways has a row for each.
pub fn described() -> impl Iterator<Item = Described> {
    TABLE.lines().filter_map(row)
}

fn row(line: &'static str) -> Option<Described> {
    let mut fields = line.splitn(5, '|').map(str::trim);
    let (category, deprecated) = (fields.next()?, fields.next()?);
    let (replacement, aggregates) = (fields.next()?, fields.next()?);
    let text = fields.next()?;
    let (signature, told) = match text.split_once(" @ ") {
        Some((signature, told)) => (signature, Some(told)),
        None => (text, None),
    };
    let read = Signature::read(signature)?;
    Some(Described {
        name: read.name,
        category,
        is_deprecated: !deprecated.is_empty(),
        replacement: Some(replacement).filter(|name| !name.is_empty()),
        aggregates: !aggregates.is_empty(),
        signature,
        arguments: told.map_or(read.arguments, parts),
        returns: read.returns,
    })
}

/// The category of a function that Neo4j has not.
#[must_use]
pub fn category(name: &str) -> &'static str {
    match name.split('.').next().unwrap_or_default() {
        "date" | "datetime" | "duration" | "localdatetime" | "localtime" | "time" => "Temporal",
        "db" => "Database",
        _ => "Scalar",
    }
}

#[cfg(test)]
mod tests {
    use super::{TABLE, described};
    use crate::functions::{AGGREGATES, BY_PROCEDURE, find};

    /// Goal: what is listed is there.
    #[test]
    fn each_line_names_a_function() {
        assert_eq!(described().count(), TABLE.lines().count());
        let constructs = [
            "all",
            "any",
            "file",
            "linenumber",
            "none",
            "reduce",
            "single",
        ];
        for it in described() {
            let known = find(it.name).is_some()
                || constructs.contains(&it.name)
                || AGGREGATES
                    .iter()
                    .any(|name| name.eq_ignore_ascii_case(it.name))
                || BY_PROCEDURE.iter().any(|f| f.display == it.name);
            assert!(known, "{}", it.name);
        }
    }
}
