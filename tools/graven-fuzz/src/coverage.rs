//! What a run has exercised: tables in which nothing may stay at zero.
//!
//! # How it works
//! Four tables: which clause followed which; which kind of expression stood in which place; which
//! rule of the planner fired where; which function was called with what. A cell that cannot be
//! filled is told apart, with its reason, by `impossible`; it is printed as `-`.

mod table;

use std::collections::BTreeMap;

use graven_cypher::plan::trace::{Context, Fired, Rule};

use crate::arguments::{Argument, impossible};
use crate::query::{Aggregate, Clause, Expr, Query, Sub};
use crate::walk::{self, Place, Visitor};

/// A clause, or the `UNION` between two parts, as one that others follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    Match,
    OptionalMatch,
    Unwind,
    With,
    Call,
    OptionalCall,
    UnitCall,
    Create,
    Set,
    Remove,
    Delete,
    Merge,
    Foreach,
    Return,
    Union,
}

const STEPS: [Step; 15] = [
    Step::Match,
    Step::OptionalMatch,
    Step::Unwind,
    Step::With,
    Step::Call,
    Step::OptionalCall,
    Step::UnitCall,
    Step::Create,
    Step::Set,
    Step::Remove,
    Step::Delete,
    Step::Merge,
    Step::Foreach,
    Step::Return,
    Step::Union,
];

impl Step {
    /// Every step and every other one that can follow it.
    pub(crate) fn pairs() -> Vec<(Step, Step)> {
        let all = STEPS
            .iter()
            .flat_map(|a| STEPS.iter().map(move |b| (*a, *b)));
        all.filter(|(a, b)| a.impossible(*b).is_none()).collect()
    }

    pub(crate) fn of(clause: &Clause) -> Step {
        use crate::query::Change::{RemoveLabel, RemoveProperty};
        match clause {
            Clause::Match { optional, .. } if *optional => Step::OptionalMatch,
            Clause::Match { .. } => Step::Match,
            Clause::Unwind(..) => Step::Unwind,
            Clause::With(_) | Clause::Star | Clause::Filter(_) => Step::With,
            Clause::Return(_) => Step::Return,
            Clause::Call(call) if call.query.last().is_none() => Step::UnitCall,
            Clause::Call(call) if call.optional => Step::OptionalCall,
            Clause::Call(_) => Step::Call,
            Clause::Create(_) => Step::Create,
            Clause::Change(all) => match all.first() {
                Some(RemoveLabel(..) | RemoveProperty(..)) => Step::Remove,
                _ => Step::Set,
            },
            Clause::Delete { .. } => Step::Delete,
            Clause::Merge { .. } => Step::Merge,
            Clause::Foreach(..) => Step::Foreach,
        }
    }

    fn writes(self) -> bool {
        matches!(
            self,
            Step::Create | Step::Set | Step::Remove | Step::Delete | Step::Merge | Step::Foreach
        )
    }

    /// Whether a `WITH` stands between a writing clause and this one.
    fn reads(self) -> bool {
        let calls = matches!(self, Step::Call | Step::OptionalCall | Step::UnitCall);
        calls || matches!(self, Step::Match | Step::OptionalMatch | Step::Unwind)
    }

    /// Why `next` cannot follow, if it cannot.
    fn impossible(self, next: Step) -> Option<&'static str> {
        match (self, next) {
            (Step::Return, Step::Union) => None,
            (Step::Return, _) => Some("nothing follows RETURN"),
            (Step::Union, Step::Union) => Some("a part of a UNION has a clause"),
            (Step::Union, Step::Set | Step::Remove | Step::Delete) => {
                Some("a first clause has no variable to change")
            }
            (last, Step::Union) if !last.writes() && last != Step::UnitCall => {
                Some("a part of a UNION ends with RETURN or a writing clause")
            }
            (write, next) if write.writes() && next.reads() => {
                Some("reading after writing needs a WITH")
            }
            _ => None,
        }
    }
}

