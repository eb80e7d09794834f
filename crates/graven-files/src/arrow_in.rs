//! Arrow's columns as values of the language, and its types as kinds.
//!
//! # How it works
//! | Arrow, Parquet | here |
//! | --- | --- |
//! | integers of any size | integers; an unsigned one beyond 2^63 - 1 is an error |
//! | halves, floats, doubles | floats |
//! | decimals | of scale 0: integers; else floats where the digits come back from them, or else an error |
//! | dates | dates |
//! | times | local times |
//! | timestamps without and with a zone | local date times, date times in that zone |
//! | durations, intervals | durations |
//! | text, binary | text, bytes; 16 bytes marked as a UUID: its text |
//! | lists, structs, maps with keys of text, dictionaries | lists, maps, maps, their values |
//! | lists of a fixed size | lists; where a vector is declared, vectors |

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, OffsetSizeTrait, StructArray};
use arrow_buffer::ArrowNativeType as _;
use arrow_schema::{DataType, Field, IntervalUnit, TimeUnit};
use graven_temporal::Zone;
use graven_types::PropertyValue;
use graven_types::told;
use graven_types::{DateTime, Duration};

use crate::cast::uuid_of_bytes;
use crate::column::Column;
use crate::datum::{Cells, Datum};
use crate::decimal;
use crate::kind::Kind;
use crate::literal::local_date_time;

const SECOND: i128 = 1_000_000_000;

/// The column of a field.
///
/// # Errors
/// Its type has no kind.
pub(crate) fn column(field: &Field) -> Result<Column, String> {
    let kind = kind(field.data_type());
    let kind = kind.map_err(|why| told!("column {}: {why}", field.name()))?;
    let is_uuid = field.extension_type_name() == Some("arrow.uuid");
    Ok(Column {
        name: field.name().clone(),
        kind: if is_uuid { Kind::String } else { kind },
        stated: stated(field.data_type()),
    })
}

/// The type of decimals, or of lists of them, with its digits.
fn stated(ty: &DataType) -> Option<String> {
    match ty {
        DataType::Decimal32(digits, scale)
        | DataType::Decimal64(digits, scale)
        | DataType::Decimal128(digits, scale)
            if *scale > 0 =>
        {
            Some(format!("DECIMAL({digits}, {scale})"))
        }
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            Some(format!("{}[]", stated(field.data_type())?))
        }
        _ => None,
    }
}

fn kind(ty: &DataType) -> Result<Kind, String> {
    Ok(match ty {
        DataType::Null => Kind::Null,
        DataType::Boolean => Kind::Boolean,
        ty if ty.is_integer() => Kind::Integer,
        DataType::Float16 | DataType::Float32 | DataType::Float64 => Kind::Float,
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale) => match scale {
            0 => Kind::Integer,
            _ => Kind::Float,
        },
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Kind::String,
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => Kind::Bytes,
        DataType::Date32 | DataType::Date64 => Kind::Date,
        DataType::Time32(_) | DataType::Time64(_) => Kind::LocalTime,
        DataType::Timestamp(_, None) => Kind::LocalDateTime,
        DataType::Timestamp(_, Some(_)) => Kind::DateTime,
        DataType::Duration(_) | DataType::Interval(_) => Kind::Duration,
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            Kind::List(Box::new(kind(field.data_type())?))
        }
        DataType::Struct(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|f| Ok((f.name().clone(), kind(f.data_type())?)));
            Kind::Map(fields.collect::<Result<_, String>>()?)
        }
        DataType::Map(_, _) => Kind::Map(Vec::new()),
        DataType::Dictionary(_, values) => kind(values)?,
        other => return Err(told!("values of the type {other} cannot be read")),
    })
}

/// A value that cannot be read: its row and what is wrong.
pub(crate) type BadCell = (usize, String);

