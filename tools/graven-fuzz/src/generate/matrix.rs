//! Statements that fill the cells of the tables of coverage, one after the other: chance alone
//! reaches some too seldom.
//!
//! # How it works
//! Turns go round: a pair of clauses, a kind of expression in a place, a scope, a body in its
//! surroundings. Within each the cells follow each other, whatever the seed.

use super::chain::ends;
use super::shapes::{self, BODIES, SURROUNDINGS};
use super::{Generator, Kind, bare, new_node, projection, single};
use crate::coverage::{self, KINDS, Step};
use crate::query::{
    Aggregate, Change, Clause, Direction, Expr, Length, NodePattern, Op, Query, RelPattern,
};
use crate::value::V;
use crate::walk::{self, Place, Visitor};

/// Draws that are made for one form.
const DRAWS: usize = 500;

/// Whether an expression has a part of a kind that is computed where it stands.
struct Holds {
    wanted: &'static str,
    found: bool,
}

impl Visitor for Holds {
    fn expr(&mut self, expr: &mut Expr, place: Place) {
        self.found |= place == Place::ReturnItem && coverage::kind(expr) == self.wanted;
    }
}

impl Generator<'_> {
    /// What the turn of this number fills.
    pub(super) fn in_turn(&mut self, number: u64) -> Query {
        let cell = usize::try_from(number / 6).unwrap_or(0);
        match number % 6 {
            0 => self.pair(cell),
            1 => self.scoped(cell),
            turn @ (2 | 3) => self.expression_in_place(2 * cell + usize::from(turn == 3)),
            turn => {
                let cell = 2 * cell + usize::from(turn == 5);
                self.shape_of(cell % SURROUNDINGS, cell / SURROUNDINGS % BODIES)
            }
        }
    }

    /// Two clauses, one directly behind the other.
    fn pair(&mut self, cell: usize) -> Query {
        let pairs = Step::pairs();
        let (first, second) = pairs[cell % pairs.len()];
        self.reuses = true;
        match self.paired(first, second) {
            Some(branches) => Query {
                branches,
                all: true,
            },
            None => {
                self.scope.clear();
                self.before.clear();
                self.reserved.clear();
                self.chain()
            }
        }
    }

    fn paired(&mut self, first: Step, second: Step) -> Option<Vec<Vec<Clause>>> {
        let mut clauses = vec![self.relationship_and_ends()];
        if first == Step::Return {
            return None;
        }
        if first == Step::Union {
            clauses.push(self.create());
            self.scope.clear();
            let mut part = vec![self.of_step(second)?];
            if !part.last().is_some_and(ends) {
                part.push(Clause::Create(vec![single(new_node(self.random))]));
            }
            return Some(vec![clauses, part]);
        }
        clauses.push(self.of_step(first)?);
        match second {
            Step::Union => {
                let part = vec![Clause::Create(vec![single(new_node(self.random))])];
                return Some(vec![clauses, part]);
            }
            Step::Return => {}
            _ => clauses.push(self.of_step(second)?),
        }
        let bare_end = clauses.last().is_some_and(ends) && self.random.chance(30);
        if !bare_end {
            clauses.push(Clause::Return(self.last_columns()));
        }
        Some(vec![clauses])
    }

    /// A relationship and both of its ends, all with names.
    fn relationship_and_ends(&mut self) -> Clause {
        let start = bare(self.bind(Kind::Node, false));
        let end = bare(self.bind(Kind::Node, false));
        let rel = RelPattern {
            var: Some(self.bind(Kind::Rel, false)),
            types: Vec::new(),
            direction: Direction::Out,
            length: Length::One,
            properties: Vec::new(),
        };
        Clause::Match {
            optional: false,
            paths: vec![shapes::path(start, vec![(rel, end)])],
            filter: None,
        }
    }

    /// A clause of this step, which needs nothing between it and the one before it.
    fn of_step(&mut self, step: Step) -> Option<Clause> {
        let before = (self.scope.clone(), self.nodes_left, self.created);
        for _ in 0..40 {
            let clause = match step {
                Step::Match => Some(self.matching_on(false)),
                Step::OptionalMatch => Some(self.matching_on(true)),
                Step::Unwind => Some(self.unwind()),
                Step::With => Some(Clause::With(self.everything())),
                Step::Call | Step::OptionalCall => Some(self.call()),
                Step::UnitCall => Some(self.writing_call()),
                Step::Create => Some(self.create()),
                Step::Set => self.changes().map(Clause::Change),
                Step::Remove => self.removals().map(Clause::Change),
                Step::Delete => self.deletion(),
                Step::Merge => Some(self.merge()),
                Step::Foreach => Some(self.foreach()),
                Step::Return | Step::Union => None,
            };
            let alone = self.pending.take().is_none();
            if let Some(clause) = clause
                && alone
                && Step::of(&clause) == step
            {
                if let Clause::Delete { detach, .. } = clause {
                    self.deleted(detach);
                }
                return Some(clause);
            }
            (self.scope, self.nodes_left, self.created) = before.clone();
        }
        None
    }

    /// One row, and an expression of one kind in one place.
    fn expression_in_place(&mut self, cell: usize) -> Query {
        let kinds = KINDS.iter().flat_map(|kind| Place::ALL.map(|p| (*kind, p)));
        let cells: Vec<_> = kinds
            .filter(|(kind, place)| coverage::misplaced(kind, *place).is_none())
            .collect();
        let (kind, place) = cells[cell % cells.len()];
        let n = self.bind(Kind::Node, false);
        let uid = self.random.between(0, 5);
        let first = NodePattern {
            properties: vec![("uid", Expr::Literal(V::Int(uid)))],
            ..bare(n.clone())
        };
        let first = Clause::Match {
            optional: false,
            paths: vec![single(first)],
            filter: None,
        };
        // MERGE takes no subqueries.
        self.plain = place == Place::MergeProperty;
        self.settled = place == Place::Aggregate;
        let drawn = self.of_kind(kind);
        (self.plain, self.settled) = (false, false);
        let branches = match drawn {
            Some((expr, of)) => {
                let mut clauses = vec![first];
                clauses.extend(self.at(place, expr, of, &n));
                if !matches!(clauses.last(), Some(Clause::Return(_))) {
                    clauses.push(Clause::Return(projection::count_rows(self.name())));
                }
                clauses
            }
            None => {
                self.scope.clear();
                return self.placed();
            }
        };
        Query {
            branches: vec![branches],
            all: true,
        }
    }

    /// An expression with a part of this kind, computed where it stands, and what it gives.
    fn of_kind(&mut self, wanted: &'static str) -> Option<(Expr, Kind)> {
        const GIVEN: [Kind; 12] = [
            Kind::Bool,
            Kind::Int,
            Kind::Float,
            Kind::Str,
            Kind::Mixed,
            Kind::Ints,
            Kind::Date,
            Kind::Local,
            Kind::Zoned,
            Kind::Span,
            Kind::Temporal,
            Kind::Map,
        ];
        match wanted {
            "pattern" => return Some((self.pattern_value(), Kind::Bool)),
            "pattern comprehension" | "COLLECT" => {
                let list = self.list_of_pattern(wanted == "COLLECT");
                return Some((Expr::Call("size", vec![list]), Kind::Int));
            }
            "random value" => {
                let kind = *self.random.pick(&GIVEN);
                return Some((self.beside_random(kind, 2), kind));
            }
            "not computed" => {
                let kind = *self.random.pick(&GIVEN);
                let parts = [Expr::Literal(V::Bool(true)), self.bare_expression(kind, 2)];
                let [truth, expr] = parts.map(Box::new);
                let poison = Box::new(Expr::Poison(self.random.below(3) as u8));
                return Some((Expr::Case(truth, expr, poison), kind));
            }
            _ => {}
        }
        for _ in 0..DRAWS {
            let kind = *self.random.pick(&GIVEN);
            let mut expr = match wanted {
                "hidden type" => self.disguised(kind, 2),
                _ => self.bare_expression(kind, 2),
            };
            let mut holds = Holds {
                wanted,
                found: false,
            };
            walk::expression(&mut expr, Place::ReturnItem, &mut holds);
            if holds.found {
                return Some((expr, kind));
            }
        }
        None
    }

    /// As a condition.
    fn true_or_not(&mut self, expr: Expr, kind: Kind) -> Expr {
        match kind {
            Kind::Bool => expr,
            Kind::Map => Expr::IsNotNull(Box::new(expr)),
            _ if self.random.chance(50) => Expr::IsNotNull(Box::new(expr)),
            _ => {
                let op = *self.random.pick(&[Op::Equal, Op::Different, Op::Less]);
                let other = self.bare_expression(kind, 0);
                shapes::binary(op, expr, other)
            }
        }
    }

    /// As a value that a property can hold, and the key for it.
    fn storable(&mut self, expr: Expr, kind: Kind) -> (Expr, &'static str) {
        match kind {
            Kind::Int => (expr, "a"),
            Kind::Str => (expr, "s"),
            Kind::Ints => (expr, "l"),
            Kind::Float => (expr, "f"),
            Kind::Date => (expr, "d"),
            Kind::Local => (expr, "w"),
            Kind::Span => (expr, "p"),
            Kind::Map => (Expr::IsNotNull(Box::new(expr)), "m"),
            _ => (expr, "m"),
        }
    }

    /// Clauses that hold the expression in this place; the row has the node `n`.
    fn at(&mut self, place: Place, expr: Expr, kind: Kind, n: &str) -> Vec<Clause> {
        use shapes::{columns, matching, node, returning, var, with};
        let name = self.name();
        let other = self.name();
        match place {
            Place::MatchWhere => {
                let filter = self.true_or_not(expr, kind);
                vec![matching(vec![single(node(&name, None))], Some(filter))]
            }
            Place::MatchProperty => {
                let (value, key) = self.storable(expr, kind);
                let found = NodePattern {
                    properties: vec![(key, value)],
                    ..bare(name)
                };
                vec![matching(vec![single(found)], None)]
            }
            Place::Unwind => {
                let list = match kind {
                    Kind::Ints => expr,
                    _ => Expr::List(vec![expr]),
                };
                let counted = Expr::Aggregate(Aggregate::Count, false, None);
                vec![
                    Clause::Unwind(list, name.clone()),
                    returning(vec![(var(&name), &*other), (counted, "rows")]),
                ]
            }
            Place::WithItem => vec![
                with(vec![(expr, &*name)]),
                returning(vec![(var(&name), &*other)]),
            ],
            Place::ReturnItem => vec![returning(vec![(expr, &*name)])],
            Place::WithWhere => {
                let filter = self.true_or_not(expr, kind);
                let mut kept = columns(vec![(var(n), n)]);
                kept.filter = Some(filter);
                vec![Clause::With(kept)]
            }
            Place::OrderBy => {
                let mut kept = columns(vec![(var(n), n)]);
                kept.order = vec![(expr, self.random.chance(50))];
                vec![Clause::With(kept)]
            }
            Place::Aggregate => {
                let unique = self.random.chance(30);
                let counted = Expr::Aggregate(Aggregate::Count, unique, Some(Box::new(expr)));
                vec![returning(vec![(counted, &*name)])]
            }
            Place::SetValue => {
                let (value, key) = self.storable(expr, kind);
                vec![Clause::Change(vec![Change::Compute(
                    n.to_owned(),
                    key,
                    Box::new(value),
                )])]
            }
            Place::CreateProperty | Place::MergeProperty => {
                let (value, key) = self.storable(expr, kind);
                let mut made = new_node(self.random);
                if place == Place::CreateProperty {
                    made.properties = vec![(key, value)];
                    return vec![Clause::Create(vec![single(made)])];
                }
                let sure = self.sure_of(key);
                made.properties = vec![(key, Expr::Call("coalesce", vec![value, sure]))];
                vec![Clause::Merge {
                    path: single(made),
                    on_create: Vec::new(),
                    on_match: Vec::new(),
                }]
            }
            Place::ForeachList => {
                let (list, key) = match kind {
                    Kind::Ints => (expr, "a"),
                    _ => {
                        let (value, key) = self.storable(expr, kind);
                        (Expr::List(vec![value]), key)
                    }
                };
                let mut made = new_node(self.random);
                made.properties = vec![(key, var(&name))];
                let made = Clause::Create(vec![single(made)]);
                vec![Clause::Foreach(name, list, vec![made])]
            }
            Place::EachItem => {
                let list = Expr::List(vec![shapes::int(1), shapes::int(2)]);
                let each = Expr::Comprehension(name, Box::new(list), None, Some(Box::new(expr)));
                vec![returning(vec![(each, &*other)])]
            }
            Place::SubqueryWhere => {
                let filter = self.true_or_not(expr, kind);
                let path = self.inner_path(false);
                let path = super::expression::unquantified(path);
                let inner = Expr::CountOf(vec![path], Some(Box::new(filter)));
                vec![returning(vec![(inner, &*other)])]
            }
        }
    }
}
