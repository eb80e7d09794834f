//! Dates, times, durations, points and vectors as structures.

use std::sync::Arc;

use graven::{PropertyValue, Value};
use graven_temporal::Zone;
use graven_types::vector::{CoordinateType, Vector};
use graven_types::{DateTime, Duration, LocalDateTime, Point, Time};

use crate::packstream::{Unreadable, Writer};

const DATE: u8 = 0x44;
const TIME: u8 = 0x54;
const LOCAL_TIME: u8 = 0x74;
const LOCAL_DATE_TIME: u8 = 0x64;
const DATE_TIME: u8 = 0x49;
const DATE_TIME_IN_ZONE: u8 = 0x69;
/// The same before version 5: seconds of the local clock.
const DATE_TIME_LOCAL: u8 = 0x46;
const DATE_TIME_IN_ZONE_LOCAL: u8 = 0x66;
const DURATION: u8 = 0x45;
const POINT_2D: u8 = 0x58;
const POINT_3D: u8 = 0x59;
/// From version 6 on.
const VECTOR: u8 = 0x56;

pub(crate) fn write(to: &mut Writer<'_>, value: &PropertyValue) {
    match value {
        PropertyValue::Date(days) => {
            to.structure(DATE, 1);
            to.integer(*days);
        }
        PropertyValue::LocalTime(nanos) => {
            to.structure(LOCAL_TIME, 1);
            to.integer(*nanos);
        }
        PropertyValue::Time(it) => {
            to.structure(TIME, 2);
            to.integer(it.nanosecond_of_day);
            to.integer(it.offset_seconds.into());
        }
        PropertyValue::LocalDateTime(it) => {
            to.structure(LOCAL_DATE_TIME, 2);
            to.integer(it.seconds);
            to.integer(it.nanoseconds.into());
        }
        PropertyValue::DateTime(it) => {
            let offset = i64::from(it.offset_seconds);
            let (plain, in_zone, seconds) = match to.utc {
                true => (DATE_TIME, DATE_TIME_IN_ZONE, it.seconds),
                false => (
                    DATE_TIME_LOCAL,
                    DATE_TIME_IN_ZONE_LOCAL,
                    it.seconds + offset,
                ),
            };
            to.structure(if it.zone.is_some() { in_zone } else { plain }, 3);
            to.integer(seconds);
            to.integer(it.nanoseconds.into());
            match &it.zone {
                Some(zone) => to.text(zone),
                None => to.integer(offset),
            }
        }
        PropertyValue::Duration(it) => {
            to.structure(DURATION, 4);
            for part in [it.months, it.days, it.seconds, it.nanoseconds.into()] {
                to.integer(part);
            }
        }
        PropertyValue::Point(it) => {
            match it.z {
                Some(_) => to.structure(POINT_3D, 4),
                None => to.structure(POINT_2D, 3),
            }
            to.integer(it.srid.into());
            to.float(it.x);
            to.float(it.y);
            if let Some(z) = it.z {
                to.float(z);
            }
        }
        PropertyValue::Vector(it) => write_vector(to, it),
        // Everything else is a value of the language by itself.
        other => to.text(&format!("{other:?}")),
    }
}

fn bad(what: &str) -> Unreadable {
    Unreadable::Value(what.to_owned())
}

/// Seconds, and nanoseconds below 10^9.
fn moment(seconds: i64, nanos: i64) -> Result<(i64, u32), Unreadable> {
    let message = "nanoseconds must be in 0..=999999999";
    let nanos = u32::try_from(nanos)
        .ok()
        .filter(|nanos| *nanos < 1_000_000_000);
    let nanos = nanos.ok_or_else(|| bad(message))?;
    let day = graven_temporal::calendar::in_range(seconds.div_euclid(86_400));
    day.map_err(|error| Unreadable::Value(error.to_string()))?;
    Ok((seconds, nanos))
}

fn offset(seconds: i64) -> Result<i32, Unreadable> {
    let within = i32::try_from(seconds)
        .ok()
        .filter(|it| it.unsigned_abs() <= graven_temporal::zone::OFFSET_MAX.unsigned_abs());
    within.ok_or_else(|| bad("an offset from UTC must be within 18 hours"))
}

fn time_of_day(nanos: i64) -> Result<i64, Unreadable> {
    let within = (0..graven_temporal::DAY).contains(&nanos);
    within
        .then_some(nanos)
        .ok_or_else(|| bad("a time of day must be within a day"))
}

/// Markers that PackStream gives numbers of a type.
const NUMBERS: &[(CoordinateType, u8)] = &[
    (CoordinateType::Integer8, 0xc8),
    (CoordinateType::Integer16, 0xc9),
    (CoordinateType::Integer32, 0xca),
    (CoordinateType::Integer64, 0xcb),
    (CoordinateType::Float32, 0xc6),
    (CoordinateType::Float64, 0xc1),
];

