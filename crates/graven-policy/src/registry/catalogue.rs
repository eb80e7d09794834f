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

/// What a policy costs, and where it comes from.
struct Told {
    hit: &'static str,
    state: &'static str,
    paper: &'static str,
}

const fn told(hit: &'static str, state: &'static str, paper: &'static str) -> Told {
    Told { hit, state, paper }
}

const fn entry(
    name: &'static str,
    leaves: &'static str,
    parameters: &'static [Parameter],
    told: Told,
) -> Entry {
    Entry {
        name,
        leaves,
        parameters,
        live: true,
        hit: told.hit,
        state: told.state,
        paper: told.paper,
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

const SCAN: Parameter = parameter(
    "scan",
    "6",
    "0..=100",
    "percent of the cache above which scanned pages leave first; 0 for never",
);

#[rustfmt::skip]
pub(super) const POLICIES: &[Entry] = &[
    Entry {
        live: false,
        ..entry("min", "the page used farthest in the future", &[
            parameter("bypass", "no", "no|yes", "whether a newcomer may be turned away"),
        ], told("nothing", "4 bytes an access", "Belady 1966"))
    },
    entry("random", "any page, drawn by lot", &[], told("nothing", "8 bytes", "Belady 1966")),
    entry("fifo", "the page that came first", &[], told("nothing", "24 bytes", "Belady 1966")),
    entry("lru", "the page used longest \
        ago", &[], told("move", "24 bytes", "Mattson, Gecsei, Slutz, Traiger 1970")),
    entry("eviction-queue", "as LRU, kept as a queue with sequence numbers and stale entries", &[],
        told("append", "12 bytes and up to 4 entries of \
            8", "Neumann and Freitag 2020 (Umbra); DuckDB, Kuzu")),
    entry("lfu", "the page with the fewest hits since it came", &[],
        told("move, logarithmic", "60 bytes", "Aho, Denning, Ullman 1971")),
    entry("slru", "the oldest of the lowest segment; a hit moves a page one segment up", &[
        parameter("segments", "4", "1..=8", "number of segments"),
    ], told("move, cascade", "24 bytes", "Karedla, Love, Wherry 1994")),
    entry("s4lru-blog", "as above, but a page climbs only when hit at the head of its list", &[],
        told("move, cascade", "24 bytes", "founding study, after Huang 2013")),
    entry("twoq", "newcomers first in, first out (a quarter); pages that return, by LRU", &[],
        told("move if it returned", "24 + 16 (half as many ghosts)", "Johnson and Shasha 1994")),
    entry("arc", "by LRU among pages seen once or more often, whichever is above a learnt \
        target", &[],
        told("move", "24 + 36 bytes", "Megiddo and Modha 2003")),
    entry("car", "as ARC, with \
        clocks", &[], told("set a bit", "24 + 36 bytes", "Bansal and Modha 2004")),
    entry("lirs", "pages with a long distance between their last two uses", &[
        parameter("ghosts", "3", "1..=1000", "ghosts as a multiple of the capacity"),
    ], told("move", "40 + 52 bytes", "Jiang and Zhang 2002")),
    entry("clockpro", "as LIRS, as one clock with three hands", &[
        parameter("adapt", "unit", "unit|utility", "how the target of cold pages moves: by one, or \
            as in CLOCK-Pro+"),
    ], told("set a bit", "32 + 44 bytes", "Jiang, Chen, Zhang 2005; Li 2019")),
    entry("thesis-clockpro", "as CLOCK-Pro on a slot array, hot pages capped", &[
        parameter("hot", "fixed", "fixed|adaptive|plus", "how the number of hot pages moves"),
        parameter("cap", "5", "1..=100", "largest share of hot pages that it may move to, in \
            percent"),
    ], told("set a bit (adaptive: a \
        call)", "29 + 12 bytes", "Elding Larsson and Gustavsson 2021; Li 2019")),
    entry("lruk", "the page whose k-th last use is oldest", &[
        parameter("k", "2", "1..=4", "how many uses are remembered"),
    ], told("move, logarithmic", "100 + 80 bytes", "O'Neil, O'Neil, Weikum 1993")),
    entry("watt", "of a random sample the page with the least `i / (now - i-th last use)`", &[
        parameter("uses", "8", "1..=8", "how many uses are remembered"),
        parameter("sample", "8", "1..=32", "how many pages an eviction looks at"),
    ], told("store the coarse time", "52 bytes", "Voehringer and Leis 2023")),
    entry("mglru", "the oldest of four generations, unless used", &[],
        told("count to 3", "24 bytes", "Zhao 2022 (Linux 6.1)")),
    entry("wtinylfu", "the window's oldest or main's oldest, whichever a sketch has seen less \
        often", &[],
        told("move, count in the sketch", "40 bytes", "Einziger, Friedman, Manes 2017")),
    entry("sieve", "the next page not visited since the hand passed it; nothing moves", &[],
        told("set a bit", "24 bytes", "Zhang, Yang, Yue, Vigfusson, Rashmi 2024")),
    entry("s3fifo", "newcomers in a small queue unless hit twice; the main queue reinserts pages \
        with hits", &[],
        told("count to 3", "24 + 36 bytes", "Yang, Zhang, Qiu, Yue, Rashmi 2023")),
    entry("clock", "the next page not used since the arm passed it; scanned pages \
        first", &[ARM, SCAN],
        told("set a bit", "8 bytes, 16 more if scanned", "Corbato 1968")),
    entry("gclock", "the next page whose count has fallen to the threshold; scanned pages first", &[
        parameter("max", "7", "0..=7", "largest usage a hit may reach"),
        parameter("init", "1", "0..=7", "usage of a newcomer"),
        parameter("threshold", "1", "0..=6", "evict at this usage or below"),
        ARM, SCAN,
    ], told("count to `max`", "8 bytes, 16 more if scanned", "Smith 1978; Nicola, Dan, Dias 1992")),
    entry("neo4j", "Neo4j's clock: newcomers at 1, counts up to `count`, evicts at 1", &[
        parameter("count", "4", "1..=7", "largest usage (count to k)"),
        ARM,
    ], told("count to `count`", "8 bytes", "Neo4j 5.26")),
    entry("muninn", "as Neo4j's page cache, with its reserve of free frames", &[
        parameter("mode", "batch", "batch|coop", "what evicts: background arm, or every fault"),
    ], told("count to 4", "8 bytes", "Neo4j 5.26")),
    entry("graven", "a newcomer not used while it waited, if it is older than a learnt share (the \
        patience) of the age of the main \
        clock's next unused page; else that page; a page returning sooner than a learnt share of \
        that age enters main at once; \
        which kinds of pages main is for is learnt", &[
        parameter("patience", "2", "1..=100", "how long newcomers wait, in percent of the time \
            main's next victim went unused, at first"),
        parameter("adapt", "yes", "no|yes", "whether that moves by what ghosts say"),
    ], told("count to 7", "16 + 8 bytes (3 to 6 ghosts a \
        frame)", "our own, after LIRS, S3-FIFO, ARC and Hawkeye")),
    entry("history", "Neo4j's clock; recently evicted pages return with count 7", &[
        parameter("max", "4", "1..=7", "largest usage a hit may reach"),
        parameter("ghost", "exact", "exact|bitset|cleaned", "how evicted pages are remembered"),
        parameter("size", "100", "1..=1000", "how many are remembered, in percent of the cache"),
        ARM,
    ], told("count to `max`", "8 + 36 bytes (exact), 5 bytes \
        (hashed)", "Elding Larsson and Gustavsson 2021")),
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
    alias("kuzu-gclock", "gclock:max=0,init=1,threshold=0,scan=0"),
    alias("clockpro-plus", "clockpro:adapt=utility"),
    alias("thesis-clockpro-adaptive", "thesis-clockpro:hot=adaptive"),
    alias("thesis-clockpro-plus", "thesis-clockpro:hot=plus"),
    alias("hist-4-7", "history:max=4"),
    alias("hist-7-7", "history:max=7"),
];