/// The values of a column.
///
/// # Errors
/// The first that cannot be read.
pub(crate) fn cells(array: &ArrayRef, is_uuid: bool) -> Result<Cells, BadCell> {
    if array.null_count() == 0 {
        match array.data_type() {
            DataType::Int64 => {
                return Ok(Cells::Integers(
                    array.as_primitive::<Int64Type>().values().to_vec(),
                ));
            }
            DataType::Int32 => {
                let values = array.as_primitive::<Int32Type>().values().iter();
                return Ok(Cells::Integers(values.map(|v| i64::from(*v)).collect()));
            }
            DataType::Float64 => {
                return Ok(Cells::Floats(
                    array.as_primitive::<Float64Type>().values().to_vec(),
                ));
            }
            _ => {}
        }
    }
    let mut data = data(array)?;
    if is_uuid {
        for datum in &mut data {
            if let Datum::Value(PropertyValue::Bytes(bytes)) = datum {
                *datum = Datum::text(&uuid_of_bytes(bytes));
            }
        }
    }
    Ok(Cells::Data(data))
}

/// About how many bytes the values of a column take as [`Cells`].
pub(crate) fn bytes_of(array: &ArrayRef) -> usize {
    /// Of a value that is a cell of its own, beside what it holds.
    const CELL: usize = size_of::<Datum>() + 16;
    let plain = matches!(
        array.data_type(),
        DataType::Int64 | DataType::Int32 | DataType::Float64
    );
    if plain && array.null_count() == 0 {
        return 8 * array.len();
    }
    let held = match array.data_type() {
        DataType::Utf8 => spanned(array.as_string::<i32>().value_offsets()),
        DataType::LargeUtf8 => spanned(array.as_string::<i64>().value_offsets()),
        DataType::Binary => spanned(array.as_binary::<i32>().value_offsets()),
        DataType::LargeBinary => spanned(array.as_binary::<i64>().value_offsets()),
        DataType::Utf8View => viewed(array.as_string_view().views()),
        DataType::BinaryView => viewed(array.as_binary_view().views()),
        DataType::FixedSizeBinary(width) => array
            .len()
            .saturating_mul(usize::try_from(*width).unwrap_or(0)),
        DataType::List(_) => bytes_of(&items_of_lists::<i32>(array).0),
        DataType::LargeList(_) => bytes_of(&items_of_lists::<i64>(array).0),
        DataType::FixedSizeList(_, width) => bytes_of(&items_of_fixed(array, *width)),
        DataType::Struct(_) => {
            let columns = array.as_struct().columns().iter();
            columns.map(bytes_of).fold(0, usize::saturating_add)
        }
        DataType::Map(_, _) => {
            let entries = entries_of_maps(array);
            let columns = entries.columns().iter();
            columns.map(bytes_of).fold(0, usize::saturating_add)
        }
        DataType::Dictionary(_, _) => {
            let values = array.as_any_dictionary().values();
            let held = bytes_of(values);
            // All are shared or, where they are many, decoded one by one.
            match values.len() > array.len() {
                true => (held / values.len()).saturating_mul(array.len()),
                false => held,
            }
        }
        _ => 0,
    };
    array.len().saturating_mul(CELL).saturating_add(held)
}

/// Bytes between the first and the last of these offsets.
fn spanned<O: OffsetSizeTrait>(offsets: &[O]) -> usize {
    let (first, last) = (offsets.first(), offsets.last());
    last.map_or(0, |it| it.as_usize()) - first.map_or(0, |it| it.as_usize())
}

/// Bytes of what views show: their length is the first half of their first half.
fn viewed(views: &[u128]) -> usize {
    let lengths = views.iter().map(|view| *view as u32 as usize);
    lengths.fold(0, usize::saturating_add)
}

/// Items of the lists, and where they begin among all.
fn items_of_lists<O: OffsetSizeTrait>(array: &ArrayRef) -> (ArrayRef, usize) {
    let array = array.as_list::<O>();
    let offsets = array.value_offsets();
    let (first, last) = (offsets[0].as_usize(), offsets[array.len()].as_usize());
    (array.values().slice(first, last - first), first)
}

fn items_of_fixed(array: &ArrayRef, width: i32) -> ArrayRef {
    let array = array.as_fixed_size_list();
    let width = usize::try_from(width).unwrap_or(0);
    let offset = array.value_offset_at(0);
    array.values().slice(offset, width * array.len())
}

/// Keys and values of the maps.
fn entries_of_maps(array: &ArrayRef) -> StructArray {
    let array = array.as_map();
    let offsets = array.value_offsets();
    let (first, last) = (offsets[0].as_usize(), offsets[array.len()].as_usize());
    array.entries().slice(first, last - first)
}

