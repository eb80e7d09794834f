//! A social network with the published shape of LDBC SNB: persons and their friendships.
//!
//! # How it works
//! `degrees` says how many friends each person is meant to have, `persons` makes the persons,
//! `friends` the friendships, `pairs` sorts them, `tables` gives both as text while it is read. The
//! text goes to files ([`social`]) or straight to an import ([`made`]). The layout is that of
//! LDBC's Interactive data with persons and friendships only: `graven import --ldbc` reads the
//! files.
//!
//! # Invariants
//! - GE-1 The same scale and seed give the same bytes on every machine and in any memory: own
//!   random numbers, no hash order, no mathematical library, one thread.
//! - GE-2 A friendship is one row, smaller id first; rows ascend; no loops, no repetitions.
//!
//! # Costs
//! About 100 bytes a person; friendships beyond the memory given wait in scratch files, at most 13
//! bytes each.

mod degrees;
mod friends;
mod pairs;
mod persons;
mod tables;

use std::fs::File;
use std::io::{BufWriter, Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::ImportError;
use crate::generate::random::{self, exp, ln};
use crate::input::{MadeTable, TableFile};
use crate::progress::{Meter, ProgressSink, Unit};
use crate::scratch::Scratch;
use pairs::Pairs;
use tables::{TableName, TableText};

/// Persons at scale 1.
const PERSONS: f64 = 9_892.0;
/// Persons at scale 10.
const PERSONS_AT_10: f64 = 65_645.0;
/// Start persons of the three-hop question.
const STARTS: usize = 320;
/// Bytes copied into a file at once.
const COPY_BYTES: usize = 256 << 10;
/// Scratch files wait here, beside the tables.
const SCRATCH: &str = "generate.tmp";

/// Which network to generate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Social {
    /// Size: 1 gives 9,892 persons, 10 gives 65,645; from 0.001 to 10,000.
    pub scale: f64,
    /// Seed of everything random.
    pub seed: u64,
}

/// What to generate, and where to.
#[derive(Debug, Clone)]
pub struct SocialOptions {
    /// The network.
    pub network: Social,
    /// Folder for `person.csv`, `knows.csv`, `three-hop-params.csv`; made if missing.
    pub out: PathBuf,
    /// Compress the two tables with zstd (`.csv.zst`).
    pub compress: Compression,
    /// Bytes of friendships kept in memory; what is more waits in scratch files in `out`.
    pub memory: u64,
}

/// How the generated tables are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// Plain text.
    #[default]
    None,
    /// zstd.
    Zstd,
}

/// What was generated.
#[derive(Debug, Clone, Default)]
pub struct SocialReport {
    /// Persons written.
    pub persons: u64,
    /// Friendships written.
    pub knows: u64,
    /// Starts in `three-hop-params.csv`.
    pub starts: u64,
    /// Files written.
    pub files: Vec<PathBuf>,
}

/// Persons at a scale: 9,892 at 1, 65,645 at 10, the same power law beyond.
fn persons_at(scale: f64) -> u64 {
    let exponent = ln(PERSONS_AT_10 / PERSONS) / ln(10.0);
    // Rounding hides the last bits of the power.
    (PERSONS * exp(ln(scale) * exponent) + 0.5) as u64
}

/// A network that was made, persons by id.
#[derive(Debug)]
struct Network {
    seed: u64,
    people: Vec<persons::Person>,
    pairs: Pairs,
}

impl Network {
    /// Makes a network; `memory` bounds the bytes of friendships kept beside the scratch's own.
    fn make(
        social: Social,
        scratch: &Arc<Scratch>,
        memory: u64,
        meter: &mut Meter<'_>,
    ) -> Result<Self, ImportError> {
        let Social { scale, seed } = social;
        if !(0.001..=10_000.0).contains(&scale) {
            return Err(ImportError::Option(format!(
                "the scale {scale} is out of range: give 0.001 to 10000"
            )));
        }
        let stream = |purpose| random::stream(seed, purpose);
        meter.phase("making persons", 0, Unit::Nodes)?;
        let targets = degrees::targets(persons_at(scale), &mut stream(1));
        let expected = targets.iter().map(|t| u64::from(*t)).sum::<u64>() / 2;
        let mut people = persons::persons(&targets, &mut stream(2));
        let orders = persons::orders(&people, &mut stream(3));
        let mut by_id: Vec<u32> = (0..people.len() as u32).collect();
        by_id.sort_unstable_by_key(|p| people[*p as usize].id);
        let mut numbers = vec![0_u32; people.len()];
        for (number, person) in by_id.into_iter().enumerate() {
            numbers[person as usize] = number as u32;
        }
        // From here on a person is its number by id.
        let orders = orders.map(|mut order| {
            order
                .iter_mut()
                .for_each(|person| *person = numbers[*person as usize]);
            order
        });
        let mut by_number = vec![0; targets.len()];
        for (number, target) in numbers.into_iter().zip(targets) {
            by_number[number as usize] = target;
        }
        people.sort_unstable_by_key(|p| p.id);
        meter.phase("making friends", expected, Unit::Relationships)?;
        let mut pairs = Pairs::new(people.len() as u64, expected, memory, scratch);
        let room = friends::Room {
            scratch,
            bytes: usize::try_from(memory / 4).unwrap_or(usize::MAX),
        };
        friends::friendships(
            &by_number,
            orders,
            &mut stream(4),
            &room,
            meter,
            &mut |a, b| pairs.push(a, b),
        )?;
        pairs.complete();
        Ok(Self {
            seed,
            people,
            pairs,
        })
    }

