//! A temporal value taken apart into day, time of day and zone, and put together again.

use graven_types::PropertyValue;
use graven_types::told;
use graven_types::{DateTime, LocalDateTime, Time};

use crate::calendar::in_range;
use crate::{Error, Result, SECOND, Zone};

/// The types with a day or a time of day.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `date`
    Date,
    /// `localtime`
    LocalTime,
    /// `time`
    Time,
    /// `localdatetime`
    LocalDateTime,
    /// `datetime`
    DateTime,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 5] = [
        Kind::Date,
        Kind::LocalTime,
        Kind::Time,
        Kind::LocalDateTime,
        Kind::DateTime,
    ];

    /// That of a value, if it is a date or a time.
    #[must_use]
    pub fn of(value: &PropertyValue) -> Option<Kind> {
        Some(match value {
            PropertyValue::Date(_) => Kind::Date,
            PropertyValue::LocalTime(_) => Kind::LocalTime,
            PropertyValue::Time(_) => Kind::Time,
            PropertyValue::LocalDateTime(_) => Kind::LocalDateTime,
            PropertyValue::DateTime(_) => Kind::DateTime,
            _ => return None,
        })
    }

    /// Name of the function that makes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Date => "date",
            Kind::LocalTime => "localtime",
            Kind::Time => "time",
            Kind::LocalDateTime => "localdatetime",
            Kind::DateTime => "datetime",
        }
    }

    /// Whether it has a day.
    #[must_use]
    pub fn has_date(self) -> bool {
        matches!(self, Kind::Date | Kind::LocalDateTime | Kind::DateTime)
    }

    /// Whether it has a time of day.
    #[must_use]
    pub fn has_time(self) -> bool {
        self != Kind::Date
    }

    /// Whether it has a zone.
    #[must_use]
    pub fn has_zone(self) -> bool {
        matches!(self, Kind::Time | Kind::DateTime)
    }
}

/// Day, time of day and zone; a part that the type does not have is none.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// Days since 1970-01-01.
    pub date: Option<i64>,
    /// Nanoseconds since midnight.
    pub nanos: Option<i64>,
    /// Where the clock stands.
    pub zone: Option<Zone>,
    /// The offset that decides where a local time happens twice.
    pub offset: Option<i32>,
}

impl Parts {
    /// The parts of a value; none for durations and everything that is not temporal.
    ///
    /// # Errors
    /// A stored zone that this build does not know and that has no offset to fall back to: never,
    /// as every stored moment has its offset.
    #[must_use]
    pub fn of(value: &PropertyValue) -> Option<Parts> {
        Some(match value {
            PropertyValue::Date(days) => Parts {
                date: Some(*days),
                ..Parts::default()
            },
            PropertyValue::LocalTime(nanos) => Parts {
                nanos: Some(*nanos),
                ..Parts::default()
            },
            PropertyValue::Time(time) => Parts {
                nanos: Some(time.nanosecond_of_day),
                zone: Some(Zone::Offset(time.offset_seconds)),
                offset: Some(time.offset_seconds),
                ..Parts::default()
            },
            PropertyValue::LocalDateTime(moment) => {
                Parts::local(moment.seconds, moment.nanoseconds)
            }
            PropertyValue::DateTime(moment) => {
                let local = moment.seconds + i64::from(moment.offset_seconds);
                let named = moment.zone.as_ref().and_then(|name| Zone::parse(name).ok());
                Parts {
                    zone: Some(named.unwrap_or(Zone::Offset(moment.offset_seconds))),
                    offset: Some(moment.offset_seconds),
                    ..Parts::local(local, moment.nanoseconds)
                }
            }
            _ => return None,
        })
    }

    /// Day and time of day of local seconds since 1970.
    #[must_use]
    pub fn local(seconds: i64, nanoseconds: u32) -> Parts {
        Parts {
            date: Some(seconds.div_euclid(86_400)),
            nanos: Some(seconds.rem_euclid(86_400) * SECOND + i64::from(nanoseconds)),
            ..Parts::default()
        }
    }

