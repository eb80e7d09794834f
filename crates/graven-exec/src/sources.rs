//! Files and frames that a statement reads: what the plan says of them, as the crate that reads
//! them wants it.
//!
//! # How it works
//! The planner asks for the columns with the same function as the executor, so that both see the
//! same source. Names may be patterns (`*`, `?`, `[abc]`), which are looked up within what the
//! statement may name. URLs name objects ([`inputs`]).
//!
//! # Invariants
//! * FI-7 Files are opened through the policy of the connection only, when a statement is planned
//!   and when it runs.

mod inputs;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use graven_cypher::TypeSet;
use graven_cypher::plan::{FileNames, Literal, LoadSource, OptionValue};
use graven_files::{
    Column, Datum, Description, Error, FAULTS_MAX, Fault, Frame, Kind, Options, Source,
};
use graven_objects::DISK_BUDGET;
use graven_types::PropertyValue;

use crate::error::ExecError;
use crate::file_access::{FileAccess, Refused};
use crate::value::Value;
use crate::value::convert::to_stored;
pub(crate) use inputs::{Inputs, asking};
pub use inputs::{Patience, Reach};

/// What a statement has of sources besides files.
#[derive(Debug, Default)]
pub struct Sources {
    /// Frames by the name of their parameter.
    pub frames: Arc<BTreeMap<Arc<str>, Frame>>,
    /// Where rows that were left out are noted.
    pub left_out: Arc<Mutex<LeftOut>>,
}

/// Rows that could not be read, of the statement that left out some last.
#[derive(Clone, Debug, Default)]
pub struct LeftOut {
    /// The user that ran the statement.
    pub user: Option<Arc<str>>,
    /// The statement.
    by: Option<Arc<()>>,
    /// How many.
    pub count: u64,
    /// The first of them.
    pub faults: Vec<Fault>,
}

impl Sources {
    /// Notes rows that the statement `by` of `user` leaves out: how many, and the first of them.
    /// What another statement has noted is forgotten.
    pub(crate) fn leave_out(
        &self,
        by: &Arc<()>,
        user: Option<&Arc<str>>,
        (count, faults): (u64, Vec<Fault>),
    ) {
        let mut left_out = self.left_out.lock().unwrap_or_else(PoisonError::into_inner);
        if !(left_out.by.as_ref()).is_some_and(|known| Arc::ptr_eq(known, by)) {
            *left_out = LeftOut {
                user: user.cloned(),
                by: Some(by.clone()),
                ..LeftOut::default()
            };
        }
        left_out.count += count;
        let room = FAULTS_MAX.saturating_sub(left_out.faults.len());
        left_out.faults.extend(faults.into_iter().take(room));
    }
}

/// A source that has been looked at.
pub struct Described {
    /// Where the rows come from.
    pub source: Source,
    /// How they are read.
    pub options: Options,
    /// Its columns.
    pub description: Description,
    /// Opens its files.
    pub(crate) inputs: Inputs,
}

impl From<Error> for ExecError {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Forbidden { .. } => ExecError::Forbidden { message },
            _ => ExecError::Argument { message },
        }
    }
}

/// The path that a name or a `file:` URL means.
pub(crate) fn path(name: &str) -> String {
    let of_url = name.strip_prefix("file://");
    match of_url.or_else(|| name.strip_prefix("file:")) {
        Some(path) => decoded(path),
        None => name.to_owned(),
    }
}

fn refused(name: &str, refused: Refused) -> Error {
    match refused {
        Refused::Policy(why) => Error::Forbidden {
            file: name.to_owned(),
            why,
        },
        Refused::System(source) => Error::Io {
            file: name.to_owned(),
            source,
        },
    }
}

