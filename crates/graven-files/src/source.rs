//! Files as rows: what their columns are ([`describe`]), and batches of the wanted ones
//! ([`Reader`]).
//!
//! # How it works
//! Several files are read one after the other. Their columns are those of the first; a file that
//! lacks one that is wanted is an error. Declared columns take the place of those found: by
//! position where a file has no names of its own (`CSV`, `NPY`), else by name.
//!
//! # Invariants
//! * FI-5 A reader holds one batch, and what its file needs at a time ([`Reader::held`]), whatever
//!   the size of the files.
//! * FI-6 Where rows with errors are left out, each is counted, and the first [`FAULTS_MAX`] are
//!   kept.

mod describe;

use std::cell::RefCell;

use crate::bound::Bound;
use crate::cast::cast;
use crate::csv;
use crate::datum::{Cells, Datum};
use crate::error::{Error, Fault, Result};
use crate::json;
use crate::kind::Kind;
use crate::literal;
use crate::npy;
use crate::npy_columns::Beside;
use crate::options::{Format, Options};
use crate::ranges::Input;
use crate::tables::{Frame, Tables};
use describe::skipped;
pub use describe::{Description, describe};
use graven_types::told;

/// Faults that are kept.
pub const FAULTS_MAX: usize = 1000;

/// Where rows come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// Files, by name.
    Files(Vec<String>),
    /// What a program hands over, and the name it has there.
    Frame(String, Frame),
}

/// Opens a file that a statement names, where it may.
pub type Open<'a> = &'a dyn Fn(&str) -> Result<Input>;

/// Some rows of the wanted columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// A column for each that is wanted, in their order.
    pub columns: Vec<Cells>,
    /// Rows.
    pub len: usize,
}

enum Current {
    Csv(csv::Reader),
    Json(json::Objects),
    Tables(Tables),
    Npy(npy::Rows),
    Beside(Beside),
}

/// Reads the wanted columns of a source.
pub struct Reader {
    source: Source,
    options: Options,
    description: Description,
    /// Places of the wanted columns.
    wanted: Vec<usize>,
    bounds: Vec<Bound>,
    current: Option<Current>,
    /// The files that it reads.
    inputs: Vec<Input>,
    next_file: usize,
    /// Rows that are still to be passed over, and those after which it ends.
    to_skip: u64,
    left: u64,
    /// Rows left out, and the first of them.
    pub left_out: u64,
    /// See [`Reader::left_out`].
    pub faults: Vec<Fault>,
    /// Row groups of Parquet files that were read, and those that the conditions made needless.
    pub groups: (usize, usize),
}

impl Reader {
    /// Reads from the beginning; `wanted`: names among the columns of the description.
    ///
    /// # Errors
    /// A column that is not there.
    pub fn new(
        source: Source,
        options: Options,
        description: Description,
        wanted: &[String],
        bounds: Vec<Bound>,
    ) -> Result<Reader> {
        let place = |name: &String| {
            let at = description.columns.iter().position(|c| c.name == *name);
            at.ok_or_else(|| {
                Error::Option(told!("there is no column {name} in the source any more"))
            })
        };
        // The names that the files have for them; a bound on a column that is cast holds for other
        // values than the file has.
        let bounds = bounds.into_iter().filter_map(|bound| {
            let at = description
                .columns
                .iter()
                .position(|c| c.name == bound.column)?;
            let column = description.names[at].clone();
            Some(Bound { column, ..bound })
        });
        // The rows are counted as the file has them.
        let (to_skip, limit) = (skipped(&description, &options), options.limit);
        let is_cut = to_skip > 0 || limit.is_some();
        let bounds = bounds.filter(|_| !is_cut);
        Ok(Reader {
            to_skip,
            left: limit.unwrap_or(u64::MAX),
            wanted: wanted.iter().map(place).collect::<Result<_>>()?,
            bounds: bounds.collect(),
            source,
            options,
            description,
            current: None,
            inputs: Vec::new(),
            next_file: 0,
            left_out: 0,
            faults: Vec::new(),
            groups: (0, 0),
        })
    }

    /// About how many bytes it holds besides the rows handed out.
    #[must_use]
    pub fn held(&self) -> usize {
        let inputs = self.inputs.iter().map(|input| input.held());
        let current = match &self.current {
            None => 0,
            Some(Current::Csv(reader)) => reader.held(),
            Some(Current::Json(objects)) => objects.held(),
            Some(Current::Tables(tables)) => tables.held(),
            Some(Current::Npy(_) | Current::Beside(_)) => 256 << 10,
        };
        current + inputs.sum::<usize>()
    }

