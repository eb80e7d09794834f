//! The proleptic Gregorian calendar: day numbers, months, ISO weeks, quarters.
//!
//! # How it works
//! A day is its number since 1970-01-01. Years are counted from March in eras of 400 years (146,097
//! days), so that the leap day is the last day of a year.

use crate::{Error, Result};
use graven_types::told;

/// Smallest and largest year (TM-1).
pub const YEAR_MAX: i64 = 999_999_999;

/// Year, month 1..=12, day 1..=31 of a day number.
#[must_use]
pub fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Day number of a date whose month and day are known to exist.
#[must_use]
pub fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    year.div_euclid(400) * 146_097 + day_of_era - 719_468
}

/// Whether the year has a 29 February.
#[must_use]
pub fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days of a month.
#[must_use]
pub fn month_length(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Day number of a date.
///
/// # Errors
/// A year, month or day that does not exist.
pub fn date(year: i64, month: i64, day: i64) -> Result<i64> {
    check("year", year, -YEAR_MAX, YEAR_MAX)?;
    check("month", month, 1, 12)?;
    check("day", day, 1, month_length(year, month))?;
    Ok(days_of(year, month, day))
}

/// A value within its bounds.
///
/// # Errors
/// It is not.
pub fn check(name: &str, value: i64, min: i64, max: i64) -> Result<()> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(Error::Field(told!(
        "{name} is {value}, must be {min} to {max}"
    )))
}

/// A day number within the calendar (TM-1).
///
/// # Errors
/// It is not.
pub fn in_range(days: i64) -> Result<i64> {
    let all = days_of(-YEAR_MAX, 1, 1)..=days_of(YEAR_MAX, 12, 31);
    if all.contains(&days) {
        Ok(days)
    } else {
        Err(Error::Range("the date"))
    }
}

/// The same day of another month; the last day where that month is shorter.
///
/// # Errors
/// A year that does not exist.
pub fn add_months(days: i64, months: i64) -> Result<i64> {
    let (year, month, day) = civil(days);
    let count = (year * 12 + month - 1)
        .checked_add(months)
        .ok_or(Error::Range("the date"))?;
    let (year, month) = (count.div_euclid(12), count.rem_euclid(12) + 1);
    date(year, month, day.min(month_length(year, month)))
}

/// Monday is 1, Sunday 7.
#[must_use]
pub fn day_of_week(days: i64) -> i64 {
    (days + 3).rem_euclid(7) + 1
}

/// 1 January is 1.
#[must_use]
pub fn day_of_year(days: i64) -> i64 {
    days - days_of(civil(days).0, 1, 1) + 1
}

/// First day of the month's quarter.
#[must_use]
pub fn quarter_start(year: i64, month: i64) -> i64 {
    days_of(year, (month - 1) / 3 * 3 + 1, 1)
}

/// Monday of the first ISO week: the one with 4 January.
#[must_use]
pub fn week_year_start(week_year: i64) -> i64 {
    let fourth = days_of(week_year, 1, 4);
    fourth - day_of_week(fourth) + 1
}

/// ISO week-based year and week 1..=53.
#[must_use]
pub fn week(days: i64) -> (i64, i64) {
    // The Thursday of a week lies in the year that the week belongs to.
    let year = civil(days - day_of_week(days) + 4).0;
    (year, (days - week_year_start(year)) / 7 + 1)
}

/// Weeks of an ISO week-based year: 52 or 53.
#[must_use]
pub fn weeks_in(week_year: i64) -> i64 {
    (week_year_start(week_year + 1) - week_year_start(week_year)) / 7
}

/// Day of an ISO week date.
///
/// # Errors
/// A year, week or day that does not exist.
pub fn week_date(year: i64, week: i64, day: i64) -> Result<i64> {
    check("year", year, -YEAR_MAX, YEAR_MAX)?;
    check("week", week, 1, weeks_in(year))?;
    week_from(year, week, day)
}

