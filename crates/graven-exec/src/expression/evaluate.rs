//! Evaluates compiled expressions, a column at a time.
//!
//! # How it works
//! Comparisons and arithmetic over tight integer and float columns run as plain loops; every other
//! combination goes through the scalar operations of [`crate::value`], row by row. Whether a
//! property of nodes is a certain text is looked up where the store keeps it.

use crate::expression::binary::Logic;
use crate::expression::binary::binary;
use crate::expression::binary::map2;
use crate::expression::binary::unary;
use crate::expression::rows::truth;
use crate::expression::rows::values;
use crate::expression::rows::{MANY_ROWS, row_number};
use std::sync::Arc;

use graven_cypher::plan::BinaryOp;
use graven_cypher::types::TypeSet;

use super::functions::cast::{self, CAST};
use super::functions::list::COALESCE;
use super::{Compiled, Rows, lazy, list_scope, property};
use crate::column::Column;
use crate::error::Result;
use crate::growth::{self, Share};
use crate::query_context::QueryContext;
use crate::value::{Value, equality};

/// See [`Compiled::column`].
pub(super) fn column(expr: &Compiled, rows: Rows<'_>, rt: &QueryContext) -> Result<Arc<Column>> {
    let before = rt.growth.held();
    rt.growth.work(1 + rows.len() / 16)?;
    let column = computed(expr, rows, rt).map_err(|error| error.at(expr.place()))?;
    if rt.growth.held() != before {
        // What went into it is gone.
        let share = Share::default().of_column(&column) as u64;
        rt.growth.keep(before + share)?;
    } else if column.len() > MANY_ROWS && Arc::strong_count(&column) == 1 {
        rt.growth.charge(column.array_bytes())?;
    }
    Ok(column)
}

