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
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use graven_cypher::TypeSet;
use graven_cypher::plan::{FileNames, Literal, LoadSource, OptionValue};
use graven_files::{
    Column, Datum, Description, Error, FAULTS_MAX, Fault, Frame, Kind, Options, Source,
};
use graven_objects::DISK_BUDGET;
use graven_types::PropertyValue;
use graven_types::told;

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
                Error::Option(told!(
                    "column {name}: there is no type {kind}; there are INTEGER, FLOAT, STRING, \
                        BOOLEAN, DATE, LOCAL DATETIME, ZONED DATETIME, LIST<STRING> and others"
                ))
            })?;
            Ok(Column {
                name: name.to_string(),
                kind,
                stated: None,
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
                return Err(Error::Option(told!(
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

/// Names that are looked at between two questions whether they are still wanted.
const LOOKS: u32 = 256;

/// What a path takes beside its bytes, here and in the plan.
const PATH_BYTES: usize = 64;

/// The local files that a name means, in order: their names take at most `most` bytes, and `stop`
/// says whether they are still wanted.
fn matching(
    name: &str,
    files: &FileAccess,
    (most, stop): (usize, &dyn Fn() -> bool),
) -> Result<Vec<String>, Error> {
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
        let (mut held, mut looked) = (0, 0_u32);
        for folder in found {
            let mut take = |own: String| {
                looked = looked.wrapping_add(1);
                if looked.is_multiple_of(LOOKS) && stop() {
                    return Err(io::Error::from(io::ErrorKind::Interrupted).into());
                }
                if fits(part, &own) {
                    let path = folder.join(own);
                    held += path.as_os_str().len() + PATH_BYTES;
                    if held > most {
                        let told = "more files have such names than there is memory for";
                        return Err(io::Error::other(told).into());
                    }
                    next.push(path);
                }
                Ok(())
            };
            let taken = match stop() {
                true => Err(io::Error::from(io::ErrorKind::Interrupted).into()),
                false => files.names_in(&folder, &mut take),
            };
            taken.map_err(|why| refused(name, why))?;
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

/// How many characters at the beginning of a pattern stand for this one of a name; none if they
/// stand for another, or for any number.
fn one(pattern: &[char], c: char) -> Option<usize> {
    match pattern {
        [] | ['*', ..] => None,
        ['?', ..] => Some(1),
        ['[', rest @ ..] => {
            let Some(end) = rest.iter().position(|c| *c == ']') else {
                return (c == '[').then_some(1);
            };
            let set = &rest[..end];
            let mut windows = set.windows(3);
            let ranged = windows.any(|w| w[1] == '-' && w[0] <= c && c <= w[2]);
            (ranged || set.contains(&c)).then_some(end + 2)
        }
        [wanted, ..] => (*wanted == c).then_some(1),
    }
}

/// Whether a name fits a pattern; names that begin with a point are meant by patterns that do only.
fn fits(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut met) = (0, 0);
    // Behind the last star, and how much of the name comes before that: what earlier stars stand
    // for need not change any more.
    let mut star = None;
    while met < name.len() {
        if let Some(taken) = one(&pattern[at..], name[met]) {
            (at, met) = (at + taken, met + 1);
        } else if pattern.get(at) == Some(&'*') {
            at += 1;
            star = Some((at, met));
        } else if let Some((behind, before)) = star {
            (at, met) = (behind, before + 1);
            star = Some((behind, met));
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}

/// What values of a column may be, to the planner.
#[must_use]
pub fn type_set(kind: &Kind) -> TypeSet {
    match kind {
        Kind::Boolean => TypeSet::BOOLEAN,
        Kind::Integer => TypeSet::INTEGER,
        Kind::Float | Kind::Decimal(..) => TypeSet::FLOAT,
        Kind::String | Kind::Uuid => TypeSet::STRING,
        Kind::Date | Kind::LocalTime | Kind::Time | Kind::LocalDateTime | Kind::DateTime => {
            TypeSet::TEMPORAL
        }
        Kind::Duration => TypeSet::DURATION,
        Kind::Point => TypeSet::POINT,
        Kind::Vector(..) => TypeSet::VECTOR,
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
    /// About so many bytes, as a [`Datum`], as text and in a column of that kind: one for all
    /// values that are asked about.
    pub(crate) fn of(&mut self, value: &Value, kind: &Kind) -> usize {
        let (at, holders): (*const u8, usize) = match value {
            Value::Null => return size_of::<Datum>().saturating_add(kind.null_bytes()),
            Value::String(text) => return size_of::<Datum>() + text.len(),
            Value::Bytes(bytes) => return size_of::<Datum>() + 2 * bytes.len(),
            Value::List(items) => (items.as_ptr().cast(), Arc::strong_count(items)),
            Value::Map(map) => (Arc::as_ptr(map).cast(), Arc::strong_count(map)),
            // Up to three characters each byte.
            other => {
                let bytes = other.as_vector().map_or(0, |vector| vector.bytes().len());
                return size_of::<Datum>() + 4 * bytes;
            }
        };
        let is_shared = holders > 1;
        if is_shared && let Some(known) = self.shared.get(&at) {
            return *known;
        }
        let mut bytes = size_of::<Datum>();
        if let Value::List(items) = value {
            let element = match kind {
                Kind::List(element) => element,
                _ => &Kind::Null,
            };
            for item in items.iter() {
                bytes = bytes.saturating_add(self.of(item, element));
            }
        }
        if let Value::Map(map) = value {
            let fields: &[(String, Kind)] = match kind {
                Kind::Map(fields) => fields,
                _ => &[],
            };
            for (key, value) in map.entries() {
                let field = fields.iter().find(|(name, _)| **name == **key);
                let kind = field.map_or(&Kind::Null, |(_, kind)| kind);
                bytes = bytes.saturating_add(size_of::<Datum>() + key.len());
                bytes = bytes.saturating_add(self.of(value, kind));
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

    /// Goal: a null takes as much as a vector where its column has vectors, within lists and maps,
    /// too; a list that several hold is counted for each.
    #[test]
    fn nulls_among_vectors_take_their_room() {
        let kind = Kind::parse("VECTOR<FLOAT32>(4096)").expect("a kind");
        let mut written = WrittenBytes::default();
        let none = written.of(&Value::Null, &Kind::Null);
        assert_eq!(written.of(&Value::Null, &kind), none + (4096 << 2));
        let list = Value::list(vec![Value::Null; 3]);
        let of = |kind: &Kind| WrittenBytes::default().of(&list, kind);
        let lists = Kind::List(Box::new(kind.clone()));
        assert_eq!(of(&lists), of(&Kind::Null) + 3 * (4096 << 2));
        let twice = Value::list(vec![list.clone(), list.clone()]);
        let both = WrittenBytes::default().of(&twice, &Kind::List(Box::new(lists.clone())));
        assert_eq!(both, none + 2 * of(&lists));
        let map = Value::map(vec![("a".into(), Value::Null), ("b".into(), list.clone())]);
        let fields = |a, b| Kind::Map(vec![("a".to_owned(), a), ("b".to_owned(), b)]);
        let of = |kind: &Kind| WrittenBytes::default().of(&map, kind);
        let bare = of(&fields(Kind::Null, Kind::Null));
        assert_eq!(
            of(&fields(kind.clone(), lists.clone())),
            bare + 4 * (4096 << 2)
        );
        let nested = fields(fields(kind.clone(), kind), lists);
        assert_eq!(of(&nested), bare + 5 * (4096 << 2));
    }

    /// Goal: patterns find what they mean, below an opened folder nothing outside of it.
    #[test]
    fn patterns_find_files() {
        for (pattern, name, wanted) in [
            ("*.csv", "a.csv", true),
            ("*.csv", ".a.csv", false),
            ("a?[0-9].csv", "ab7.csv", true),
            ("a?[0-9].csv", "abx.csv", false),
            ("[xy]*", "y", true),
            ("*a*b", "xaxbxab", true),
            ("*a*b", "xaxbxa", false),
            ("a*b*?", "abb", true),
            ("**", "", true),
            ("[", "[", true),
            ("a", "ab", false),
        ] {
            assert_eq!(fits(pattern, name), wanted, "{pattern} {name}");
        }
        // Not one try for each way to divide the name among the stars.
        assert!(!fits(&format!("{}c", "*a".repeat(40)), &"a".repeat(250)));
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("open");
        std::fs::create_dir_all(root.join("d1")).expect("made");
        std::fs::create_dir_all(root.join("d2")).expect("made");
        for name in ["open/d2/a.csv", "open/d1/b.csv", "open/d1/a.csv", "out.csv"] {
            std::fs::write(folder.path().join(name), "1").expect("written");
        }
        let below = FileAccess::below(root.clone());
        let at_all: (usize, &dyn Fn() -> bool) = (1 << 20, &|| false);
        let matching = |name: &str, files: &FileAccess| matching(name, files, at_all);
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
