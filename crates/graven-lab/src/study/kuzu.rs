//! Variable-size pages: two static pools against size classes, and ways from a page to its frame.
//!
//! # How it works
//! A query of the demonstration is what a buffer manager sees of it: so many 4 KiB pages of tables read one after the other,
//! and so many 256 KiB pages of intermediate results held until its end. Thirty-one of them run one after the other on a
//! real page cache with size classes, and on two caches of fixed sizes, 4 KiB with three quarters of the budget and 256 KiB
//! with the rest, whose memory is touched at the start. After every query, virtual and physical memory are read from the kernel.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use graven_io::{IoMode, OpenOptions, open};
use graven_pagecache::{
    Budget, Config, Evictor, FileId, PageCache, PageKind, PagePin, PageRef, SizeClass,
};

use super::{Outcome, Page, Section, Study, Table, Tell, Verdict};
use crate::error::LabError;
use crate::figure::{Axis, Figure, Panel, Series, Shape};
use crate::random::Random;

const SMALL: SizeClass = SizeClass::MIN;
const LARGE_BYTES: usize = 256 << 10;
const KIND: PageKind = PageKind::Adjacency;
const QUERIES: u64 = 31;

/// What a query asks of a buffer manager.
#[derive(Clone, Copy)]
struct Demand {
    /// Table pages of 4 KiB, read in order.
    tables: u64,
    /// Intermediate pages of 256 KiB, held to the end.
    intermediates: u64,
}

/// One buffer manager under test.
struct Pools {
    small: Arc<PageCache>,
    large: Arc<PageCache>,
    small_file: FileId,
    large_file: FileId,
    large_class: SizeClass,
}

/// What happened to one query.
#[derive(Clone)]
struct Ran {
    completed: bool,
    milliseconds: f64,
    virtual_mib: f64,
    physical_mib: f64,
}

/// The demands of query `number`: the last but few scan whole tables and sort or aggregate them, as 25 to 28 do.
fn demand(number: u64, budget: u64) -> Demand {
    let pages = budget / SMALL.bytes() as u64;
    let large = budget / LARGE_BYTES as u64;
    match number {
        25 => Demand {
            tables: pages * 2,
            intermediates: (large * 7).div_ceil(20),
        },
        26..=28 => Demand {
            tables: pages * 3,
            intermediates: large * (number - 20) / 16 + 1,
        },
        _ => Demand {
            tables: pages / 10 + number * pages / 60,
            intermediates: large / 40 + number % 4,
        },
    }
}

impl Pools {
    /// One cache with size classes, or two caches of fixed sizes.
    fn new(budget: u64, fixed: bool, file: &std::path::Path) -> Result<Self, LabError> {
        let failed = |e: graven_pagecache::Error| LabError::Setting(e.to_string());
        let large_class = SizeClass::for_page_bytes(LARGE_BYTES)
            .ok_or_else(|| LabError::Setting("256 KiB is no page size".to_owned()))?;
        let cache = |bytes: u64, fixed: Option<SizeClass>| {
            let frames = fixed.map(|class| (class, (bytes / class.bytes() as u64) as u32));
            // The bookkeeping of a fixed pool is not what is compared here.
            let mut config = Config::new(Budget::new(if fixed.is_some() {
                bytes + bytes / 8 + (4 << 20)
            } else {
                bytes
            }));
            config.verify = false;
            config.frame_wait = Duration::from_millis(30);
            if let Some((class, frames)) = frames {
                config.evictor = Evictor::Synchronous { class, frames };
            }
            PageCache::new(config).map_err(failed)
        };
        let (small, large) = if fixed {
            (
                cache(budget / 4 * 3, Some(SMALL))?,
                cache(budget / 4, Some(large_class))?,
            )
        } else {
            let one = cache(budget, None)?;
            (Arc::clone(&one), one)
        };
        let open = || {
            let options = OpenOptions {
                mode: IoMode::Buffered,
                ..OpenOptions::default()
            };
            open(file, &options).map_err(|e| LabError::Setting(e.to_string()))
        };
        let small_file = small.add_file(open()?).map_err(failed)?;
        let large_file = large.add_file(open()?).map_err(failed)?;
        let pools = Self {
            small,
            large,
            small_file,
            large_file,
            large_class,
        };
        if fixed {
            // Allocated up front: every frame is used once.
            pools.read(budget / 4 * 3 / SMALL.bytes() as u64)?;
            for number in 0..budget / 4 / LARGE_BYTES as u64 {
                drop(pools.pin_large(number).map_err(failed)?);
            }
        }
        Ok(pools)
    }

