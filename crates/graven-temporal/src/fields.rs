//! Values made of maps: `date({year: 2015, week: 30})`,
//! `datetime({date: d, time: t, timezone: 'Europe/Paris'})`.
//!
//! # How it works
//! A base is chosen: the value under `datetime`, or those under `date` and `time`, or an epoch, or
//! nothing (1 January of the year 0, midnight). Fields then replace parts of it, larger units
//! first; what a base does not give must be given without gaps (a day needs a month). A `timezone`
//! comes last: a base with a zone keeps its moment, any other keeps its local time. A week 53 or a
//! 92nd day of a quarter that there is not is the one after the last. A null is the first of its
//! unit: the first day, the hour 0.

use graven_types::PropertyValue;
use graven_types::told;

use crate::calendar::{
    self, check, civil, day_of_week, month_length, quarter_from, week, week_from, weeks_in,
};
use crate::field_name::{canonical, default};
use crate::parts::{Kind, Parts};
use crate::{Error, Result, SECOND, Zone, text};

/// A value in a map.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    /// A whole number.
    Integer(i64),
    /// A text.
    Text(String),
    /// A temporal value.
    Temporal(PropertyValue),
    /// No value.
    Null,
    /// Anything else, by the name of its type.
    Other(&'static str),
}

/// The moment and zone that stand for "now".
#[derive(Clone, Debug)]
pub struct Clock {
    /// Seconds since 1970 UTC.
    pub seconds: i64,
    /// Nanoseconds of the second.
    pub nanoseconds: u32,
    /// The zone of values that name none.
    pub zone: Zone,
}

impl Clock {
    /// Now, as a value of that type, in the clock's zone or another one.
    ///
    /// # Errors
    /// A moment beyond the calendar.
    pub fn now(&self, kind: Kind, zone: Option<&Zone>) -> Result<PropertyValue> {
        let zone = zone.unwrap_or(&self.zone).clone();
        Parts::at(self.seconds, self.nanoseconds, zone)
            .select(kind)?
            .value(kind)
    }
}

/// The fields of a map; each must be used by the type that is made.
#[derive(Clone, Debug, Default)]
pub struct Fields(Vec<(String, Field)>);

impl FromIterator<(String, Field)> for Fields {
    fn from_iter<I: IntoIterator<Item = (String, Field)>>(fields: I) -> Self {
        let fields = fields.into_iter().map(|(name, field)| {
            let name = canonical(&name).map_or(name, str::to_owned);
            let field = match (field, default(&name)) {
                (Field::Null, Some(first)) => Field::Integer(first),
                (field, _) => field,
            };
            (name, field)
        });
        Fields(fields.collect())
    }
}

const DATE_FIELDS: &[&str] = &[
    "year",
    "quarter",
    "month",
    "week",
    "ordinalDay",
    "dayOfQuarter",
    "dayOfWeek",
    "day",
    "date",
];
const TIME_FIELDS: &[&str] = &[
    "hour",
    "minute",
    "second",
    "millisecond",
    "microsecond",
    "nanosecond",
    "time",
];

impl Fields {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn into_entries(self) -> Vec<(String, Field)> {
        self.0
    }

