//! The table of policies: names, help, parameters with ranges and defaults, and short names.

use super::{Alias, Entry, Parameter};

const fn parameter(
    name: &'static str,
    default: &'static str,
    accepts: &'static str,
    help: &'static str,
) -> Parameter {
    Parameter {
        name,
        default,
        accepts,
        help,
    }
}

const fn entry(
    name: &'static str,
    summary: &'static str,
    parameters: &'static [Parameter],
) -> Entry {
    Entry {
        name,
        summary,
        parameters,
        live: true,
    }
}

const fn alias(name: &'static str, spec: &'static str) -> Alias {
    Alias { name, spec }
}

const ARM: Parameter = parameter(
    "arm",
    "global",
    "global|thread",
    "one arm, or a random start for every eviction",
);

#[rustfmt::skip]
pub(super) const POLICIES: &[Entry] = &[
    Entry {
        name: "min",
        summary: "Belady's optimum, which knows the future",
        parameters: &[parameter("bypass", "no", "no|yes", "whether a newcomer may be turned away")],
        live: false,
    },
    entry("random", "the victim is drawn", &[]),
    entry("fifo", "first in, first out", &[]),
    entry("lru", "least recently used", &[]),
    entry("eviction-queue", "LRU as a queue with sequence numbers and stale nodes", &[]),
    entry("lfu", "fewest hits since it came in", &[]),
    entry("slru", "segmented LRU: a hit moves a page one segment up", &[
        parameter("segments", "4", "1..=8", "number of segments"),
    ]),
    entry("s4lru-blog", "four lists; a page climbs only from the head of its list", &[]),
    entry("twoq", "2Q: FIFO for newcomers, LRU for what returns", &[]),
    entry("arc", "two LRU lists with a target learnt from ghosts", &[]),
    entry("car", "ARC with clocks", &[]),
    entry("lirs", "short distance between the last two uses", &[
        parameter("ghosts", "3", "1..=1000", "ghosts as a multiple of the capacity"),
    ]),
    entry("clockpro", "LIRS as a clock with three hands", &[]),
    entry("thesis-clockpro", "CLOCK-Pro on a slot array, hot pages capped at 5 %", &[
        parameter("hot", "fixed", "fixed|adaptive|plus", "how the number of hot pages moves"),
    ]),
    entry("lruk", "the K-th last use is the oldest", &[
        parameter("k", "2", "1..=4", "how many uses are remembered"),
    ]),
    entry("watt", "of a sample, the page used least often by its timestamps", &[
        parameter("uses", "8", "1..=8", "how many uses are remembered"),
        parameter("sample", "8", "1..=32", "how many pages an eviction looks at"),
    ]),
    entry("mglru", "multi-generational LRU with four generations", &[]),
    entry("wtinylfu", "LRU window; admission by a frequency sketch", &[]),
    entry("sieve", "a FIFO whose hand sifts out unvisited pages", &[]),
    entry("s3fifo", "small FIFO, main FIFO with reinsertion, ghost FIFO", &[]),
    entry("clock", "second chance: one reference bit", &[ARM]),
    entry("gclock", "clock with saturating usage counts", &[
        parameter("max", "7", "1..=7", "largest usage a hit may reach"),
        parameter("init", "1", "0..=7", "usage of a newcomer"),
        parameter("threshold", "1", "0..=6", "evict at this usage or below"),
        ARM,
    ]),
    entry("neo4j", "Neo4j's clock: newcomers at 1, counts up to 4, evict at 1", &[
        parameter("count", "4", "1..=7", "largest usage (count to k)"),
        ARM,
    ]),
    entry("muninn", "Neo4j's page cache with its reserve of free frames", &[
        parameter("mode", "batch", "batch|coop", "who evicts: background arm, or every fault"),
    ]),
    entry("graven", "our own: waiting ring of learnt patience, counting clock, distance test", &[
        parameter("patience", "2", "1..=100", "how long newcomers wait, in percent of the time main's next victim went unused, at first"),
        parameter("adapt", "yes", "no|yes", "whether that moves by what ghosts say"),
    ]),
    entry("history", "Neo4j's clock; recently evicted pages return with count 7", &[
        parameter("max", "4", "1..=7", "largest usage a hit may reach"),
        parameter("ghost", "exact", "exact|bitset|cleaned", "how evicted pages are remembered"),
        ARM,
    ]),
];

pub(super) const ALIASES: &[Alias] = &[
    alias("min-bypass", "min:bypass=yes"),
    alias("slru4", "slru:segments=4"),
    alias("2q", "twoq"),
    alias("gclock-2bit", "gclock:max=3,init=0,threshold=0"),
    alias("gclock-3bit", "gclock:max=7,init=0,threshold=0"),
    alias("neo4j-2", "neo4j:count=2"),
    alias("neo4j-3", "neo4j:count=3"),
    alias("neo4j-5", "neo4j:count=5"),
    alias("neo4j-6", "neo4j:count=6"),
    alias("neo4j-7", "neo4j:count=7"),
    alias("neo4j-rand", "neo4j:arm=thread"),
    alias("neo4j-7-rand", "neo4j:count=7,arm=thread"),
    alias("count-to-1", "neo4j:count=1"),
    alias("count-to-2", "neo4j:count=2"),
    alias("count-to-3", "neo4j:count=3"),
    alias("count-to-4", "neo4j:count=4"),
    alias("count-to-5", "neo4j:count=5"),
    alias("count-to-6", "neo4j:count=6"),
    alias("count-to-7", "neo4j:count=7"),
    alias("thesis-clockpro-adaptive", "thesis-clockpro:hot=adaptive"),
    alias("thesis-clockpro-plus", "thesis-clockpro:hot=plus"),
    alias("hist-4-7", "history:max=4"),
    alias("hist-7-7", "history:max=7"),
];
