//! Names of databases and of their files.

use std::path::{Path, PathBuf};

use graven::Error;

/// The database that keeps users and settings.
pub(crate) const SYSTEM: &str = "system";

/// The default database, unless it is told otherwise.
pub(crate) const USUAL: &str = "neo4j";

/// The ending of a data file.
const ENDING: &str = ".graven";

/// What stands behind the name of a data file that was dropped and is not gone yet.
const DROPPED: &str = "-dropped-";

/// What stands behind the name of a data file that is being made.
const NEW: &str = "-new-";

/// What may lie beside a data file.
pub(crate) const BESIDE: &[&str] = &["-wal", "-tmp", "-warm", "-sock"];

/// Shortest and longest name of a database.
const LENGTHS: std::ops::RangeInclusive<usize> = 3..=63;

/// Longest name of an alias.
const ALIAS_LENGTH: usize = 65_534;

/// Why this is no name of a database, in small letters, if so.
fn fault(name: &str) -> Option<&'static str> {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
    if !LENGTHS.contains(&name.len()) {
        return Some("it has to have 3 to 63 characters");
    }
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Some("it has to begin with a letter from a to z");
    }
    if !name.chars().all(is_inner) {
        return Some("letters from a to z, digits, dots and dashes may be in it");
    }
    if !name.ends_with(|c: char| c.is_ascii_alphanumeric()) {
        return Some("it has to end with a letter or a digit");
    }
    if name.starts_with(SYSTEM) {
        return Some("names that begin with `system` are reserved");
    }
    None
}

/// The name of a database as it is kept: in small letters.
///
/// # Errors
/// `ArgumentError.InvalidDatabaseName`.
pub(crate) fn of_database(name: &str) -> Result<String, Error> {
    let name = name.to_lowercase();
    match fault(&name) {
        None => Ok(name),
        Some(why) => Err(Error::of_database_manager(
            "ArgumentError.InvalidDatabaseName",
            format!("`{name}` cannot be the name of a database: {why}"),
        )),
    }
}

/// The name of an alias as it is kept.
///
/// # Errors
/// As [`of_database`].
pub(crate) fn of_alias(name: &str) -> Result<String, Error> {
    let name = name.to_lowercase();
    let why = match &name {
        name if name.is_empty() || name.len() > ALIAS_LENGTH => "it is empty or too long",
        name if name.starts_with(SYSTEM) => "names that begin with `system` are reserved",
        _ => return Ok(name),
    };
    Err(Error::of_database_manager(
        "ArgumentError.InvalidDatabaseName",
        format!("`{name}` cannot be the name of an alias: {why}"),
    ))
}

/// The data file of a database.
pub(crate) fn file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}{ENDING}"))
}

/// The same path with something behind its name.
pub(crate) fn with(path: &Path, behind: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(behind);
    PathBuf::from(name)
}

/// Where a data file goes that is dropped.
pub(crate) fn dropped(path: &Path) -> PathBuf {
    with(path, &format!("{DROPPED}{}", std::process::id()))
}

/// Where a data file is made that takes the place of another one.
pub(crate) fn unfinished(path: &Path) -> PathBuf {
    with(path, &format!("{NEW}{}", std::process::id()))
}

/// What a file in a folder of databases is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The data file of a database.
    Database(String),
    /// A data file that was dropped.
    Dropped(String),
    /// A data file that was never finished.
    Unfinished,
    /// A data file that cannot be served under its name.
    Misnamed,
    Other,
}

/// What the file of this name is.
pub(crate) fn found(file: &str) -> Found {
    let Some((name, behind)) = file.rsplit_once(ENDING) else {
        return Found::Other;
    };
    let is_kept = !name.contains(|c: char| c.is_ascii_uppercase());
    let is_known = name == SYSTEM || is_kept && fault(name).is_none();
    match (behind, is_known) {
        ("", true) => Found::Database(name.to_owned()),
        ("", false) => Found::Misnamed,
        (behind, true) if behind.starts_with(DROPPED) => Found::Dropped(name.to_owned()),
        (behind, true) if behind.starts_with(NEW) => Found::Unfinished,
        _ => Found::Other,
    }
}

#[cfg(test)]
mod tests {
    //! Goal: names are Neo4j's, and each file in a folder is known for what it is.

    use super::*;

    #[test]
    fn names_are_those_of_neo4j() {
        for good in ["neo4j", "ABC", "a.b-c2", &"a".repeat(63)] {
            assert_eq!(of_database(good).expect(good), good.to_lowercase());
        }
        for bad in [
            "",
            "ab",
            "1abc",
            "a_b",
            "ab-",
            "system",
            "systems",
            "abc/d",
            "\u{e4}bc",
            "a b c",
            "../abc",
            &"a".repeat(64),
        ] {
            assert!(of_database(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn files_are_known() {
        let database = |name: &str| Found::Database(name.to_owned());
        for (file, is) in [
            ("abc.graven", database("abc")),
            ("system.graven", database("system")),
            ("a.graven.graven", database("a.graven")),
            ("Abc.graven", Found::Misnamed),
            ("abc.graven-wal", Found::Other),
            ("abc.graven-new-x1", Found::Unfinished),
            ("abc.graven-dropped-7", Found::Dropped("abc".to_owned())),
            ("notes.txt", Found::Other),
        ] {
            assert_eq!(found(file), is, "{file}");
        }
    }
}
