//! A property of many nodes or relationships, read in id order and handed out in the order of the
//! rows.
//!
//! # How it works
//! Integers are asked for first, at first such that every id has one: mostly all values of a
//! property are of one type, and integers need no [`Value`] each. Texts and lists are read some at
//! a time, and charged.

use graven_storage::{PropertyValue, is_consecutive};

use crate::column::{Column, NULL_ID};
use crate::error::{ExecError, Result};
use crate::growth::{charge, work};
use crate::id_sort::IdOrder;
use crate::value::Value;

/// Fewer ids than these are not asked for integers first.
const INTEGERS_FROM: usize = 8;

/// Ids that are asked for texts first, and bytes of texts that are read before they are charged.
const AT_FIRST: usize = 32;
const AT_ONCE: usize = 256 << 10;

/// Heap bytes of a stored value.
fn bytes_of(value: &PropertyValue) -> usize {
    match value {
        PropertyValue::String(text) => text.len(),
        PropertyValue::Bytes(bytes) => bytes.len(),
        PropertyValue::Vector(vector) => vector.bytes().len(),
        PropertyValue::List(items) => {
            size_of_val(&**items) + items.iter().map(bytes_of).sum::<usize>()
        }
        _ => 0,
    }
}

/// Charges long values before they are read.
#[derive(Default)]
struct Room {
    charged: usize,
    refused: Option<ExecError>,
}

impl Room {
    fn ask(&mut self, bytes: u64) -> bool {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        match charge(bytes).and_then(|()| work(1 + bytes / 64)) {
            Ok(()) => self.charged += bytes,
            Err(error) => self.refused = Some(error),
        }
        self.refused.is_none()
    }

    /// Charges what is left of `bytes` read.
    fn charge_rest(self, bytes: usize) -> Result<()> {
        match self.refused {
            Some(error) => Err(error),
            None => charge(bytes.saturating_sub(self.charged)),
        }
    }
}

/// The property of one node or relationship.
pub(crate) fn one(column: &graven_storage::Column, id: u64) -> Result<Value> {
    let mut room = Room::default();
    let value = column.get_with_room(id, &mut |bytes| room.ask(bytes))?;
    let value = value.unwrap_or(PropertyValue::Null);
    room.charge_rest(bytes_of(&value))?;
    Ok(Value::from(value))
}

/// A property of ascending ids.
pub(crate) enum Gathered {
    Whole(Vec<i64>),
    Integers(Vec<Option<i64>>),
    Values(Vec<PropertyValue>),
}

impl Gathered {
    /// Adds what `column` says of `ids`.
    pub(crate) fn append(&mut self, column: &graven_storage::Column, ids: &[u64]) -> Result<()> {
        if ids.len() >= INTEGERS_FROM {
            if let Self::Whole(numbers) = self
                && column.gather_integers(ids, numbers)?
            {
                return Ok(());
            }
            if let Some(numbers) = self.integers()
                && column.gather_i64(ids, numbers)?
            {
                return Ok(());
            }
        }
        let (values, mut left, mut some) = (self.values(), ids, AT_FIRST);
        while !left.is_empty() {
            let (now, later) = left.split_at(some.min(left.len()));
            let before = values.len();
            let mut room = Room::default();
            column.gather_some(now, &mut |bytes| room.ask(bytes), values)?;
            let bytes = values[before..].iter().map(bytes_of).sum::<usize>();
            room.charge_rest(bytes)?;
            work(now.len() + bytes / 256)?;
            some = (some * 4).min(AT_ONCE / (bytes / now.len()).max(1)).max(1);
            left = later;
        }
        Ok(())
    }

    pub(crate) fn append_nulls(&mut self, count: usize) {
        match self.integers() {
            Some(numbers) => numbers.resize(numbers.len() + count, None),
            None => {
                let values = self.values();
                values.resize(values.len() + count, PropertyValue::Null);
            }
        }
    }

    /// Some may have none; `None` if not all are integers.
    fn integers(&mut self) -> Option<&mut Vec<Option<i64>>> {
        if let Self::Whole(numbers) = self {
            *self = Self::Integers(numbers.iter().copied().map(Some).collect());
        }
        match self {
            Self::Integers(numbers) => Some(numbers),
            _ => None,
        }
    }

    /// Not all are integers.
    fn values(&mut self) -> &mut Vec<PropertyValue> {
        if let Some(numbers) = self.integers() {
            let values = numbers.iter().map(|number| match number {
                Some(number) => PropertyValue::Integer(*number),
                None => PropertyValue::Null,
            });
            *self = Self::Values(values.collect());
        }
        match self {
            Self::Values(values) => values,
            _ => unreachable!("replaced above"),
        }
    }

    /// The column of all.
    fn column(self) -> Column {
        match self {
            Self::Whole(numbers) => Column::Integers(numbers),
            Self::Integers(numbers) => {
                match numbers.iter().copied().collect::<Option<Vec<i64>>>() {
                    Some(whole) => Column::Integers(whole),
                    None => {
                        let value =
                            |number: Option<i64>| number.map_or(Value::Null, Value::Integer);
                        Column::from_values(numbers.into_iter().map(value).collect())
                    }
                }
            }
            Self::Values(values) => {
                Column::from_values(values.into_iter().map(Value::from).collect())
            }
        }
    }
}

/// Whether the ids ascend, if some are the same, and all are ids.
pub(crate) fn ascend(ids: &[u64]) -> bool {
    ids.last() != Some(&NULL_ID) && (is_consecutive(ids) || ids.is_sorted())
}

/// The property of `ids`, in any order and with nulls among them, from what `gather` adds for
/// ascending ids.
pub(crate) fn in_order(
    ids: &[u64],
    gather: impl FnOnce(&[u64], &mut Gathered) -> Result<()>,
) -> Result<Column> {
    let mut found = Gathered::Whole(Vec::new());
    let rise = is_consecutive(ids) || ids.is_sorted_by(|a, b| a < b);
    if rise && ids.last() != Some(&NULL_ID) {
        gather(ids, &mut found)?;
        return Ok(found.column());
    }
    if ascend(ids) {
        let mut distinct: Vec<u64> = Vec::new();
        let mut places: Vec<u32> = Vec::with_capacity(ids.len());
        for same in ids.chunk_by(|a, b| a == b) {
            let place = u32::try_from(distinct.len()).expect("a batch is small");
            distinct.push(same[0]);
            places.resize(places.len() + same.len(), place);
        }
        gather(&distinct, &mut found)?;
        return Ok(found.column().gather(&places));
    }
    let order = IdOrder::new(ids.iter().map(|id| Some(*id).filter(|id| *id != NULL_ID)));
    gather(&order.distinct, &mut found)?;
    let places = (0..ids.len()).map(|row| order.place(row));
    let found = found.column();
    if let Column::Integers(numbers) = &found {
        let mut all = Vec::with_capacity(ids.len());
        all.extend(places.clone().map_while(|place| Some(numbers[place?])));
        if all.len() == ids.len() {
            return Ok(Column::Integers(all));
        }
    }
    let values = places.map(|place| place.map_or(Value::Null, |place| found.value(place)));
    Ok(Column::from_values(values.collect()))
}