/// The same, where week 53 of a year of 52 weeks is the first one of the next year.
///
/// # Errors
/// A year, week or day that no year has.
pub fn week_from(year: i64, week: i64, day: i64) -> Result<i64> {
    check("year", year, -YEAR_MAX, YEAR_MAX)?;
    check("week", week, 1, 53)?;
    check("dayOfWeek", day, 1, 7)?;
    in_range(week_year_start(year) + (week - 1) * 7 + day - 1)
}

/// Day of a quarter date.
///
/// # Errors
/// A year, quarter or day that does not exist.
pub fn quarter_date(year: i64, quarter: i64, day: i64) -> Result<i64> {
    check("year", year, -YEAR_MAX, YEAR_MAX)?;
    check("quarter", quarter, 1, 4)?;
    let start = days_of(year, quarter * 3 - 2, 1);
    let length = days_of(year, quarter * 3, month_length(year, quarter * 3)) - start + 1;
    check("dayOfQuarter", day, 1, length)?;
    Ok(start + day - 1)
}

/// The same, where days that a quarter is too short for lie in the next one.
///
/// # Errors
/// A year, quarter or day that no year has.
pub fn quarter_from(year: i64, quarter: i64, day: i64) -> Result<i64> {
    check("year", year, -YEAR_MAX, YEAR_MAX)?;
    check("quarter", quarter, 1, 4)?;
    check("dayOfQuarter", day, 1, 92)?;
    in_range(days_of(year, quarter * 3 - 2, 1) + day - 1)
}

/// Day of an ordinal date.
///
/// # Errors
/// A year or day that does not exist.
pub fn ordinal_date(year: i64, day: i64) -> Result<i64> {
    check("year", year, -YEAR_MAX, YEAR_MAX)?;
    check("ordinalDay", day, 1, 365 + i64::from(is_leap(year)))?;
    Ok(days_of(year, 1, 1) + day - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn day_numbers_and_dates_are_inverse() {
        let mut expected = days_of(-4, 1, 1);
        for year in -4..=2404 {
            for month in 1..=12 {
                for day in 1..=month_length(year, month) {
                    assert_eq!(days_of(year, month, day), expected);
                    assert_eq!(civil(expected), (year, month, day));
                    expected += 1;
                }
            }
        }
        assert_eq!(days_of(1970, 1, 1), 0);
        for year in [-YEAR_MAX, YEAR_MAX] {
            assert_eq!(civil(days_of(year, 12, 31)), (year, 12, 31));
        }
    }

    #[test]
    fn weeks_at_the_turn_of_the_year() {
        for (year, month, day, expected) in [
            (2015, 12, 31, (2015, 53, 4)),
            (2016, 1, 3, (2015, 53, 7)),
            (2016, 1, 4, (2016, 1, 1)),
            (2018, 12, 31, (2019, 1, 1)),
            (1984, 1, 1, (1983, 52, 7)),
            (0, 1, 1, (-1, 52, 6)),
        ] {
            let days = days_of(year, month, day);
            let (week_year, number) = week(days);
            assert_eq!((week_year, number, day_of_week(days)), expected);
            assert_eq!(week_date(expected.0, expected.1, expected.2), Ok(days));
        }
        assert!(week_date(2017, 53, 1).is_err());
        assert!(week_date(2015, 53, 7).is_ok());
    }

    #[test]
    fn dates_that_do_not_exist_are_refused() {
        assert!(date(1900, 2, 29).is_err());
        assert!(date(2000, 2, 29).is_ok());
        assert!(ordinal_date(2015, 366).is_err());
        assert!(quarter_date(2015, 1, 91).is_err());
        assert!(quarter_date(2016, 1, 91).is_ok());
        assert!(date(YEAR_MAX + 1, 1, 1).is_err());
        assert_eq!(
            add_months(days_of(2016, 3, 31), -1),
            Ok(days_of(2016, 2, 29))
        );
    }
}
