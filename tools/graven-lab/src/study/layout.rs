//! Layout, order of visits and policy: how they add up in faults per three-hop question.
//!
//! # How it works
//! The friendships are laid out as adjacency lists, delta-coded and bit-packed 32 to a block, one
//! after the other on 4 KiB pages, in the order of ids that the layout gives. A search of three
//! levels visits the lists of the first three levels in some order; each change of page is an
//! access. The accesses of many questions in a row are then simulated.
//!
//! # Source
//! The encoding and the search are those of Graven's storage and executor, reduced to which page is
//! touched.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use graven_policy::Policy;
use graven_policy::belady::{self, Bypass};
use graven_policy::registry::{self, Spec, Visitor};
use graven_policy::simulator::{ArrayFrames, Simulator};

use super::{Section, Table};
use crate::error::LabError;
use crate::figure::{Axis, Figure, Panel, Series, Shape};
use crate::parallel;
use graven_types::rng::SplitMix64;

const PAGE_BYTES: usize = 4032;
const BLOCK: usize = 32;
const LEVELS: usize = 3;
const MEMORY_MIB: [usize; 3] = [2, 4, 8];
const POLICIES: [&str; 6] = ["lru", "clock", "random", "s3fifo", "graven", "min"];
const ORDERS: [&str; 3] = ["discovery", "id", "id, alternating"];
const LAYOUTS: [&str; 4] = ["as loaded", "random", "search order", "degree"];

/// Friendships by place in a layout.
struct Graph {
    lists: Vec<Vec<u32>>,
}

/// The file of friendships in a folder.
pub(super) fn knows(folder: &Path) -> Option<PathBuf> {
    ["knows.csv.zst", "knows.csv"]
        .iter()
        .map(|name| folder.join(name))
        .find(|path| path.exists())
}

impl Graph {
    fn read(path: &Path) -> Result<Self, LabError> {
        let file = std::fs::File::open(path).map_err(LabError::io(path, "opening"))?;
        let input: Box<dyn Read> = if path.extension().is_some_and(|e| e == "zst") {
            Box::new(zstd::Decoder::new(file).map_err(LabError::io(path, "decompressing"))?)
        } else {
            Box::new(file)
        };
        let mut places: HashMap<u64, u32> = HashMap::new();
        let mut lists: Vec<Vec<u32>> = Vec::new();
        let bad = |line: usize| LabError::Table {
            path: path.into(),
            line,
            reason: "expected two person ids".to_owned(),
        };
        for (at, line) in BufReader::new(input).lines().enumerate().skip(1) {
            let line = line.map_err(LabError::io(path, "reading"))?;
            let mut cells = line
                .split(['|', ','])
                .map(|cell| cell.trim().parse::<u64>().ok());
            let (Some(Some(a)), Some(Some(b))) = (cells.next(), cells.next()) else {
                return Err(bad(at + 1));
            };
            let ends = [a, b].map(|id| {
                let next = lists.len() as u32;
                *places.entry(id).or_insert_with(|| {
                    lists.push(Vec::new());
                    next
                })
            });
            lists[ends[0] as usize].push(ends[1]);
            lists[ends[1] as usize].push(ends[0]);
        }
        Ok(Self { lists })
    }

    /// The same graph in the order of a layout, and the place of every node in it.
    fn laid_out(&self, layout: &str) -> (Self, Vec<u32>) {
        let count = self.lists.len() as u32;
        let mut order: Vec<u32> = (0..count).collect();
        match layout {
            "random" => {
                let mut random = SplitMix64::new(5);
                for at in (1..order.len()).rev() {
                    order.swap(at, random.below(at as u64 + 1) as usize);
                }
            }
            "degree" => {
                order.sort_by_key(|&node| std::cmp::Reverse(self.lists[node as usize].len()))
            }
            "search order" => order = self.search_order(),
            _ => {}
        }
        let mut place = vec![0u32; order.len()];
        for (at, &node) in order.iter().enumerate() {
            place[node as usize] = at as u32;
        }
        let list = |&node: &u32| {
            let mut list: Vec<u32> = self.lists[node as usize]
                .iter()
                .map(|&n| place[n as usize])
                .collect();
            list.sort_unstable();
            list
        };
        let lists = order.iter().map(list).collect();
        (Self { lists }, place)
    }

    fn search_order(&self) -> Vec<u32> {
        let mut seen = vec![false; self.lists.len()];
        let mut order = Vec::with_capacity(self.lists.len());
        for start in 0..self.lists.len() {
            if std::mem::replace(&mut seen[start], true) {
                continue;
            }
            let mut at = order.len();
            order.push(start as u32);
            while at < order.len() {
                for &next in &self.lists[order[at] as usize] {
                    if !std::mem::replace(&mut seen[next as usize], true) {
                        order.push(next);
                    }
                }
                at += 1;
            }
        }
        order
    }