/// Options as a plan has them.
///
/// # Errors
/// One that there is not.
pub fn options(given: &[(Arc<str>, OptionValue)]) -> Result<Options, Error> {
    let mut options = Options::default();
    let value = |literal: &Literal| match literal {
        Literal::Null => PropertyValue::Null,
        Literal::Boolean(b) => PropertyValue::Boolean(*b),
        Literal::Integer(i) => PropertyValue::Integer(*i),
        Literal::Float(x) => PropertyValue::Float(*x),
        Literal::String(s) => PropertyValue::String(s.clone()),
    };
    for (name, given) in given {
        let given = match given {
            OptionValue::One(literal) => value(literal),
            OptionValue::List(items) => PropertyValue::List(items.iter().map(value).collect()),
        };
        options.set(name, &Datum::Value(given))?;
    }
    Ok(options)
}

/// A record may take this share of the memory limit: it is held as bytes, as fields, and as values.
const SHARE_OF_RECORD: u64 = 8;
const RECORD_BYTES_MIN: usize = 256 << 10;

/// Looks at a source.
///
/// # Errors
/// It cannot be read, or is not what the statement says.
pub fn describe(
    source: &LoadSource,
    reach: &Reach<'_>,
    frames: &BTreeMap<Arc<str>, Frame>,
) -> Result<Described, Error> {
    let mut options = options(&source.options)?;
    let record = usize::try_from(reach.memory / SHARE_OF_RECORD).unwrap_or(usize::MAX);
    options.record_bytes = record.clamp(RECORD_BYTES_MIN, options.record_bytes);
    let declared = source.columns.as_ref().map(|columns| {
        let column = |(name, kind): &(Arc<str>, Arc<str>)| {
            let kind = Kind::parse(kind).ok_or_else(|| {
                Error::Option(format!(
                    "column {name}: there is no type {kind}; there are INTEGER, FLOAT, STRING, \
                        BOOLEAN, DATE, LOCAL DATETIME, ZONED DATETIME, LIST<STRING> and others"
                ))
            })?;
            Ok(Column {
                name: name.to_string(),
                kind,
            })
        };
        columns
            .iter()
            .map(column)
            .collect::<Result<Vec<_>, Error>>()
    });
    let declared = declared.transpose()?;
    let mut inputs = Inputs::of(reach, options.format);
    let from = match &source.files {
        FileNames::Texts(names) => {
            let mut all = Vec::new();
            for name in names {
                all.extend(inputs.names(name)?);
            }
            Source::Files(all)
        }
        FileNames::Parameter(name) => match frames.get(name) {
            Some(frame) => Source::Frame(format!("${name}"), frame.clone()),
            None => {
                return Err(Error::Option(format!(
                    "${name} is neither the name of a file, a list of names, nor a frame; where it \
                        is not known yet, declare its columns"
                )));
            }
        },
    };
    let open = |name: &str| inputs.open(name);
    let description = graven_files::describe(&from, &open, &options, declared.as_deref())?;
    Ok(Described {
        source: from,
        options,
        description,
        inputs,
    })
}

/// What files are like, named as in a statement: local ones, patterns, URLs.
///
/// # Errors
/// One that cannot be read, or is not what its name says.
pub fn inspect(names: &[String], options: &Options) -> Result<Description, Error> {
    /// Memory of a program that looks at files.
    const MEMORY: u64 = 256 << 20;
    let reach = Reach {
        files: &FileAccess::default(),
        memory: MEMORY,
        disk_budget: DISK_BUDGET,
        patience: &Patience::default(),
    };
    let mut inputs = Inputs::of(&reach, options.format);
    let mut all = Vec::new();
    for name in names {
        all.extend(inputs.names(name)?);
    }
    let open = |name: &str| inputs.open(name);
    graven_files::describe(&Source::Files(all), &open, options, None)
}

