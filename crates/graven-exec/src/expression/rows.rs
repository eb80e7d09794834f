//! Rows and values of columns, as expressions compute with them.

use crate::column::Column;
use crate::error::ExecError;
use crate::error::Result;
use crate::growth;
use crate::query_context::QueryContext;
use crate::value::Value;
use graven_types::told;
use std::sync::Arc;

/// Columns of more rows than these are charged for their rows, whatever they hold.
pub(super) const MANY_ROWS: usize = 8192;

/// A row number as batches index them.
pub(super) fn row_number(row: usize) -> u32 {
    u32::try_from(row).expect("a batch has fewer than 2^32 rows")
}

/// The truth in a row; a list that came from a property or a parameter is true where it has
/// elements, a map always.
pub(super) fn truth(column: &Column, row: usize) -> Result<Option<bool>> {
    if let Column::Booleans(truths) = column {
        return Ok(Some(truths[row]));
    }
    match &*column.get(row) {
        Value::Boolean(b) => Ok(Some(*b)),
        Value::Null => Ok(None),
        Value::List(items) => Ok(Some(!items.is_empty())),
        Value::Map(_) => Ok(Some(true)),
        other => Err(ExecError::Type {
            message: told!("expected a Boolean, got {}: {other}", other.type_name()),
        }),
    }
}

/// The column of these values, each charged as it comes: of what was charged on its way, its share
/// stays.
pub(super) fn values(
    rt: &QueryContext,
    items: impl ExactSizeIterator<Item = Result<Value>>,
) -> Result<Arc<Column>> {
    let growth = &rt.growth;
    if items.len() > MANY_ROWS {
        growth.charge(items.len() * size_of::<Value>())?;
    }
    let mut column = Vec::with_capacity(items.len());
    let mut held = growth.held();
    for item in items {
        let value = item?;
        growth.work(1)?;
        let share = growth::bytes_of_new(&value) as u64;
        if share > 0 || growth.held() != held {
            held += share;
            growth.keep(held)?;
        }
        column.push(value);
    }
    Ok(Arc::new(Column::from_values(column)))
}

/// The value as a list; null gives `None`. What is no list, as a property may be, is the only
/// element of one.
pub(crate) fn as_list(value: &Value) -> Option<&[Value]> {
    match value {
        Value::Null => None,
        Value::List(items) => Some(items),
        other => Some(std::slice::from_ref(other)),
    }
}
