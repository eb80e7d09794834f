//! Names of the parts of dates and times, in any letter case.

/// Every name of a part or of a base in a map, as it is written.
const NAMES: [&str; 24] = [
    "year",
    "quarter",
    "month",
    "week",
    "weekYear",
    "ordinalDay",
    "dayOfQuarter",
    "dayOfWeek",
    "day",
    "hour",
    "minute",
    "second",
    "millisecond",
    "microsecond",
    "nanosecond",
    "timezone",
    "offset",
    "offsetMinutes",
    "offsetSeconds",
    "epochSeconds",
    "epochMillis",
    "date",
    "time",
    "datetime",
];

/// Other names of the same parts.
const OTHER: [(&str, &str); 2] = [("weekDay", "dayOfWeek"), ("quarterDay", "dayOfQuarter")];

/// The name as this crate writes it; none if nothing is called so.
#[must_use]
pub(crate) fn canonical(name: &str) -> Option<&'static str> {
    let is_it = |known: &&str| known.eq_ignore_ascii_case(name);
    let found = NAMES.iter().find(|known| is_it(known));
    found.copied().or_else(|| {
        let other = OTHER.iter().find(|(known, _)| is_it(known));
        other.map(|(_, known)| *known)
    })
}

/// What a null under that name stands for: the first day, the first moment. None for names of
/// other things than numbers.
#[must_use]
pub(crate) fn default(name: &str) -> Option<i64> {
    Some(match name {
        "year" | "hour" | "minute" | "second" | "millisecond" | "microsecond" | "nanosecond" => 0,
        "quarter" | "month" | "week" | "ordinalDay" | "dayOfQuarter" | "dayOfWeek" | "day" => 1,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_no_letter_case_and_some_are_doubled() {
        for (name, expected) in [
            ("Year", Some("year")),
            ("EPOCHMILLIS", Some("epochMillis")),
            ("weekday", Some("dayOfWeek")),
            ("quarterDay", Some("dayOfQuarter")),
            ("dayOfYear", None),
            ("", None),
        ] {
            assert_eq!(canonical(name), expected, "{name}");
        }
    }
}