/// The local files that a name means, in order.
fn matching(name: &str, files: &FileAccess) -> Result<Vec<String>, Error> {
    let is_pattern = |part: &str| part.contains(['*', '?', '[']);
    // A file may be called so.
    if !is_pattern(name) || files.open(Path::new(name)).is_ok() {
        return Ok(vec![name.to_owned()]);
    }
    let mut found = vec![PathBuf::from(if name.starts_with('/') { "/" } else { "" })];
    for part in name.split('/').filter(|part| !part.is_empty()) {
        if !is_pattern(part) {
            found.iter_mut().for_each(|path| path.push(part));
            continue;
        }
        let mut next = Vec::new();
        for folder in found {
            let names = files.names_in(&folder).map_err(|why| refused(name, why))?;
            let fits = names.into_iter().filter(|name| fits(part, name));
            next.extend(fits.map(|name| folder.join(name)));
        }
        next.sort();
        found = next;
    }
    if found.is_empty() {
        return Err(Error::File {
            file: name.to_owned(),
            why: "no file has such a name".to_owned(),
        });
    }
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    Ok(found.into_iter().map(text).collect())
}

/// Whether a name fits a pattern; names that begin with a point are meant by patterns that do only.
fn fits(pattern: &str, name: &str) -> bool {
    fn from(pattern: &[char], name: &[char]) -> bool {
        match (pattern, name) {
            ([], rest) => rest.is_empty(),
            (['*', pattern @ ..], _) => (0..=name.len()).any(|at| from(pattern, &name[at..])),
            (['?', pattern @ ..], [_, name @ ..]) => from(pattern, name),
            (['[', rest @ ..], [c, name @ ..]) => {
                let Some(end) = rest.iter().position(|c| *c == ']') else {
                    return *c == '[' && from(rest, name);
                };
                let (set, pattern) = (&rest[..end], &rest[end + 1..]);
                let ranged = set
                    .windows(3)
                    .any(|w| w[1] == '-' && w[0] <= *c && *c <= w[2]);
                (ranged || set.contains(c)) && from(pattern, name)
            }
            ([p, pattern @ ..], [c, name @ ..]) => p == c && from(pattern, name),
            (_, []) => false,
        }
    }
    if name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let pattern: Vec<char> = pattern.chars().collect();
    from(&pattern, &name.chars().collect::<Vec<_>>())
}

/// What values of a column may be, to the planner.
#[must_use]
pub fn type_set(kind: &Kind) -> TypeSet {
    match kind {
        Kind::Boolean => TypeSet::BOOLEAN,
        Kind::Integer => TypeSet::INTEGER,
        Kind::Float => TypeSet::FLOAT,
        Kind::String | Kind::Uuid => TypeSet::STRING,
        Kind::Date | Kind::LocalTime | Kind::Time | Kind::LocalDateTime | Kind::DateTime => {
            TypeSet::TEMPORAL
        }
        Kind::Duration => TypeSet::DURATION,
        Kind::Point => TypeSet::POINT,
        Kind::List(_) => TypeSet::LIST,
        Kind::Map(_) => TypeSet::MAP,
        _ => TypeSet::ANY,
    }
}

/// A value of a file in the language.
pub(crate) fn value(datum: Datum) -> Value {
    match datum {
        Datum::Value(value) => Value::from(value),
        Datum::List(items) => Value::list(items.into_iter().map(value).collect()),
        Datum::Map(entries) => {
            Value::map(entries.into_iter().map(|(k, v)| (k, value(v))).collect())
        }
    }
}

/// A value of the language for a file; none for nodes, relationships and paths.
#[must_use]
pub fn datum(value: &Value) -> Option<Datum> {
    Some(match value {
        Value::List(items) => Datum::list(items.iter().map(datum).collect::<Option<_>>()?),
        Value::Map(map) => {
            let entries = map.entries().iter();
            let entries = entries.map(|(key, value)| Some((key.clone(), datum(value)?)));
            Datum::Map(entries.collect::<Option<_>>()?)
        }
        other => Datum::Value(to_stored(other)?),
    })
}

/// Bytes that values take in a file, where what several hold is written for each of them.
#[derive(Default)]
pub(crate) struct WrittenBytes {
    /// Of lists and maps that several hold, which are looked through once.
    shared: HashMap<*const u8, usize>,
}