fn each<T: Array + ?Sized>(
    array: &T,
    value: impl Fn(usize) -> Result<PropertyValue, String>,
) -> Result<Vec<Datum>, BadCell> {
    let rows = 0..array.len();
    rows.map(|row| match array.is_null(row) {
        true => Ok(Datum::NULL),
        false => value(row).map(Datum::Value).map_err(|why| (row, why)),
    })
    .collect()
}

macro_rules! integers {
    ($array:expr, $ty:ty) => {{
        let array = $array.as_primitive::<$ty>();
        each(array, |row| {
            let value = array.value(row);
            i64::try_from(value)
                .map(PropertyValue::Integer)
                .map_err(|_| told!("{value} is larger than a 64-bit integer"))
        })
    }};
}

macro_rules! decimals {
    ($array:expr, $ty:ty, $scale:expr) => {{
        let array = $array.as_primitive::<$ty>();
        each(array, |row| decimal(array.value(row).into(), *$scale))
    }};
}

/// A decimal of so many digits behind the point.
fn decimal(units: i128, scale: i8) -> Result<PropertyValue, String> {
    if scale == 0 {
        let integer = i64::try_from(units);
        return integer
            .map(PropertyValue::Integer)
            .map_err(|_| told!("{units} is larger than a 64-bit integer"));
    }
    let float = decimal::of_units(units.unsigned_abs(), scale.into());
    let float = float.map_err(|why| {
        told!(
            "{units}e{} {why}: cast the column to text where the file is made",
            -i32::from(scale)
        )
    })?;
    Ok(PropertyValue::Float(match units < 0 {
        true => -float,
        false => float,
    }))
}

fn nanoseconds(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => SECOND,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    }
}

/// The numbers of a column that holds times of any unit, as 64-bit integers.
fn numbers(array: &ArrayRef) -> Vec<i64> {
    let data = array.to_data();
    match array.data_type() {
        DataType::Time32(_) | DataType::Date32 => {
            let values = &data.buffer::<i32>(0)[..array.len()];
            values.iter().map(|v| i64::from(*v)).collect()
        }
        _ => data.buffer::<i64>(0)[..array.len()].to_vec(),
    }
}

fn span(nanoseconds: i128, months: i32, days: i32) -> PropertyValue {
    PropertyValue::Duration(Duration {
        months: months.into(),
        days: days.into(),
        seconds: i64::try_from(nanoseconds.div_euclid(SECOND)).unwrap_or(i64::MAX),
        nanoseconds: u32::try_from(nanoseconds.rem_euclid(SECOND)).expect("below 10^9"),
    })
}

fn zone_of(name: &str) -> Result<Zone, String> {
    match name {
        "UTC" | "Z" | "+00:00" | "" => Ok(Zone::UTC),
        name => Zone::parse(name).map_err(|error| error.to_string()),
    }
}

fn texts(value: &str) -> Result<PropertyValue, String> {
    Ok(PropertyValue::String(value.into()))
}

fn bytes(value: &[u8]) -> Result<PropertyValue, String> {
    Ok(PropertyValue::Bytes(value.into()))
}

