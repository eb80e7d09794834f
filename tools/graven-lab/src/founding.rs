//! What the founding documents ask for: 86 items, the command or test that shows each, the figure,
//! and how far it is.
//!
//! # How it works
//! One table; [`markdown`] is `docs/reference/founding-documents.md`, which a test compares with
//! that file. The program's tests parse every command with the program's own parser and look for
//! every test by its name.

use serde::Serialize;

/// A founding document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Document {
    /// The study of Neo4j's page cache.
    S0,
    /// The thesis on replacement policies.
    S1,
    /// Commit cost on ext4.
    S2,
    /// The Linux performance guide.
    S3,
    /// Variable-size pages in Kuzu.
    S4,
}

impl Document {
    /// Its title here.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::S0 => "A study on Neo4j's page cache",
            Self::S1 => "The thesis on replacement policies",
            Self::S2 => "Write throughput on ext4",
            Self::S3 => "The Linux performance guide",
            Self::S4 => "Variable-size pages in Kuzu",
        }
    }
}

/// How far an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum State {
    /// All of it works.
    Works,
    /// What is missing.
    InPart(&'static str),
}

/// Something that a founding document asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// Where.
    pub document: Document,
    /// What.
    pub what: &'static str,
    /// The command that shows it, with names in capitals for what the reader has to give; or the
    /// test.
    pub command: &'static str,
    /// Report and figure, or nothing.
    pub figure: &'static str,
    /// How far it is.
    pub state: State,
}

const fn item(
    document: Document,
    what: &'static str,
    command: &'static str,
    figure: &'static str,
    state: State,
) -> Item {
    Item {
        document,
        what,
        command,
        figure,
        state,
    }
}