impl WrittenBytes {
    /// About so many bytes, as a [`Datum`] and as text.
    pub(crate) fn of(&mut self, value: &Value) -> usize {
        let (at, holders): (*const u8, usize) = match value {
            Value::String(text) => return size_of::<Datum>() + text.len(),
            Value::Bytes(bytes) => return size_of::<Datum>() + 2 * bytes.len(),
            Value::List(items) => (items.as_ptr().cast(), Arc::strong_count(items)),
            Value::Map(map) => (Arc::as_ptr(map).cast(), Arc::strong_count(map)),
            _ => return size_of::<Datum>(),
        };
        let is_shared = holders > 1;
        if is_shared && let Some(known) = self.shared.get(&at) {
            return *known;
        }
        let mut bytes = size_of::<Datum>();
        if let Value::List(items) = value {
            for item in items.iter() {
                bytes = bytes.saturating_add(self.of(item));
            }
        }
        if let Value::Map(map) = value {
            for (key, value) in map.entries() {
                bytes = bytes.saturating_add(size_of::<Datum>() + key.len());
                bytes = bytes.saturating_add(self.of(value));
            }
        }
        if is_shared {
            self.shared.insert(at, bytes);
        }
        bytes
    }
}

/// The path of a URL, where `%20` stands for a blank.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, after @ ..] = rest {
        let code = match (first, after) {
            (b'%', [high, low, ..]) => std::str::from_utf8(&[*high, *low])
                .ok()
                .and_then(|digits| u8::from_str_radix(digits, 16).ok()),
            _ => None,
        };
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: patterns find what they mean, below an opened folder nothing outside of it.
    #[test]
    fn patterns_find_files() {
        for (pattern, name, wanted) in [
            ("*.csv", "a.csv", true),
            ("*.csv", ".a.csv", false),
            ("a?[0-9].csv", "ab7.csv", true),
            ("a?[0-9].csv", "abx.csv", false),
            ("[xy]*", "y", true),
            ("a", "ab", false),
        ] {
            assert_eq!(fits(pattern, name), wanted, "{pattern} {name}");
        }
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("open");
        std::fs::create_dir_all(root.join("d1")).expect("made");
        std::fs::create_dir_all(root.join("d2")).expect("made");
        for name in ["open/d2/a.csv", "open/d1/b.csv", "open/d1/a.csv", "out.csv"] {
            std::fs::write(folder.path().join(name), "1").expect("written");
        }
        let below = FileAccess::below(root.clone());
        let found = matching("d*/*.csv", &below).expect("found");
        assert_eq!(found, ["d1/a.csv", "d1/b.csv", "d2/a.csv"]);
        let found = matching("d?/a.csv", &FileAccess::Any(Some(root.into()))).expect("found");
        assert_eq!(found, ["d1/a.csv", "d2/a.csv"]);
        assert!(matching("../*.csv", &below).is_err());
        assert!(matching("x*.csv", &below).is_err());
        assert!(matching("*.csv", &FileAccess::closed()).is_err());
    }

    /// Goal: no user sees rows of another one, also where both leave out rows at the same time.
    #[test]
    fn rows_of_two_statements_do_not_mix() {
        let sources = Sources::default();
        let fault = |value: &str| Fault {
            file: "a.csv".to_owned(),
            row: 0,
            line: None,
            column: None,
            value: Some(value.to_owned()),
            why: String::new(),
        };
        let (ada, bo): (Arc<str>, Arc<str>) = ("Ada".into(), "Bo".into());
        let (of_ada, of_bo) = (Arc::new(()), Arc::new(()));
        sources.leave_out(&of_ada, Some(&ada), (1, vec![fault("1")]));
        sources.leave_out(&of_bo, Some(&bo), (1, vec![fault("2")]));
        for value in ["3", "4"] {
            sources.leave_out(&of_ada, Some(&ada), (1, vec![fault(value)]));
        }
        let left_out = sources.left_out.lock().expect("no panic").clone();
        assert_eq!((left_out.user, left_out.count), (Some(ada), 2));
        let values: Vec<_> = left_out
            .faults
            .into_iter()
            .filter_map(|it| it.value)
            .collect();
        assert_eq!(values, ["3", "4"]);
    }
}
