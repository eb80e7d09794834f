//! A social network with the published shape of LDBC SNB: persons and their friendships.
//!
//! # How it works
//! `degrees` says how many friends each person is meant to have, `persons` makes the persons,
//! `friends` the friendships; this file writes the tables. The layout is that of LDBC's Interactive
//! data with persons and friendships only, so `graven import --ldbc` reads it.
//!
//! # Invariants
//! - GE-1 The same scale and seed give the same bytes on every machine: own random numbers, no hash
//!   order, no mathematical library, one thread.
//! - GE-2 A friendship is one row, smaller id first; rows ascend; no loops, no repetitions.

mod degrees;
mod friends;
mod persons;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::ImportError;
use crate::generate::random::{self, exp, ln};
use crate::progress::{Meter, ProgressSink, Unit};
use graven_types::rng::SplitMix64;

/// Persons at scale 1.
const PERSONS: f64 = 9_892.0;
/// Persons at scale 10.
const PERSONS_AT_10: f64 = 65_645.0;
/// Start persons of the three-hop question.
const STARTS: usize = 320;
const ROWS_PER_REPORT: usize = 1 << 15;

/// What to generate.
#[derive(Debug, Clone)]
pub struct SocialOptions {
    /// Size: 1 gives 9,892 persons, 10 gives 65,645; from 0.001 to 10,000.
    pub scale: f64,
    /// Seed of everything random.
    pub seed: u64,
    /// Folder for `person.csv`, `knows.csv`, `three-hop-params.csv`; made if missing.
    pub out: PathBuf,
    /// Compress the two tables with zstd (`.csv.zst`).
    pub compress: Compression,
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

/// Generates a network into `options.out`; existing files of the same names are replaced.
///
/// # Errors
/// `ImportError::Io` when a file cannot be written, `ImportError::Option` for a scale out of range,
/// `ImportError::Cancelled` when the progress sink says so.
pub fn social(
    options: &SocialOptions,
    progress: ProgressSink<'_>,
) -> Result<SocialReport, ImportError> {
    if !(0.001..=10_000.0).contains(&options.scale) {
        return Err(ImportError::Option(format!(
            "the scale {} is out of range: give 0.001 to 10000",
            options.scale
        )));
    }
    let mut meter = Meter::new(progress);
    let stream = |purpose| random::stream(options.seed, purpose);
    meter.phase("making friends", 0, Unit::Relationships)?;
    let targets = degrees::targets(persons_at(options.scale), &mut stream(1));
    let people = persons::persons(&targets, &mut stream(2));
    let orders = persons::orders(&people, &mut stream(3));
    let pairs = friends::friendships(&targets, orders, &mut stream(4));
    let knows = dated(&people, pairs, &mut stream(5));
    let mut writer = Tables {
        options,
        meter: &mut meter,
        files: Vec::new(),
    };
    let starts = writer.write(people, &knows)?;
    Ok(SocialReport {
        persons: targets.len() as u64,
        knows: knows.len() as u64,
        starts,
        files: writer.files,
    })
}

/// Friendships by id, smaller first, with a date after both have joined.
fn dated(
    people: &[persons::Person],
    pairs: Vec<(u32, u32)>,
    random: &mut SplitMix64,
) -> Vec<(u64, u64, i64)> {
    let mut knows: Vec<(u64, u64, i64)> = pairs
        .into_iter()
        .map(|(a, b)| {
            let (a, b) = (&people[a as usize], &people[b as usize]);
            (a.id.min(b.id), a.id.max(b.id), a.created.max(b.created))
        })
        .collect();
    knows.sort_unstable();
    for row in &mut knows {
        let left = persons::end_of_time() - row.2;
        // Of two draws the earlier: most friendships are made soon after joining.
        row.2 += random.below(left as u64).min(random.below(left as u64)) as i64;
    }
    knows
}

struct Tables<'o, 'm, 's> {
    options: &'o SocialOptions,
    meter: &'m mut Meter<'s>,
    files: Vec<PathBuf>,
}

impl Tables<'_, '_, '_> {
    /// Writes the three files; returns the number of starts.
    fn write(
        &mut self,
        mut people: Vec<persons::Person>,
        knows: &[(u64, u64, i64)],
    ) -> Result<u64, ImportError> {
        let folder = &self.options.out;
        std::fs::create_dir_all(folder).map_err(|e| ImportError::io(folder, "create", e))?;
        people.sort_unstable_by_key(|p| p.id);
        let compress = self.options.compress;
        self.table("person", compress, &people, PERSON_HEADER, |out, p| {
            let [a, b, c, d] = p.address.to_be_bytes();
            writeln!(
                out,
                "{}|{}|{}|{}|{}|{}|{a}.{b}.{c}.{d}|{}|{}",
                p.id, p.first_name, p.last_name, p.gender, p.birthday, p.created, p.browser, p.city
            )
        })?;
        self.table(
            "knows",
            compress,
            knows,
            "person1Id|person2Id|creationDate",
            |out, k| writeln!(out, "{}|{}|{}", k.0, k.1, k.2),
        )?;
        let mut ids: Vec<u64> = people.iter().map(|p| p.id).collect();
        random::stream(self.options.seed, 6).shuffle(&mut ids);
        ids.truncate(STARTS);
        let starts: Vec<(usize, u64)> = ids.into_iter().enumerate().collect();
        self.table(
            "three-hop-params",
            Compression::None,
            &starts,
            "seq,personId",
            |out, s| writeln!(out, "{},{}", s.0, s.1),
        )?;
        Ok(starts.len() as u64)
    }

    fn table<T>(
        &mut self,
        name: &str,
        compress: Compression,
        rows: &[T],
        header: &str,
        mut row: impl FnMut(&mut dyn Write, &T) -> std::io::Result<()>,
    ) -> Result<(), ImportError> {
        self.meter
            .phase(&format!("writing {name}"), rows.len() as u64, Unit::Values)?;
        let suffix = match compress {
            Compression::None => "csv",
            Compression::Zstd => "csv.zst",
        };
        let path = self.options.out.join(format!("{name}.{suffix}"));
        let failed = |e| ImportError::io(&path, "write", e);
        let mut file = BufWriter::with_capacity(1 << 18, open(&path)?);
        let mut put = |out: &mut dyn Write, meter: &mut Meter<'_>| -> Result<(), ImportError> {
            writeln!(out, "{header}").map_err(failed)?;
            for (i, item) in rows.iter().enumerate() {
                row(out, item).map_err(failed)?;
                if i % ROWS_PER_REPORT == 0 {
                    meter.at(i as u64)?;
                }
            }
            Ok(())
        };
        if compress == Compression::Zstd {
            let mut encoder = zstd::stream::write::Encoder::new(file, 3).map_err(failed)?;
            put(&mut encoder, self.meter)?;
            file = encoder.finish().map_err(failed)?;
        } else {
            put(&mut file, self.meter)?;
        }
        file.flush().map_err(failed)?;
        self.files.push(path);
        Ok(())
    }
}

const PERSON_HEADER: &str =
    "id|firstName|lastName|gender|birthday|creationDate|locationIP|browserUsed|place";

fn open(path: &Path) -> Result<File, ImportError> {
    File::create(path).map_err(|e| ImportError::io(path, "create", e))
}