    fn open(&mut self, open: Open<'_>, rows: usize) -> Result<bool> {
        let names: Vec<String> = {
            let wanted = self.wanted.iter();
            wanted
                .map(|at| self.description.names[*at].clone())
                .collect()
        };
        let at = self.next_file;
        self.next_file += 1;
        self.inputs.clear();
        let inputs = RefCell::new(Vec::new());
        let open = |name: &str| -> Result<Input> {
            let input = open(name)?;
            inputs.borrow_mut().push(input.clone());
            Ok(input)
        };
        let current = match &self.source {
            Source::Frame(name, frame) if at == 0 => {
                let limit = self.options.batch_bytes();
                Current::Tables(Tables::of_frame(name, frame, &names, limit)?)
            }
            Source::Frame(..) => return Ok(false),
            Source::Files(_) if self.options.by_column && at > 0 => return Ok(false),
            Source::Files(files) if self.options.by_column => {
                Current::Beside(Beside::open(files, &open)?)
            }
            Source::Files(files) => {
                let Some(name) = files.get(at) else {
                    return Ok(false);
                };
                let file = open(name)?;
                match self.description.format {
                    Some(Format::Csv) => {
                        let dialect = self.description.dialect.clone().expect("of CSV");
                        Current::Csv(csv::Reader::open(
                            name,
                            file,
                            dialect,
                            &self.description.names,
                        )?)
                    }
                    Some(Format::Json) => {
                        Current::Json(json::Objects::open(name, file, &self.options)?)
                    }
                    Some(Format::Npy) => {
                        let opened = npy::Rows::open(name, file)?;
                        let (columns, _) = opened.describe();
                        if columns.len() != self.description.columns.len() {
                            return Err(Error::File {
                                file: name.clone(),
                                why: told!(
                                    "has {} columns, the first file had {}",
                                    columns.len(),
                                    self.description.columns.len()
                                ),
                            });
                        }
                        Current::Npy(opened)
                    }
                    Some(format) => {
                        let wanted = (names.as_slice(), self.bounds.as_slice());
                        let most = (rows, self.options.batch_bytes());
                        let tables = Tables::open(name, file, format, wanted, most)?;
                        self.groups.0 += tables.groups.0;
                        self.groups.1 += tables.groups.1;
                        Current::Tables(tables)
                    }
                    None => unreachable!("files have a format"),
                }
            }
        };
        self.current = Some(current);
        self.inputs = inputs.into_inner();
        Ok(true)
    }

    /// Up to so many rows, fewer where they take so many bytes; perhaps none of them, where all had
    /// errors or a file was just opened ([`Reader::held`] knows what it takes then); `None` at the
    /// end of the last file.
    ///
    /// # Errors
    /// A file, a row or a value that cannot be read.
    ///
    /// # Panics
    /// Never: a file that was opened is there.
    pub fn next(&mut self, open: Open<'_>, rows: usize, bytes: usize) -> Result<Option<Chunk>> {
        if self.left == 0 {
            return Ok(None);
        }
        // What lies behind the last row is not read, whatever it holds.
        let most = self.left.saturating_add(self.to_skip);
        let rows = rows.min(usize::try_from(most).unwrap_or(usize::MAX));
        let chunk = self.read(open, rows, bytes)?;
        Ok(chunk.map(|chunk| self.cut(chunk)))
    }

    /// Without the rows that are passed over, and those behind the last one.
    fn cut(&mut self, mut chunk: Chunk) -> Chunk {
        let len = chunk.len as u64;
        let start = len.min(self.to_skip);
        let end = len.min(start.saturating_add(self.left));
        self.to_skip -= start;
        if self.left != u64::MAX {
            self.left -= end - start;
        }
        if end - start < len {
            let place = |row: u64| usize::try_from(row).expect("within the chunk");
            let kept = place(start)..place(end);
            chunk.len = kept.len();
            let columns = chunk.columns.iter_mut();
            columns.for_each(|cells| cells.keep(kept.clone()));
        }
        chunk
    }

    fn read(&mut self, open: Open<'_>, rows: usize, bytes: usize) -> Result<Option<Chunk>> {
        loop {
            if self.current.is_none() {
                let opened = self.open(open, rows)?;
                let none = || Cells::Data(Vec::new());
                return Ok(opened.then(|| Chunk {
                    columns: self.wanted.iter().map(|_| none()).collect(),
                    len: 0,
                }));
            }
            let chunk = match self.current.as_mut().expect("opened") {
                Current::Csv(_) | Current::Json(_) => self.rows(rows, bytes)?,
                Current::Tables(tables) => match tables.next(rows, bytes)? {
                    None => None,
                    Some(part) => Some(self.declared(part)?),
                },
                Current::Npy(npy) => match npy.next((rows, bytes), &self.wanted)? {
                    None => None,
                    Some(part) => Some(self.declared(part)?),
                },
                Current::Beside(npy) => match npy.next((rows, bytes), &self.wanted)? {
                    None => None,
                    Some(part) => Some(self.declared(part)?),
                },
            };
            match chunk {
                None => {
                    self.current = None;
                    self.inputs.clear();
                }
                Some(chunk) => return Ok(Some(chunk)),
            }
        }
    }

