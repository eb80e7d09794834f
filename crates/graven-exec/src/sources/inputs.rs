//! The files of a statement, opened as they are named: local ones, and objects by their URLs.
//!
//! # How it works
//! A name with a scheme is a URL, but for `file:`. It is opened by what the statement may name
//! ([`FileAccess::urls`]); a wait for its store ends with the statement ([`Patience`]). A format is
//! found out with several looks at one file, so the object that was opened last is kept.
//!
//! # Invariants
//! * FI-15 A name that is shown has no query: what stands there may be a signature.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use graven_files::{Error, Format, Input, Ranges};
use graven_objects::{Asking, Object, ObjectUrl, is_url};

use super::{fits, matching, path, refused};
use crate::deadline::Deadline;
use crate::file_access::FileAccess;

/// Bytes of the first request for an object: of text, which is read from its beginning, and of
/// what is read from its end.
const FIRST_OF_TEXT: u64 = 256 << 10;
const FIRST_OF_TABLES: u64 = 16;
/// What is read of an object at a time takes this share of the memory limit.
const SHARE_OF_WINDOWS: u64 = 16;
const WINDOWS: std::ops::RangeInclusive<u64> = 256 << 10..=16 << 20;

/// When a statement does not wait any more.
#[derive(Clone, Debug, Default)]
pub struct Patience {
    /// The statement is cancelled.
    pub cancel: Arc<AtomicBool>,
    /// When it must have ended.
    pub deadline: Option<Deadline>,
}

/// What a statement reaches.
#[derive(Clone, Copy, Debug)]
pub struct Reach<'a> {
    /// The files and URLs that it may name.
    pub files: &'a FileAccess,
    /// The memory limit.
    pub memory: u64,
    /// Bytes that the copy of an object may have which can only be read as a whole.
    pub disk_budget: u64,
    /// How long it waits.
    pub patience: &'a Patience,
}

/// What stores are asked with.
pub(crate) fn asking(reach: &Reach<'_>) -> Asking {
    let patience = reach.patience.clone();
    Asking {
        allowed: reach.files.urls(),
        stop: Arc::new(move || Deadline::check(patience.deadline, &patience.cancel).is_err()),
        disk_budget: reach.disk_budget,
    }
}

/// See the file header.
pub(crate) struct Inputs {
    files: FileAccess,
    asking: Asking,
    memory: u64,
    /// What the statement says of the format.
    format: Option<Format>,
    /// URLs by the names that are shown.
    urls: BTreeMap<String, ObjectUrl>,
    /// The object that was opened last.
    last: Mutex<Option<(String, Input)>>,
}

impl Inputs {
    /// For files of this format, if one is given.
    pub(crate) fn of(reach: &Reach<'_>, format: Option<Format>) -> Inputs {
        let memory = reach.memory / SHARE_OF_WINDOWS;
        Inputs {
            files: reach.files.clone(),
            asking: asking(reach),
            memory: memory.clamp(*WINDOWS.start(), *WINDOWS.end()),
            format,
            urls: BTreeMap::new(),
            last: Mutex::default(),
        }
    }

    /// The files that a name means, in order, by the names that are shown.
    pub(crate) fn names(&mut self, name: &str) -> Result<Vec<String>, Error> {
        let local = path(name);
        if local != name || !is_url(name) {
            let most = usize::try_from(self.memory).unwrap_or(usize::MAX);
            return matching(&local, &self.files, (most, &*self.asking.stop));
        }
        let url = ObjectUrl::parse(name).map_err(of_objects)?;
        let found = url.matching(&self.asking, fits).map_err(of_objects)?;
        Ok(found.into_iter().map(|url| self.shown(url)).collect())
    }

    /// Opens the one file that a name means, whatever characters it has; the name that is shown
    /// comes with it.
    pub(crate) fn one(&mut self, name: &str) -> Result<(String, Input), Error> {
        let local = path(name);
        let shown = match local == name && is_url(name) {
            true => {
                let url = ObjectUrl::parse(name).map_err(of_objects)?;
                self.shown(url)
            }
            false => local,
        };
        let input = self.open(&shown)?;
        Ok((shown, input))
    }

    /// The name by which a URL is shown; another one for each URL.
    fn shown(&mut self, url: ObjectUrl) -> String {
        let mut name = url.text().to_owned();
        let mut number = 1;
        while self.urls.get(&name).is_some_and(|known| *known != url) {
            number += 1;
            name = format!("{} ({number})", url.text());
        }
        self.urls.insert(name.clone(), url);
        name
    }

    /// Opens one of them.
    pub(crate) fn open(&self, name: &str) -> Result<Input, Error> {
        let Some(url) = self.urls.get(name) else {
            let file = self.files.open(Path::new(name));
            return Ok(Arc::new(file.map_err(|why| refused(name, why))?));
        };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = last.as_ref().filter(|(of, _)| of == name) {
            return Ok(known.clone());
        }
        // Before the next one takes memory.
        *last = None;
        let format = self.format.or_else(|| Format::of_name(name));
        let first = match format {
            Some(Format::Parquet | Format::Arrow) => FIRST_OF_TABLES,
            _ => FIRST_OF_TEXT,
        };
        let opened = Object::open(url, &self.asking, first, self.memory).map_err(of_objects)?;
        let input: Input = Arc::new(ObjectInput(opened));
        *last = Some((name.to_owned(), input.clone()));
        Ok(input)
    }
}

fn of_objects(error: graven_objects::Error) -> Error {
    use graven_objects::Error as Objects;
    let why = error.why();
    match error {
        Objects::Forbidden { url, .. } => Error::Forbidden { file: url, why },
        Objects::Object { url, .. } | Objects::Stopped { url } => Error::File { file: url, why },
        other => Error::Option(other.to_string()),
    }
}

/// An object as a file.
struct ObjectInput(Object);

fn in_io(error: &graven_objects::Error) -> io::Error {
    io::Error::other(error.why())
}

impl Ranges for ObjectInput {
    fn size(&self) -> io::Result<u64> {
        Ok(self.0.size())
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(into, offset).map_err(|error| in_io(&error))
    }

    fn expect(&self, groups: &[Vec<Range<u64>>]) {
        self.0.expect(groups);
    }

    fn local(&self) -> io::Result<File> {
        self.0.whole().map_err(|error| in_io(&error))
    }

    fn held(&self) -> usize {
        self.0.held()
    }
}