/// Coordinates with the other order of their bytes.
fn turned(of: CoordinateType, bytes: &[u8]) -> Vec<u8> {
    let numbers = bytes.chunks(of.width());
    numbers
        .flat_map(|number| number.iter().rev().copied())
        .collect()
}

/// Before version 6 a vector is a map that says what it stands for, since a list would be another
/// value.
fn write_vector(to: &mut Writer<'_>, vector: &Vector) {
    let marker = NUMBERS.iter().find(|(of, _)| *of == vector.of());
    let (of, marker) = marker.expect("each type has a marker");
    if to.version.has_vectors() {
        to.structure(VECTOR, 2);
        to.bytes(&[*marker]);
        to.bytes(&turned(*of, vector.bytes()));
        return;
    }
    to.map(2);
    to.text("originalType");
    to.text(&format!("{} NOT NULL", vector.type_text()));
    to.text("reason");
    to.text("vectors need Bolt 6.0; toFloatList() and toIntegerList() give lists of their numbers");
}

/// The vector of a marker and its coordinates, the most significant byte first.
fn vector(kind: &[u8], bytes: &[u8]) -> Result<PropertyValue, Unreadable> {
    let of = match kind {
        [marker] => NUMBERS.iter().find(|(_, known)| known == marker),
        _ => None,
    };
    let vector = of.and_then(|(of, _)| Vector::from_bytes(*of, turned(*of, bytes).into()));
    let what =
        "a vector has 1 to 4096 finite numbers of one kind, of 8 to 64 bits, and nothing else";
    vector.map(PropertyValue::Vector).ok_or_else(|| bad(what))
}

/// The value of a structure.
///
/// # Errors
/// Structures that are no values, or of parts that no value has.
pub(crate) fn read(signature: u8, fields: &[Value]) -> Result<Value, Unreadable> {
    use Value::{Float, Integer, String};
    let value = match (signature, fields) {
        (DATE, [Integer(days)]) => {
            let days = graven_temporal::calendar::in_range(*days);
            PropertyValue::Date(days.map_err(|error| Unreadable::Value(error.to_string()))?)
        }
        (LOCAL_TIME, [Integer(nanos)]) => PropertyValue::LocalTime(time_of_day(*nanos)?),
        (TIME, [Integer(nanos), Integer(seconds)]) => PropertyValue::Time(Time {
            nanosecond_of_day: time_of_day(*nanos)?,
            offset_seconds: offset(*seconds)?,
        }),
        (LOCAL_DATE_TIME, [Integer(seconds), Integer(nanos)]) => {
            let (seconds, nanoseconds) = moment(*seconds, *nanos)?;
            PropertyValue::LocalDateTime(LocalDateTime {
                seconds,
                nanoseconds,
            })
        }
        (DATE_TIME | DATE_TIME_LOCAL, [Integer(seconds), Integer(nanos), Integer(east)]) => {
            let (seconds, nanoseconds) = moment(*seconds, *nanos)?;
            let offset_seconds = offset(*east)?;
            let local = if signature == DATE_TIME_LOCAL {
                *east
            } else {
                0
            };
            PropertyValue::DateTime(DateTime {
                seconds: seconds - local,
                nanoseconds,
                offset_seconds,
                zone: None,
            })
        }
        (
            DATE_TIME_IN_ZONE | DATE_TIME_IN_ZONE_LOCAL,
            [Integer(seconds), Integer(nanos), String(name)],
        ) => {
            let (seconds, nanoseconds) = moment(*seconds, *nanos)?;
            let zone = Zone::parse(name).map_err(|error| Unreadable::Value(error.to_string()))?;
            let (seconds, offset_seconds) = match signature {
                DATE_TIME_IN_ZONE => (seconds, zone.offset_at(seconds)),
                _ => zone.resolve(seconds, None),
            };
            PropertyValue::DateTime(DateTime {
                seconds,
                nanoseconds,
                offset_seconds,
                zone: zone.name().map(Arc::clone),
            })
        }
        (
            DURATION,
            [
                Integer(months),
                Integer(days),
                Integer(seconds),
                Integer(nanos),
            ],
        ) => {
            let carried = seconds.checked_add(nanos.div_euclid(1_000_000_000));
            let nanos = nanos.rem_euclid(1_000_000_000);
            PropertyValue::Duration(Duration {
                months: *months,
                days: *days,
                seconds: carried
                    .ok_or_else(|| bad("the seconds of a duration lie beyond 64 bits"))?,
                nanoseconds: u32::try_from(nanos).expect("less than 10^9"),
            })
        }
        (POINT_2D, [Integer(srid @ (7203 | 4326)), Float(x), Float(y)]) => {
            let srid = u32::try_from(*srid).expect("one of two");
            PropertyValue::Point(Point {
                srid,
                x: *x,
                y: *y,
                z: None,
            })
        }
        (POINT_3D, [Integer(srid @ (9157 | 4979)), Float(x), Float(y), Float(z)]) => {
            let srid = u32::try_from(*srid).expect("one of two");
            PropertyValue::Point(Point {
                srid,
                x: *x,
                y: *y,
                z: Some(*z),
            })
        }
        (VECTOR, [Value::Bytes(kind), Value::Bytes(bytes)]) => vector(kind, bytes)?,
        _ => return Err(Unreadable::Structure(signature, fields.len())),
    };
    Ok(Value::Stored(Arc::new(value)))
}

