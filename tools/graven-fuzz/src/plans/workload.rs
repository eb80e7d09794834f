//! Data that comes and goes: labels that are filled batch by batch, grow, and shrink again.
//!
//! # How it works
//! Nodes of a label have a number `i` that counts them, a category `k`, a measure `r` and a text
//! `t`, all computed from that number; `k` and `r` are spread evenly or not. Relationships lead
//! from a label to the next one, evenly or to few nodes. What is filled first, and which properties
//! are indexed, is up to chance.

use crate::library::Library;
use crate::random::Random;

/// The labels and what leads from one to another.
pub(super) const LABELS: [&str; 3] = ["A", "B", "C"];
pub(super) const TYPES: [(&str, usize, usize); 3] = [("R", 0, 1), ("S", 1, 2), ("T", 0, 0)];

/// Most nodes that come at once.
const BATCH_MAX: i64 = 700;

/// A label with more nodes does not grow.
const NODES_MAX: i64 = 1500;

/// The nodes of a label.
#[derive(Clone, Debug)]
pub(super) struct Extent {
    /// Numbers of those that are there: the first ones, and those since it shrank.
    ranges: Vec<(i64, i64)>,
    next: i64,
    /// Values of `k`.
    pub(super) categories: i64,
    /// Half of the values of `k` are one.
    pub(super) skewed: bool,
    /// Small values of `r` are more frequent.
    pub(super) bent: bool,
}

impl Extent {
    fn count(&self) -> i64 {
        self.ranges.iter().map(|(low, high)| high - low).sum()
    }
}

/// The category of the node of that number, as [`Workload`] computes it.
pub(super) fn category(of: i64, categories: i64, skewed: bool) -> i64 {
    match skewed && of % 2 == 0 {
        true => 0,
        false => of * 7919 % categories,
    }
}

/// The data and how it came to be.
pub(super) struct Workload {
    pub(super) extents: Vec<Extent>,
    schema: Vec<String>,
    /// A third of the relationships of a type end at one node.
    hubs: [bool; TYPES.len()],
    /// Relationships that begin at a node.
    degrees: [i64; TYPES.len()],
    history: Vec<String>,
}

impl Workload {
    pub(super) fn random(random: &mut Random) -> Workload {
        let mut schema = Vec::new();
        let mut extents = Vec::new();
        for label in LABELS {
            match random.below(10) {
                0..4 => schema.push(format!(
                    "CREATE CONSTRAINT FOR (n:{label}) REQUIRE n.i IS UNIQUE"
                )),
                4..7 => schema.push(format!("CREATE INDEX FOR (n:{label}) ON (n.i)")),
                _ => {}
            }
            for (key, percent) in [("k", 45), ("r", 40), ("t", 25)] {
                if random.chance(percent) {
                    schema.push(format!("CREATE INDEX FOR (n:{label}) ON (n.{key})"));
                }
            }
            extents.push(Extent {
                ranges: Vec::new(),
                next: 0,
                categories: *random.pick(&[2, 5, 20, 100, 300]),
                skewed: random.chance(30),
                bent: random.chance(30),
            });
        }
        Workload {
            extents,
            schema,
            hubs: std::array::from_fn(|_| random.chance(30)),
            degrees: std::array::from_fn(|_| random.between(1, 3)),
            history: Vec::new(),
        }
    }

    /// Statements that make the schema.
    pub(super) fn schema(&self) -> Vec<String> {
        self.schema.clone()
    }

    /// All that was run.
    pub(super) fn history(&self) -> &[String] {
        &self.history
    }

    /// Runs a statement of the workload.
    pub(super) fn run(&mut self, library: &Library, text: String) -> Result<(), String> {
        let done = library.ask(&text).map(drop);
        let failed = |e: String| format!("{text}: {e}");
        done.map_err(failed)?;
        self.history.push(text);
        Ok(())
    }

