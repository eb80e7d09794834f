//! Random subqueries: as clauses, with every way to give them variables, and as expressions.

use super::{Generator, Kind, Variable, projection};
use crate::query::{Call, Clause, Expr, Import, Projection, Query, Sub};

impl Generator<'_> {
    /// How a subquery gets `given`, which becomes all there is if it must.
    fn import(&mut self, given: Vec<Variable>) -> (Import, Vec<Variable>) {
        let lists = |v: &Variable| matches!(v.kind, Kind::Bag | Kind::ShortPath);
        match self.random.below(6) {
            0 if !self.scope.iter().any(lists) => (Import::Star, self.scope.clone()),
            1 | 2 => (Import::With, given),
            _ => (Import::Listed, given),
        }
    }

    /// Names that the subquery must not give again; those that were so before. `(*)` also takes
    /// what nothing may use any more, such as names of what was deleted.
    fn reserve(&mut self, import: Import, given: &[Variable]) -> Vec<String> {
        let given = given.iter().map(|v| v.name.clone());
        let names: Vec<String> = match import {
            Import::With => Vec::new(),
            Import::Listed => given.collect(),
            Import::Star => given.chain(self.reserved.iter().cloned()).collect(),
        };
        std::mem::replace(&mut self.reserved, names)
    }

    /// A projection whose columns have names that nothing has had.
    fn fresh_projection(&mut self, last: bool) -> Projection {
        let fresh = std::mem::replace(&mut self.fresh, true);
        let projection = self.projection(last);
        self.fresh = fresh;
        projection
    }

    /// A `WITH` in a subquery of an expression, which goes on seeing all of `outer`.
    fn narrowing(&mut self, outer: &[Variable]) -> Clause {
        let with = Projection {
            filter: None,
            ..self.fresh_projection(false)
        };
        self.scope.extend(outer.iter().cloned());
        Clause::With(with)
    }

    /// A subquery with some of the variables.
    pub(super) fn call(&mut self) -> Clause {
        let outer = self.scope.clone();
        let given: Vec<_> = outer
            .iter()
            .filter(|_| self.random.chance(60))
            .cloned()
            .collect();
        let (import, given) = self.import(given);
        self.scope.clone_from(&given);
        let nodes = std::mem::replace(&mut self.nodes_left, 2);
        let reserved = self.reserve(import, &given);
        let mut clauses = self.reading(2);
        let last = self.fresh_projection(false);
        let last = Projection {
            filter: None,
            ..last
        };
        clauses.push(Clause::Return(last));
        let mut new = std::mem::take(&mut self.scope);
        let mut branches = vec![clauses];
        if let [only] = &new[..]
            && self.random.chance(25)
        {
            branches.extend(self.another_branch(&given, only));
        }
        self.nodes_left = nodes;
        self.reserved = reserved;
        let optional = self.reuses && self.random.chance(60);
        for variable in &mut new {
            variable.nullable |= optional;
        }
        self.scope = outer;
        self.scope.extend(new);
        let given = given.into_iter().map(|v| v.name).collect();
        let all = branches.len() == 1 || self.random.chance(50);
        let query = Query { branches, all };
        Clause::Call(Call {
            optional,
            import,
            given,
            query,
            rows_each: None,
        })
    }

    /// A branch that gives a column like that of the first one.
    fn another_branch(&mut self, given: &[Variable], first: &Variable) -> Option<Vec<Clause>> {
        let mixed = [Kind::Int, Kind::Str, Kind::Bool, Kind::Mixed];
        if first.kind != Kind::Mixed && !mixed.contains(&first.kind) {
            return None;
        }
        self.scope = given.to_vec();
        self.nodes_left = 2;
        let mut clauses = self.reading(1);
        let expr = self.expression(first.kind, 2);
        clauses.push(Clause::Return(projection::of_one(expr, first.name.clone())));
        Some(clauses)
    }

    /// A query in braces inside an expression; it sees all variables.
    pub(super) fn sub(&mut self, kind: Sub) -> Expr {
        let outer = self.scope.clone();
        let before = self.before.clone();
        let left = std::mem::replace(&mut self.nodes_left, 2);
        // The pattern around it may bind a name later, which would be seen in here.
        let reuses = std::mem::replace(&mut self.reuses, false);
        let mut clauses = vec![self.matching(false)];
        if self.random.chance(30) {
            let more = match self.random.below(3) {
                0 => self.unwind(),
                1 => self.matching(true),
                _ => self.narrowing(&outer),
            };
            clauses.push(more);
        }
        let last = match kind {
            Sub::Collect => {
                let expr = self.expression(Kind::Int, 1);
                projection::of_one(expr, self.name())
            }
            _ => self.fresh_projection(true),
        };
        clauses.push(Clause::Return(last));
        self.nodes_left = left;
        self.reuses = reuses;
        self.scope = outer;
        self.before = before;
        let branches = vec![clauses];
        let all = true;
        Expr::Sub(kind, Box::new(Query { branches, all }))
    }

    /// A subquery that only writes. One that matches, and so may find what it wrote for another
    /// row, knows nothing of the rows: their order would decide.
    pub(super) fn writing_call(&mut self) -> Clause {
        let outer = self.scope.clone();
        let matches = self.random.chance(30);
        let may = |v: &Variable| !matches && !matches!(v.kind, Kind::Bag | Kind::ShortPath);
        let given: Vec<_> = outer
            .iter()
            .filter(|v| may(v) && self.random.chance(70))
            .cloned()
            .collect();
        let (import, given) = match matches {
            true => (Import::Listed, given),
            false => self.import(given),
        };
        self.scope.clone_from(&given);
        let left = std::mem::replace(&mut self.nodes_left, 1);
        let reserved = self.reserve(import, &given);
        let mut clauses = Vec::new();
        if matches {
            clauses.push(self.matching(false));
        }
        match self.changes() {
            Some(changes) if self.random.chance(50) => clauses.push(Clause::Change(changes)),
            _ if self.random.chance(30) => clauses.push(self.merge()),
            _ => clauses.push(self.create()),
        }
        self.nodes_left = left;
        self.reserved = reserved;
        self.scope = outer;
        let given = given.into_iter().map(|v| v.name).collect();
        let branches = vec![clauses];
        let query = Query {
            branches,
            all: true,
        };
        Clause::Call(Call {
            optional: false,
            import,
            given,
            query,
            rows_each: None,
        })
    }
}
