//! Statements whose values, rows or names take much memory, drawn from a grammar.
//!
//! # How it works
//! A statement is a frame (a row, many rows, wide rows, a subquery, a write, a parameter, a file in
//! or out, a call) around expressions. Texts begin at some characters and double; every operator
//! that makes texts, lists and maps is applied to them, and every function and procedure that the
//! program lists is called with them ([`call`]). The same seed gives the same statements. Light
//! ones have the same frames and shorter data, so that they end soon.

mod call;
mod long_text;

use std::fmt::Write as _;

use graven_types::rng::SplitMix64;

use super::calls::Calls;

/// Files that statements read: one record of many bytes, many fields, many records, a quote that is
/// never closed, zeros packed, and an object of many keys.
const FILES: &[&str] = &[
    "long.csv",
    "fields.csv",
    "records.csv",
    "open.csv",
    "bomb.csv.zst",
    "keys.json",
];

/// Endings of files that statements write.
const KINDS: &[&str] = &["csv", "json", "parquet", "arrow"];

/// Draws statements.
pub(super) struct Generator<'a> {
    random: SplitMix64,
    light: bool,
    calls: &'a Calls,
    /// The function that is called next.
    called: usize,
    /// Files that were written.
    files: u32,
    /// Variables in sight that hold texts and numbers.
    texts: Vec<&'static str>,
    numbers: Vec<&'static str>,
}