fn computed(expr: &Compiled, rows: Rows<'_>, rt: &QueryContext) -> Result<Arc<Column>> {
    let n = rows.len();
    Ok(match expr {
        Compiled::Constant(_) | Compiled::Parameter(..) => {
            let value = expr.known(rt)?.cloned().unwrap_or_default();
            Arc::new(Column::Constant(value, n))
        }
        Compiled::Slot(slot) => rows.column(*slot),
        Compiled::Property {
            base, key, key_id, ..
        } => {
            let base = column(base, rows, rt)?;
            Arc::new(property::read(&base, key, *key_id, rt)?)
        }
        Compiled::Index(base, index, _) => {
            let (base, index) = (column(base, rows, rt)?, column(index, rows, rt)?);
            map2(&base, &index, rt, |b, i| property::index(b, i, rt))?
        }
        Compiled::Slice { base, from, to, .. } => {
            slice(base, from.as_deref(), to.as_deref(), rows, rt)?
        }
        Compiled::List(items) => {
            // The same for all rows of a run, where it is made of literals and parameters.
            let same = items.iter().map(|item| item.known(rt));
            if let Some(items) = same.collect::<Result<Option<Vec<&Value>>>>()? {
                let list = Value::list(items.into_iter().cloned().collect());
                return Ok(Arc::new(Column::Constant(list, n)));
            }
            let parts = all(items, rows, rt)?;
            values(
                rt,
                (0..n).map(|row| Ok(Value::list(parts.iter().map(|p| p.value(row)).collect()))),
            )?
        }
        Compiled::Map(entries) => {
            let parts = entries
                .iter()
                .map(|(_, e)| column(e, rows, rt))
                .collect::<Result<Vec<_>>>()?;
            values(
                rt,
                (0..n).map(|row| {
                    Ok(Value::map(
                        entries
                            .iter()
                            .zip(&parts)
                            .map(|((key, _), part)| (key.clone(), part.value(row)))
                            .collect(),
                    ))
                }),
            )?
        }
        Compiled::Unary(op, operand, _) => unary(*op, &*column(operand, rows, rt)?, rt)?,
        Compiled::Binary(op @ (BinaryOp::And | BinaryOp::Or), left, right, _) => {
            let logic = match op {
                BinaryOp::And => Logic::And,
                _ => Logic::Or,
            };
            let mut operands = Vec::new();
            flatten(*op, left, &mut operands);
            flatten(*op, right, &mut operands);
            let held = rt.growth.held();
            let all = match rows.len() {
                1 => lazy::logical(logic, &operands, rows, rt),
                _ => logical(logic, &operands, rows, rt),
            };
            lazy::or_by_row(all, rows, rt, held, || {
                lazy::logical(logic, &operands, rows, rt)
            })?
        }
        Compiled::Binary(op, left, right, _) => binary(
            *op,
            &*column(left, rows, rt)?,
            &*column(right, rows, rt)?,
            rt,
        )?,
        Compiled::Chain(first, rest, _) => {
            let held = rt.growth.held();
            let all = match rows.len() {
                1 => lazy::chain(first, rest, rows, rt),
                _ => chain(first, rest, rows, rt),
            };
            lazy::or_by_row(all, rows, rt, held, || lazy::chain(first, rest, rows, rt))?
        }
        Compiled::HasLabels {
            base,
            labels,
            types,
            ..
        } => Arc::new(property::has_labels(
            &*column(base, rows, rt)?,
            labels,
            types,
            rt,
        )?),
        Compiled::Call(function, args, _) if function.name == COALESCE => {
            lazy::coalesce(args, rows, rt)?
        }
        Compiled::UserCall(function, args, _) => {
            let args = all(args, rows, rt)?;
            let mut scratch = vec![Value::Null; args.len()];
            let results = (0..n).map(|row| {
                rt.check_cancelled()?;
                for (slot, arg) in scratch.iter_mut().zip(&args) {
                    *slot = arg.value(row);
                }
                function.call(&scratch)
            });
            values(rt, results)?
        }
        Compiled::Call(function, args, _) => {
            let args = all(args, rows, rt)?;
            if function.name == CAST
                && let Some(same) = cast::unchanged(&args)
            {
                return Ok(same);
            }
            let mut scratch = vec![Value::Null; args.len()];
            let results = (0..n).map(|row| {
                let mut bytes = 0;
                for (slot, arg) in scratch.iter_mut().zip(&args) {
                    *slot = arg.value(row);
                    rt.growth.work(growth::units(slot))?;
                    bytes += growth::bytes_of_argument(slot);
                }
                if bytes >= LARGE && makes_values(function.name) {
                    rt.growth.in_advance(bytes)?;
                }
                function.call(rt, &mut scratch)
            });
            values(rt, results)?
        }
        Compiled::Case {
            branches,
            otherwise,
            ..
        } => case(branches, otherwise.as_deref(), rows, rt)?,
        Compiled::Let { scope, body } => list_scope::named(scope, body, rows, rt)?,
        Compiled::ListComprehension {
            scope, filter, map, ..
        } => list_scope::comprehension(scope, filter.as_deref(), map.as_deref(), rows, rt)?,
        Compiled::Quantifier {
            kind,
            scope,
            predicate,
            ..
        } => list_scope::quantifier(*kind, scope, predicate, rows, rt)?,
        Compiled::Reduce {
            scope,
            accumulator,
            init,
            step,
            ..
        } => list_scope::reduce(scope, *accumulator, init, step, rows, rt)?,
    })
}

/// See [`Compiled::true_rows`].
pub(super) fn true_rows(expr: &Compiled, rows: Rows<'_>, rt: &QueryContext) -> Result<Vec<u32>> {
    if matches!(expr, Compiled::Binary(BinaryOp::And, ..)) && rows.len() != 1 {
        let held = rt.growth.held();
        return lazy::or_by_row(all_true(expr, rows, rt), rows, rt, held, || {
            let truths = column(expr, rows, rt)?;
            let is_true = |row: &u32| truths.truth(*row as usize) == Some(true);
            Ok((0..row_number(truths.len())).filter(is_true).collect())
        });
    }
    if let Some(kept) = rows_with_text(expr, rows, rt)? {
        return Ok(kept);
    }
    let truths = column(expr, rows, rt)?;
    let mut kept = Vec::new();
    if let Column::Booleans(truths) = &*truths {
        // Every row is written down, and the next one goes over those that are not kept.
        kept.resize(truths.len(), 0);
        let mut next = 0;
        for (row, truth) in (0..row_number(truths.len())).zip(truths) {
            kept[next] = row;
            next += usize::from(*truth);
        }
        kept.truncate(next);
        return Ok(kept);
    }
    if let Column::Constant(Value::Boolean(true), rows) = &*truths {
        return Ok((0..row_number(*rows)).collect());
    }
    for row in 0..truths.len() {
        match truth(&truths, row) {
            Ok(Some(true)) => kept.push(row_number(row)),
            Ok(_) => {}
            Err(error) => return Err(error.at(expr.place())),
        }
    }
    Ok(kept)
}