    fn read(&self, pages: u64) -> Result<(), LabError> {
        for number in 0..pages {
            let pin = self
                .small
                .pin(self.small_file, PageRef::new(SMALL, number), KIND);
            // A hole has no payload; that it is there is all that is wanted.
            black_box(pin.map_err(|e| LabError::Setting(e.to_string()))?.len());
        }
        Ok(())
    }

    fn pin_large(&self, number: u64) -> Result<PagePin, graven_pagecache::Error> {
        let page = PageRef::new(self.large_class, number * self.large_class.units());
        self.large.pin(self.large_file, page, PageKind::Temporary)
    }

    fn run(&self, demand: Demand) -> Result<Ran, LabError> {
        let begun = Instant::now();
        let mut held = Vec::new();
        let mut completed = true;
        for number in 0..demand.intermediates {
            match self.pin_large(number) {
                Ok(pin) => held.push(pin),
                Err(graven_pagecache::Error::AllPinned { .. }) => {
                    completed = false;
                    break;
                }
                Err(error) => return Err(LabError::Setting(error.to_string())),
            }
        }
        if completed {
            self.read(demand.tables)?;
        }
        drop(held);
        let (virtual_mib, physical_mib) = memory();
        Ok(Ran {
            completed,
            milliseconds: begun.elapsed().as_secs_f64() * 1e3,
            virtual_mib,
            physical_mib,
        })
    }
}

/// Virtual and physical memory of the process in MiB.
fn memory() -> (f64, f64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|line| {
            line.trim()
                .trim_end_matches(" kB")
                .trim()
                .parse::<f64>()
                .ok()
        });
        kib.unwrap_or(0.0) / 1024.0
    };
    (field("VmSize:"), field("VmRSS:"))
}

pub(super) fn report(study: &Study, tell: Tell<'_>) -> Result<Page, LabError> {
    let folder = tempfile::tempdir_in(&study.scratch)
        .map_err(LabError::io(&study.scratch, "making a folder"))?;
    let path = folder.path().join("tables");
    let largest: u64 = if study.quick { 64 << 20 } else { 1 << 30 };
    let file = std::fs::File::create(&path).map_err(LabError::io(&path, "creating"))?;
    // Holes read as zeros: enough for pages that nobody verifies.
    file.set_len(4 * largest)
        .map_err(LabError::io(&path, "sizing"))?;
    let budgets: [u64; 3] = if study.quick {
        [32 << 20, 48 << 20, largest]
    } else {
        [32 << 20, 512 << 20, largest]
    };
    let mut outcomes = Vec::new();
    // Once: what earlier pools leave behind counts for nobody.
    let base = memory();
    for budget in budgets {
        for fixed in [true, false] {
            tell(&format!(
                "{} queries, {}, {}",
                QUERIES,
                graven::format_bytes(budget),
                if fixed { "two pools" } else { "size classes" }
            ));
            let pools = Pools::new(budget, fixed, &path)?;
            let start = memory();
            let mut ran = Vec::new();
            for number in 1..=QUERIES {
                // The demonstration of memory uses queries that fit either way.
                let wanted = demand(
                    number,
                    if budget == largest {
                        largest / 4
                    } else {
                        budget
                    },
                );
                let mut one = pools.run(wanted)?;
                one.virtual_mib -= base.0;
                one.physical_mib -= base.1;
                ran.push(one);
            }
            outcomes.push((budget, fixed, (start.0 - base.0, start.1 - base.1), ran));
        }
    }
    tell("ways from a page to its frame");
    let ways = ways(if study.quick { 400_000 } else { 8_000_000 })?;
    Ok(describe(&outcomes, &ways))
}