/// The items; the number of one is its place, from 1.
#[rustfmt::skip]
pub const ITEMS: [Item; 86] = [
    item(Document::S0, "GClock with a largest \
        count", "graven lab simulate --trace TRACE --policy gclock:max=3 --size \
            1%", "thesis: counts", State::Works),
    item(Document::S0, "random eviction", "graven lab simulate --trace TRACE --policy random \
        --size 1%", "neo4j-study: policies", State::Works),
    item(Document::S0, "LRU behind one lock, waits \
        counted", "graven lab replay --trace TRACE --size 10% --policy lru:protocol=locked \
            --threads 1,2", "neo4j-study: threads-buffered", State::Works),
    item(Document::S0, "S4LRU, promotion by any hit or from the \
        head", "graven lab simulate --trace TRACE --policy slru4,s4lru-blog --size \
            1%", "neo4j-study: policies", State::Works),
    item(Document::S0, "batches of hits (BP-Wrapper), their size a \
        parameter", "graven lab replay --trace TRACE --size 10% --policy \
            lru:batch=1,lru:batch=8,lru:batch=64 --threads \
            1,2", "neo4j-study: batches", State::Works),
    item(Document::S0, "flat combining", "graven lab replay --trace TRACE --size 10% --policy \
        lru:protocol=combining --threads 1,2", "neo4j-study: threads-buffered", State::Works),
    item(Document::S0, "batching and combining \
        together", "graven lab replay --trace TRACE --size 10% --policy \
            lru:protocol=combining,batch=32 --threads \
            1,2", "neo4j-study: threads-buffered", State::Works),
    item(Document::S0, "pins, dirty pages, frames given \
        back", "cargo test -p graven-pagecache \
            all_pinned_fails_in_bounded_time_and_names_the_holders", "", State::Works),
    item(Document::S0, "one policy code in simulator and \
        engine", "cargo test -p graven-pagecache \
            the_synchronous_mode_counts_as_the_simulator", "neo4j-study: equality", State::Works),
    item(Document::S0, "the network of 65,645 persons, or one of its \
        shape", "graven generate social OUT --scale 10", "", State::Works),
    item(Document::S0, "the three-hop question, \
        checked", "graven bench three-hop DB --params FILE --expected \
            FILE", "neo4j-study: the question asked of Graven", State::Works),
    item(Document::S0, "320 starts of a fixed seed, named in the run \
        file", "graven bench three-hop DB --params FILE --out FOLDER", "", State::Works),
    item(Document::S0, "caches of 16 and 32 MB, smaller than the \
        data", "graven bench three-hop DB --params FILE --cache \
            16MiB,32MiB", "neo4j-study: the question asked of Graven", State::Works),
    item(Document::S0, "throughput, latency, hit ratio by kind of \
        page", "graven bench three-hop DB --params FILE \
            --json", "neo4j-study: the question asked of Graven", State::Works),
    item(Document::S0, "throughput against threads, with error \
        bars", "graven lab report neo4j-study --only \
            threads", "neo4j-study: threads-direct, threads-buffered", State::Works),
    item(Document::S0, "hit ratio against threads, with error \
        bars", "graven lab report neo4j-study --only \
            threads", "neo4j-study: threads-direct, threads-buffered", State::Works),
    item(Document::S0, "a warm-up of its own length before \
        measuring", "graven lab replay --trace TRACE --size 10% --warm-up \
            0.2", "neo4j-study: threads-direct", State::Works),
    item(Document::S0, "direct and buffered reads, device reads from the \
        kernel", "graven lab replay --trace TRACE --size 10% --io \
            direct,buffered", "neo4j-study: threads-direct, threads-buffered", State::Works),
    item(Document::S0, "a verdict for each claim, the same every \
        time", "graven lab compare FIRST.json \
            SECOND.json", "neo4j-study: \
                verdicts", State::Works),
    item(Document::S1, "slots, hits, faults, evictions as a replay counts \
        them", "graven lab replay --trace TRACE --size 10% --evictor \
            synchronous", "", State::Works),
    item(Document::S1, "a background evictor with a free list, its thresholds \
        settable", "graven lab replay --trace TRACE --size 10% --reserve \
            0.01,0.05", "", State::Works),
    item(Document::S1, "cooperative eviction, counted \
        apart", "graven lab replay --trace TRACE --size 10% --evictor \
            cooperative", "thesis: counts", State::Works),
    item(Document::S1, "a file that is closed leaves nothing \
        behind", "cargo test -p graven-pagecache files_come_and_go", "", State::Works),
    item(Document::S1, "largest count, value at fault-in, \
        threshold", "graven lab simulate --trace TRACE --policy gclock:max=7,init=1,threshold=1 \
            --size 1%", "thesis: counts", State::Works),
    item(Document::S1, "one arm, or a start of its own for each \
        eviction", "graven lab simulate --trace TRACE --policy neo4j:arm=global,neo4j:arm=thread \
            --size 1%", "thesis: counts", State::Works),
    item(Document::S1, "random replacement", "graven lab simulate --trace TRACE --policy random \
        --size 1%", "thesis: sizes", State::Works),
    item(Document::S1, "CLOCK", "graven lab simulate --trace TRACE --policy clock --size \
        1%", "thesis: clocks", State::Works),
    item(Document::S1, "CLOCK-Pro", "graven lab simulate --trace TRACE --policy \
        clockpro,thesis-clockpro --size 1%", "thesis: clocks", State::Works),
    item(Document::S1, "adaptive CLOCK-Pro, its cap a \
        parameter", "graven lab simulate --trace TRACE --policy thesis-clockpro:hot=adaptive,cap=5 \
            --size 1%", "thesis: clocks", State::Works),
    item(Document::S1, "CLOCK-Pro+ by utility beside the thesis's \
        listing", "graven lab simulate --trace TRACE --policy clockpro-plus,thesis-clockpro-plus \
            --size 1%", "thesis: clocks", State::Works),
    item(Document::S1, "history, its size a \
        parameter", "graven lab simulate --trace TRACE --policy \
            history:size=50,history:size=100,history:size=200 --size \
            1%", "thesis: history", State::Works),
    item(Document::S1, "three structures of history, their \
        collisions", "graven lab simulate --trace TRACE --policy \
            history:ghost=exact,history:ghost=bitset,history:ghost=cleaned --size \
            1%", "thesis: history", State::Works),
    item(Document::S1, "history and count to \
        7", "graven lab simulate --trace TRACE --policy hist-7-7 --size \
            1%", "thesis: prototype", State::Works),
    item(Document::S1, "Belady's optimum, never \
        beaten", "graven lab simulate --trace TRACE --policy min,min-bypass --size \
            1%", "thesis: prototype", State::Works),
    item(Document::S1, "LFU, LIRS, 2Q, generations; transactions; the \
        list", "graven lab transactions DATA --policy lru,gclock:max=3 --running \
            64", "neo4j-study: policies; \
                transactions", State::Works),
    item(Document::S1, "policies hear of hints at \
        insertion", "cargo test -p graven-policy \
            a_scan_passes_through_its_share", "", State::Works),
    item(Document::S1, "scan hints leave the hot set in \
        place", "graven lab report neo4j-study --only \
            resident", "neo4j-study: scan-hints, resident-set", State::Works),
    item(Document::S1, "loops, scans, skew and \
        mixtures", "graven lab gen loop:pages=5000 OUT.gtrace", "", State::Works),
    item(Document::S1, "recorded accesses, binary and text, and what recording \
        costs", "graven lab record DB OUT.gtrace.csv --params FILE", "", State::Works),
    item(Document::S1, "the simulator's table in one \
        command", "graven lab simulate --trace TRACE --policy all --size \
            1%", "thesis: prototype", State::Works),
    item(Document::S1, "hit rate by cache \
        size", "graven lab report thesis --only sizes", "thesis: sizes", State::Works),
    item(Document::S1, "current against \
        random", "graven lab report thesis --only sizes", "thesis: sizes", State::Works),
    item(Document::S1, "largest count 1 to 7, two \
        sizes", "graven lab report thesis --only counts", "thesis: counts", State::Works),
    item(Document::S1, "the same with one \
        arm", "graven lab report thesis --only counts", "thesis: counts", State::Works),
    item(Document::S1, "CLOCK variants", "graven lab report thesis --only \
        clocks", "thesis: clocks", State::Works),
    item(Document::S1, "history variants", "graven lab report thesis --only \
        history", "thesis: history", State::Works),
    item(Document::S1, "best hit rates", "graven lab report thesis --only \
        summary", "thesis: summary", State::Works),
    item(Document::S1, "the smallest cache that works, the same every \
        time", "graven lab livelock --policy all", "livelock", State::Works),
    item(Document::S1, "tests of eviction and \
        membership", "cargo test -p graven-policy every_policy_conforms", "", State::Works),
    item(Document::S1, "warm-up, rounds, the machine's \
        state", "graven lab report thesis --only counts", "every run file", State::Works),
    item(Document::S1, "what an access may cost, what avoided faults are \
        worth", "graven lab budget --fault-ratio 0.1 --fault-time \
            0.0001", "thesis: questions", State::Works),
    item(Document::S1, "benchmarks that reach the \
        device", "graven lab replay --trace TRACE --size 10% --io \
            direct", "neo4j-study: threads-direct", State::Works),
    item(Document::S1, "faults that block a \
        statement", "graven bench three-hop DB --params FILE \
            --json", "neo4j-study: the question asked of Graven", State::Works),
    item(Document::S2, "1 x 1,000 against 1,000 x \
        1", "graven lab report ext4 --only transactions", "ext4: transactions", State::Works),
    item(Document::S2, "5 to 10 repeats, median and \
        deviation", "graven lab report ext4 --only \
            transactions", "ext4: transactions", State::Works),
    item(Document::S2, "bytes of log, share of the \
        sync", "graven lab report ext4 --only transactions", "ext4: transactions", State::Works),
    item(Document::S2, "sequential write speed, \
        measured", "graven doctor DIR --measure", "", State::Works),
    item(Document::S2, "the drive's write cache, also of members of a \
        RAID", "graven doctor DIR", "", State::Works),
    item(Document::S2, "noatime", "graven doctor DIR", "", State::Works),
    item(Document::S2, "barriers and journal, never advised \
        away", "graven doctor DIR", "", State::Works),
    item(Document::S2, "dirty ratios", "graven doctor DIR", "", State::Works),
    item(Document::S2, "schedulers", "graven doctor DIR", "", State::Works),
    item(Document::S2, "settings by small and large transactions a \
        second", "graven bench commit DIR --matrix --apply", "ext4: settings", State::Works),
    item(Document::S2, "what a setting can lose; log before \
        store", "graven torture DIR", "", State::Works),
    item(Document::S3, "write-test with its \
        arguments", "graven write-test STORE LOG 33 100 500 100", "", State::Works),
    item(Document::S3, "mapped store, read, append, force, write \
        back", "graven write-test STORE LOG 33 100 500 100 --nosync", "", State::Works),
    item(Document::S3, "all its figures", "graven write-test STORE LOG 33 100 500 100 \
        --json", "", State::Works),
    item(Document::S3, "a store of random data, read until \
        cached", "graven write-test STORE LOG --prepare", "linux-guide: reads", State::Works),
    item(Document::S3, "three runs and whether they are \
        linear", "graven write-test STORE LOG --canonical", "linux-guide: canonical", State::Works),
    item(Document::S3, "dirty pages and write-back beside the \
        run", "graven lab report linux-guide --only series", "linux-guide: series", State::Works),
    item(Document::S3, "dirty ratios before and \
        after", "graven doctor DIR", "linux-guide: system", State::Works),
    item(Document::S3, "file system \
        tuning", "graven doctor DIR", "linux-guide: system", State::Works),
    item(Document::S3, "limit of open \
        files", "graven doctor DIR", "linux-guide: system", State::Works),
    item(Document::S3, "writes deferred until a \
        checkpoint", "graven lab report linux-guide --only \
            series", "linux-guide: series", State::Works),
    item(Document::S3, "small transactions share a \
        force", "graven lab report linux-guide --only \
            clients", "linux-guide: clients", State::Works),
    item(Document::S4, "two pools, 75 to \
        25", "graven bench three-hop DB --params FILE --pools \
            static:4KiB=75%,256KiB=25%", "kuzu-pages: completion", State::Works),
    item(Document::S4, "size classes, addresses reserved, memory as \
        loaded", "graven lab report kuzu-pages --only \
            memory", "kuzu-pages: memory", State::Works),
    item(Document::S4, "classes up to one page of the whole \
        pool", "cargo test -p graven-pagecache \
            a_page_may_be_most_of_the_pool", "", State::InPart("pages have up to 128 MiB, hash \
                tables are one piece; values of a data file are chains of pages of 64 KiB")),
    item(Document::S4, "one account of \
        memory", "cargo test -p graven-pagecache \
            a_huge_file_stays_within_the_limit", "", State::Works),
    item(Document::S4, "an eviction queue with stale \
        entries", "graven lab simulate --trace TRACE --policy eviction-queue --size \
            1%", "neo4j-study: policies", State::Works),
    item(Document::S4, "memory given \
        back", "graven lab release --size 256MiB", "kuzu-pages: memory, release", State::Works),
    item(Document::S4, "map, array, swizzled \
        word", "graven lab report kuzu-pages --only ways", "kuzu-pages: ways", State::Works),
    item(Document::S4, "resize at run \
        time", "cargo test -p graven-pagecache \
            unevictable_pages_become_evictable_again", "", State::Works),
    item(Document::S4, "intermediates share the \
        pool", "cargo test -p graven-lab \
            a_fixed_split_fails_where_one_budget_does_not", "kuzu-pages: completion", State::Works),
    item(Document::S4, "31 queries at 32 MB and 512 \
        MB", "graven bench bi DB --cache 32MiB,512MiB", "kuzu-pages: completion", State::Works),
    item(Document::S4, "memory after each query; fragmentation and static \
        waste", "graven lab report kuzu-pages --only \
            waste", "kuzu-pages: memory, waste", State::Works),
];