    fn rows(&self, table: TableName) -> u64 {
        match table {
            TableName::Person => self.people.len() as u64,
            TableName::Knows => self.pairs.len(),
        }
    }

    /// The persons to start the three-hop question from.
    fn starts(&self) -> Vec<u64> {
        let mut ids: Vec<u64> = self.people.iter().map(|p| p.id).collect();
        random::stream(self.seed, 6).shuffle(&mut ids);
        ids.truncate(STARTS);
        ids
    }
}

/// A table that an import reads while it is made.
#[derive(Debug)]
struct Made {
    network: Arc<Network>,
    table: TableName,
    name: PathBuf,
    with_rows: bool,
}

impl MadeTable for Made {
    fn name(&self) -> &Path {
        &self.name
    }

    fn bytes(&self) -> u64 {
        self.network.rows(self.table) * self.table.row_bytes()
    }

    fn text(&self) -> Box<dyn Read + Send> {
        if self.with_rows {
            Box::new(TableText::new(Arc::clone(&self.network), self.table))
        } else {
            Box::new(Cursor::new(format!("{}\n", self.table.header())))
        }
    }

    fn header(&self) -> Arc<dyn MadeTable> {
        Arc::new(Self {
            network: Arc::clone(&self.network),
            table: self.table,
            name: self.name.clone(),
            with_rows: false,
        })
    }
}

/// The tables of a network, to be imported; `memory` as in [`SocialOptions`].
pub(crate) fn made(
    social: Social,
    scratch: &Arc<Scratch>,
    memory: u64,
    meter: &mut Meter<'_>,
) -> Result<Vec<TableFile>, ImportError> {
    let network = Arc::new(Network::make(social, scratch, memory, meter)?);
    let made = |table: TableName| {
        TableFile::Made(Arc::new(Made {
            network: Arc::clone(&network),
            table,
            name: PathBuf::from(format!("{}.csv", table.stem())),
            with_rows: true,
        }))
    };
    Ok(TableName::ALL.map(made).to_vec())
}

/// Generates a network into `options.out`; existing files of the same names are replaced.
///
/// # Errors
/// `ImportError::Io` when a file cannot be written, `ImportError::Option` for a scale out of range,
/// `ImportError::Cancelled` when the progress sink says so.
pub fn social(
    options: &SocialOptions,
    progress: ProgressSink<'_>,
) -> Result<SocialReport, ImportError> {
    let mut meter = Meter::new(progress);
    let scratch = Scratch::create(options.out.join(SCRATCH), options.memory / 2)?;
    let network = Network::make(options.network, &scratch, options.memory, &mut meter)?;
    let network = Arc::new(network);
    let mut files = Vec::new();
    for table in TableName::ALL {
        files.push(write_table(&network, table, options, &mut meter)?);
    }
    let starts = network.starts();
    files.push(write_starts(&options.out, &starts)?);
    Ok(SocialReport {
        persons: network.rows(TableName::Person),
        knows: network.rows(TableName::Knows),
        starts: starts.len() as u64,
        files,
    })
}

fn write_table(
    network: &Arc<Network>,
    table: TableName,
    options: &SocialOptions,
    meter: &mut Meter<'_>,
) -> Result<PathBuf, ImportError> {
    let phase = format!("writing {}", table.stem());
    meter.phase(&phase, network.rows(table), Unit::Values)?;
    let suffix = match options.compress {
        Compression::None => "csv",
        Compression::Zstd => "csv.zst",
    };
    let path = options.out.join(format!("{}.{suffix}", table.stem()));
    let failed = |e| ImportError::io(&path, "write", e);
    let mut file = open(&path)?;
    match options.compress {
        Compression::None => copy(
            TableText::new(Arc::clone(network), table),
            &mut file,
            &path,
            meter,
        )?,
        Compression::Zstd => {
            let mut encoder = zstd::stream::write::Encoder::new(&mut file, 3).map_err(failed)?;
            copy(
                TableText::new(Arc::clone(network), table),
                &mut encoder,
                &path,
                meter,
            )?;
            encoder.finish().map_err(failed)?;
        }
    }
    file.flush().map_err(failed)?;
    Ok(path)
}

fn copy(
    mut text: TableText,
    out: &mut dyn Write,
    path: &Path,
    meter: &mut Meter<'_>,
) -> Result<(), ImportError> {
    let failed = |e| ImportError::io(path, "write", e);
    let mut block = vec![0; COPY_BYTES];
    loop {
        let count = text.read(&mut block).map_err(failed)?;
        if count == 0 {
            return Ok(());
        }
        out.write_all(&block[..count]).map_err(failed)?;
        meter.at(text.rows())?;
    }
}

fn write_starts(folder: &Path, starts: &[u64]) -> Result<PathBuf, ImportError> {
    let path = folder.join("three-hop-params.csv");
    let mut text = String::from("seq,personId\n");
    for (number, person) in starts.iter().enumerate() {
        text.push_str(&format!("{number},{person}\n"));
    }
    std::fs::write(&path, text).map_err(|e| ImportError::io(&path, "write", e))?;
    Ok(path)
}

fn open(path: &Path) -> Result<BufWriter<File>, ImportError> {
    let file = File::create(path).map_err(|e| ImportError::io(path, "create", e))?;
    Ok(BufWriter::with_capacity(COPY_BYTES, file))
}