/// Nanoseconds of a hit by each way.
fn ways(accesses: u64) -> Result<Vec<(&'static str, f64)>, LabError> {
    let pages = 4_096u64;
    let mut bytes = vec![1u8; pages as usize * SMALL.bytes()];
    for (bytes, number) in bytes.chunks_exact_mut(SMALL.bytes()).zip(0..) {
        graven_pagecache::page::seal(
            bytes,
            PageRef::new(SMALL, number),
            KIND,
            0,
            SMALL.payload_bytes(),
        );
    }
    let file = Arc::new(graven_io::MemoryFile::with_bytes("pages", &bytes));
    let mut config = Config::new(Budget::new(64 << 20));
    config.verify = false;
    let failed = |e: graven_pagecache::Error| LabError::Setting(e.to_string());
    let cache = PageCache::new(config).map_err(failed)?;
    let id = cache.add_file(file).map_err(failed)?;
    let mut pins = Vec::new();
    for number in 0..pages {
        pins.push(
            cache
                .pin(id, PageRef::new(SMALL, number), KIND)
                .map_err(failed)?,
        );
    }
    let map: HashMap<u64, *const u8> = (0..pages).map(|n| (n, pins[n as usize].as_ptr())).collect();
    let array: Vec<*const u8> = pins.iter().map(|pin| pin.as_ptr()).collect();
    // Swizzled: every page's reference to the next is the frame's address.
    let mut random = Random(3);
    let order: Vec<u64> = (0..1 << 16).map(|_| random.below(pages)).collect();
    let swizzled: Vec<*const u8> = order.iter().map(|&n| array[n as usize]).collect();
    let time = |access: &mut dyn FnMut(usize) -> u8| {
        let mut sum = 0u64;
        let begun = crate::simulate::thread_seconds();
        for at in 0..accesses {
            sum += u64::from(access(at as usize & 0xffff));
        }
        black_box(sum);
        (crate::simulate::thread_seconds() - begun) / accesses as f64 * 1e9
    };
    let read = |pointer: *const u8| {
        // SAFETY: the page is pinned by `pins` for as long as this function runs.
        unsafe { pointer.read_volatile() }
    };
    let hash = time(&mut |at| map.get(&order[at]).map_or(0, |&pointer| read(pointer)));
    let table = time(&mut |at| read(array[order[at] as usize]));
    let pointer = time(&mut |at| read(swizzled[at]));
    let mut error = None;
    let pinned = time(
        &mut |at| match cache.pin(id, PageRef::new(SMALL, order[at]), KIND) {
            Ok(pin) => pin[0],
            Err(e) => {
                error = Some(e);
                0
            }
        },
    );
    let optimistic = time(&mut |at| {
        cache
            .read(id, PageRef::new(SMALL, order[at]), KIND, |view| {
                view.u8_at(0)
            })
            .unwrap_or(0)
    });
    if let Some(error) = error {
        return Err(failed(error));
    }
    Ok(vec![
        ("hash map from page to frame", hash),
        ("array from page to frame", table),
        ("swizzled pointer", pointer),
        ("Graven, pinned read", pinned),
        ("Graven, optimistic read", optimistic),
    ])
}

type Outcomes = [(u64, bool, (f64, f64), Vec<Ran>)];

