//! Random projections: plain, distinct, grouped, ordered, cut.

use super::{Generator, Kind, Variable};
use crate::query::{Aggregate, Expr, Item, Op, Projection};
use crate::value::V;

/// One column.
pub(super) fn of_one(expr: Expr, name: String) -> Projection {
    Projection {
        items: vec![Item {
            expr,
            name,
            bag: false,
        }],
        ..count_rows(String::new())
    }
}

/// `count(*)` alone.
pub(super) fn count_rows(name: String) -> Projection {
    Projection {
        distinct: false,
        items: vec![Item {
            expr: Expr::Aggregate(Aggregate::Count, false, None),
            name,
            bag: false,
        }],
        order: Vec::new(),
        total: false,
        skip: None,
        limit: None,
        filter: None,
    }
}

impl Generator<'_> {
    /// A projection, whose columns are the scope afterwards. The last one may have columns that
    /// nothing can be done with.
    pub(super) fn projection(&mut self, last: bool) -> Projection {
        let grouped = self.random.chance(35);
        let distinct = !grouped && self.random.chance(20);
        let same = grouped || distinct;
        let mut columns = self.plain_columns((same, last), if grouped { 2 } else { 4 });
        if grouped {
            for _ in 0..=self.random.below(2) {
                columns.push(self.aggregate(last));
            }
        }
        if columns.is_empty() {
            let expr = self.expression(Kind::Int, 2);
            let name = self.name();
            columns.push((expr, name, Kind::Int, true));
        }
        let items = columns.iter().map(|(expr, name, kind, _)| Item {
            expr: expr.clone(),
            name: name.clone(),
            bag: *kind == Kind::Bag,
        });
        let items: Vec<Item> = items.collect();
        let scope = columns
            .into_iter()
            .map(|(_, name, kind, nullable)| Variable {
                name,
                kind,
                nullable,
            });
        let mut before = std::mem::replace(&mut self.scope, scope.collect());
        before.retain(|v| self.scope.iter().all(|new| new.name != v.name));
        let mut projection = Projection {
            distinct,
            items,
            order: Vec::new(),
            total: false,
            skip: None,
            limit: None,
            filter: None,
        };
        // An order and a filter see what was there before, too.
        let reserved = self.reserved.clone();
        self.reserved.extend(before.iter().map(|v| v.name.clone()));
        self.order(&mut projection, &before, same);
        if !last && self.random.chance(35) {
            projection.filter = Some(self.condition(3));
        }
        self.reserved = reserved;
        projection
    }

    /// Columns that are no aggregates. Those that must be the `same` value for both sides are
    /// neither lists without an order nor one of several shortest paths, of which each is right;
    /// the `last` ones are compared, so no such path is among them.
    fn plain_columns(
        &mut self,
        (same, last): (bool, bool),
        max: usize,
    ) -> Vec<(Expr, String, Kind, bool)> {
        let mut columns: Vec<(Expr, String, Kind, bool)> = Vec::new();
        for _ in 0..self.random.below(max + 1) {
            let fits = |v: &Variable| match v.kind {
                Kind::ShortPath => !same && !last,
                Kind::Bag => !same,
                _ => true,
            };
            if let Some(v) = self.variable(fits)
                && self.random.chance(55)
            {
                if columns.iter().all(|(_, name, ..)| *name != v.name) {
                    let name = match self.fresh || self.random.chance(20) {
                        true => self.name(),
                        false => v.name.clone(),
                    };
                    columns.push((Expr::Var(v.name), name, v.kind, v.nullable));
                }
                continue;
            }
            let kinds = [
                Kind::Bool,
                Kind::Int,
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
            ];
            let kind = match !same && self.random.chance(6) {
                true => Kind::Map,
                false => *self.random.pick(&kinds),
            };
            let expr = self.expression(kind, 3);
            let name = self.column(&columns);
            columns.push((expr, name, kind, true));
        }
        columns
    }

    /// A name for a computed column: a new one, or that of a variable that is another one from then
    /// on.
    fn column(&mut self, columns: &[(Expr, String, Kind, bool)]) -> String {
        if self.reuses
            && !self.fresh
            && self.random.chance(20)
            && let Some(old) = self.variable(|_| true)
            && columns.iter().all(|(_, name, ..)| *name != old.name)
            && !self.reserved.contains(&old.name)
        {
            return old.name;
        }
        self.name()
    }

    fn aggregate(&mut self, last: bool) -> (Expr, String, Kind, bool) {
        let settled = std::mem::replace(&mut self.settled, true);
        let column = self.aggregate_column(last);
        self.settled = settled;
        column
    }

    fn aggregate_column(&mut self, last: bool) -> (Expr, String, Kind, bool) {
        let name = self.name();
        let unique = self.random.chance(25);
        let make = |kind, of: Option<Expr>| Expr::Aggregate(kind, unique, of.map(Box::new));
        let (expr, kind) = match self.random.below(13) {
            10..=12 => {
                let kinds = [Kind::Bool, Kind::Bool, Kind::Ints, Kind::Map, Kind::Mixed];
                let kind = *self.random.pick(&kinds);
                let of = self.expression(kind, 3);
                match self.random.chance(70) {
                    true => (make(Aggregate::Count, Some(of)), Kind::Int),
                    false => {
                        let list = make(Aggregate::Collect, Some(of));
                        (Expr::Call("size", vec![list]), Kind::Int)
                    }
                }
            }
            9 => {
                let which = *self.random.pick(&[Aggregate::Min, Aggregate::Max]);
                let kinds = [Kind::Date, Kind::Zoned, Kind::Span, Kind::Temporal];
                let kind = *self.random.pick(&kinds);
                (make(which, Some(self.expression(kind, 2))), kind)
            }
            0 => (Expr::Aggregate(Aggregate::Count, false, None), Kind::Int),
            1 => match self.variable(|v| matches!(v.kind, Kind::Node | Kind::Rel)) {
                Some(v) => (make(Aggregate::Count, Some(Expr::Var(v.name))), Kind::Int),
                None => (Expr::Aggregate(Aggregate::Count, false, None), Kind::Int),
            },
            2 => (
                make(Aggregate::Count, Some(self.expression(Kind::Mixed, 2))),
                Kind::Int,
            ),
            3 => (
                make(Aggregate::Sum, Some(self.expression(Kind::Int, 2))),
                Kind::Int,
            ),
            4 => (
                make(Aggregate::Min, Some(self.expression(Kind::Mixed, 2))),
                Kind::Mixed,
            ),
            5 => (
                make(Aggregate::Max, Some(self.expression(Kind::Int, 2))),
                Kind::Int,
            ),
            6 if last => (
                make(Aggregate::Avg, Some(self.expression(Kind::Int, 1))),
                Kind::Float,
            ),
            7 => (
                make(Aggregate::Max, Some(self.expression(Kind::Str, 2))),
                Kind::Str,
            ),
            _ => (
                make(Aggregate::Collect, Some(self.expression(Kind::Int, 2))),
                Kind::Bag,
            ),
        };
        match kind {
            Kind::Int if self.random.chance(20) => {
                let more = Expr::Literal(V::Int(self.random.between(1, 3)));
                let expr = Expr::Binary(Op::Plus, Box::new(expr), Box::new(more));
                (expr, name, kind, true)
            }
            Kind::Bag if self.random.chance(30) => {
                (Expr::Call("size", vec![expr]), name, Kind::Int, true)
            }
            _ => (expr, name, kind, true),
        }
    }

    fn order(&mut self, projection: &mut Projection, before: &[Variable], same: bool) {
        if !self.random.chance(35) {
            return;
        }
        let certain = self.scope.iter().all(|v| by(v).is_some()) && !self.created;
        if certain && self.random.chance(60) {
            projection.total = true;
            // Properties of nodes first, which an index may hold in order.
            let mut nodes: Vec<Variable> = self.scope.clone();
            if !same {
                nodes.extend(before.iter().cloned());
            }
            nodes.retain(|v| v.kind == Kind::Node);
            if !nodes.is_empty() && self.random.chance(50) {
                let node = Expr::Var(self.random.pick(&nodes).name.clone());
                let key = *self.random.pick(&["a", "m", "s", "d", "l", "uid"]);
                let key = Expr::Property(Box::new(node), key);
                projection.order.push((key, self.random.chance(50)));
            }
            let mut all: Vec<_> = self.scope.iter().filter_map(by).collect();
            while !all.is_empty() {
                let at = self.random.below(all.len());
                projection
                    .order
                    .push((all.remove(at), self.random.chance(50)));
            }
            if self.random.chance(30) {
                projection.skip = Some(self.random.below(4));
            }
            projection.limit = Some(self.random.below(6));
            return;
        }
        if self.random.chance(40) {
            let kinds = [
                Kind::Int,
                Kind::Bool,
                Kind::Str,
                Kind::Mixed,
                Kind::Float,
                Kind::Ints,
            ];
            let kind = *self.random.pick(&kinds);
            let by = self.expression(kind, 3);
            projection.order.push((by, self.random.chance(50)));
            return;
        }
        // An order that need not decide everything; before a plain projection it sees what was
        // there too.
        let seen: Vec<Expr> = match same {
            true => self.scope.iter().filter_map(by).collect(),
            false => before.iter().chain(&self.scope).filter_map(by).collect(),
        };
        for expr in seen {
            if self.random.chance(40) {
                projection.order.push((expr, self.random.chance(50)));
            }
        }
    }
}

/// What rows can be ordered by because of a variable.
pub(super) fn by(v: &Variable) -> Option<Expr> {
    let var = Expr::Var(v.name.clone());
    match v.kind {
        Kind::Node | Kind::Rel => Some(Expr::Property(Box::new(var), "uid")),
        Kind::Bool
        | Kind::Int
        | Kind::Float
        | Kind::Str
        | Kind::Mixed
        | Kind::Ints
        | Kind::Date
        | Kind::Local
        | Kind::Zoned
        | Kind::Span
        | Kind::Temporal => Some(var),
        Kind::Rels | Kind::Nodes | Kind::Path | Kind::ShortPath | Kind::Bag | Kind::Map => None,
    }
}