/// Counts of what was exercised.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    follows: BTreeMap<(Step, Step), u64>,
    places: BTreeMap<(&'static str, Place), u64>,
    rules: Fired,
    /// Functions that the library has.
    functions: Vec<String>,
    calls: BTreeMap<(String, Argument), u64>,
}

impl Coverage {
    pub(crate) fn query(&mut self, query: &Query) {
        let mut query = query.clone();
        for pair in query.branches.windows(2) {
            if let [before, after] = pair {
                let last = before.last().map(Step::of);
                let first = after.first().map(Step::of);
                for pair in [(last, Some(Step::Union)), (Some(Step::Union), first)] {
                    if let (Some(a), Some(b)) = pair {
                        *self.follows.entry((a, b)).or_default() += 1;
                    }
                }
            }
        }
        walk::query(&mut query, self);
    }

    pub(crate) fn rules(&mut self, fired: Fired) {
        for (cell, count) in fired {
            *self.rules.entry(cell).or_default() += count;
        }
    }

    pub(crate) fn function(&mut self, name: &str) {
        self.functions.push(name.to_owned());
    }

    pub(crate) fn call(&mut self, function: &str, argument: Argument) {
        let cell = (function.to_owned(), argument);
        *self.calls.entry(cell).or_default() += 1;
    }

    /// Counts of another run, too.
    pub fn add(&mut self, other: Coverage) {
        for (cell, count) in other.follows {
            *self.follows.entry(cell).or_default() += count;
        }
        for (cell, count) in other.places {
            *self.places.entry(cell).or_default() += count;
        }
        for (cell, count) in other.calls {
            *self.calls.entry(cell).or_default() += count;
        }
        self.functions.extend(other.functions);
        self.rules(other.rules);
    }
}

impl Visitor for Coverage {
    fn clauses(&mut self, clauses: &mut Vec<Clause>) {
        for pair in clauses.windows(2) {
            let cell = (Step::of(&pair[0]), Step::of(&pair[1]));
            *self.follows.entry(cell).or_default() += 1;
        }
    }

    fn expr(&mut self, expr: &mut Expr, place: Place) {
        *self.places.entry((kind(expr), place)).or_default() += 1;
    }
}

/// Kinds of expression.
pub(crate) const KINDS: [&str; 32] = [
    "literal",
    "variable",
    "property",
    "AND OR XOR",
    "comparison",
    "arithmetic",
    "IN",
    "text comparison",
    "NOT",
    "IS NULL",
    "label",
    "function",
    "coalesce",
    "list",
    "index",
    "slice",
    "list comprehension",
    "all any none single",
    "reduce",
    "CASE",
    "temporal arithmetic",
    "hidden type",
    "not computed",
    "random value",
    "map",
    "map projection",
    "pattern comprehension",
    "EXISTS",
    "COUNT",
    "COLLECT",
    "pattern",
    "aggregate",
];

pub(crate) fn kind(expr: &Expr) -> &'static str {
    use crate::query::Op;
    match expr {
        Expr::Literal(_) => "literal",
        Expr::Var(_) => "variable",
        Expr::Property(..) => "property",
        Expr::Binary(op, ..) => match op {
            Op::And | Op::Or | Op::Xor => "AND OR XOR",
            Op::In => "IN",
            Op::StartsWith | Op::EndsWith | Op::Contains => "text comparison",
            Op::Plus | Op::Minus | Op::Times | Op::Divide | Op::Modulo => "arithmetic",
            _ => "comparison",
        },
        Expr::Not(_) => "NOT",
        Expr::IsNull(_) | Expr::IsNotNull(_) => "IS NULL",
        Expr::HasLabel(..) => "label",
        Expr::Call("coalesce", _) => "coalesce",
        Expr::Call(..) => "function",
        Expr::List(_) => "list",
        Expr::Index(..) => "index",
        Expr::Slice(..) => "slice",
        Expr::Comprehension(..) => "list comprehension",
        Expr::Quantified(..) => "all any none single",
        Expr::Reduce(..) => "reduce",
        Expr::Case(..) | Expr::Choice(..) => "CASE",
        Expr::Later(..) | Expr::Shifted(..) | Expr::DaysBetween(..) => "temporal arithmetic",
        Expr::Hidden(..) => "hidden type",
        Expr::Poison(_) => "not computed",
        Expr::Random(_) => "random value",
        Expr::Map(_) => "map",
        Expr::MapOf(..) => "map projection",
        Expr::PatternComprehension(..) => "pattern comprehension",
        Expr::Exists(..) | Expr::Sub(Sub::Exists, _) => "EXISTS",
        Expr::CountOf(..) | Expr::Sub(Sub::Count, _) => "COUNT",
        Expr::CollectOf(..) | Expr::Sub(Sub::Collect, _) => "COLLECT",
        Expr::Pattern(_) => "pattern",
        Expr::Aggregate(kind, ..) => match kind {
            Aggregate::Count
            | Aggregate::Sum
            | Aggregate::Min
            | Aggregate::Max
            | Aggregate::Avg
            | Aggregate::Collect => "aggregate",
        },
    }
}

