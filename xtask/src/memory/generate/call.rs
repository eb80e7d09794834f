//! Calls of functions and procedures with large arguments.

use super::Generator;
use crate::memory::calls::Callable;

impl Generator<'_> {
    /// A function, the next of all, in one row or in many.
    pub(super) fn function(&mut self) -> String {
        let Some(called) = self.next_function() else {
            return "RETURN 1".to_owned();
        };
        let text = self.seed_text();
        self.texts = vec!["s"];
        let call = self.call(&called);
        let begin = match needs_graph(&call) {
            true => format!("{GRAPH} WITH n, r, p, {text} AS s"),
            false => format!("WITH {text} AS s"),
        };
        match self.random.below(4) {
            0 => format!("{begin} UNWIND range(1, 300) AS x RETURN count({call})"),
            1 => format!("{begin} RETURN size([y IN range(1, 50) | {call}])"),
            _ => format!("{begin} RETURN {}", self.shown(&call)),
        }
    }

    /// A procedure, and how many rows it gives.
    pub(super) fn procedure(&mut self) -> String {
        let at = self.random.place(self.calls.procedures.len().max(1));
        let Some(called) = self.calls.procedures.get(at).cloned() else {
            return "RETURN 1".to_owned();
        };
        let text = self.seed_text();
        self.texts = vec!["s"];
        let call = self.call(&called);
        let graph = if needs_graph(&call) { GRAPH } else { "" };
        let begin = format!("{graph} WITH *, {text} AS s CALL {call}");
        match called.column {
            Some(column) => {
                let end = self.pick(&["count(*)", "size(collect(v))", "count(DISTINCT v)"]);
                format!("{begin} YIELD `{column}` AS v RETURN {end}")
            }
            None => format!("{begin} RETURN count(*)"),
        }
    }

    fn next_function(&mut self) -> Option<Callable> {
        let functions = &self.calls.functions;
        let called = functions.get(self.called % functions.len().max(1)).cloned();
        self.called += 1;
        called
    }

    fn call(&mut self, called: &Callable) -> String {
        let arguments: Vec<String> = called.types.iter().map(|of| self.argument(of)).collect();
        format!("{}({})", called.name, arguments.join(", "))
    }

    /// A value of a type, now and then of another one.
    fn argument(&mut self, of: &str) -> String {
        let of = of.to_ascii_uppercase();
        if self.random.once_in(12) {
            return self.any(1);
        }
        let has = |name: &str| of.contains(name);
        match () {
            () if of.starts_with("LIST") => self.items(),
            () if has("ANY") => self.any(1),
            () if has("STRING") => self.words(),
            () if has("MAP") => self.entries(),
            () if has("NODE") => "n".to_owned(),
            () if has("RELATIONSHIP") => "r".to_owned(),
            () if has("PATH") => "p".to_owned(),
            () if has("INTEGER") => self.count(),
            () if has("FLOAT") || has("NUMBER") => self.pick(&["1.5", "7", "1e300"]).to_owned(),
            () if has("BOOLEAN") => self.pick(&["true", "false"]).to_owned(),
            () if has("DATE") || has("TIME") => {
                self.pick(&["date()", "datetime()", "time()"]).to_owned()
            }
            () if has("DURATION") => "duration('P1Y')".to_owned(),
            () if has("POINT") => "point({x: 1, y: 2})".to_owned(),
            () => self.any(1),
        }
    }

    /// A text: a long one, one in a form that functions read, or a word that they know.
    fn words(&mut self) -> String {
        match self.random.below(6) {
            0 => self
                .pick(&[
                    "'a'", "''", "'MD5'", "'GZIP'", "'.'", "'(a|b)*'", "'%s'", "'n'",
                ])
                .to_owned(),
            1 => "'[' + s + '1]'".to_owned(),
            2 => {
                let to = self.size(&[10, 1_000, 50_000, 300_000]);
                format!("apoc.convert.toJson(range(1, {to}))")
            }
            3 => "'MATCH (n) RETURN n, collect(n) AS c'".to_owned(),
            _ => self.text(1),
        }
    }

    /// A list: of numbers, texts, lists or maps.
    fn items(&mut self) -> String {
        let to = self.size(&[10, 1_000, 50_000, 300_000]);
        match self.random.below(6) {
            0 => format!("[i IN range(1, {to}) | 'k' + i]"),
            1 => format!("[i IN range(1, {to}) | [i, 'k' + i]]"),
            2 => format!("[i IN range(1, {to}) | {{k: i % 7, id: 'k' + i, v: [i]}}]"),
            3 => "[n, n]".to_owned(),
            4 => "[i IN range(1, 30) | s]".to_owned(),
            _ => self.list(1),
        }
    }

    /// A map: of many keys, or of large values.
    fn entries(&mut self) -> String {
        let to = self.size(&[10, 1_000, 50_000, 150_000]);
        match self.random.below(4) {
            0 => format!("apoc.map.fromLists([i IN range(1, {to}) | 'k' + i], range(1, {to}))"),
            1 => format!("apoc.map.fromPairs([i IN range(1, {to}) | ['a.b' + i, {{x: i}}]])"),
            2 => self
                .pick(&["{}", "{maxLevel: 4}", "{stream: true}", "{batchSize: 3}"])
                .to_owned(),
            _ => self.map(1),
        }
    }

    fn count(&mut self) -> String {
        let some = [
            "0",
            "1",
            "3",
            "-1",
            "1000",
            "1000000",
            "2147483647",
            "9223372036854775807",
        ];
        self.pick(&some).to_owned()
    }
}

/// What gives a node, a relationship and a path.
const GRAPH: &str = "MATCH p = (n)-[r]->() WITH n, r, p LIMIT 2";

/// Whether a call has one of these among its arguments.
fn needs_graph(call: &str) -> bool {
    let mut words = call.split(|c: char| !c.is_ascii_alphanumeric() && c != '\'' && c != '.');
    words.any(|word| matches!(word, "n" | "r" | "p"))
}