    /// What happens to the data next.
    pub(super) fn step(&mut self, random: &mut Random, library: &Library) -> Result<(), String> {
        let of = random.below(LABELS.len());
        let count = self.extents[of].count();
        match random.below(10) {
            0..2 if count > 100 => self.shrink(random, library, of)?,
            2 => self.checkpoint(library)?,
            _ if count > NODES_MAX => self.shrink(random, library, of)?,
            _ => {
                for _ in 0..random.between(1, 3) {
                    let of = random.below(LABELS.len());
                    self.grow(random, library, of)?;
                }
            }
        }
        if random.chance(25) {
            self.checkpoint(library)?;
        }
        Ok(())
    }

    fn checkpoint(&mut self, library: &Library) -> Result<(), String> {
        let done = library.connection().database().checkpoint();
        done.map_err(|e| e.to_string())?;
        self.history.push("CALL graven.checkpoint()".to_owned());
        Ok(())
    }

    /// One more batch of nodes, with their relationships and some that lead to them.
    fn grow(&mut self, random: &mut Random, library: &Library, of: usize) -> Result<(), String> {
        let small = random.chance(40);
        let count = random.between(1, if small { 40 } else { BATCH_MAX });
        let Extent {
            next,
            categories,
            skewed,
            bent,
            ..
        } = self.extents[of];
        let (low, high) = (next, next + count);
        let category = format!("i * 7919 % {categories}");
        let category = match skewed {
            true => format!("CASE i % 2 WHEN 0 THEN 0 ELSE {category} END"),
            false => category,
        };
        let measure = "i * 104729 % 1000";
        let measure = match bent {
            true => format!("({measure}) * ({measure}) / 1000"),
            false => measure.to_owned(),
        };
        let label = LABELS[of];
        self.run(
            library,
            format!(
                "UNWIND range({low}, {high} - 1) AS i CREATE (:{label} {{i: i, k: {category}, \
                    r: {measure}, t: 't' + toString(i % 50)}})"
            ),
        )?;
        let extent = &mut self.extents[of];
        extent.next = high;
        match extent.ranges.last_mut() {
            Some((_, end)) if *end == low => *end = high,
            _ => extent.ranges.push((low, high)),
        }
        for (at, (_, from, to)) in TYPES.into_iter().enumerate() {
            if from == of {
                self.relate(library, at, (low, high))?;
            } else if to == of && random.chance(50) {
                let early = self.extents[from].ranges.first().copied();
                let early = early.map(|(low, high)| (low, high.min(low + 200)));
                if let Some(range) = early {
                    self.relate(library, at, range)?;
                }
            }
        }
        Ok(())
    }

    /// Relationships from these nodes to those of the newest range.
    fn relate(
        &mut self,
        library: &Library,
        at: usize,
        (low, high): (i64, i64),
    ) -> Result<(), String> {
        let (rel_type, from, to) = TYPES[at];
        let Some((first, behind)) = self.extents[to].ranges.last().copied() else {
            return Ok(());
        };
        let (from, to, degree) = (LABELS[from], LABELS[to], self.degrees[at]);
        let spread = format!("{first} + (a.i * 31 + x * 17) % {}", behind - first);
        let end = match self.hubs[at] {
            true => format!("CASE (a.i + x) % 3 WHEN 0 THEN {first} ELSE {spread} END"),
            false => spread,
        };
        self.run(
            library,
            format!(
                "MATCH (a:{from}) WHERE a.i >= {low} AND a.i < {high} UNWIND range(1, {degree}) \
                    AS x WITH a, x, {end} AS end MATCH (b:{to} {{i: end}}) \
                    CREATE (a)-[:{rel_type} {{w: x}}]->(b)"
            ),
        )
    }

    /// Most nodes of a label go, or lose it.
    fn shrink(&mut self, random: &mut Random, library: &Library, of: usize) -> Result<(), String> {
        let extent = &mut self.extents[of];
        let Some((low, _)) = extent.ranges.first().copied() else {
            return Ok(());
        };
        let kept = random.between(3, 60);
        let first = low + kept;
        let end = extent.ranges[0].1.min(first);
        extent.ranges = vec![(low, end)];
        let label = LABELS[of];
        let what = match random.chance(60) {
            true => "DETACH DELETE n",
            false => "REMOVE n:A:B:C SET n:Old",
        };
        self.run(
            library,
            format!("MATCH (n:{label}) WHERE n.i >= {first} {what}"),
        )
    }
}