/// The rows whose node has a certain text as a property; `None` where that is not what is asked, or
/// must be found value by value.
fn rows_with_text(expr: &Compiled, rows: Rows<'_>, rt: &QueryContext) -> Result<Option<Vec<u32>>> {
    let Compiled::Binary(BinaryOp::Equal, a, b, _) = expr else {
        return Ok(None);
    };
    let ((property @ Compiled::Property { .. }, other)
    | (other, property @ Compiled::Property { .. })) = (&**a, &**b)
    else {
        return Ok(None);
    };
    let Compiled::Property {
        base, key, key_id, ..
    } = property
    else {
        return Ok(None);
    };
    let (Compiled::Slot(slot), Some(Value::String(text))) = (&**base, other.known(rt)?) else {
        return Ok(None);
    };
    match &*rows.column(*slot) {
        Column::Nodes(ids) => rt.nodes_with_text(ids, rt.key_by_now(*key_id, key), text),
        _ => Ok(None),
    }
}

/// Conjuncts narrow the selection one after the other; neighbours that compare the same property
/// read it once.
fn all_true(expr: &Compiled, rows: Rows<'_>, rt: &QueryContext) -> Result<Vec<u32>> {
    let mut conjuncts = Vec::new();
    flatten(BinaryOp::And, expr, &mut conjuncts);
    let mut kept: Option<Vec<u32>> = None;
    let mut left = &conjuncts[..];
    while let Some(first) = left.first() {
        let selection = kept.as_ref().map(|kept| rows.compose(kept));
        let part = selection.as_ref().map_or(rows, |s| rows.select(s));
        let property = compared_property(first);
        let alike = left.iter().skip(1).take_while(|other| {
            property.is_some_and(|own| {
                compared_property(other).is_some_and(|other| own.is_same_property(other))
            })
        });
        let run = 1 + alike.count();
        let found = match property {
            Some(property) if run > 1 => {
                let values = column(property, part, rt)?;
                let mut truths = vec![true; part.len()];
                for comparison in &left[..run] {
                    let Compiled::Binary(op, a, b, _) = comparison else {
                        unreachable!("a comparison");
                    };
                    let side = |side: &Compiled| match side {
                        Compiled::Constant(_) | Compiled::Parameter(..) => column(side, part, rt),
                        _ => Ok(Arc::clone(&values)),
                    };
                    let step = binary(*op, &*side(a)?, &*side(b)?, rt)?;
                    for (row, so_far) in truths.iter_mut().enumerate() {
                        *so_far = *so_far && truth(&step, row)? == Some(true);
                    }
                }
                let rows = (0..row_number(truths.len())).zip(&truths);
                rows.filter(|(_, truth)| **truth)
                    .map(|(row, _)| row)
                    .collect()
            }
            _ => true_rows(first, part, rt)?,
        };
        let found: Vec<u32> = match &kept {
            None => found,
            Some(kept) => found.iter().map(|row| kept[*row as usize]).collect(),
        };
        if found.is_empty() {
            return Ok(found);
        }
        kept = Some(found);
        left = &left[run..];
    }
    Ok(kept.unwrap_or_default())
}

/// Adds the operands of a conjunction or disjunction, in order.
fn flatten<'e>(op: BinaryOp, expr: &'e Compiled, operands: &mut Vec<&'e Compiled>) {
    match expr {
        Compiled::Binary(own, left, right, _) if *own == op => {
            flatten(op, left, operands);
            flatten(op, right, operands);
        }
        other => operands.push(other),
    }
}

/// The property that a condition compares with a constant.
fn compared_property(condition: &Compiled) -> Option<&Compiled> {
    let Compiled::Binary(op, a, b, _) = condition else {
        return None;
    };
    let compares = matches!(
        op,
        BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::LessOrEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterOrEqual
    );
    let property = match (&**a, &**b) {
        (property @ Compiled::Property { .. }, Compiled::Constant(_) | Compiled::Parameter(..))
        | (Compiled::Constant(_) | Compiled::Parameter(..), property @ Compiled::Property { .. }) => {
            property
        }
        _ => return None,
    };
    compares.then_some(property)
}

fn all(exprs: &[Compiled], rows: Rows<'_>, rt: &QueryContext) -> Result<Vec<Arc<Column>>> {
    exprs.iter().map(|e| column(e, rows, rt)).collect()
}

/// Arguments of fewer bytes are not charged for in advance.
const LARGE: usize = 4 << 10;