fn data(array: &ArrayRef) -> Result<Vec<Datum>, BadCell> {
    use PropertyValue as P;
    match array.data_type() {
        DataType::Null => Ok(vec![Datum::NULL; array.len()]),
        DataType::Boolean => {
            let values = array.as_boolean();
            each(values, |row| Ok(P::Boolean(values.value(row))))
        }
        DataType::Int8 => integers!(array, Int8Type),
        DataType::Int16 => integers!(array, Int16Type),
        DataType::Int32 => integers!(array, Int32Type),
        DataType::Int64 => integers!(array, Int64Type),
        DataType::UInt8 => integers!(array, UInt8Type),
        DataType::UInt16 => integers!(array, UInt16Type),
        DataType::UInt32 => integers!(array, UInt32Type),
        DataType::UInt64 => integers!(array, UInt64Type),
        DataType::Float16 => {
            let values = array.as_primitive::<Float16Type>();
            each(values, |row| Ok(P::Float(values.value(row).to_f64())))
        }
        DataType::Float32 => {
            let values = array.as_primitive::<Float32Type>();
            each(values, |row| Ok(P::Float(values.value(row).into())))
        }
        DataType::Float64 => {
            let values = array.as_primitive::<Float64Type>();
            each(values, |row| Ok(P::Float(values.value(row))))
        }
        DataType::Decimal32(_, scale) => decimals!(array, Decimal32Type, scale),
        DataType::Decimal64(_, scale) => decimals!(array, Decimal64Type, scale),
        DataType::Decimal128(_, scale) => decimals!(array, Decimal128Type, scale),
        DataType::Utf8 => {
            let values = array.as_string::<i32>();
            each(values, |row| texts(values.value(row)))
        }
        DataType::LargeUtf8 => {
            let values = array.as_string::<i64>();
            each(values, |row| texts(values.value(row)))
        }
        DataType::Utf8View => {
            let values = array.as_string_view();
            each(values, |row| texts(values.value(row)))
        }
        DataType::Binary => {
            let values = array.as_binary::<i32>();
            each(values, |row| bytes(values.value(row)))
        }
        DataType::LargeBinary => {
            let values = array.as_binary::<i64>();
            each(values, |row| bytes(values.value(row)))
        }
        DataType::BinaryView => {
            let values = array.as_binary_view();
            each(values, |row| bytes(values.value(row)))
        }
        DataType::FixedSizeBinary(_) => {
            let values = array.as_fixed_size_binary();
            each(values, |row| bytes(values.value(row)))
        }
        DataType::Date32 => {
            let days = numbers(array);
            each(array, |row| Ok(P::Date(days[row])))
        }
        DataType::Date64 => {
            const DAY: i64 = 86_400_000;
            let millis = numbers(array);
            each(array, |row| match millis[row].rem_euclid(DAY) {
                0 => Ok(P::Date(millis[row].div_euclid(DAY))),
                _ => Err(told!(
                    "{} ms after 1970 is within a day, no date: cast the column to a timestamp \
                     where the file is made",
                    millis[row]
                )),
            })
        }
        DataType::Time32(unit) | DataType::Time64(unit) => {
            let (values, unit) = (numbers(array), nanoseconds(*unit));
            each(array, |row| {
                let of_day = i128::from(values[row]) * unit;
                match i64::try_from(of_day) {
                    Ok(of_day @ 0..86_400_000_000_000) => Ok(P::LocalTime(of_day)),
                    _ => Err(told!("{} is no time of day", values[row])),
                }
            })
        }
        DataType::Timestamp(unit, zone) => {
            let (values, unit) = (numbers(array), nanoseconds(*unit));
            let zone = zone.as_deref().map(zone_of).transpose();
            let zone = zone.map_err(|why| (0, why))?;
            each(array, |row| {
                let at = local_date_time(i128::from(values[row]) * unit);
                let Some(zone) = &zone else {
                    return Ok(P::LocalDateTime(at));
                };
                Ok(P::DateTime(DateTime {
                    seconds: at.seconds,
                    nanoseconds: at.nanoseconds,
                    offset_seconds: zone.offset_at(at.seconds),
                    zone: zone.name().cloned(),
                }))
            })
        }
        DataType::Duration(unit) => {
            let (values, unit) = (numbers(array), nanoseconds(*unit));
            each(array, |row| Ok(span(i128::from(values[row]) * unit, 0, 0)))
        }
        DataType::Interval(IntervalUnit::YearMonth) => {
            let values = array.as_primitive::<IntervalYearMonthType>();
            each(values, |row| Ok(span(0, values.value(row), 0)))
        }
        DataType::Interval(IntervalUnit::DayTime) => {
            let values = array.as_primitive::<IntervalDayTimeType>();
            each(values, |row| {
                let value = values.value(row);
                Ok(span(
                    i128::from(value.milliseconds) * 1_000_000,
                    0,
                    value.days,
                ))
            })
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let values = array.as_primitive::<IntervalMonthDayNanoType>();
            each(values, |row| {
                let value = values.value(row);
                Ok(span(value.nanoseconds.into(), value.months, value.days))
            })
        }
        DataType::List(_) => lists::<i32>(array),
        DataType::LargeList(_) => lists::<i64>(array),
        DataType::FixedSizeList(_, width) => {
            let items = items_of_fixed(array, *width);
            let array = array.as_fixed_size_list();
            let width = usize::try_from(*width).unwrap_or(0);
            let items = data(&items).map_err(|(at, why)| (at / width.max(1), why))?;
            let row = |row: usize| match array.is_null(row) {
                true => Datum::NULL,
                false => Datum::list(items[row * width..(row + 1) * width].to_vec()),
            };
            Ok((0..array.len()).map(row).collect())
        }
        DataType::Struct(fields) => {
            let array = array.as_struct();
            let columns = array.columns().iter().map(data);
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            let names: Vec<std::sync::Arc<str>> =
                fields.iter().map(|f| f.name().as_str().into()).collect();
            let row = |row: usize| match array.is_null(row) {
                true => Datum::NULL,
                false => {
                    let entries = names.iter().zip(&columns);
                    Datum::Map(entries.map(|(n, c)| (n.clone(), c[row].clone())).collect())
                }
            };
            Ok((0..array.len()).map(row).collect())
        }
        DataType::Map(_, _) => {
            let entries = entries_of_maps(array);
            let (keys, values) = (data(entries.column(0))?, data(entries.column(1))?);
            let array = array.as_map();
            let first = array.value_offsets()[0] as usize;
            let row = |row: usize| {
                if array.is_null(row) {
                    return Ok(Datum::NULL);
                }
                let offsets = &array.value_offsets()[row..];
                let place = offsets[0] as usize - first..offsets[1] as usize - first;
                let entries = place.map(|at| match &keys[at] {
                    Datum::Value(P::String(key)) => Ok((key.clone(), values[at].clone())),
                    Datum::Value(P::Integer(key)) => {
                        Ok((key.to_string().into(), values[at].clone()))
                    }
                    _ => Err((row, "has a key that is no text".to_owned())),
                });
                Ok(Datum::Map(entries.collect::<Result<_, _>>()?))
            };
            (0..array.len()).map(row).collect()
        }
        DataType::Dictionary(_, _) => {
            let array = array.as_any_dictionary();
            let keys = array.normalized_keys();
            if array.values().len() > array.len() {
                let one = |row: usize| match array.is_null(row) {
                    true => Ok(Datum::NULL),
                    false => {
                        let value = data(&array.values().slice(keys[row], 1));
                        let value = value.map_err(|(_, why)| (row, why))?;
                        Ok(value.into_iter().next().unwrap_or(Datum::NULL))
                    }
                };
                return (0..array.len()).map(one).collect();
            }
            let values = data(array.values())?;
            let row = |row: usize| match array.is_null(row) {
                true => Datum::NULL,
                false => values.get(keys[row]).cloned().unwrap_or(Datum::NULL),
            };
            Ok((0..array.len()).map(row).collect())
        }
        other => Err((0, format!("values of the type {other} cannot be read"))),
    }
}