#[cfg(test)]
mod tests {
    //! Goal: each value comes back as it was, in the form of version 5 and in the one before.

    use super::*;
    use crate::Version;
    use crate::packstream::Reader;

    fn written(value: &PropertyValue, version: Version, utc: bool) -> Value {
        let mut out = Vec::new();
        let mut writer = Writer {
            out: &mut out,
            full: &mut |_| true,
            has_ended: false,
            version,
            store: "",
            utc,
        };
        write(&mut writer, value);
        Reader::new(&out).value().expect("it was written")
    }

    #[test]
    fn vectors_come_back_or_say_what_they_are() {
        let read = |kind: u8, bytes: &[u8]| {
            let fields = [vec![kind], bytes.to_vec()].map(|it| Value::Bytes(it.into()));
            super::read(VECTOR, &fields).ok()
        };
        let text = |kind, bytes: &[u8]| read(kind, bytes).map(|it| it.to_string());
        let shown = |text: &str| Some(text.to_owned());
        assert_eq!(
            text(0xc9, &[0xff, 0xff, 0, 2]),
            shown("vector([-1, 2], 2, INTEGER16)")
        );
        assert_eq!(
            text(0xc6, &1.5f32.to_be_bytes()),
            shown("vector([1.5], 1, FLOAT32)")
        );
        for (kind, bytes) in [
            (0xc8, &[][..]),
            (0xcb, &[0; 9]),
            (0xc0, &[0]),
            (0xc1, &f64::NAN.to_be_bytes()),
        ] {
            assert_eq!(read(kind, bytes), None);
        }
        for (of, marker) in NUMBERS {
            let bytes: Vec<u8> = (1..=3 * u8::try_from(of.width()).unwrap()).collect();
            let sent = read(*marker, &bytes).expect("a vector");
            let Value::Stored(stored) = &sent else {
                panic!("{sent} is no vector");
            };
            assert_eq!(written(stored, Version(6, 0), true), sent);
            let Value::Map(placeholder) = written(stored, Version(5, 8), true) else {
                panic!("no map stands for {sent}");
            };
            let kind = Value::from(format!("VECTOR<{of} NOT NULL>(3) NOT NULL"));
            assert_eq!(placeholder.get("originalType"), Some(&kind));
        }
    }

    #[test]
    fn values_come_back() {
        let zoned = |name: Option<&str>, offset_seconds| {
            PropertyValue::DateTime(DateTime {
                seconds: 1_720_000_000,
                nanoseconds: 5,
                offset_seconds,
                zone: name.map(Arc::from),
            })
        };
        let values = [
            PropertyValue::Date(-719_162),
            PropertyValue::LocalTime(86_399_999_999_999),
            PropertyValue::Time(Time {
                nanosecond_of_day: 1,
                offset_seconds: -64_800,
            }),
            PropertyValue::LocalDateTime(LocalDateTime {
                seconds: -1,
                nanoseconds: 999_999_999,
            }),
            zoned(None, 3600),
            zoned(Some("Europe/Berlin"), 7200),
            PropertyValue::Duration(Duration {
                months: -1,
                days: 2,
                seconds: -3,
                nanoseconds: 4,
            }),
            PropertyValue::Point(Point {
                srid: 4326,
                x: 1.0,
                y: 2.0,
                z: None,
            }),
            PropertyValue::Point(Point {
                srid: 9157,
                x: 1.0,
                y: 2.0,
                z: Some(3.0),
            }),
        ];
        for value in values {
            for utc in [true, false] {
                let back = written(&value, Version(5, 0), utc);
                assert_eq!(back, Value::Stored(Arc::new(value.clone())));
            }
        }
    }

    #[test]
    fn what_no_value_has_is_an_error() {
        let integer = Value::Integer;
        for (signature, fields) in [
            (DATE, vec![integer(i64::MAX)]),
            (LOCAL_TIME, vec![integer(-1)]),
            (TIME, vec![integer(0), integer(64_801)]),
            (LOCAL_DATE_TIME, vec![integer(0), integer(1_000_000_000)]),
            (DATE_TIME, vec![integer(i64::MIN), integer(0), integer(0)]),
            (
                DATE_TIME_IN_ZONE,
                vec![integer(0), integer(0), Value::from("Nowhere/At_All")],
            ),
            (
                DURATION,
                vec![integer(0), integer(0), integer(i64::MAX), integer(i64::MAX)],
            ),
            (
                POINT_2D,
                vec![integer(9157), Value::Float(0.0), Value::Float(0.0)],
            ),
            (0x4e, vec![integer(1)]),
            (DATE, vec![]),
        ] {
            assert!(
                read(signature, &fields).is_err(),
                "{signature:x} {fields:?}"
            );
        }
    }
}
