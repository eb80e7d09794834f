//! Loads the SF10 KNOWS graph, prints its size and the time of the 3-hop question, one thread, all
//! resident.
//!
//! `cargo run --release -p graven-storage --example sweep [MEMORY_MIB [ROUNDS [FILE]]]`; with FILE
//! the database is written there and read with direct I/O, else it lies in memory. Times are CPU
//! time of the thread. Every published answer is compared.

use graven_io::{File, IoMode, MemoryFile, OpenOptions};
use graven_pagecache::{Budget, Config, PageCache};
use graven_storage::{
    Adjacency, Direction, NodeId, NodeSet, PropertyValue, Result, Store, StoreWriter, Sweep,
    Uniqueness, WriterOptions,
};
use std::io::BufRead;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn folder() -> PathBuf {
    let shared = std::env::var_os("GRAVEN_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    shared.join("data/ldbc-snb-sf10-knows")
}

/// The first `N` fields of every row as numbers.
fn rows<const N: usize>(reader: impl BufRead, delimiter: char) -> Vec<[u64; N]> {
    let lines = reader.lines().skip(1);
    lines
        .map(|line| {
            let line = line.expect("the file is readable");
            let mut fields = line.split(delimiter);
            std::array::from_fn(|_| {
                fields
                    .next()
                    .and_then(|field| field.parse().ok())
                    .expect("a number")
            })
        })
        .collect()
}

fn open_csv(name: &str) -> std::io::BufReader<std::fs::File> {
    let path = folder().join(name);
    let file =
        std::fs::File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    std::io::BufReader::new(file)
}

fn compressed<const N: usize>(name: &str) -> Vec<[u64; N]> {
    let decoder = zstd::Decoder::with_buffer(open_csv(name)).expect("zstd data");
    rows(std::io::BufReader::new(decoder), '|')
}

/// Writes the graph, hubs first.
fn load(file: Arc<dyn File>) -> Result<()> {
    let persons: Vec<u64> = compressed::<1>("person.csv.zst")
        .into_iter()
        .map(|[id]| id)
        .collect();
    let knows: Vec<[u64; 2]> = compressed("knows.csv.zst");
    let mut degree: std::collections::HashMap<u64, u64> =
        persons.iter().map(|id| (*id, 0)).collect();
    for end in knows.iter().flatten() {
        *degree.entry(*end).or_default() += 1;
    }
    let mut order = persons;
    order.sort_by_key(|id| (std::cmp::Reverse(degree[id]), *id));
    let node: std::collections::HashMap<u64, u64> = order
        .iter()
        .enumerate()
        .map(|(node, id)| (*id, node as u64))
        .collect();
    let mut pairs: Vec<(u64, u64)> = knows
        .iter()
        .map(|[a, b]| (node[a.min(b)], node[a.max(b)]))
        .collect();
    let started = cpu_ns();
    let mut writer = StoreWriter::create(file, WriterOptions::default())?;
    let label = writer.intern_label("Person");
    let rel_type = writer.intern_type("KNOWS");
    let key = writer.intern_key("id");
    writer.add_nodes(order.len() as u64, &[label])?;
    let mut column = writer.node_column(key)?;
    for (at, id) in order.iter().enumerate() {
        column.push(at as u64, &PropertyValue::Integer(*id as i64))?;
    }
    column.finish()?;
    let mut adjacency = writer.adjacency(rel_type)?;
    pairs.sort_unstable();
    for (start, end) in &pairs {
        adjacency.forward(NodeId(*start), NodeId(*end))?;
    }
    pairs.sort_unstable_by_key(|(start, end)| (*end, *start));
    for (start, end) in &pairs {
        adjacency.reverse(NodeId(*end), NodeId(*start))?;
    }
    adjacency.finish()?;
    let mut index = writer.index(label, key, Uniqueness::Unique)?;
    let mut by_id: Vec<(u64, u64)> = node.into_iter().collect();
    by_id.sort_unstable();
    for (id, node) in by_id {
        index.push(&PropertyValue::Integer(id as i64), NodeId(node))?;
    }
    index.finish()?;
    writer.finish()?;
    println!(
        "written in {:.2} s of CPU",
        (cpu_ns() - started) as f64 / 1e9
    );
    Ok(())
}

fn cpu_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid place for the result.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(status, 0, "the thread's clock can be read");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Working memory of one question.
struct Question {
    seen: Vec<u8>,
    /// What the last hop reaches; compared with `seen` at the end.
    last: Vec<u8>,
    /// The frontier.
    words: Vec<u64>,
    up: bool,
}

impl Question {
    /// Persons within 1 to 3 steps of `start` over distinct relationships.
    fn ask(&mut self, sides: &[Adjacency; 2], start: NodeId) -> Result<u64> {
        self.seen.fill(0);
        self.last.fill(0);
        self.seen[start.0 as usize] = 1;
        let mut frontier = vec![start];
        let (mut count, mut triangle) = (0u64, false);
        for hop in 1..=3u8 {
            self.up = !self.up;
            let Question {
                seen,
                last,
                words,
                up,
            } = self;
            let mut visit = |neighbours: &[u32]| {
                if hop == 3 {
                    for neighbour in neighbours {
                        last[*neighbour as usize] = 1;
                    }
                } else {
                    for neighbour in neighbours {
                        let slot = &mut seen[*neighbour as usize];
                        triangle |= hop == 2 && *slot == 2;
                        if *slot == 0 {
                            *slot = hop + 1;
                            count += 1;
                        }
                    }
                }
                ControlFlow::Continue(())
            };
            let order = if *up { Sweep::Up } else { Sweep::Down };
            words.fill(0);
            for node in &frontier {
                words[node.0 as usize / 64] |= 1 << (node.0 % 64);
            }
            let set = NodeSet::new(NodeId(0), words);
            Adjacency::sweep_set(&[&sides[0], &sides[1]], set, order, |_, _, list| {
                visit(list)
            })?;
            if hop < 3 {
                let reached = seen
                    .iter()
                    .enumerate()
                    .filter(|(_, mark)| **mark == hop + 1);
                frontier = reached.map(|(node, _)| NodeId(node as u64)).collect();
            }
        }
        Ok(count + reached_last(&self.seen, &self.last) + u64::from(triangle))
    }
}

/// The same question over plain arrays of 32-bit neighbours: what the page format is compared with.
struct Plain {
    offsets: [Vec<u32>; 2],
    neighbours: [Vec<u32>; 2],
}

impl Plain {
    fn read(sides: &[Adjacency; 2], nodes: u64) -> Result<Plain> {
        let mut plain = Plain {
            offsets: [vec![0], vec![0]],
            neighbours: [Vec::new(), Vec::new()],
        };
        let mut scratch = Vec::new();
        for (side, (offsets, neighbours)) in sides
            .iter()
            .zip(plain.offsets.iter_mut().zip(&mut plain.neighbours))
        {
            for node in 0..nodes {
                side.with_list(NodeId(node), |list| {
                    neighbours.extend_from_slice(list.decode(&mut scratch)?);
                    Ok(())
                })?;
                offsets.push(neighbours.len() as u32);
            }
        }
        Ok(plain)
    }

    fn ask(&self, seen: &mut [u8], last: &mut [u8], start: NodeId) -> u64 {
        seen.fill(0);
        last.fill(0);
        seen[start.0 as usize] = 1;
        let mut frontier = vec![start.0 as u32];
        let (mut count, mut triangle) = (0u64, false);
        for hop in 1..=3u8 {
            for (offsets, neighbours) in self.offsets.iter().zip(&self.neighbours) {
                for node in &frontier {
                    let range =
                        offsets[*node as usize] as usize..offsets[*node as usize + 1] as usize;
                    if hop == 3 {
                        for neighbour in &neighbours[range] {
                            last[*neighbour as usize] = 1;
                        }
                        continue;
                    }
                    for neighbour in &neighbours[range] {
                        let slot = &mut seen[*neighbour as usize];
                        triangle |= hop == 2 && *slot == 2;
                        if *slot == 0 {
                            *slot = hop + 1;
                            count += 1;
                        }
                    }
                }
            }
            let reached = seen
                .iter()
                .enumerate()
                .filter(|(_, mark)| hop < 3 && **mark == hop + 1);
            frontier = reached.map(|(node, _)| node as u32).collect();
        }
        count + reached_last(seen, last) + u64::from(triangle)
    }
}

/// Nodes that only the last hop reached.
fn reached_last(seen: &[u8], last: &[u8]) -> u64 {
    let chunks = seen.chunks(128).zip(last.chunks(128));
    chunks
        .map(|(seen, last)| {
            u64::from(
                seen.iter()
                    .zip(last)
                    .map(|(seen, last)| u8::from(*seen == 0) & last)
                    .sum::<u8>(),
            )
        })
        .sum()
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let memory: u64 = arguments
        .next()
        .map_or(64, |text| text.parse().expect("MiB"));
    let rounds: usize = arguments
        .next()
        .map_or(3, |text| text.parse().expect("a number of rounds"));
    let file: Arc<dyn File> = match arguments.next() {
        None => Arc::new(MemoryFile::new("sf10.graven")),
        Some(path) => {
            let options = OpenOptions {
                mode: IoMode::Direct,
                create: true,
                ..OpenOptions::default()
            };
            graven_io::open(path, &options)?
        }
    };
    if file.len()? == 0 {
        load(file.clone())?;
    }
    let cache = PageCache::new(Config::new(Budget::new(memory << 20)))?;
    let store = Store::open(file, cache.clone())?;
    let snapshot = store.snapshot();
    let rel_type = snapshot
        .catalog()
        .rel_type("KNOWS")
        .expect("KNOWS is there");
    let relationships = snapshot.catalog().statistics().relationships;
    let mut bytes = 0;
    for store in snapshot.catalog().stores() {
        let name = snapshot.catalog().store_name(store.kind);
        println!(
            "{name}: {} entries, {} pages, {} bytes",
            store.entries, store.pages, store.bytes
        );
        bytes += if name.starts_with("adjacency") {
            store.bytes
        } else {
            0
        };
    }
    println!(
        "KNOWS both directions: {:.3} bytes a relationship",
        bytes as f64 / relationships as f64
    );
    let label = snapshot.catalog().label("Person").expect("Person is there");
    let key = snapshot.catalog().key("id").expect("id is there");
    let index = snapshot.index(label, key).expect("the index is there");
    let sides =
        [Direction::Out, Direction::In].map(|direction| snapshot.adjacency(rel_type, direction));
    let [out, into] = sides;
    let sides = [out?, into?];
    let starts: Vec<[u64; 2]> = rows(open_csv("three-hop-params.csv"), ',');
    let expected: std::collections::HashMap<u64, u64> =
        rows::<4>(open_csv("three-hop-expected.csv"), ',')
            .into_iter()
            .map(|[seq, _, _, count]| (seq, count))
            .collect();
    let seen = vec![0; snapshot.node_count() as usize];
    let last = seen.clone();
    let mut question = Question {
        last,
        seen,
        words: vec![0; snapshot.node_count().div_ceil(64) as usize],
        up: false,
    };
    let plain = Plain::read(&sides, snapshot.node_count())?;
    for round in 0..rounds {
        let started = cpu_ns();
        let mut sum = 0;
        for [_, person] in &starts {
            let found = index.seek(&PropertyValue::Integer(*person as i64))?;
            sum += plain.ask(&mut question.seen, &mut question.last, found[0]);
        }
        let floor = (cpu_ns() - started) as f64 / 1e6 / starts.len() as f64;
        println!("round {round}: {floor:.3} ms CPU over plain arrays ({sum} reached)");
        let (mut wrong, mut compared) = (0, 0);
        let before = cache.stats().per_kind;
        let (started, wall) = (cpu_ns(), std::time::Instant::now());
        for [seq, person] in &starts {
            let found = index.seek(&PropertyValue::Integer(*person as i64))?;
            // What a statement holds besides its pages comes out of the same memory.
            let held = cache.budget().reserve("question", 64 << 10)?;
            let answer = question.ask(&sides, found[0])?;
            drop(held);
            if let Some(wanted) = expected.get(seq) {
                compared += 1;
                wrong += u64::from(*wanted != answer);
            }
        }
        let cpu = (cpu_ns() - started) as f64 / 1e6 / starts.len() as f64;
        let wall = wall.elapsed().as_secs_f64() * 1e3 / starts.len() as f64;
        let faults = cache.stats().per_kind[graven_pagecache::PageKind::Adjacency].faults
            - before[graven_pagecache::PageKind::Adjacency].faults;
        println!(
            "round {round}: {cpu:.3} ms CPU, {wall:.3} ms wall a question, {faults} faults; \
                {wrong} of {compared} wrong"
        );
    }
    Ok(())
}