fn lists<O: OffsetSizeTrait>(array: &ArrayRef) -> Result<Vec<Datum>, BadCell> {
    let (items, first) = items_of_lists::<O>(array);
    let array = array.as_list::<O>();
    let offsets = array.value_offsets();
    let items = data(&items).map_err(|(at, why)| {
        let row = offsets.partition_point(|o| o.as_usize() - first <= at);
        (row.saturating_sub(1), why)
    })?;
    let row = |row: usize| match array.is_null(row) {
        true => Datum::NULL,
        false => {
            let (from, to) = (offsets[row].as_usize(), offsets[row + 1].as_usize());
            Datum::list(items[from - first..to - first].to_vec())
        }
    };
    Ok((0..array.len()).map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: an error about a file that says of what type a column is says what to do there.
    #[test]
    fn what_no_type_here_holds_is_to_be_cast_in_the_file() {
        let days: ArrayRef = std::sync::Arc::new(arrow_array::Date64Array::from(vec![
            Some(-86_400_000),
            None,
        ]));
        let wanted = [Datum::Value(PropertyValue::Date(-1)), Datum::NULL];
        assert_eq!(data(&days), Ok(wanted.to_vec()));
        let within: ArrayRef = std::sync::Arc::new(arrow_array::Date64Array::from(vec![0, 1]));
        let (row, why) = data(&within).expect_err("within a day");
        let advice = "cast the column to a timestamp where the file is made";
        assert!(row == 1 && why.ends_with(advice), "{row}: {why}");
        let why = decimal(12_345_678_901_234_567_891, 2).expect_err("many digits");
        let advice = "cast the column to text where the file is made";
        assert!(why.ends_with(advice), "{why}");
    }
}