    fn get(&self, name: &str) -> Option<&Field> {
        self.0
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, value)| value)
    }

    fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Takes a field out.
    pub(crate) fn remove(&mut self, name: &str) -> Option<Field> {
        let place = self.0.iter().position(|(n, _)| n == name)?;
        Some(self.0.remove(place).1)
    }

    pub(crate) fn integer(&self, name: &str) -> Result<Option<i64>> {
        match self.get(name) {
            None => Ok(None),
            Some(Field::Integer(i)) => Ok(Some(*i)),
            Some(other) => Err(wrong(name, "an Integer", other)),
        }
    }

    fn temporal(&self, name: &str) -> Result<Option<Parts>> {
        match self.get(name) {
            None => Ok(None),
            Some(field @ Field::Temporal(value)) => match Parts::of(value) {
                Some(parts) => Ok(Some(parts)),
                None => Err(wrong(name, "a date or time", field)),
            },
            Some(other) => Err(wrong(name, "a date or time", other)),
        }
    }

    /// The zone under `timezone`.
    ///
    /// # Errors
    /// It is no text or names no zone.
    pub fn zone(&self) -> Result<Option<Zone>> {
        match self.get("timezone") {
            None => Ok(None),
            Some(Field::Text(name)) => Zone::parse(name).map(Some),
            Some(other) => Err(wrong("timezone", "a String", other)),
        }
    }

    /// Every field is one that the type knows, and given once.
    fn check_names(&self, kind: Kind) -> Result<()> {
        for (place, (name, _)) in self.0.iter().enumerate() {
            let name = name.as_str();
            if canonical(name).is_none() {
                return Err(Error::Field(told!("{} has no field {name}", kind.name())));
            }
            let known = (kind.has_date() && DATE_FIELDS.contains(&name))
                || (kind.has_time() && TIME_FIELDS.contains(&name))
                || (kind.has_date() && kind.has_time() && name == "datetime")
                || (kind == Kind::DateTime && matches!(name, "epochSeconds" | "epochMillis"))
                || (kind.has_zone() && name == "timezone");
            if !known {
                let message = told!("{} has no field {name}", kind.name());
                return Err(Error::Lacks(message));
            }
            if self.0[..place].iter().any(|(before, _)| before == name) {
                return Err(Error::Field(told!("{name} is given twice")));
            }
        }
        Ok(())
    }

    /// The fields name the day in one way only.
    fn check_way(&self) -> Result<()> {
        let mut used = WAYS
            .iter()
            .filter(|(_, names)| names.iter().any(|name| self.has(name)));
        match (used.next(), used.next()) {
            (Some((a, _)), Some((b, _))) => {
                Err(Error::Lacks(told!("{a} cannot be given together with {b}")))
            }
            _ => Ok(()),
        }
    }
}

/// Ways to name a day of a year.
const WAYS: [(&str, &[&str]); 4] = [
    ("month and day", &["month", "day"]),
    ("week and dayOfWeek", &["week", "dayOfWeek"]),
    ("quarter and dayOfQuarter", &["quarter", "dayOfQuarter"]),
    ("ordinalDay", &["ordinalDay"]),
];

fn wrong(name: &str, wanted: &str, got: &Field) -> Error {
    let got = match got {
        Field::Integer(_) => "an Integer",
        Field::Text(_) => "a String",
        Field::Temporal(value) => value.type_name(),
        Field::Null => "null",
        Field::Other(name) => name,
    };
    Error::Field(told!("{name} must be {wanted}, it is {got}"))
}

/// The value of that type with these fields.
///
/// # Errors
/// A field that is unknown, missing, of the wrong type or without meaning beside another one
/// ([`Error::Lacks`] where the type does not have it); a value out of range.
pub fn make(kind: Kind, fields: &Fields, clock: &Clock) -> Result<PropertyValue> {
    if fields.0.len() == 1
        && let Some(zone) = fields.zone()?
    {
        return clock.now(kind, Some(&zone));
    }
    fields.check_names(kind)?;
    fields.check_way()?;
    assemble(kind, fields, clock)?.value(kind)
}

/// What the fields replace, and what of it was given.
struct Base {
    parts: Parts,
    has_date: bool,
    has_time: bool,
    /// The base has a moment that a change of zone keeps.
    has_moment: bool,
}

