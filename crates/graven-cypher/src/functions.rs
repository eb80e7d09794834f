//! The function table: every scalar function of the language, its arity, its types and whether this
//! build evaluates it.
//!
//! # How it works
//! The binder looks names up here (case-insensitively, with namespaces joined by dots) and refuses
//! what is unknown, called with the wrong number of arguments, or not available. The executor
//! implements exactly the entries whose [`Function::availability`] is [`Availability::Available`]
//! or [`Availability::Internal`]; aggregates are not here, they become
//! [`crate::plan::AggregateFunction`].
//!
//! # Invariants
//! * CY-30 Names in the table are lower case, sorted and unique; [`crate::plan::Expr::Call`]
//!   carries them so.

mod apoc;
mod argument;
mod described;
mod table;

pub use argument::{Argument, Kind};
pub use described::{Described, category, described};

use crate::types::TypeSet;
use graven_types::vector::CoordinateType;

/// All functions, sorted by lower-case name.
pub const FUNCTIONS: &[Function] =
    &merged::<{ table::LANGUAGE.len() + apoc::APOC.len() }>(table::LANGUAGE, apoc::APOC);

/// Two sorted tables as one.
const fn merged<const N: usize>(a: &[Function], b: &[Function]) -> [Function; N] {
    let mut all = [a[0]; N];
    let (mut of_a, mut of_b) = (0, 0);
    while of_a + of_b < N {
        let at = of_a + of_b;
        if of_b == b.len() || (of_a < a.len() && is_before(a[of_a].name, b[of_b].name)) {
            all[at] = a[of_a];
            of_a += 1;
        } else {
            all[at] = b[of_b];
            of_b += 1;
        }
    }
    all
}

const fn is_before(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() {
        if a[at] != b[at] {
            return a[at] < b[at];
        }
        at += 1;
    }
    a.len() < b.len()
}

/// Whether a function can be called in this build.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Availability {
    /// The executor evaluates it.
    Available,
    /// Written by the planner only; not a name users can call.
    Internal,
}

/// One function.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Lower-case name, the one that plans carry.
    pub name: &'static str,
    /// Name as documented.
    pub display: &'static str,
    /// Fewest arguments.
    pub args_min: u8,
    /// Most arguments; 255 means any number.
    pub args_max: u8,
    /// What the first argument may be.
    pub first: TypeSet,
    /// What the arguments after the first may be; those beyond may be anything.
    pub others: &'static [TypeSet],
    /// All arguments, where their names and kinds are known.
    pub arguments: &'static [Argument],
    /// What it returns.
    pub returns: TypeSet,
    /// What the elements are if it returns a list.
    pub element: TypeSet,
    /// Whether it can be called.
    pub availability: Availability,
    /// Equal arguments give equal results within a statement.
    pub deterministic: bool,
}

impl Function {
    /// What the argument at this place may be.
    #[must_use]
    pub fn argument(&self, idx: usize) -> TypeSet {
        if let Some(argument) = self.arguments.get(idx) {
            return argument.kind.given();
        }
        match idx.checked_sub(1) {
            None => self.first,
            Some(idx) => self.others.get(idx).copied().unwrap_or(TypeSet::ANY),
        }
    }
}

/// An argument that is a bare word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BareWord {
    /// Name of the function, as documented.
    pub(crate) function: &'static str,
    /// Place of the argument.
    pub(crate) place: usize,
    /// The words, in words.
    pub(crate) words: &'static str,
    /// What the word stands for, whatever its letter case.
    pub(crate) read: fn(&str) -> Option<&'static str>,
}

/// All of them.
pub(crate) const BARE_WORDS: &[BareWord] = &[
    BareWord {
        function: "normalize",
        place: 1,
        words: "NFC, NFD, NFKC or NFKD",
        read: |word| one_of(&["NFC", "NFD", "NFKC", "NFKD"], word),
    },
    BareWord {
        function: "vector",
        place: 2,
        words: "INTEGER8, INTEGER16, INTEGER32, INTEGER, FLOAT32 or FLOAT",
        read: |word| CoordinateType::parse(word).map(CoordinateType::name),
    },
    BareWord {
        function: "vector_distance",
        place: 2,
        words: "EUCLIDEAN, EUCLIDEAN_SQUARED, MANHATTAN, COSINE, DOT or HAMMING",
        read: |word| {
            let all = [
                "EUCLIDEAN",
                "EUCLIDEAN_SQUARED",
                "MANHATTAN",
                "COSINE",
                "DOT",
                "HAMMING",
            ];
            one_of(&all, word)
        },
    },
    BareWord {
        function: "vector_norm",
        place: 1,
        words: "EUCLIDEAN or MANHATTAN",
        read: |word| one_of(&["EUCLIDEAN", "MANHATTAN"], word),
    },
];