    /// A moment as a clock in `zone` shows it.
    #[must_use]
    pub fn at(utc: i64, nanoseconds: u32, zone: Zone) -> Parts {
        let offset = zone.offset_at(utc);
        Parts {
            zone: Some(zone),
            offset: Some(offset),
            ..Parts::local(utc + i64::from(offset), nanoseconds)
        }
    }

    /// Local seconds since 1970 and nanoseconds; a missing day is 1970-01-01, a missing time
    /// midnight.
    #[must_use]
    pub fn local_seconds(&self) -> (i64, u32) {
        let nanos = self.nanos.unwrap_or(0);
        let seconds = self.date.unwrap_or(0) * 86_400 + nanos / SECOND;
        (seconds, (nanos % SECOND) as u32)
    }

    /// The moment in seconds since 1970 UTC, its nanoseconds, and the offset; no zone counts as
    /// UTC.
    #[must_use]
    pub fn instant(&self) -> (i64, u32, i32) {
        let (local, nanos) = self.local_seconds();
        let zone = self.zone.as_ref().unwrap_or(&Zone::UTC);
        let (utc, offset) = zone.resolve(local, self.offset);
        (utc, nanos, offset)
    }

    /// Seconds east of UTC; a zone without a day counts as on 1970-01-01.
    #[must_use]
    pub fn offset_seconds(&self) -> i32 {
        self.instant().2
    }

    /// The same moment on a clock in another zone. Without a day the time of day goes around.
    #[must_use]
    pub fn same_instant(&self, zone: Zone) -> Parts {
        let (utc, nanos, _) = self.instant();
        let moved = Parts::at(utc, nanos, zone);
        Parts {
            date: self.date.and(moved.date),
            ..moved
        }
    }

    /// The value of that type.
    ///
    /// # Errors
    /// A day beyond the calendar.
    pub fn value(&self, kind: Kind) -> Result<PropertyValue> {
        let date = in_range(self.date.unwrap_or(0))?;
        let (seconds, nanoseconds) = self.local_seconds();
        Ok(match kind {
            Kind::Date => PropertyValue::Date(date),
            Kind::LocalTime => PropertyValue::LocalTime(self.nanos.unwrap_or(0)),
            Kind::Time => PropertyValue::Time(Time {
                nanosecond_of_day: self.nanos.unwrap_or(0),
                offset_seconds: self.offset_seconds(),
            }),
            Kind::LocalDateTime => PropertyValue::LocalDateTime(LocalDateTime {
                seconds,
                nanoseconds,
            }),
            Kind::DateTime => {
                let (seconds, nanoseconds, offset_seconds) = self.instant();
                PropertyValue::DateTime(DateTime {
                    seconds,
                    nanoseconds,
                    offset_seconds,
                    zone: self.zone.as_ref().and_then(|z| z.name().cloned()),
                })
            }
        })
    }

    /// The parts that `kind` has, taken from this value.
    ///
    /// # Errors
    /// A part is missing that cannot be made up: the day; the time of day of a type that has
    /// nothing else.
    pub fn select(&self, kind: Kind) -> Result<Parts> {
        let missing = |what| {
            Error::Lacks(told!(
                "a {} cannot be made of a value without {what}",
                kind.name()
            ))
        };
        if kind.has_date() && self.date.is_none() {
            return Err(missing("a day"));
        }
        if !kind.has_date() && self.nanos.is_none() {
            return Err(missing("a time of day"));
        }
        let zone = self.zone.clone().filter(|_| kind.has_zone());
        // A time of day keeps the offset that its moment had, not the zone.
        let zone = match zone {
            Some(_) if !kind.has_date() => Some(Zone::Offset(self.offset_seconds())),
            other => other,
        };
        Ok(Parts {
            date: self.date.filter(|_| kind.has_date()),
            nanos: self.nanos.filter(|_| kind.has_time()),
            offset: self.offset.filter(|_| kind.has_zone()),
            zone,
        })
    }
}