    /// The page of every list, and how many pages there are.
    fn pages(&self) -> (Vec<u32>, usize) {
        let (mut page, mut used) = (0u32, 0);
        let mut pages = Vec::with_capacity(self.lists.len());
        for list in &self.lists {
            let bytes = packed_bytes(list);
            if used + bytes > PAGE_BYTES {
                page += 1;
                used = 0;
            }
            used += bytes;
            pages.push(page);
        }
        (pages, page as usize + 1)
    }

    /// Pages visited by one question.
    fn visit(&self, pages: &[u32], start: u32, order: &str, turn: usize, accesses: &mut Vec<u32>) {
        let mut seen = vec![false; self.lists.len()];
        seen[start as usize] = true;
        let mut level = vec![start];
        let mut last = u32::MAX;
        for depth in 0..LEVELS {
            match order {
                "id" => level.sort_unstable(),
                "id, alternating" if (turn + depth).is_multiple_of(2) => level.sort_unstable(),
                "id, alternating" => level.sort_unstable_by(|a, b| b.cmp(a)),
                _ => {}
            }
            let mut next = Vec::new();
            for &node in &level {
                let page = pages[node as usize];
                if page != last {
                    accesses.push(page);
                    last = page;
                }
                for &found in &self.lists[node as usize] {
                    if !std::mem::replace(&mut seen[found as usize], true) {
                        next.push(found);
                    }
                }
            }
            level = next;
        }
    }
}

/// Bytes of a sorted list: a count, and per 32 deltas their width and bits.
fn packed_bytes(list: &[u32]) -> usize {
    let mut previous = 0;
    let widths = list.chunks(BLOCK).map(|block| {
        let widest = block
            .iter()
            .map(|&n| 32 - (n - std::mem::replace(&mut previous, n)).leading_zeros())
            .max();
        1 + (widest.unwrap_or(0) as usize * block.len()).div_ceil(8)
    });
    4 + widths.sum::<usize>()
}

struct Job {
    layout: usize,
    order: usize,
    policy: usize,
    frames: usize,
}

/// Faults a question by layout, order, policy and memory.
pub(super) struct Faults {
    results: Vec<(Job, f64)>,
    page_counts: Vec<usize>,
    questions: usize,
}

impl Faults {
    fn of(&self, mib: usize, layout: &str, order: &str, policy: &str) -> Option<f64> {
        let found = self.results.iter().find(|(job, _)| {
            job.frames == (mib << 20) / 4096
                && LAYOUTS[job.layout] == layout
                && ORDERS[job.order] == order
                && POLICIES[job.policy] == policy
        });
        found.map(|(_, faults)| *faults)
    }
}

/// Asks so many questions from an empty cache, for every combination; nothing where there is no
/// network.
pub(super) fn measure(data: &Path, questions: usize) -> Result<Faults, LabError> {
    let Some(path) = knows(data) else {
        return Ok(Faults {
            results: Vec::new(),
            page_counts: Vec::new(),
            questions,
        });
    };
    let graph = Graph::read(&path)?;
    let mut random = SplitMix64::new(7);
    let starts: Vec<u32> = (0..questions)
        .map(|_| random.below(graph.lists.len() as u64) as u32)
        .collect();
    let mut traces = Vec::new();
    let mut page_counts = Vec::new();
    for layout in LAYOUTS {
        let (laid, place) = graph.laid_out(layout);
        let (pages, count) = laid.pages();
        page_counts.push(count);
        for visits in ORDERS {
            let mut accesses = Vec::new();
            for (turn, &start) in starts.iter().enumerate() {
                laid.visit(&pages, place[start as usize], visits, turn, &mut accesses);
            }
            traces.push((accesses, count));
        }
    }
    let budgets = MEMORY_MIB.map(|mib| (mib << 20) / 4096);
    let mut jobs = Vec::new();
    for frames in budgets {
        for layout in 0..LAYOUTS.len() {
            for order in 0..ORDERS.len() {
                jobs.extend((0..POLICIES.len()).map(|policy| Job {
                    layout,
                    order,
                    policy,
                    frames,
                }));
            }
        }
    }
    let mut quiet = |_| std::ops::ControlFlow::Continue(());
    let faults = parallel::run(&jobs, 0, &mut quiet, |job| {
        let (accesses, count) = &traces[job.layout * ORDERS.len() + job.order];
        faults(POLICIES[job.policy], accesses, *count, job.frames)
    })?;
    let per_question = |count: u64| count as f64 / questions as f64;
    Ok(Faults {
        results: jobs
            .into_iter()
            .zip(faults.into_iter().map(per_question))
            .collect(),
        page_counts,
        questions,
    })
}

