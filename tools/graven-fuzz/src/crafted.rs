//! Files crafted with valid checksums: whatever they say, the library answers or refuses, and
//! neither panics, hangs nor takes memory beyond its limit.
//!
//! # How it works
//! ```text
//! a database that was killed -> its pages, by kind
//!   case: some fields of a page are changed -> sealed again -> what refers to it gets the new reference, is sealed again, ...
//!         or a record of the log is changed -> a log with the same records, framed again
//!   -> opened, asked, checked, written to, folded, closed
//! ```
//! Kinds of pages are chosen before pages, so that the few of a directory get as many cases as the
//! many of columns. A changed field becomes what decoders trip over: bounds of numbers, lengths a
//! little off, the reference of another page, a piece of another page.
//!
//! # Invariants
//! 1. A case is made from its seed alone.
//! 2. Every page that is reached has a valid checksum, and every reference the seal of its page.
//!
//! # Concurrency
//! Panics are told at once, and counted, by a hook: those of the library's own threads reach no
//! caller, and one while another unwinds ends the process. It hears
//! the thread that plays the cases and the threads that the library names as its own; all others go
//! to the hook that was there. A thread watches: a case that takes longer than [`PATIENCE`] ends
//! the process, by its seed.

use std::backtrace::Backtrace;
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, PanicHookInfo};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use graven::{Config, Database, Params};
use graven_io::{File, MemoryFile};
use graven_pagecache::page::{self, HEADER_BYTES, PageHeader};
use graven_pagecache::{PageKind, PageRef, UNIT_BYTES};
use graven_wal::{Identity, Kind, Log, LogOptions, Lsn, Record, RecordRef, Recovery, Start};

use crate::random::Random;

/// No case takes as long, on however busy a machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// Of a statement; it is to be kept.
const TIMEOUT: Duration = Duration::from_millis(500);
const MEMORY: u64 = 8 << 20;

const MADE: [&str; 9] = [
    "CREATE INDEX person_id FOR (p:Person) ON (p.id)",
    "CREATE CONSTRAINT post_id FOR (p:Post) REQUIRE p.id IS UNIQUE",
    "UNWIND range(1, 150) AS i CREATE (:Person {id: i, name: 'person ' + (i % 40), score: i * 0.5, \
        tags: ['a', i]})",
    "UNWIND range(1, 40) AS i CREATE (:Post {id: i, at: date('2026-01-01'), text: 'text ' + i})",
    "MATCH (a:Person), (b:Person) WHERE b.id IN [a.id + 1, a.id * 3 % 150, 7] CREATE (a)-[:KNOWS \
        {since: a.id}]->(b)",
    "MATCH (a:Person), (p:Post) WHERE p.id = a.id % 40 + 1 CREATE (a)-[:LIKES]->(p)",
    "CREATE (:Long {text: reduce(t = '', i IN range(1, 2000) | t + 'long text '), other: reduce(t \
        = '', i IN range(1, 12000) | t + 'long text ')})",
    "MATCH (h:Person {id: 7}) UNWIND range(1, 3000) AS i CREATE (h)-[:SAW {n: i}]->(:Thing)",
    ":checkpoint",
];

/// What the log has and the data file has not.
const LATER: [&str; 4] = [
    "MATCH (p:Person) WHERE p.id % 11 = 0 SET p.name = 'later', p:Later",
    "MATCH (p:Person {id: 50}) DETACH DELETE p",
    "CREATE (:Person {id: 1000, name: 'new'})-[:KNOWS {since: 5}]->(:Post {id: 2000})",
    "CREATE INDEX post_text FOR (p:Post) ON (p.text)",
];