impl<'a> Generator<'a> {
    /// `first`: the function that is called first; the next ones follow.
    pub(super) fn new(seed: u64, light: bool, calls: &'a Calls, first: usize) -> Self {
        Self {
            random: SplitMix64::new(seed),
            light,
            calls,
            called: first,
            files: 0,
            texts: Vec::new(),
            numbers: Vec::new(),
        }
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.random.place(from.len())]
    }

    /// One of these, which ascend; of the first half only, where statements are to be light.
    fn size<T: Copy>(&mut self, from: &[T]) -> T {
        let some = if self.light {
            from.len().div_ceil(2)
        } else {
            from.len()
        };
        self.pick(&from[..some])
    }

    fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.random.below(to - from + 1)
    }

    /// The next statement.
    pub(super) fn statement(&mut self) -> String {
        self.texts.clear();
        self.numbers.clear();
        match self.random.below(26) {
            18..=22 => self.function(),
            23..=24 => self.procedure(),
            0..=3 => self.one_row(),
            4..=6 => self.many_rows(),
            7 => self.wide_rows(),
            8 | 25 => self.long_text(),
            9 | 10 => self.write(),
            11 => self.names(),
            12 => self.file(),
            13 => self.source(),
            14 => self.copy(),
            15 => self.parameter(),
            16 => self.subquery(),
            _ => self.read(),
        }
    }

    fn one_row(&mut self) -> String {
        let text = self.seed_text();
        self.texts = vec!["s"];
        if self.random.once_in(24) {
            // Its values share a text: what is printed is longer than what is in memory.
            let times = self.pick(&[10, 1_000, 20_000]);
            return format!("WITH {text} AS s RETURN [x IN range(1, {times}) | s] AS l");
        }
        let value = self.any(3);
        let shown = self.shown(&value);
        format!("WITH {text} AS s RETURN {shown}")
    }

    /// Mostly its size, now and then the value itself.
    fn shown(&mut self, value: &str) -> String {
        match self.random.below(6) {
            0 => value.to_owned(),
            1 => format!("{value} = {value}"),
            2 => format!("size([{value}, {value}])"),
            _ => format!("size([{value}])"),
        }
    }

    fn many_rows(&mut self) -> String {
        let (text, rows) = (self.seed_text(), self.size(&[10, 300, 3_000, 100_000]));
        self.texts = vec!["s"];
        self.numbers = vec!["x"];
        let (value, key) = (self.any(2), self.text(1));
        let end = match self.random.below(12) {
            0 => "RETURN count(v)".to_owned(),
            1 => "RETURN size(collect(v))".to_owned(),
            2 => "RETURN count(DISTINCT v)".to_owned(),
            3 => "RETURN min(v), max(v)".to_owned(),
            4 => "WITH v ORDER BY v RETURN count(*)".to_owned(),
            5 => "WITH DISTINCT v RETURN count(*)".to_owned(),
            6 => "WITH v, count(*) AS c RETURN max(c)".to_owned(),
            7 => "WITH v, x % 7 AS g WITH g, collect(v) AS vs RETURN sum(size(vs))".to_owned(),
            8 => "WITH v, x ORDER BY v DESC, x LIMIT 3 RETURN count(*)".to_owned(),
            9 => "WITH collect(v) AS vs UNWIND vs AS w RETURN count(w)".to_owned(),
            10 => "WHERE v IS NOT NULL RETURN count(*)".to_owned(),
            _ => format!("WITH v, s, x WHERE size({key}) > 3 RETURN count(*)"),
        };
        format!("WITH {text} AS s UNWIND range(1, {rows}) AS x WITH {value} AS v, s, x {end}")
    }

    fn wide_rows(&mut self) -> String {
        let (columns, rows) = (self.between(100, 1200), self.size(&[100, 3_000, 30_000]));
        self.numbers = vec!["x"];
        let mut list = String::new();
        for column in 0..columns {
            let comma = if column == 0 { "" } else { "," };
            let _ = match column % 50 {
                7 => write!(list, "{comma}'text ' + x AS c{column}"),
                _ => write!(list, "{comma}x + {column} AS c{column}"),
            };
        }
        let end = match self.random.below(4) {
            0 => "ORDER BY c1 RETURN count(*), sum(c0)",
            1 => "RETURN count(DISTINCT c1), max(c2)",
            2 => "WITH collect(c1) AS a, max(c3) AS b RETURN size(a), b",
            _ => "WHERE c1 > 5 RETURN count(*)",
        };
        format!("UNWIND range(1, {rows}) AS x WITH {list} {end}")
    }

    fn write(&mut self) -> String {
        let text = self.seed_text();
        self.texts = vec!["s"];
        self.numbers = vec!["x"];
        let (value, rows) = (self.text(1), self.size(&[1, 20, 200, 2_000]));
        match self.random.below(11) {
            9 | 10 => {
                format!("WITH {text} AS s UNWIND range(1, 5) AS x CREATE (:N {{s: s + x, x: x}})")
            }
            0 | 1 => format!(
                "WITH {text} AS s UNWIND range(1, {rows}) AS x CREATE (:N {{s: {value}, x: x}})"
            ),
            2 => format!(
                "WITH {text} AS s MATCH (n:N) WITH n, s, n.x AS x LIMIT {rows} SET n.t = {value}"
            ),
            3 => format!(
                "WITH {text} AS s UNWIND range(1, {rows}) AS x MERGE (n:M {{s: {value}}}) SET n += \
                    {{l: split(left(s, 99), 'a')}}"
            ),
            4 => format!(
                "UNWIND range(1, {rows}) AS x CREATE (:A {{x: x}})-[:R {{t: 'r' + x}}]->(:B) \
                    RETURN count(*)"
            ),
            5 => format!(
                "WITH {text} AS s FOREACH (x IN range(1, {rows}) | CREATE (:N {{s: {value}, x: \
                    x}}))"
            ),
            6 => format!(
                "WITH {text} AS s UNWIND range(1, {rows}) AS x CALL (s, x) {{ CREATE (:N {{s: \
                    {value}, x: x}}) }} IN TRANSACTIONS OF 7 ROWS"
            ),
            7 => (self.pick(&[
                "MATCH (n:N) DETACH DELETE n",
                "CALL graven.checkpoint()",
                "CALL graven.check() YIELD problem RETURN count(problem)",
            ]))
            .to_owned(),
            _ => self
                .pick(&[
                    "CREATE INDEX n_s IF NOT EXISTS FOR (n:N) ON (n.s)",
                    "CREATE INDEX n_x IF NOT EXISTS FOR (n:N) ON (n.x)",
                    "DROP INDEX n_s IF EXISTS",
                ])
                .to_owned(),
        }
    }

    /// Many labels, types and keys.
    fn names(&mut self) -> String {
        let (count, first) = (
            self.size(&[50, 500, 4_000, 200_000]),
            self.random.below(1_000_000),
        );
        match self.random.below(3) {
            0 => format!(
                "UNWIND range({first}, {}) AS x CREATE (:$('L' + x))",
                first + count
            ),
            1 => format!(
                "UNWIND range({first}, {}) AS x CREATE (:T)-[:$('T' + x)]->(:T)",
                first + count
            ),
            _ => format!(
                "UNWIND range({first}, {}) AS x CREATE (n:K) SET n[('k' + x)] = x",
                first + count / 10
            ),
        }
    }

    fn file(&mut self) -> String {
        let (file, end) = (
            self.pick(FILES),
            self.pick(&[
                "count(*)",
                "size(collect(r))",
                "max(size(r))",
                "sum(size(r[0]))",
            ]),
        );
        let headers = self.pick(&["", "WITH HEADERS "]);
        format!("LOAD CSV {headers}FROM 'file:{file}' AS r RETURN {end}")
    }

    /// A file whose columns are variables.
    fn source(&mut self) -> String {
        let of_kind = format!("out0.{}", self.pick(KINDS));
        let file = match self.random.once_in(2) {
            true => of_kind,
            false => self.pick(FILES).to_owned(),
        };
        let end = match self.random.below(4) {
            0 => "RETURN count(*)",
            1 => "RETURN *",
            2 => "WITH * RETURN size(collect(1))",
            _ => "RETURN DISTINCT *",
        };
        match self.random.below(4) {
            0 => format!("COPY Copied FROM '{file}'"),
            1 => format!("COPY Copied FROM '{file}' IN TRANSACTIONS OF 100 ROWS"),
            _ => format!("LOAD FROM '{file}' {end}"),
        }
    }

    /// A result that becomes a file.
    fn copy(&mut self) -> String {
        let (text, rows) = (self.seed_text(), self.size(&[1, 20, 300, 100_000]));
        self.texts = vec!["s"];
        self.numbers = vec!["x"];
        let value = match self.random.below(3) {
            0 => self.list(1),
            _ => self.text(1),
        };
        if self.random.below(4) == 0 {
            let format = self.pick(&["CSV", "JSON", "PARQUET"]);
            return format!(
                "EXPORT DATABASE 'all-{}' (FORMAT {format})",
                self.random.bits()
            );
        }
        let kind = self.pick(KINDS);
        let file = format!("out{}.{kind}", self.files);
        self.files = (self.files + 1) % 3;
        format!(
            "COPY (WITH {text} AS s UNWIND range(1, {rows}) AS x RETURN x, {value} AS v) TO \
                '{file}'"
        )
    }

    /// Parameters of some hundred kilobytes.
    fn parameter(&mut self) -> String {
        let count = self.size(&[10, 1_000, 5_000, 20_000]);
        let items: Vec<String> = match self.random.below(3) {
            0 => (0..count).map(|n| n.to_string()).collect(),
            1 => (0..count).map(|n| format!("'text {n}'")).collect(),
            _ => (0..count)
                .map(|n| format!("{{a: {n}, b: ['b']}}"))
                .collect(),
        };
        let end = match self.random.below(6) {
            0 => "RETURN size($p + $p + $p)",
            1 => "UNWIND $p AS a UNWIND $p AS b RETURN count(*)",
            2 => "UNWIND $p AS a WITH a ORDER BY a RETURN count(*)",
            3 => "RETURN [x IN range(1, 1000) | $p]",
            4 => "RETURN reduce(l = [], x IN range(1, 50) | l + $p)",
            _ => "UNWIND $p AS a CREATE (:P {a: toString(a)})",
        };
        format!(":param p [{}]\n{end}", items.join(","))
    }

    fn subquery(&mut self) -> String {
        let (text, rows) = (self.seed_text(), self.size(&[3, 30, 1_000, 20_000]));
        self.texts = vec!["s"];
        self.numbers = vec!["x"];
        let value = self.any(2);
        let begin = format!("WITH {text} AS s UNWIND range(1, {rows}) AS x");
        match self.random.below(6) {
            0 => format!("{begin} CALL (s, x) {{ RETURN {value} AS v }} RETURN count(v)"),
            1 => format!(
                "{begin} WITH s, x WHERE EXISTS {{ WITH {value} AS v WHERE v IS NULL RETURN v }} \
                    RETURN count(*)"
            ),
            2 => format!(
                "{begin} RETURN {value} AS v UNION WITH {text} AS s UNWIND range(1, 9) AS x RETURN \
                    {value} AS v"
            ),
            3 => format!(
                "{begin} OPTIONAL MATCH (n:N {{s: s}}) RETURN x, {value} AS v, n ORDER BY x DESC \
                    LIMIT 9"
            ),
            4 => format!(
                "{begin} RETURN sum(size(COLLECT {{ UNWIND range(1, 20) AS y RETURN {value} }}))"
            ),
            _ => format!(
                "{begin} RETURN x % 3 AS g, collect(DISTINCT {value}) AS vs, percentileDisc(x, \
                    0.5) AS p"
            ),
        }
    }

    fn read(&mut self) -> String {
        self.texts = vec!["n.s"];
        self.numbers = vec!["n.x"];
        let value = self.any(2);
        let end = match self.random.below(12) {
            9 => "RETURN n.s ORDER BY n.s".to_owned(),
            10 => "SET n.t = n.s".to_owned(),
            11 => "RETURN properties(n)".to_owned(),
            6 => "WITH n.s AS s, n.x AS x ORDER BY s DESC RETURN count(x)".to_owned(),
            7 => "WITH n.s AS s, collect(n.x) AS xs ORDER BY size(xs) RETURN count(s)".to_owned(),
            8 => "MATCH (m:N {s: n.s}) RETURN count(*)".to_owned(),
            0 => format!("RETURN count({value})"),
            1 => "RETURN size(collect(n.s))".to_owned(),
            2 => "RETURN n ORDER BY n.s LIMIT 2".to_owned(),
            3 => "RETURN size(collect(properties(n)))".to_owned(),
            4 => format!("RETURN size(collect({value}))"),
            _ => "RETURN count(DISTINCT n.s), max(n.s)".to_owned(),
        };
        format!("MATCH (n:N) {end}")
    }

    /// A text of up to 32 MiB.
    fn seed_text(&mut self) -> String {
        let start = self.pick(&["'a'", "'ab'", "'a,'", "'x y'", "'\u{e4}\u{20ac}'", "'1.5'"]);
        let doublings = match self.light {
            true => self.pick(&[3, 8, 12, 15, 17, 18, 19, 20]),
            false => self.pick(&[3, 8, 12, 15, 17, 19, 20, 21, 23]),
        };
        format!("reduce(t = {start}, i IN range(1, {doublings}) | t + t)")
    }

    fn number(&mut self) -> String {
        match self.numbers.is_empty() || self.random.once_in(3) {
            true => self.pick(&["1", "7", "100", "5000"]).to_owned(),
            false => {
                let from = self.numbers.clone();
                self.pick(&from).to_owned()
            }
        }
    }

    fn text(&mut self, depth: u32) -> String {
        if depth == 0 || self.random.once_in(8) {
            return match self.texts.is_empty() {
                true => self.seed_text(),
                false => {
                    let from = self.texts.clone();
                    self.pick(&from).to_owned()
                }
            };
        }
        let inner = self.text(depth - 1);
        match self.random.below(18) {
            0 => format!("toUpper({inner})"),
            1 => format!("toLower({inner})"),
            2 => format!("trim({inner})"),
            3 => format!("replace({inner}, 'a', {})", self.text(depth - 1)),
            4 => format!("replace({inner}, 'a', 'bcdefghi')"),
            5 => format!("substring({inner}, 1)"),
            6 => format!("reverse({inner})"),
            7 => format!("left({inner}, 100000)"),
            8 => format!("right({inner}, 100000)"),
            9 => format!("normalize({inner}, NFD)"),
            10 | 11 => format!("{inner} + {}", self.text(depth - 1)),
            12 | 13 => format!("{inner} + {}", self.number()),
            14 => format!("coalesce(null, {inner})"),
            15 => format!("CASE WHEN {} > 0 THEN {inner} ELSE '' END", self.number()),
            16 => format!("head([{inner}])"),
            _ => format!("ltrim({inner}) || rtrim({inner})"),
        }
    }

    fn list(&mut self, depth: u32) -> String {
        if depth == 0 {
            let to = self.size(&[10, 1_000, 50_000, 500_000, 3_000_000]);
            return format!("range(1, {to})");
        }
        let inner = self.any(depth - 1);
        match self.random.below(16) {
            0 => format!("[{inner}, {inner}, {}]", self.any(depth - 1)),
            1 => format!("split({}, 'a')", self.text(depth - 1)),
            2 => format!("split({}, '')", self.text(depth - 1)),
            3 => format!("{} + {}", self.list(depth - 1), self.list(depth - 1)),
            4 => format!("{} + [{inner}]", self.list(depth - 1)),
            5 => format!("reverse({})", self.list(depth - 1)),
            6 => format!("tail({})", self.list(depth - 1)),
            7 => format!("{}[1..]", self.list(depth - 1)),
            8 => format!("[y IN {} | y]", self.list(depth - 1)),
            9 => format!("[y IN range(1, 1000) | {inner}]"),
            10 => format!("[y IN range(1, 200) | {} + y]", self.text(depth - 1)),
            11 => format!("toStringList({})", self.list(depth - 1)),
            12 => format!("COLLECT {{ UNWIND range(1, 500) AS y RETURN {inner} }}"),
            13 => format!("reduce(l = [], y IN range(1, 300) | l + [{inner}])"),
            14 => format!(
                "[y IN {} WHERE y IS NOT NULL | [y, y]]",
                self.list(depth - 1)
            ),
            _ => format!("keys({})", self.map(depth - 1)),
        }
    }

    fn map(&mut self, depth: u32) -> String {
        if depth == 0 {
            return format!("{{a: {}, b: {}}}", self.text(0), self.number());
        }
        let inner = self.any(depth - 1);
        match self.random.below(4) {
            0 => format!("{{a: {inner}, b: {}, c: [{inner}]}}", self.any(depth - 1)),
            1 => format!("properties({})", self.map(depth - 1)),
            2 => format!(
                "reduce(m = {{}}, y IN range(1, 20) | {{a: m, b: {}}})",
                self.text(depth - 1)
            ),
            _ => format!(
                "head([z IN [{}] | {{a: z, b: {inner}}}])",
                self.map(depth - 1)
            ),
        }
    }

    fn any(&mut self, depth: u32) -> String {
        match self.random.below(5) {
            0 | 1 => self.text(depth),
            2 | 3 => self.list(depth),
            _ => self.map(depth),
        }
    }
}
