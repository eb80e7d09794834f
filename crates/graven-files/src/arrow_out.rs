//! Values as Arrow's columns.
//!
//! # How it works
//! Each kind has one type ([`data_type`]). Times with an offset, durations, instants of several
//! zones and dates out of reach are text in ISO form; a column of several kinds is text that holds
//! literals ([`crate::literal`]).

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, BooleanBuilder, StringBuilder};
use arrow_array::types::{
    ArrowPrimitiveType, ArrowTimestampType, Date32Type, Float32Type, Float64Type, Int8Type,
    Int16Type, Int32Type, Int64Type, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{ArrayRef, FixedSizeListArray, ListArray, PrimitiveArray, StructArray};
use arrow_buffer::{MutableBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Fields, TimeUnit};
use graven_types::PropertyValue;
use graven_types::vector::CoordinateType;

use crate::datum::Datum;
use crate::kind::Kind;
use crate::literal;
use crate::shape::{Shape, Zoned};

/// The type of a column of that kind.
pub(crate) fn data_type(kind: &Kind, shape: &Shape) -> DataType {
    let unit = match (shape.coarse, shape.fine) {
        (true, _) => TimeUnit::Millisecond,
        (false, true) => TimeUnit::Nanosecond,
        (false, false) => TimeUnit::Microsecond,
    };
    match kind {
        Kind::Boolean => DataType::Boolean,
        Kind::Integer => DataType::Int64,
        Kind::Float => DataType::Float64,
        Kind::Bytes => DataType::Binary,
        Kind::LocalTime => DataType::Time64(TimeUnit::Nanosecond),
        Kind::Date if !shape.is_far() => DataType::Date32,
        Kind::LocalDateTime if !shape.is_far() => DataType::Timestamp(unit, None),
        Kind::DateTime if !shape.is_far() => match &shape.zone {
            Some(Zoned::One(zone)) => DataType::Timestamp(unit, Some(zone.clone())),
            _ => DataType::Utf8,
        },
        Kind::Point => DataType::Struct(point_fields()),
        Kind::Vector(of, dimension) => {
            let length = i32::try_from(*dimension).unwrap_or(i32::MAX);
            DataType::FixedSizeList(coordinate(*of), length)
        }
        Kind::List(element) => DataType::List(item(element, shape)),
        Kind::Map(entries) => DataType::Struct(fields(entries, shape)),
        _ => DataType::Utf8,
    }
}

fn coordinate(of: CoordinateType) -> Arc<Field> {
    let number = match of {
        CoordinateType::Integer8 => DataType::Int8,
        CoordinateType::Integer16 => DataType::Int16,
        CoordinateType::Integer32 => DataType::Int32,
        CoordinateType::Integer64 => DataType::Int64,
        CoordinateType::Float32 => DataType::Float32,
        CoordinateType::Float64 => DataType::Float64,
    };
    // Of a vector that is null there are coordinates, too, which are zero.
    Arc::new(Field::new("item", number, true))
}

/// The coordinates of all vectors, one behind the other.
fn coordinates<T: ArrowPrimitiveType>(values: &[&Datum], dimension: usize) -> ArrayRef {
    let width = dimension * size_of::<T::Native>();
    let mut bytes = MutableBuffer::with_capacity(values.len() * width);
    for datum in values {
        match datum {
            Datum::Value(PropertyValue::Vector(vector)) => {
                bytes.extend_from_slice(&vector.bytes()[..]);
            }
            _ => bytes.extend_zeros(width),
        }
    }
    let numbers = ScalarBuffer::new(bytes.into(), 0, values.len() * dimension);
    Arc::new(PrimitiveArray::<T>::new(numbers, None))
}

fn vectors(values: &[&Datum], of: CoordinateType, dimension: usize) -> ArrayRef {
    let all = match of {
        CoordinateType::Integer8 => coordinates::<Int8Type>(values, dimension),
        CoordinateType::Integer16 => coordinates::<Int16Type>(values, dimension),
        CoordinateType::Integer32 => coordinates::<Int32Type>(values, dimension),
        CoordinateType::Integer64 => coordinates::<Int64Type>(values, dimension),
        CoordinateType::Float32 => coordinates::<Float32Type>(values, dimension),
        CoordinateType::Float64 => coordinates::<Float64Type>(values, dimension),
    };
    let length = i32::try_from(dimension).unwrap_or(i32::MAX);
    Arc::new(FixedSizeListArray::new(
        coordinate(of),
        length,
        all,
        there(values),
    ))
}

fn item(element: &Kind, shape: &Shape) -> Arc<Field> {
    Arc::new(Field::new("item", data_type(element, shape), true))
}

fn fields(entries: &[(String, Kind)], shape: &Shape) -> Fields {
    let fields = entries.iter();
    fields
        .map(|(name, kind)| Field::new(name, data_type(kind, shape), true))
        .collect()
}

fn point_fields() -> Fields {
    let of = |name, ty| Field::new(name, ty, true);
    vec![
        of("srid", DataType::Int64),
        of("x", DataType::Float64),
        of("y", DataType::Float64),
        of("z", DataType::Float64),
    ]
    .into()
}

/// Writes the text of a value where its format has no type for it.
fn write_text(out: &mut impl Write, datum: &Datum, kind: &Kind) -> fmt::Result {
    match (datum, kind) {
        (datum, Kind::Any | Kind::Literal) => literal::write_to(out, datum),
        (Datum::Value(PropertyValue::String(string)), _) => out.write_str(string),
        (Datum::Value(PropertyValue::Bytes(bytes)), _) => {
            bytes.iter().try_for_each(|b| write!(out, "{b:02x}"))
        }
        (Datum::Value(value), _) => match graven_temporal::text::write(value) {
            Some(iso) => out.write_str(&iso),
            None => literal::write_to(out, datum),
        },
        _ => literal::write_to(out, datum),
    }
}

/// The text of a value where its format has no type for it; that of a text is not copied.
pub(crate) fn text_of<'a>(datum: &'a Datum, kind: &Kind) -> Cow<'a, str> {
    match (datum, kind) {
        (Datum::Value(PropertyValue::String(text)), kind)
            if !matches!(kind, Kind::Any | Kind::Literal) =>
        {
            Cow::Borrowed(text)
        }
        _ => {
            let mut text = String::new();
            // Nothing is refused by a text.
            let _ = write_text(&mut text, datum, kind);
            Cow::Owned(text)
        }
    }
}

