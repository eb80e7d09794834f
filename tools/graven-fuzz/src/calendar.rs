//! Days since 1970-01-01 as years, months and days.

/// Year, month and day of a date after 1970, counted from there year by year and month by month.
pub(crate) fn civil(mut days: i64) -> (i64, i64, i64) {
    let mut year = 1970;
    loop {
        for (month, length) in (1..).zip(months(year)) {
            if days < length {
                return (year, month, days + 1);
            }
            days -= length;
        }
        year += 1;
    }
}

/// The date after some months: the last day of a month that is too short.
pub(crate) fn add_months(days: i64, count: i64) -> i64 {
    let (year, month, day) = civil(days);
    let whole = year * 12 + month - 1 + count;
    let (year, month) = (whole.div_euclid(12), whole.rem_euclid(12) as usize);
    let before: i64 = (1970..year).map(|y| months(y).iter().sum::<i64>()).sum();
    let of_year: i64 = months(year)[..month].iter().sum();
    before + of_year + day.min(months(year)[month]) - 1
}

/// `2020-02-29`.
pub(crate) fn iso(days: i64) -> String {
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Days of the months of a year.
fn months(year: i64) -> [i64; 12] {
    let leap = year % 4 == 0 && year % 100 != 0 || year % 400 == 0;
    let february = if leap { 29 } else { 28 };
    [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
}