/// Whether a function makes texts, lists, maps or vectors; others pass values on, or make what
/// takes no room.
fn makes_values(name: &str) -> bool {
    let table = graven_cypher::functions::FUNCTIONS;
    let known = table.binary_search_by(|known| known.name.cmp(name));
    let large = TypeSet::STRING
        .or(TypeSet::LIST)
        .or(TypeSet::MAP)
        .or(TypeSet::VECTOR);
    known.is_ok_and(|at| {
        let returns = table[at].returns;
        returns != TypeSet::ANY && returns.may_be(large)
    })
}

fn slice(
    base: &Compiled,
    from: Option<&Compiled>,
    to: Option<&Compiled>,
    rows: Rows<'_>,
    rt: &QueryContext,
) -> Result<Arc<Column>> {
    let base = column(base, rows, rt)?;
    let from = from.map(|e| column(e, rows, rt)).transpose()?;
    let to = to.map(|e| column(e, rows, rt)).transpose()?;
    values(
        rt,
        (0..base.len()).map(|row| {
            property::slice(
                &base.get(row),
                from.as_ref().map(|c| c.value(row)),
                to.as_ref().map(|c| c.value(row)),
            )
        }),
    )
}

fn chain(
    first: &Compiled,
    rest: &[(BinaryOp, Compiled)],
    rows: Rows<'_>,
    rt: &QueryContext,
) -> Result<Arc<Column>> {
    let mut left = column(first, rows, rt)?;
    let mut result = vec![Some(true); rows.len()];
    for (op, right) in rest {
        let right = column(right, rows, rt)?;
        let step = binary(*op, &left, &right, rt)?;
        for (row, so_far) in result.iter_mut().enumerate() {
            *so_far = equality::and(*so_far, truth(&step, row)?);
        }
        left = right;
    }
    Ok(Arc::new(Column::from_truths(result)))
}

fn case(
    branches: &[(Compiled, Compiled)],
    otherwise: Option<&Compiled>,
    rows: Rows<'_>,
    rt: &QueryContext,
) -> Result<Arc<Column>> {
    let mut result = vec![Value::Null; rows.len()];
    let mut open: Vec<u32> = (0..row_number(rows.len())).collect();
    let mut fill = |targets: &[u32], then: &Compiled| -> Result<()> {
        if targets.is_empty() {
            return Ok(());
        }
        let selection = rows.compose(targets);
        let part = column(then, rows.select(&selection), rt)?;
        for (i, &row) in targets.iter().enumerate() {
            result[row as usize] = part.value(i);
        }
        Ok(())
    };
    for (when, then) in branches {
        if open.is_empty() {
            break;
        }
        let selection = rows.compose(&open);
        let hits = true_rows(when, rows.select(&selection), rt)?;
        let chosen: Vec<u32> = hits.iter().map(|&i| open[i as usize]).collect();
        fill(&chosen, then)?;
        let mut chosen = chosen.into_iter().peekable();
        open.retain(|row| chosen.next_if_eq(row).is_none());
    }
    if let Some(otherwise) = otherwise {
        fill(&open, otherwise)?;
    }
    Ok(Arc::new(Column::from_values(result)))
}

/// `AND`, `OR`: an operand is computed only for rows that those before leave open.
fn logical(
    logic: Logic,
    operands: &[&Compiled],
    rows: Rows<'_>,
    rt: &QueryContext,
) -> Result<Arc<Column>> {
    let decided = Some(logic == Logic::Or);
    let mut result = vec![Some(logic == Logic::And); rows.len()];
    let mut open: Option<Vec<u32>> = None;
    for operand in operands {
        if open.as_ref().is_some_and(Vec::is_empty) {
            break;
        }
        let selection = open.as_ref().map(|open| rows.compose(open));
        let part = selection.as_ref().map_or(rows, |s| rows.select(s));
        let truths = column(operand, part, rt)?;
        let mut still = Vec::with_capacity(part.len());
        for at in 0..part.len() {
            let row = open.as_ref().map_or(row_number(at), |open| open[at]);
            let so_far = &mut result[row as usize];
            let truth = truth(&truths, at)?;
            *so_far = match logic {
                Logic::And => equality::and(*so_far, truth),
                Logic::Or => equality::or(*so_far, truth),
            };
            if *so_far != decided {
                still.push(row);
            }
        }
        open = Some(still);
    }
    Ok(Arc::new(Column::from_truths(result)))
}
