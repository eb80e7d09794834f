//! A property of many nodes or relationships, read in id order and handed out in the order of the rows.
//!
//! # How it works
//! Integers are asked for first: mostly all values of a property are of one type, and integers need no [`Value`] each.

use graven_storage::PropertyValue;

use crate::column::{Column, NULL_ID};
use crate::error::Result;
use crate::id_order::IdOrder;
use crate::value::Value;

/// Fewer ids than these are not asked for integers first.
const INTEGERS_FROM: usize = 8;

/// A property of ascending ids.
pub(crate) enum Gathered {
    Integers(Vec<Option<i64>>),
    Values(Vec<PropertyValue>),
}

impl Gathered {
    /// Adds what `column` says of `ids`.
    pub(crate) fn append(&mut self, column: &graven_storage::Column, ids: &[u64]) -> Result<()> {
        if let Self::Integers(numbers) = self
            && ids.len() >= INTEGERS_FROM
            && column.gather_i64(ids, numbers)?
        {
            return Ok(());
        }
        Ok(column.gather(ids, self.values())?)
    }

    pub(crate) fn append_nulls(&mut self, count: usize) {
        match self {
            Self::Integers(numbers) => numbers.resize(numbers.len() + count, None),
            Self::Values(values) => values.resize(values.len() + count, PropertyValue::Null),
        }
    }

    /// Not all are integers.
    fn values(&mut self) -> &mut Vec<PropertyValue> {
        if let Self::Integers(numbers) = self {
            let values = numbers.iter().map(|number| match number {
                Some(number) => PropertyValue::Integer(*number),
                None => PropertyValue::Null,
            });
            *self = Self::Values(values.collect());
        }
        match self {
            Self::Values(values) => values,
            Self::Integers(_) => unreachable!("replaced above"),
        }
    }

    fn is_whole(&self) -> bool {
        matches!(self, Self::Integers(numbers) if numbers.iter().all(Option::is_some))
    }

    /// The column of all.
    fn column(self) -> Column {
        match self {
            Self::Integers(numbers) if numbers.iter().all(Option::is_some) => {
                Column::Integers(numbers.into_iter().flatten().collect())
            }
            Self::Integers(numbers) => {
                let value = |number: Option<i64>| number.map_or(Value::Null, Value::Integer);
                Column::from_values(numbers.into_iter().map(value).collect())
            }
            Self::Values(values) => {
                Column::from_values(values.into_iter().map(Value::from).collect())
            }
        }
    }
}

/// The property of `ids`, in any order and with nulls among them, from what `gather` adds for ascending ids.
pub(crate) fn in_order(
    ids: &[u64],
    gather: impl FnOnce(&[u64], &mut Gathered) -> Result<()>,
) -> Result<Column> {
    let mut found = Gathered::Integers(Vec::new());
    if ids.is_sorted_by(|a, b| a < b) && ids.last() != Some(&NULL_ID) {
        gather(ids, &mut found)?;
        return Ok(found.column());
    }
    let order = IdOrder::new(ids.iter().map(|id| Some(*id).filter(|id| *id != NULL_ID)));
    gather(&order.distinct, &mut found)?;
    let places = (0..ids.len()).map(|row| order.place(row));
    if found.is_whole()
        && let Some(places) = places.clone().collect::<Option<Vec<usize>>>()
        && let Gathered::Integers(numbers) = &found
    {
        let numbers = places.into_iter().filter_map(|place| numbers[place]);
        return Ok(Column::Integers(numbers.collect()));
    }
    let found = found.column();
    let values = places.map(|place| place.map_or(Value::Null, |place| found.value(place)));
    Ok(Column::from_values(values.collect()))
}