fn base(kind: Kind, fields: &Fields, clock: &Clock) -> Result<Base> {
    let conflict = |a, b| Error::Field(told!("{a} and {b} cannot be given together"));
    if let Some(epoch) = epoch(fields)? {
        if let Some(other) = ["date", "time", "datetime"].iter().find(|n| fields.has(n)) {
            return Err(conflict("an epoch", other));
        }
        let zone = fields.zone()?.unwrap_or_else(|| clock.zone.clone());
        return Ok(Base {
            parts: Parts::at(epoch.0, epoch.1, zone),
            has_date: true,
            has_time: true,
            has_moment: true,
        });
    }
    if let Some(parts) = fields.temporal("datetime")? {
        if let Some(other) = ["date", "time"].iter().find(|n| fields.has(n)) {
            return Err(conflict("datetime", other));
        }
        if parts.nanos.is_none() {
            return Err(Error::Lacks("datetime has no time of day".to_owned()));
        }
        let parts = parts.select(kind)?;
        return Ok(Base {
            has_date: true,
            has_time: true,
            has_moment: parts.zone.is_some(),
            parts,
        });
    }
    let date = fields
        .temporal("date")?
        .map(|p| p.select(Kind::Date))
        .transpose()?;
    let time = fields.temporal("time")?;
    let has_moment = time.as_ref().is_some_and(|t| t.zone.is_some());
    let (has_date, has_time) = (date.is_some(), time.is_some());
    let mut parts = Parts {
        date: kind.has_date().then(|| calendar::days_of(0, 1, 1)),
        nanos: kind.has_time().then_some(0),
        ..Parts::default()
    };
    if let Some(date) = date {
        parts.date = date.date;
    }
    if let Some(time) = time {
        if time.nanos.is_none() {
            return Err(Error::Lacks("time has no time of day".to_owned()));
        }
        if kind.has_zone() {
            // A zone goes along with the time of day; a `time` has only its offset.
            let offset = time.offset_seconds();
            parts.offset = time.zone.is_some().then_some(offset);
            parts.zone = if kind == Kind::Time {
                time.zone.as_ref().map(|_| Zone::Offset(offset))
            } else {
                time.zone.clone()
            };
        }
        parts.nanos = time.nanos;
    }
    Ok(Base {
        parts,
        has_date,
        has_time,
        has_moment,
    })
}

/// Seconds and nanoseconds of `epochSeconds` or `epochMillis`.
fn epoch(fields: &Fields) -> Result<Option<(i64, u32)>> {
    match (
        fields.integer("epochSeconds")?,
        fields.integer("epochMillis")?,
    ) {
        (None, None) => Ok(None),
        (Some(seconds), None) => Ok(Some((seconds, 0))),
        (None, Some(millis)) => Ok(Some((
            millis.div_euclid(1000),
            millis.rem_euclid(1000) as u32 * 1_000_000,
        ))),
        (Some(_), Some(_)) => Err(Error::Field(
            "epochSeconds and epochMillis cannot be given together".to_owned(),
        )),
    }
}

fn assemble(kind: Kind, fields: &Fields, clock: &Clock) -> Result<Parts> {
    let Base {
        mut parts,
        has_date,
        has_time,
        has_moment,
    } = base(kind, fields, clock)?;
    if let Some(date) = parts.date
        && kind.has_date()
    {
        parts.date = Some(assemble_date(date, has_date, fields)?);
    }
    if let Some(nanos) = parts.nanos
        && kind.has_time()
    {
        // Behind a date that is not whole no time can stand.
        let has_fields = TIME_FIELDS.iter().any(|n| fields.has(n));
        if kind.has_date() && !has_date && has_fields {
            check_day_given(fields)?;
        }
        let is_start = has_time || (kind.has_date() && !has_fields);
        parts.nanos = Some(assemble_time(nanos, is_start, has_time, fields)?);
    }
    if !kind.has_zone() {
        return Ok(parts);
    }
    Ok(match fields.zone()? {
        Some(zone) if has_moment => {
            let zone = if kind == Kind::Time {
                Zone::Offset(now_offset(&zone, clock))
            } else {
                zone
            };
            parts.same_instant(zone)
        }
        Some(zone) if kind == Kind::Time => Parts {
            zone: Some(Zone::Offset(now_offset(&zone, clock))),
            offset: None,
            ..parts
        },
        Some(zone) => Parts {
            zone: Some(zone),
            offset: None,
            ..parts
        },
        None => Parts {
            zone: Some(parts.zone.unwrap_or_else(|| clock.zone.clone())),
            ..parts
        },
    })
}