const ASKED: [&str; 12] = [
    "MATCH (n) RETURN count(n), count(n.name), sum(n.id), max(n.score)",
    "MATCH (n) RETURN labels(n), n LIMIT 300",
    "MATCH (a)-[r]->(b) RETURN type(r), count(*), sum(r.since), max(r.n)",
    "MATCH (a)<-[r]-(b) RETURN id(a), id(b), r LIMIT 300",
    "MATCH (p:Person {id: 7})-[r]-(q) RETURN count(r), min(q.id)",
    "MATCH (p:Person) WHERE p.id > 20 AND p.id < 60 RETURN p.id, p.name, p.tags ORDER BY p.id DESC",
    "MATCH (p:Post) WHERE p.text STARTS WITH 'text 1' RETURN p.at, p.id ORDER BY p.text",
    "MATCH p = shortestPath((a:Person {id: 1})-[:KNOWS*]-(b:Person {id: 90})) RETURN length(p), \
        nodes(p)",
    "MATCH p = allShortestPaths((a:Person {id: 3})-[*..4]-(b:Person {id: 80})) RETURN count(p)",
    "MATCH (a:Person {id: 1})-[:KNOWS*1..3]->(b) RETURN count(DISTINCT b)",
    "MATCH (l:Long) RETURN size(l.text), size(l.other)",
    "MATCH (a:Person)-[:KNOWS]->(b)-[:KNOWS]->(c), (c)-[:LIKES]->(p:Post) RETURN p.id, count(*) \
        ORDER BY count(*) LIMIT 5",
];

const WRITTEN: [&str; 5] = [
    "MATCH (p:Person) SET p.score = p.id, p.name = 'changed'",
    "MATCH (p:Person) WHERE p.id % 5 = 0 DETACH DELETE p",
    "CREATE (:Person {id: -1})-[:KNOWS]->(:Post {id: -2})",
    ":checkpoint",
    "MATCH (n) RETURN count(n)",
];

/// What came of it.
#[derive(Debug, Default)]
pub struct Crafted {
    /// Files that were tried.
    pub tried: u64,
    /// Of these, the ones that were opened.
    pub opened: u64,
    /// Of these, the ones in which the check found nothing.
    pub sound: u64,
    /// What panicked, with the seed of its case.
    pub panics: Vec<String>,
}

/// A database that was killed, in pieces.
struct Base {
    data: Vec<u8>,
    log: Vec<u8>,
    /// Its pages in use and superblocks, by kind.
    pages: BTreeMap<u8, Vec<PageRef>>,
    /// Every page by its place, as it is referred to.
    all: Vec<PageRef>,
    identity: Identity,
    from: Lsn,
    records: Vec<Record>,
}

type Failed = Box<dyn std::error::Error>;

/// Where what is simulated of the log begins in the superblock: its position to recover from.
const POSITION: usize = HEADER_BYTES + 72;

impl Base {
    fn make(folder: &Path) -> Result<Base, Failed> {
        let path = folder.join("base.graven");
        let mut config = config();
        config.create = true;
        config.timeout = None;
        config.memory = 64 << 20;
        let db = Database::open(&path, config)?;
        for statement in MADE.iter().chain(&LATER) {
            run(&db, statement)?;
        }
        // As a killed process leaves it.
        let (data, log) = (std::fs::read(&path)?, std::fs::read(beside(&path))?);
        drop(db);
        let (mut pages, mut all) = (BTreeMap::<u8, Vec<PageRef>>::new(), Vec::new());
        for at in (0..data.len()).step_by(UNIT_BYTES) {
            let header = PageHeader::read(&data[at..]);
            let named = PageRef::from_raw(header.page_ref);
            let named = named.filter(|page| page.offset_bytes() == at as u64);
            let bytes = named.and_then(|page| data.get(at..at + page.len_bytes()));
            if let (Some(page), Some(bytes)) = (named, bytes)
                && page::verify(bytes, page, None).is_ok()
            {
                let page = page.sealed(header.checksum);
                // Of a state before, which nothing leads to, no case would be seen.
                let superblock = header.kind == PageKind::Superblock as u8;
                if superblock || refers(&data, page) {
                    pages.entry(header.kind).or_default().push(page);
                }
                all.push(page);
            }
        }
        let file: Arc<dyn File> = Arc::new(MemoryFile::with_bytes("log", &log));
        let identity = Identity::of(&*file)?.ok_or("the log has no identity")?;
        let newest = (pages
            .get(&(PageKind::Superblock as u8))
            .into_iter()
            .flatten())
        .map(|page| number(&data, page.offset_bytes() as usize + POSITION))
        .max();
        let from = Lsn(newest.ok_or("there are superblocks")?);
        let start = Start {
            from,
            clean_end: None,
        };
        let records = Recovery::open(file, identity, start)?.collect::<Result<Vec<_>, _>>()?;
        Ok(Base {
            data,
            log,
            pages,
            all,
            identity,
            from,
            records,
        })
    }
}

fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// Whether a page holds a reference to this one.
fn refers(data: &[u8], page: PageRef) -> bool {
    forms(page)
        .iter()
        .any(|form| data.windows(form.len()).any(|bytes| bytes == form))
}

/// How a reference stands in pages: as a number of eight bytes, or of variable length.
fn forms(page: PageRef) -> [Vec<u8>; 2] {
    let mut varint = Vec::new();
    let mut rest = page.raw();
    while rest >= 0x80 {
        varint.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    varint.push(rest as u8);
    [page.raw().to_le_bytes().to_vec(), varint]
}

fn beside(path: &Path) -> std::path::PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

fn config() -> Config {
    let mut config = Config::default();
    config.memory = MEMORY;
    config.attach = false;
    config.threads = 1;
    config.timeout = Some(TIMEOUT);
    config.io = graven::IoMode::Buffered;
    config
}

fn run(db: &Database, statement: &str) -> Result<(), graven::Error> {
    if statement == ":checkpoint" {
        return db.checkpoint().map(|_| ());
    }
    let mut result = db.connect().query(statement, &Params::new())?;
    while result.next_row()?.is_some() {}
    Ok(())
}

/// Changes some bytes of `bytes` to what a decoder may trip over; `others` to take from.
fn change(random: &mut Random, bytes: &mut [u8], others: &[u8], references: &[PageRef]) {
    const NUMBERS: [u64; 14] = [
        0,
        1,
        2,
        7,
        0x7f,
        0x80,
        0xff,
        0xffff,
        0x7fff_ffff,
        0xffff_ffff,
        1 << 40,
        i64::MAX as u64,
        1 << 63,
        u64::MAX,
    ];
    if bytes.is_empty() {
        return;
    }
    // Heads hold counts and offsets.
    let near = match random.chance(50) {
        true => bytes.len().min(80),
        false => bytes.len(),
    };
    let width = *random.pick(&[1, 1, 2, 4, 4, 8, 8]);
    let mut at = random.below(near);
    if random.chance(70) {
        at -= at % width;
    }
    let end = bytes.len().min(at + width);
    let field = &mut bytes[at..end];
    let mut old = [0; 8];
    old[..field.len()].copy_from_slice(field);
    let old = u64::from_le_bytes(old);
    let new = match random.below(8) {
        0 | 1 => *random.pick(&NUMBERS),
        2 => old.wrapping_add(random.between(-3, 3) as u64),
        3 => old ^ 1 << random.below(8 * field.len()),
        4 => random.next(),
        5 if !references.is_empty() => random.pick(references).raw(),
        6 => old.wrapping_mul(2),
        _ => {
            let from = random.below(others.len().max(1));
            let length = random.below(64).min(others.len() - from.min(others.len()));
            let length = length.min(bytes.len() - at);
            bytes[at..at + length].copy_from_slice(&others[from..from + length]);
            return;
        }
    };
    let field = &mut bytes[at..end];
    field.copy_from_slice(&new.to_le_bytes()[..field.len()]);
}

impl Base {
    /// The files of a case.
    fn case(&self, seed: u64) -> Result<(Vec<u8>, Vec<u8>), Failed> {
        let mut random = Random::new(seed.wrapping_mul(0xA076_1D64_78BD_642F));
        let random = &mut random;
        let mut data = self.data.clone();
        if random.below(self.pages.len() + 1) == 0 {
            return Ok((data, self.crafted_log(random)?));
        }
        for _ in 0..1 + random.below(2) {
            let kinds: Vec<&[PageRef]> = self.pages.values().map(Vec::as_slice).collect();
            let pages = *random.pick(&kinds);
            let place = random.pick(pages).place();
            self.craft(random, &mut data, place);
        }
        Ok((data, self.log.clone()))
    }

    /// Changes a page, and what refers to it.
    fn craft(&self, random: &mut Random, data: &mut [u8], place: PageRef) {
        let start = place.offset_bytes() as usize;
        let whole = start..start + place.len_bytes();
        let header = PageHeader::read(&data[whole.clone()]);
        let Some(kind) = PageKind::from_u8(header.kind) else {
            return;
        };
        let mut length = (header.length as usize).min(place.len_bytes() - HEADER_BYTES);
        let before = place.sealed(header.checksum);
        let other = random.pick(&self.all).offset_bytes() as usize + HEADER_BYTES;
        let others = &self.data[other..(other + 4000).min(self.data.len())];
        let from = start + HEADER_BYTES;
        for _ in 0..1 + random.below(4) {
            change(random, &mut data[from..from + length], others, &self.all);
        }
        if random.chance(8) {
            length = random.below(length + 1);
        }
        let after = page::seal(&mut data[whole], place, kind, header.lsn, length);
        if kind != PageKind::Superblock {
            self.refer(data, before, after);
        }
    }

    /// Puts `after` wherever `before` is referred to, and so on up to the superblocks.
    fn refer(&self, data: &mut [u8], before: PageRef, after: PageRef) {
        let mut changed = VecDeque::from([(before, after)]);
        // A crafted reference may lead back to a page below.
        let mut steps = 4 * self.all.len();
        while let Some((before, after)) = changed.pop_front() {
            for page in self.all.iter().map(|page| page.place()) {
                let start = page.offset_bytes() as usize;
                let whole = start..start + page.len_bytes();
                let header = PageHeader::read(&data[whole.clone()]);
                let (old, new) = (forms(before), forms(after));
                let mut found = false;
                for (old, new) in old
                    .iter()
                    .zip(&new)
                    .filter(|(old, new)| old.len() == new.len())
                {
                    let payload = &mut data[start + HEADER_BYTES..whole.end];
                    let places: Vec<usize> = (payload.windows(old.len()).enumerate())
                        .filter_map(|(at, bytes)| (bytes == &old[..]).then_some(at))
                        .collect();
                    for at in places {
                        payload[at..at + new.len()].copy_from_slice(new);
                        found = true;
                    }
                }
                let Some(kind) = PageKind::from_u8(header.kind).filter(|_| found) else {
                    continue;
                };
                let known = page.sealed(header.checksum);
                let length = (header.length as usize).min(page.len_bytes() - HEADER_BYTES);
                let sealed = page::seal(&mut data[whole], page, kind, header.lsn, length);
                if kind != PageKind::Superblock && steps > 0 {
                    steps -= 1;
                    changed.push_back((known, sealed));
                }
            }
        }
    }

    /// The log with some bytes of a record changed.
    fn crafted_log(&self, random: &mut Random) -> Result<Vec<u8>, Failed> {
        let mut records = self.records.clone();
        let which = random.below(records.len());
        let others = self.records[random.below(records.len())].payload.clone();
        let record = &mut records[which];
        for _ in 0..1 + random.below(3) {
            change(random, &mut record.payload, &others, &[]);
        }
        match random.below(20) {
            0 => record.kind = *random.pick(&[Kind::Chunk, Kind::Abort, Kind::Checkpoint]),
            1 => record
                .payload
                .truncate(random.below(record.payload.len() + 1)),
            2 => record.payload.extend_from_slice(&others),
            3 => _ = records.remove(which),
            4 => records.push(records[which].clone()),
            _ => {}
        }
        let file = MemoryFile::new("log");
        let options = LogOptions {
            first: self.from,
            background: false,
            ..LogOptions::default()
        };
        let log = Log::create(Arc::new(file.clone()), self.identity, options)?;
        for record in &records {
            log.append(&[RecordRef {
                kind: record.kind,
                transaction: record.transaction,
                payload: &record.payload,
            }])?;
        }
        log.close()?;
        Ok(file.to_bytes())
    }
}

/// Opens a case and does with it what a program would: whether it opened, and whether it is sound.
fn play(path: &Path) -> (bool, bool) {
    let Ok(db) = Database::open(path, config()) else {
        return (false, false);
    };
    let mut sound = db
        .check(&mut |_| ())
        .is_ok_and(|report| report.problems.is_empty());
    // Answers are an error or anything: they are what the file says.
    for statement in ASKED.iter().chain(&WRITTEN) {
        let _ = run(&db, statement);
    }
    sound &= db
        .check(&mut |_| ())
        .is_ok_and(|report| report.problems.is_empty());
    let _ = db.close();
    (true, sound)
}

type PanicHook = dyn Fn(&PanicHookInfo<'_>) + Send + Sync;

/// The case at hand, and since when.
type AtHand = Mutex<Option<(u64, Instant)>>;

/// Tries `count` crafted files from `seed` on.
///
/// # Errors
/// The database that they are made from cannot be made; the disk is full.
pub fn crafted(count: u64, seed: u64) -> Result<Crafted, String> {
    let failed = |error: Failed| error.to_string();
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let base = Base::make(folder.path()).map_err(failed)?;
    let at_hand: Arc<AtHand> = Arc::default();
    watch(&at_hand);
    let panics = Arc::new(Mutex::new(Vec::new()));
    let case = Arc::new(AtomicU64::new(seed));
    let before: Arc<PanicHook> = Arc::from(std::panic::take_hook());
    std::panic::set_hook({
        let (panics, case) = (Arc::clone(&panics), Arc::clone(&case));
        let (before, player) = (Arc::clone(&before), std::thread::current().id());
        Box::new(move |info| {
            let thread = std::thread::current();
            let of_library = thread
                .name()
                .is_some_and(|name| name.starts_with("graven-"));
            if thread.id() != player && !of_library {
                return before(info);
            }
            let told = format!("case {}: {info}", case.load(Ordering::Relaxed));
            // Told at once: a panic while another unwinds ends the process.
            eprintln!("{told}\n{}", Backtrace::force_capture());
            let mut panics = panics.lock().unwrap_or_else(PoisonError::into_inner);
            panics.push(told);
        })
    });
    let mut report = Crafted::default();
    let path = folder.path().join("case.graven");
    let mut outcome = Ok(());
    for number in seed..seed + count {
        case.store(number, Ordering::Relaxed);
        let hand = |now| *at_hand.lock().unwrap_or_else(PoisonError::into_inner) = now;
        let made = base.case(number).and_then(|(data, log)| {
            std::fs::write(&path, data)?;
            Ok(std::fs::write(beside(&path), log)?)
        });
        if let Err(error) = made {
            outcome = Err(format!("case {number} cannot be made: {error}"));
            break;
        }
        hand(Some((number, Instant::now())));
        let played = std::panic::catch_unwind(AssertUnwindSafe(|| play(&path)));
        hand(None);
        let (opened, sound) = played.unwrap_or_default();
        report.tried += 1;
        report.opened += u64::from(opened);
        report.sound += u64::from(sound);
    }
    std::panic::set_hook(Box::new(move |info| before(info)));
    outcome?;
    report.panics = std::mem::take(&mut *panics.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(report)
}

/// Ends the process where a case takes too long: nothing else ends a thread that hangs.
fn watch(at_hand: &Arc<AtHand>) {
    let at_hand = Arc::downgrade(at_hand);
    std::thread::spawn(move || {
        while let Some(at_hand) = at_hand.upgrade() {
            let now = *at_hand.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((number, since)) = now
                && since.elapsed() > PATIENCE
            {
                eprintln!("case {number} hangs");
                std::process::exit(3);
            }
            drop(at_hand);
            std::thread::sleep(Duration::from_millis(200));
        }
    });
}