fn faults(policy: &str, accesses: &[u32], unique: usize, frames: usize) -> Result<u64, LabError> {
    struct Play<'a>(&'a [u32], usize, usize);
    impl Visitor<ArrayFrames> for Play<'_> {
        type Output = u64;
        fn visit<P: Policy<ArrayFrames> + 'static>(self, policy: P) -> u64 {
            let mut simulator = Simulator::new(policy, self.1, self.2);
            simulator.replay(self.0);
            simulator.outcome().accesses - simulator.outcome().hits
        }
    }
    if policy == "min" {
        let hits = belady::hits(accesses, unique, frames, Bypass::Never);
        return Ok(accesses.len() as u64 - hits);
    }
    let spec = Spec::parse(policy)?;
    Ok(registry::visit(
        &spec,
        frames as u64,
        1,
        Play(accesses, unique, frames),
    )?)
}

/// The tables and the figure.
pub(super) fn section(faults: &Faults) -> Section {
    let title = "Layout, order of visits, policy: what each is worth".to_owned();
    if faults.results.is_empty() {
        return Section {
            title,
            text: vec!["Left out: there is no knows.csv in the folder of the network.".to_owned()],
            ..Section::default()
        };
    }
    let head: Vec<&str> = ["layout", "order of visits"]
        .into_iter()
        .chain(POLICIES)
        .collect();
    let mut tables = Vec::new();
    let mut panels = Vec::new();
    for mib in MEMORY_MIB {
        let mut table = Table::new(&format!("Faults a question with {mib} MiB"), &head);
        for layout in LAYOUTS {
            for order in ORDERS {
                let cell = |policy: &&str| {
                    let faults = faults.of(mib, layout, order, policy);
                    faults.map_or("-".to_owned(), |faults| format!("{faults:.0}"))
                };
                let mut row = vec![layout.to_owned(), order.to_owned()];
                row.extend(POLICIES.iter().map(cell));
                table.rows.push(row);
            }
        }
        tables.push(table);
        panels.extend(ORDERS.iter().map(|order| {
            Panel {
                title: format!("{mib} MiB, visits by {order}"),
                x: Axis::categories("layout: order of ids", LAYOUTS.map(str::to_owned).to_vec()),
                y: Axis::from_zero("faults a question"),
                shape: Shape::Points,
                series: POLICIES
                    .iter()
                    .map(|policy| {
                        let points = LAYOUTS.iter().enumerate().map(|(at, layout)| {
                            let faults = faults.of(mib, layout, order, policy);
                            (at as f64, faults.unwrap_or(f64::NAN))
                        });
                        Series::new(*policy, points.collect())
                    })
                    .collect(),
            }
        }));
    }
    let mut sizes = Table::new("Pages of 4 KiB by layout", &["layout", "pages", "MiB"]);
    for (layout, pages) in LAYOUTS.iter().zip(&faults.page_counts) {
        let mib = *pages as f64 * 4096.0 / f64::from(1 << 20);
        sizes.rows.push(vec![
            (*layout).to_owned(),
            pages.to_string(),
            format!("{mib:.2}"),
        ]);
    }
    tables.push(sizes);
    Section {
        title,
        text: vec![
            format!(
                "{} three-hop questions in a row over the friendships, on 4 KiB pages of packed \
                    lists, from an empty cache. As loaded: ids in the order of the \
                 table; random: shuffled; search order: as a search in breadth finds them; degree: \
                 the most friends first. A level is visited in the order \
                 of discovery, by id, or by id and in turn up and down.",
                faults.questions
            ),
            "Min is Belady's optimum for the same accesses, the bound for every policy.".to_owned(),
        ],
        figures: vec![Figure {
            name: "layout".to_owned(),
            title: "Faults a question by layout, order of visits and policy".to_owned(),
            panels,
            columns: 3,
        }],
        tables,
        ..Section::default()
    }
}

/// What layout, order and policy are worth, one after the other, at 4 MiB.
pub(super) fn finding(faults: &Faults) -> String {
    let of = |layout, order, policy| faults.of(4, layout, order, policy).unwrap_or(f64::NAN);
    let begin = of("as loaded", "discovery", "lru");
    format!(
        "In 4 MiB, three hops over lists as loaded, visited as found, with LRU, take {begin:.0} \
            faults; another policy (ours) alone {:.0}, visits by id alone {:.0}, up \
         and down in turn {:.0}, with the best order of ids {:.0}, and with our policy on top \
         {:.0}.",
        of("as loaded", "discovery", "graven"),
        of("as loaded", "id", "lru"),
        of("as loaded", "id, alternating", "lru"),
        LAYOUTS
            .iter()
            .map(|layout| of(layout, "id, alternating", "lru"))
            .fold(f64::INFINITY, f64::min),
        LAYOUTS
            .iter()
            .map(|layout| of(layout, "id, alternating", "graven"))
            .fold(f64::INFINITY, f64::min),
    )
}