/// Whether that argument of a function, counted from 0, is a bare word.
pub(crate) fn is_bare_word(function: &str, place: usize) -> bool {
    let mut known = BARE_WORDS.iter();
    known.any(|it| it.place == place && it.function == function)
}

fn one_of(words: &[&'static str], word: &str) -> Option<&'static str> {
    let mut words = words.iter().copied();
    words.find(|known| known.eq_ignore_ascii_case(word))
}

/// Name of the internal function behind map projections: merges maps, later ones win; null maps are
/// skipped.
pub const MERGE_MAPS: &str = "graven.merge_maps";

/// Notes a row that is left out: its source, a label, the key and its value; an empty map.
pub(crate) const LEFT_OUT: &str = "graven.leftOut";

/// Says that no node has a key, as an error, or as a note and `false` where such rows are left out:
/// source, column, label, key, its value, and whether rows are left out.
pub(crate) const MISSING_END: &str = "graven.missingEnd";

/// Name of the internal function behind `a || b`.
pub(crate) const CONCATENATE: &str = "graven.concatenate";

/// Name of the internal function behind `%`: whether a node has any label; every relationship has a
/// type.
pub(crate) const IS_LABELED: &str = "graven.is_labeled";

/// Names of the internal functions behind `$(names)` and `$any(names)`: whether a node or
/// relationship has all, or one, of the labels or types that a text or a list of texts names.
pub(crate) const HAS_ALL_LABELS: &str = "graven.has_all_labels";
pub(crate) const HAS_ANY_LABEL: &str = "graven.has_any_label";

/// Name of the function behind `x IS NFC NORMALIZED`: a value and the name of a normal form.
pub(crate) const IS_NORMALIZED: &str = "graven.is_normalized";

/// Name of the function behind `trim(BOTH 'x' FROM text)`: the text, one character, and `LEADING`,
/// `TRAILING` or `BOTH`.
pub(crate) const TRIMMED: &str = "graven.trimmed";

/// Name of the function behind `x IS :: TYPE`: a value and the text of a type.
pub(crate) const IS_TYPED: &str = "graven.is_typed";
/// `nextval(name)`: advances a sequence, so that a statement with it writes.
pub(crate) const NEXT_VALUE: &str = "graven.nextvalue";

/// The map that the text of a column of type `STRUCT` or `MAP` holds; other values as they are.
pub(crate) const OPENED: &str = "graven.opened";
/// Which member of a union a value is: the binder adds the type.
pub(crate) const UNION_OF: &str = "graven.unionof";

/// `typeof(x)` of Kuzu.
pub(crate) const TYPE_OF: &str = "graven.typeof";

/// A function that is another one of the list that its first arguments make over rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OverRows {
    /// Name as documented.
    pub(crate) display: &'static str,
    /// The function of the list, in the table.
    pub(crate) function: &'static str,
    pub(crate) args_min: u8,
    pub(crate) args_max: u8,
    /// How many arguments are collected, more than one as a list.
    pub(crate) collected: u8,
}

const fn over_rows(
    display: &'static str,
    function: &'static str,
    args: (u8, u8),
    collected: u8,
) -> OverRows {
    OverRows {
        display,
        function,
        args_min: args.0,
        args_max: args.1,
        collected,
    }
}

/// Aggregates of APOC.
pub(crate) const OVER_ROWS: &[OverRows] = &[
    over_rows("apoc.agg.first", "graven.agg.first", (1, 1), 1),
    over_rows("apoc.agg.graph", "graven.agg.graph", (1, 1), 1),
    over_rows("apoc.agg.last", "graven.agg.last", (1, 1), 1),
    over_rows("apoc.agg.maxItems", "graven.agg.maxitems", (2, 3), 2),
    over_rows("apoc.agg.median", "graven.agg.median", (1, 1), 1),
    over_rows("apoc.agg.minItems", "graven.agg.minitems", (2, 3), 2),
    over_rows("apoc.agg.nth", "graven.agg.nth", (2, 2), 1),
    over_rows("apoc.agg.percentiles", "graven.agg.percentiles", (1, 2), 1),
    over_rows("apoc.agg.product", "graven.agg.product", (1, 1), 1),
    over_rows("apoc.agg.slice", "graven.agg.slice", (1, 3), 1),
    over_rows("apoc.agg.statistics", "graven.agg.statistics", (1, 2), 1),
];

/// A function that a procedure computes, as it reads the graph.
#[derive(Clone, Copy, Debug)]
pub struct ByProcedure {
    /// Name as documented.
    pub display: &'static str,
    /// Fewest arguments.
    pub args_min: u8,
    /// Most arguments.
    pub args_max: u8,
    /// What it returns.
    pub returns: TypeSet,
    pub(crate) procedure: &'static str,
    /// Its value is the first one of the procedure, not the list of all.
    pub(crate) is_single: bool,
}

/// All of them.
pub const BY_PROCEDURE: &[ByProcedure] = &[
    ByProcedure {
        display: "apoc.cypher.runFirstColumnMany",
        args_min: 1,
        args_max: 2,
        returns: TypeSet::LIST,
        procedure: "graven.cypher.firstColumn",
        is_single: false,
    },
    ByProcedure {
        display: "apoc.cypher.runFirstColumnSingle",
        args_min: 1,
        args_max: 2,
        returns: TypeSet::ANY,
        procedure: "graven.cypher.firstColumn",
        is_single: true,
    },
    ByProcedure {
        display: "apoc.hashing.fingerprintGraph",
        args_min: 0,
        args_max: 1,
        returns: TypeSet::STRING,
        procedure: "graven.hashing.fingerprintGraph",
        is_single: true,
    },
    ByProcedure {
        display: "apoc.map.fromNodes",
        args_min: 2,
        args_max: 2,
        returns: TypeSet::MAP,
        procedure: "graven.map.fromNodes",
        is_single: true,
    },
    ByProcedure {
        display: "apoc.meta.nodes.count",
        args_min: 0,
        args_max: 2,
        returns: TypeSet::INTEGER,
        procedure: "graven.meta.nodesCount",
        is_single: true,
    },
];

/// Names of the aggregates, as documented.
pub const AGGREGATES: &[&str] = &[
    "apoc.agg.first",
    "apoc.agg.graph",
    "apoc.agg.last",
    "apoc.agg.maxItems",
    "apoc.agg.median",
    "apoc.agg.minItems",
    "apoc.agg.nth",
    "apoc.agg.percentiles",
    "apoc.agg.product",
    "apoc.agg.slice",
    "apoc.agg.statistics",
    "avg",
    "collect",
    "count",
    "max",
    "min",
    "percentileCont",
    "percentileDisc",
    "stDev",
    "stDevP",
    "sum",
];

/// The name of the aggregate that is called so, in any case, as documented.
#[must_use]
pub fn aggregate(name: &str) -> Option<&'static str> {
    let mut all = AGGREGATES.iter().copied();
    all.find(|known| known.eq_ignore_ascii_case(name))
}

/// The function of that name, in any case.
#[must_use]
pub fn find(name: &str) -> Option<&'static Function> {
    let lower = name.to_ascii_lowercase();
    FUNCTIONS
        .binary_search_by(|f| f.name.cmp(lower.as_str()))
        .ok()
        .map(|idx| &FUNCTIONS[idx])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_sorted_and_lower_case() {
        for pair in FUNCTIONS.windows(2) {
            assert!(
                pair[0].name < pair[1].name,
                "CY-30: {} before {}",
                pair[0].name,
                pair[1].name
            );
        }
        for f in FUNCTIONS {
            assert_eq!(f.display.to_ascii_lowercase(), f.name, "CY-30");
            assert!(f.args_min <= f.args_max);
            assert_eq!(find(f.display).map(|g| g.name), Some(f.name));
        }
    }
}