fn describe(outcomes: &Outcomes, ways: &[(&'static str, f64)]) -> Page {
    let name = |fixed: bool| {
        if fixed {
            "two static pools"
        } else {
            "size classes"
        }
    };
    let mut completion = Table::new(
        "Queries that complete",
        &[
            "budget",
            "buffer manager",
            "completed",
            "which do not",
            "total s",
        ],
    );
    for (budget, fixed, _, ran) in outcomes {
        let failed: Vec<String> = ran
            .iter()
            .enumerate()
            .filter(|(_, one)| !one.completed)
            .map(|(at, _)| format!("Q{}", at + 1))
            .collect();
        completion.rows.push(vec![
            graven::format_bytes(*budget),
            name(*fixed).to_owned(),
            format!("{} of {}", ran.len() - failed.len(), ran.len()),
            if failed.is_empty() {
                "none".to_owned()
            } else {
                failed.join(", ")
            },
            format!(
                "{:.2}",
                ran.iter().map(|one| one.milliseconds).sum::<f64>() / 1e3
            ),
        ]);
    }
    let queries: Vec<String> = (1..=QUERIES).map(|number| format!("Q{number}")).collect();
    let panels = |value: fn(&Ran) -> f64, title: &str, from: usize, to: usize| -> Vec<Panel> {
        outcomes[from..to]
            .chunks(2)
            .map(|pair| Panel {
                title: format!("{title}, {}", graven::format_bytes(pair[0].0)),
                x: Axis::categories("after query", queries.clone()),
                y: Axis::from_zero(if title == "time" { "ms" } else { "MiB" }),
                shape: Shape::Lines,
                series: pair
                    .iter()
                    .map(|(_, fixed, _, ran)| {
                        let usable = |one: &Ran| {
                            if one.completed || title != "time" {
                                value(one)
                            } else {
                                f64::NAN
                            }
                        };
                        let points = ran
                            .iter()
                            .enumerate()
                            .map(|(at, one)| (at as f64, usable(one)));
                        Series::new(name(*fixed), points.collect())
                    })
                    .collect(),
            })
            .collect()
    };
    let last = outcomes.len() - 2;
    let mut memory_panels = panels(
        |one| one.virtual_mib,
        "virtual memory",
        last,
        outcomes.len(),
    );
    memory_panels.extend(panels(
        |one| one.physical_mib,
        "physical memory",
        last,
        outcomes.len(),
    ));
    let mut ways_table = Table::new(
        "A hit, 4,096 resident pages in random order",
        &["way", "ns"],
    );
    for (way, ns) in ways {
        ways_table
            .rows
            .push(vec![(*way).to_owned(), format!("{ns:.1}")]);
    }
    let ways_bars = ways
        .iter()
        .map(|(way, ns)| Series::new(*way, vec![(0.0, *ns)]))
        .collect();
    Page {
        title: "Variable-size pages in a buffer manager, once more".to_owned(),
        lead: "The founding project gave Kuzu a buffer manager whose 4 KiB and 256 KiB pages share one budget, in place of two pools with a fixed \
               split of 75 to 25. Here are its figures on Graven's page cache, which has eleven size classes, beside two pools of that split."
            .to_owned(),
        sections: vec![
            Section {
                title: "Which queries complete (figures 4 and 5)".to_owned(),
                text: vec![
                    "A query is what the buffer manager sees of it: table pages read in order, and intermediate pages held to its end. Q25 to Q28 \
                     scan more than the budget holds, and sort or aggregate it. The demands are modelled on the originals' description, not taken from Kuzu."
                        .to_owned(),
                ],
                figures: vec![Figure {
                    name: "completion".to_owned(),
                    title: "Time of each query; a gap is a query that does not complete".to_owned(),
                    panels: panels(|one| one.milliseconds, "time", 0, last),
                    columns: 2,
                }],
                tables: vec![completion],
            },
            Section {
                title: "Memory after every query (figures 6 and 7)".to_owned(),
                text: vec![
                    "Growth over the process before the buffer manager was made. Pools are allocated and touched at the start; size classes reserve \
                     addresses and take memory as pages come."
                        .to_owned(),
                ],
                figures: vec![Figure {
                    name: "memory".to_owned(),
                    title: "Virtual and physical memory".to_owned(),
                    panels: memory_panels,
                    columns: 2,
                }],
                tables: Vec::new(),
            },
            Section {
                title: "From a page to its frame: maps and pointers (section 5 of the original)".to_owned(),
                text: vec![
                    "The bare ways translate and read one byte; Graven's also check the page's identity and state, count the hit, and keep the page from \
                     leaving (pinned) or check afterwards that it did not (optimistic)."
                        .to_owned(),
                ],
                figures: vec![Figure {
                    name: "ways".to_owned(),
                    title: "Nanoseconds of a hit".to_owned(),
                    columns: 1,
                    panels: vec![Panel {
                        x: Axis::from_zero("ns"),
                        shape: Shape::Bars,
                        series: ways_bars,
                        ..Panel::default()
                    }],
                }],
                tables: vec![ways_table],
            },
        ],
        verdicts: verdicts(outcomes, ways),
    }
}

fn verdicts(outcomes: &Outcomes, ways: &[(&'static str, f64)]) -> Vec<Verdict> {
    let verdict = |claim: &str, holds: bool, why: String| Verdict {
        claim: claim.to_owned(),
        outcome: if holds {
            Outcome::Confirmed
        } else {
            Outcome::Refuted
        },
        why,
    };
    let incomplete = |at: usize| outcomes[at].3.iter().filter(|one| !one.completed).count();
    let time = |at: usize| -> f64 {
        let both = outcomes[at]
            .3
            .iter()
            .zip(&outcomes[at ^ 1].3)
            .filter(|(a, b)| a.completed && b.completed);
        both.map(|(one, _)| one.milliseconds).sum()
    };
    let last = outcomes.len() - 2;
    let end = |at: usize| outcomes[at].3.last().map_or(0.0, |one| one.physical_mib);
    let ns = |at: usize| ways[at].1;
    vec![
        verdict(
            "With a fixed split some queries over whole tables do not complete; with shared memory all do",
            incomplete(0) > 0 && incomplete(1) == 0 && incomplete(3) == 0,
            format!(
                "Incomplete of {QUERIES}: {} and {} with two pools, {} and {} with size classes, at the two smaller budgets.",
                incomplete(0), incomplete(2), incomplete(1), incomplete(3)
            ),
        ),
        verdict(
            "Completion times are alike where both complete",
            (0.5..2.0).contains(&(time(3) / time(2).max(1e-9))),
            format!("Size classes take {:.2} of the pools' time at the middle budget.", time(3) / time(2).max(1e-9)),
        ),
        verdict(
            "Static pools hold all their memory from the start; shared memory grows with use and stays below",
            outcomes[last].2.1 > 0.8 * end(last) && outcomes[last + 1].2.1 < 0.3 * end(last),
            format!(
                "Physical memory at the start and after the last query: pools {:.0} and {:.0} MiB, size classes {:.0} and {:.0} MiB.",
                outcomes[last].2.1, end(last), outcomes[last + 1].2.1, end(last + 1)
            ),
        ),
        verdict(
            "The buffer manager with size classes takes about twice the virtual memory at the start",
            (1.5..3.0).contains(&(outcomes[last + 1].2.0 / outcomes[last].2.0.max(1.0))),
            format!(
                "{:.0} MiB against {:.0} MiB: all classes of Graven share one reservation, so the ratio does not grow with their number.",
                outcomes[last + 1].2.0, outcomes[last].2.0
            ),
        ),
        verdict(
            "Pointer swizzling would save over a hash map from page to frame",
            ns(2) < 0.7 * ns(0),
            format!(
                "{:.1} ns by pointer, {:.1} ns by an array, {:.1} ns by a hash map; a checked and counted read of Graven takes {:.1} ns.",
                ns(2), ns(1), ns(0), ns(4)
            ),
        ),
        Verdict {
            claim: "LDBC business-intelligence queries on Kuzu, before and after".to_owned(),
            outcome: Outcome::NotTestable,
            why: "Kuzu's two buffer managers are not part of this program; what they ask of a page cache is modelled.".to_owned(),
        },
    ]
}
