//! `WITH` and `RETURN`: projection, grouping, distinctness, order, cut, filter.

use std::collections::BTreeSet;

use crate::interpret::{Interpreter, Row, Stop};
use crate::query::{Aggregate, Expr, Projection};
use crate::value::{V, key, order};

/// Keeps the first of rows that are the same.
pub(super) fn distinct(rows: &mut Vec<Row>) {
    let mut seen = BTreeSet::new();
    rows.retain(|row| seen.insert(row.values().map(key).collect::<Vec<_>>()));
}

/// Adds what a projection cannot drop.
fn keep(row: &mut Row, kept: &Row) {
    for (name, value) in kept {
        row.entry(name.clone()).or_insert_with(|| value.clone());
    }
}

impl Interpreter {
    pub(super) fn project(
        &mut self,
        p: &Projection,
        rows: Vec<Row>,
        kept: &Row,
    ) -> Result<Vec<Row>, Stop> {
        let grouped = p.items.iter().any(|item| item.expr.aggregates());
        // Each row with what an order may see beside it.
        let mut out: Vec<(Row, Row)> = Vec::new();
        if grouped {
            for mut row in self.groups(p, rows)? {
                keep(&mut row, kept);
                out.push((row.clone(), row));
            }
        } else {
            for row in rows {
                let mut new = Row::new();
                for item in &p.items {
                    new.insert(item.name.clone(), self.value(&item.expr, &row)?);
                }
                keep(&mut new, kept);
                let mut seen = row;
                seen.extend(new.clone());
                out.push((new, seen));
            }
        }
        if p.distinct {
            let mut kept = BTreeSet::new();
            out.retain(|(row, _)| kept.insert(row.values().map(key).collect::<Vec<_>>()));
        }
        if !p.order.is_empty() {
            let mut keyed = Vec::new();
            for (row, seen) in out {
                let mut keys = Vec::new();
                for (by, _) in &p.order {
                    keys.push(self.value(by, &seen)?);
                }
                keyed.push((keys, (row, seen)));
            }
            keyed.sort_by(|(a, _), (b, _)| {
                let pairs = a.iter().zip(b).zip(&p.order);
                let mut each = pairs.map(|((a, b), (_, down))| match down {
                    true => order(b, a),
                    false => order(a, b),
                });
                each.find(|o| o.is_ne())
                    .unwrap_or(std::cmp::Ordering::Equal)
            });
            out = keyed.into_iter().map(|(_, pair)| pair).collect();
        }
        let cut = out.into_iter().skip(p.skip.unwrap_or(0));
        let rows: Vec<Row> = cut
            .take(p.limit.unwrap_or(usize::MAX))
            .map(|(row, _)| row)
            .collect();
        let mut kept = Vec::new();
        for row in rows {
            let holds = match &p.filter {
                Some(filter) => self.value(filter, &row)?.is_true(),
                None => true,
            };
            if holds {
                kept.push(row);
            }
        }
        Ok(kept)
    }

    fn groups(&mut self, p: &Projection, rows: Vec<Row>) -> Result<Vec<Row>, Stop> {
        let keys: Vec<_> = p.items.iter().filter(|i| !i.expr.aggregates()).collect();
        let mut groups: Vec<(Vec<V>, Vec<String>, Vec<Row>)> = Vec::new();
        for row in rows {
            let mut values = Vec::new();
            for item in &keys {
                values.push(self.value(&item.expr, &row)?);
            }
            let names: Vec<String> = values.iter().map(key).collect();
            match groups.iter_mut().find(|(_, known, _)| *known == names) {
                Some((.., members)) => members.push(row),
                None => groups.push((values, names, vec![row])),
            }
        }
        if groups.is_empty() && keys.is_empty() {
            groups.push((Vec::new(), Vec::new(), Vec::new()));
        }
        let mut out = Vec::new();
        for (values, _, members) in groups {
            let mut row: Row = keys.iter().map(|i| i.name.clone()).zip(values).collect();
            for item in p.items.iter().filter(|i| i.expr.aggregates()) {
                let value = self.over(&item.expr, &members)?;
                row.insert(item.name.clone(), value);
            }
            out.push(row);
        }
        Ok(out)
    }

    /// An expression with aggregates, over the rows of a group.
    fn over(&mut self, expr: &Expr, rows: &[Row]) -> Result<V, Stop> {
        match expr {
            Expr::Aggregate(kind, unique, of) => {
                let mut values = Vec::new();
                for row in rows {
                    values.push(match of {
                        Some(of) => self.value(of, row)?,
                        None => V::Bool(true),
                    });
                }
                values.retain(|v| *v != V::Null);
                if *unique {
                    let mut seen = BTreeSet::new();
                    values.retain(|v| seen.insert(key(v)));
                }
                Ok(aggregate(*kind, values))
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.over(a, rows)?, self.over(b, rows)?);
                self.value(
                    &Expr::Binary(*op, Box::new(Expr::Literal(a)), Box::new(Expr::Literal(b))),
                    &Row::new(),
                )
            }
            Expr::Call(name, items) => {
                let mut values = Vec::new();
                for item in items {
                    values.push(Expr::Literal(self.over(item, rows)?));
                }
                self.value(&Expr::Call(name, values), &Row::new())
            }
            Expr::Literal(v) => Ok(v.clone()),
            _ => Err(Stop::Senseless),
        }
    }
}

fn aggregate(kind: Aggregate, values: Vec<V>) -> V {
    match kind {
        Aggregate::Count => V::Int(values.len() as i64),
        Aggregate::Collect => V::List(values),
        Aggregate::Min => values.into_iter().min_by(order).unwrap_or(V::Null),
        Aggregate::Max => values.into_iter().max_by(order).unwrap_or(V::Null),
        Aggregate::Sum => {
            let whole = values.iter().all(|v| matches!(v, V::Int(_)));
            let sum: f64 = values.iter().filter_map(V::number).sum();
            if whole {
                V::Int(sum as i64)
            } else {
                V::Float(sum)
            }
        }
        Aggregate::Avg if values.is_empty() => V::Null,
        Aggregate::Avg => {
            let sum: f64 = values.iter().filter_map(V::number).sum();
            V::Float(sum / values.len() as f64)
        }
    }
}