/// The reference page.
#[must_use]
pub fn markdown() -> String {
    let in_part = ITEMS
        .iter()
        .filter(|item| item.state != State::Works)
        .count();
    let mut text = format!(
        "# What the founding documents ask for\n\n\
         Five documents, {} items: what shows each, and how far it is. {} work, {in_part} work in \
         part. Names in capitals are the\n\
         reader's to give; `--out FOLDER` writes a report's page and figures. Printed by `graven \
         lab founding --markdown`.\n",
        ITEMS.len(),
        ITEMS.len() - in_part
    );
    let mut last = None;
    for (at, item) in ITEMS.iter().enumerate() {
        if last != Some(item.document) {
            last = Some(item.document);
            text += &format!(
                "\n## {}\n\n| # | item | shown by | figure | state |\n| --: | --- | --- | --- | \
                    --- |\n",
                item.document.title()
            );
        }
        let state = match item.state {
            State::Works => "works".to_owned(),
            State::InPart(missing) => format!("in part: {missing}"),
        };
        text += &format!(
            "| {} | {} | `{}` | {} | {state} |\n",
            at + 1,
            item.what,
            item.command,
            item.figure
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: the reference is the table.
    #[test]
    fn the_reference_is_the_table() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/reference/founding-documents.md"
        );
        let reference = std::fs::read_to_string(path).expect("the reference");
        assert!(
            reference == markdown(),
            "{path} is not what `graven lab founding --markdown` prints"
        );
    }
}