macro_rules! primitive {
    ($ty:ty, $values:expr, $pattern:pat => $value:expr) => {{
        let values = $values.iter().map(|datum| match datum {
            Datum::Value($pattern) => Some($value),
            _ => None,
        });
        values.collect::<PrimitiveArray<$ty>>()
    }};
}

/// The column of these times, so many units a second.
fn timestamps<T: ArrowTimestampType>(
    values: &[&Datum],
    zone: Option<Arc<str>>,
    a_second: u32,
) -> ArrayRef {
    let of = |seconds: i64, nanoseconds: u32| {
        seconds * i64::from(a_second) + i64::from(nanoseconds / (1_000_000_000 / a_second))
    };
    let values = values.iter().map(|datum| match datum {
        Datum::Value(PropertyValue::LocalDateTime(t)) => Some(of(t.seconds, t.nanoseconds)),
        Datum::Value(PropertyValue::DateTime(t)) => Some(of(t.seconds, t.nanoseconds)),
        _ => None,
    });
    Arc::new(PrimitiveArray::<T>::from_iter(values).with_timezone_opt(zone))
}

/// The column of these values, all of that kind or null.
pub(crate) fn array(values: &[&Datum], kind: &Kind, shape: &Shape) -> ArrayRef {
    use PropertyValue as P;
    match (kind, data_type(kind, shape)) {
        (Kind::Boolean, _) => {
            let mut builder = BooleanBuilder::new();
            for datum in values {
                builder.append_option(match datum {
                    Datum::Value(P::Boolean(b)) => Some(*b),
                    _ => None,
                });
            }
            Arc::new(builder.finish())
        }
        (Kind::Integer, _) => Arc::new(primitive!(Int64Type, values, P::Integer(i) => *i)),
        (Kind::Float, _) => Arc::new(primitive!(Float64Type, values, P::Float(x) => *x)),
        (Kind::Bytes, _) => {
            let bytes = values.iter().map(|datum| match datum {
                Datum::Value(P::Bytes(bytes)) => bytes.len(),
                _ => 0,
            });
            let mut builder = BinaryBuilder::with_capacity(values.len(), bytes.sum());
            for datum in values {
                builder.append_option(match datum {
                    Datum::Value(P::Bytes(bytes)) => Some(&**bytes),
                    _ => None,
                });
            }
            Arc::new(builder.finish())
        }
        (_, DataType::Date32) => Arc::new(
            primitive!(Date32Type, values, P::Date(days) => i32::try_from(*days).unwrap_or(0)),
        ),
        (_, DataType::Time64(_)) => {
            Arc::new(primitive!(Time64NanosecondType, values, P::LocalTime(of_day) => *of_day))
        }
        (_, DataType::Timestamp(TimeUnit::Millisecond, zone)) => {
            timestamps::<TimestampMillisecondType>(values, zone, 1_000)
        }
        (_, DataType::Timestamp(TimeUnit::Nanosecond, zone)) => {
            timestamps::<TimestampNanosecondType>(values, zone, 1_000_000_000)
        }
        (_, DataType::Timestamp(_, zone)) => {
            timestamps::<TimestampMicrosecondType>(values, zone, 1_000_000)
        }
        (Kind::Point, _) => {
            let part = |pick: fn(&graven_types::Point) -> Option<f64>| {
                let parts = values.iter().map(|datum| match datum {
                    Datum::Value(P::Point(point)) => pick(point),
                    _ => None,
                });
                Arc::new(parts.collect::<PrimitiveArray<Float64Type>>()) as ArrayRef
            };
            let srids = primitive!(Int64Type, values, P::Point(point) => point.srid.into());
            let columns = vec![
                Arc::new(srids) as ArrayRef,
                part(|p| Some(p.x)),
                part(|p| Some(p.y)),
                part(|p| p.z),
            ];
            Arc::new(StructArray::new(point_fields(), columns, there(values)))
        }
        (Kind::Vector(of, dimension), _) => vectors(values, *of, *dimension),
        (Kind::List(element), _) => {
            let lists = values.iter().map(|datum| items(datum).collect());
            let lists: Vec<Vec<Datum>> = lists.collect();
            let offsets = OffsetBuffer::from_lengths(lists.iter().map(Vec::len));
            let all: Vec<&Datum> = lists.iter().flatten().collect();
            let inner = array(&all, element, shape);
            Arc::new(ListArray::new(
                item(element, shape),
                offsets,
                inner,
                there(values),
            ))
        }
        (Kind::Map(entries), _) => {
            let column = |(name, kind): &(String, Kind)| {
                let values = values.iter().map(|datum| match datum {
                    Datum::Map(entries) => {
                        let found = entries.iter().find(|(key, _)| **key == **name);
                        found.map_or(&Datum::NULL, |(_, value)| value)
                    }
                    _ => &Datum::NULL,
                });
                array(&values.collect::<Vec<_>>(), kind, shape)
            };
            let columns = entries.iter().map(column).collect();
            Arc::new(StructArray::new(
                fields(entries, shape),
                columns,
                there(values),
            ))
        }
        _ => {
            let bytes = values.iter().map(|datum| match datum {
                Datum::Value(P::String(text)) => text.len(),
                _ => 0,
            });
            let mut builder = StringBuilder::with_capacity(values.len(), bytes.sum());
            for datum in values {
                if datum.is_null() {
                    builder.append_null();
                    continue;
                }
                let _ = write_text(&mut builder, datum, kind);
                // What was written is the beginning of the value.
                builder.append_value("");
            }
            Arc::new(builder.finish())
        }
    }
}

fn there(values: &[&Datum]) -> Option<NullBuffer> {
    Some(values.iter().map(|datum| !datum.is_null()).collect())
}

/// The items of a list.
pub(crate) fn items(datum: &Datum) -> impl Iterator<Item = Datum> {
    let (stored, others): (&[PropertyValue], &[Datum]) = match datum {
        Datum::Value(PropertyValue::List(items)) => (items, &[]),
        Datum::List(items) => (&[], items),
        _ => (&[], &[]),
    };
    let stored = stored.iter().cloned().map(Datum::Value);
    stored.chain(others.iter().cloned())
}