    /// Rows of a file of text.
    fn rows(&mut self, rows: usize, bytes: usize) -> Result<Option<Chunk>> {
        /// Rows after which their bytes are counted.
        const COUNTED: usize = 64;
        /// Rows with errors after which a caller that waits for rows gets a chunk, to check whether
        /// it should stop.
        const TRIED: usize = 10_000;
        let mut into: Vec<Vec<Datum>> = vec![Vec::new(); self.wanted.len()];
        let (mut len, mut held, mut ended, mut tried) = (0, 0, false, 0);
        while len < rows && held < bytes {
            let columns = &self.description.columns;
            let read = match self.current.as_mut().expect("opened") {
                Current::Csv(reader) => reader.next(columns, &self.wanted, &mut into),
                Current::Json(objects) => objects.row(columns, &self.wanted, &mut into),
                _ => unreachable!("files of text"),
            };
            match read {
                Ok(true) => len += 1,
                Ok(false) => {
                    ended = true;
                    break;
                }
                Err(Error::Row(fault)) if self.options.ignore_errors => {
                    into.iter_mut().for_each(|column| column.truncate(len));
                    self.leave_out(*fault);
                    tried += 1;
                    if tried == TRIED {
                        break;
                    }
                    continue;
                }
                Err(error) => return Err(error),
            }
            if len % COUNTED == 0 || len < 4 {
                let new = into.iter().map(|column| {
                    let from = len.saturating_sub(COUNTED);
                    column[from..].iter().map(Datum::bytes).sum::<usize>()
                });
                held += new.sum::<usize>();
            }
        }
        if len == 0 && ended {
            return Ok(None);
        }
        Ok(Some(Chunk {
            columns: into.into_iter().map(Cells::Data).collect(),
            len,
        }))
    }

    fn leave_out(&mut self, fault: Fault) {
        self.left_out += 1;
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(fault);
        }
    }

    /// Rows with values of the declared kinds.
    fn declared(&mut self, (mut cells, len, before): (Vec<Cells>, usize, u64)) -> Result<Chunk> {
        let mut bad: Vec<usize> = Vec::new();
        for (slot, at) in self.wanted.iter().enumerate() {
            let column = &self.description.columns[*at];
            let fits = matches!(
                (&cells[slot], &column.kind),
                (_, Kind::Any)
                    | (Cells::Integers(_), Kind::Integer)
                    | (Cells::Floats(_), Kind::Float)
            );
            if fits {
                continue;
            }
            let mut data = Vec::with_capacity(len);
            for row in 0..len {
                let datum = cells[slot].get(row);
                let shown = |datum: &Datum| {
                    Fault::shown(&match datum {
                        Datum::Value(graven_types::PropertyValue::String(s)) => told!("{s}"),
                        other => told!("{}", literal::Shown(other)),
                    })
                };
                match cast(datum.clone(), &column.kind) {
                    Ok(value) => data.push(value),
                    Err(why) => {
                        let fault = Fault {
                            file: match &self.source {
                                Source::Files(files) => files[self.next_file - 1].clone(),
                                Source::Frame(name, _) => name.clone(),
                            },
                            row: before + row as u64 + 1,
                            line: None,
                            column: Some(column.name.clone()),
                            value: Some(shown(&datum)),
                            why,
                        };
                        if !self.options.ignore_errors {
                            return Err(fault.into());
                        }
                        data.push(Datum::NULL);
                        if !bad.contains(&row) {
                            bad.push(row);
                            self.left_out += 1;
                            if self.faults.len() < FAULTS_MAX {
                                self.faults.push(fault);
                            }
                        }
                    }
                }
            }
            cells[slot] = Cells::Data(data);
        }
        if bad.is_empty() {
            return Ok(Chunk {
                columns: cells,
                len,
            });
        }
        let keep: Vec<usize> = (0..len).filter(|row| !bad.contains(row)).collect();
        let columns = cells.iter();
        let columns = columns.map(|c| Cells::Data(keep.iter().map(|row| c.get(*row)).collect()));
        Ok(Chunk {
            columns: columns.collect(),
            len: keep.len(),
        })
    }
}