/// A time of day has an offset, not a zone: that of now.
fn now_offset(zone: &Zone, clock: &Clock) -> i32 {
    zone.offset_at(clock.seconds)
}

/// Which of the ways to name a day the fields use.
fn assemble_date(date: i64, has_base: bool, fields: &Fields) -> Result<i64> {
    let [year, quarter, month, week_number] =
        ["year", "quarter", "month", "week"].map(|n| fields.integer(n));
    let [ordinal, quarter_day, week_day, day] =
        ["ordinalDay", "dayOfQuarter", "dayOfWeek", "day"].map(|n| fields.integer(n));
    let (year, quarter, month, week_number) = (year?, quarter?, month?, week_number?);
    let (ordinal, quarter_day, week_day, day) = (ordinal?, quarter_day?, week_day?, day?);
    let need = |larger: &str, smaller: &str| Error::Field(told!("{smaller} needs {larger}"));
    if !has_base {
        let year = year.ok_or_else(|| Error::Field("year is missing".to_owned()))?;
        if day.is_some() && month.is_none() {
            return Err(need("month", "day"));
        }
        if week_day.is_some() && week_number.is_none() {
            return Err(need("week", "dayOfWeek"));
        }
        if quarter_day.is_some() && quarter.is_none() {
            return Err(need("quarter", "dayOfQuarter"));
        }
        return match (ordinal, week_number, quarter) {
            (Some(day), _, _) => calendar::ordinal_date(year, day),
            (_, Some(week), _) => week_from(year, week, week_day.unwrap_or(1)),
            (_, _, Some(quarter)) => quarter_from(year, quarter, quarter_day.unwrap_or(1)),
            _ => calendar::date(year, month.unwrap_or(1), day.unwrap_or(1)),
        };
    }
    if week_number.is_some() || week_day.is_some() {
        let (base_year, base_week) = week(date);
        let year = year.unwrap_or(base_year);
        check("year", year, -calendar::YEAR_MAX, calendar::YEAR_MAX)?;
        let week = week_number.unwrap_or_else(|| base_week.min(weeks_in(year)));
        return week_from(year, week, week_day.unwrap_or_else(|| day_of_week(date)));
    }
    let (base_year, base_month, base_day) = civil(date);
    let year = year.unwrap_or(base_year);
    check("year", year, -calendar::YEAR_MAX, calendar::YEAR_MAX)?;
    if let Some(day) = ordinal {
        return calendar::ordinal_date(year, day);
    }
    if let Some(day) = quarter_day {
        return quarter_from(year, quarter.unwrap_or((base_month + 2) / 3), day);
    }
    // Another quarter: the same month of it.
    let base_month = match quarter {
        Some(quarter) => {
            check("quarter", quarter, 1, 4)?;
            (quarter - 1) * 3 + (base_month - 1) % 3 + 1
        }
        None => base_month,
    };
    let month = month.unwrap_or(base_month);
    check("month", month, 1, 12)?;
    // A day that the new month does not have is its last one, unless it was asked for.
    calendar::date(
        year,
        month,
        day.unwrap_or_else(|| base_day.min(month_length(year, month))),
    )
}

/// A time of day stands only behind a whole date.
fn check_day_given(fields: &Fields) -> Result<()> {
    let dates = ["month", "week", "quarter", "ordinalDay"];
    if fields.has("year") && !dates.iter().any(|name| fields.has(name)) {
        return Err(Error::Field("a time of day needs month and day".to_owned()));
    }
    if fields.has("month") && !fields.has("day") {
        return Err(Error::Field("a time of day needs day".to_owned()));
    }
    if fields.has("week") && !fields.has("dayOfWeek") {
        return Err(Error::Field("a time of day needs dayOfWeek".to_owned()));
    }
    if fields.has("quarter") && !fields.has("dayOfQuarter") {
        return Err(Error::Field("a time of day needs dayOfQuarter".to_owned()));
    }
    Ok(())
}