/// Why a kind of expression cannot stand in a place, if it cannot.
pub(crate) fn misplaced(kind: &str, place: Place) -> Option<&'static str> {
    match (kind, place) {
        ("aggregate", Place::WithItem | Place::ReturnItem) => None,
        ("aggregate", _) => Some("aggregates stand in projections"),
        ("random value", Place::Aggregate) => Some("no aggregate is taken over a random value"),
        ("EXISTS" | "COUNT" | "COLLECT" | "pattern", Place::MergeProperty) => {
            Some("MERGE takes no subquery but a pattern comprehension")
        }
        _ => None,
    }
}

impl Coverage {
    /// Cells that are at zero and need not be.
    #[must_use]
    pub fn holes(&self) -> Vec<String> {
        let mut holes = Vec::new();
        for table in self.tables() {
            holes.extend(table.holes());
        }
        holes
    }

    fn tables(&self) -> Vec<table::Table> {
        let count = |count: Option<&u64>| Ok(count.copied().unwrap_or(0));
        let follows = table::Table::new(
            "clause, and the one that follows",
            STEPS.map(|s| format!("{s:?}")).to_vec(),
            STEPS.map(|s| format!("{s:?}")).to_vec(),
            |row, column| {
                let cell = (STEPS[row], STEPS[column]);
                match cell.0.impossible(cell.1) {
                    Some(why) => Err(why),
                    None => count(self.follows.get(&cell)),
                }
            },
        );
        let places = table::Table::new(
            "expression, and where it stood",
            KINDS.map(str::to_owned).to_vec(),
            Place::ALL.map(|p| format!("{p:?}")).to_vec(),
            |row, column| match misplaced(KINDS[row], Place::ALL[column]) {
                Some(why) => Err(why),
                None => count(self.places.get(&(KINDS[row], Place::ALL[column]))),
            },
        );
        let rules = table::Table::new(
            "rule of the planner, and where it fired",
            Rule::ALL.iter().map(|r| r.name().to_owned()).collect(),
            Context::ALL.iter().map(|c| c.name().to_owned()).collect(),
            |row, column| {
                let cell = (Rule::ALL[row], Context::ALL[column]);
                match cell.0.reaches(cell.1) {
                    false => Err("the rule cannot fire there"),
                    true => count(self.rules.get(&cell)),
                }
            },
        );
        let names = &self.functions;
        let calls = table::Table::new(
            "function, and an argument of it",
            names.clone(),
            Argument::ALL.map(|a| format!("{a:?}")).to_vec(),
            |row, column| {
                let argument = Argument::ALL[column];
                match impossible(&names[row], argument) {
                    Some(why) => Err(why),
                    None => count(self.calls.get(&(names[row].clone(), argument))),
                }
            },
        );
        vec![follows, places, rules, calls]
    }
}

impl std::fmt::Display for Coverage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.tables()
            .iter()
            .try_for_each(|table| write!(f, "{table}"))
    }
}