fn assemble_time(nanos: i64, is_start: bool, has_base: bool, fields: &Fields) -> Result<i64> {
    let [hour, minute, second] = ["hour", "minute", "second"].map(|n| fields.integer(n));
    let (hour, minute, second) = (hour?, minute?, second?);
    let fraction = subseconds(fields)?;
    if !has_base && !is_start {
        let given = [
            hour.is_some(),
            minute.is_some(),
            second.is_some(),
            fraction.is_some(),
        ];
        let names = ["hour", "minute", "second", "a part of a second"];
        for (n, name) in names.iter().enumerate().skip(1) {
            if given[n] && !given[n - 1] {
                return Err(Error::Field(told!("{name} needs {}", names[n - 1])));
            }
        }
        if !given[0] {
            return Err(Error::Field("hour is missing".to_owned()));
        }
    }
    let seconds = nanos / SECOND;
    let hour = hour.unwrap_or(seconds / 3600);
    let minute = minute.unwrap_or(seconds / 60 % 60);
    let second = second.unwrap_or(seconds % 60);
    check("hour", hour, 0, 23)?;
    check("minute", minute, 0, 59)?;
    check("second", second, 0, 59)?;
    let fraction = fraction.unwrap_or(nanos % SECOND);
    Ok((hour * 3600 + minute * 60 + second) * SECOND + fraction)
}

/// Milliseconds, microseconds and nanoseconds as nanoseconds; each counts from the larger one that
/// is given.
fn subseconds(fields: &Fields) -> Result<Option<i64>> {
    let micro = fields.integer("microsecond")?;
    // An epoch in milliseconds has given them, where nanoseconds follow.
    let epoch = match micro {
        None => fields.integer("epochMillis")?.map(|ms| ms.rem_euclid(1000)),
        Some(_) => None,
    };
    let milli = fields.integer("millisecond")?.or(epoch);
    let nano = fields.integer("nanosecond")?;
    if milli.is_none() && micro.is_none() && nano.is_none() {
        return Ok(None);
    }
    let micro_max = if milli.is_some() { 999 } else { 999_999 };
    let nano_max = match (milli, micro) {
        (_, Some(_)) => 999,
        (Some(_), None) => 999_999,
        (None, None) => 999_999_999,
    };
    let [milli, micro, nano] = [milli, micro, nano].map(|n| n.unwrap_or(0));
    check("millisecond", milli, 0, 999)?;
    check("microsecond", micro, 0, micro_max)?;
    check("nanosecond", nano, 0, nano_max)?;
    Ok(Some(milli * 1_000_000 + micro * 1000 + nano))
}

/// The value of that type made of a text or of another value.
///
/// # Errors
/// As [`text::parse`] and [`Parts::select`].
pub fn convert(kind: Kind, from: &Field, clock: &Clock) -> Result<PropertyValue> {
    match from {
        Field::Text(text) => text::parse(kind, text, &clock.zone),
        Field::Temporal(value) => {
            let parts = Parts::of(value)
                .ok_or_else(|| wrong(kind.name(), "made of a date or time", from))?;
            if kind.has_time() && parts.nanos.is_none() {
                let message = told!("a {} needs a time of day", kind.name());
                return Err(Error::Lacks(message));
            }
            let mut parts = parts.select(kind)?;
            if kind.has_zone() && parts.zone.is_none() {
                parts.zone = Some(clock.zone.clone());
            }
            parts.value(kind)
        }
        other => Err(wrong(
            &format!("the argument of {}", kind.name()),
            "a Map, String or temporal value",
            other,
        )),
    }
}
