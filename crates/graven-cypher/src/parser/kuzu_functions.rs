//! Which functions of Kuzu are read as what: the tables.
//!
//! # How it works
//! A row of [`FUNCTIONS`] gives a function by what says the same here: a text in which `$0`, `$1`
//! stand for the arguments. Names that openCypher has, too, are not in the table.

/// The parts of a text; of empty parts only the last one.
const SPLIT: &str = "[`  p` IN [split($0, $1)] | \
    [`  x` IN `  p`[..-1] WHERE `  x` <> ''] || `  p`[-1..]][0]";

/// Name in lower case, number of arguments, and what it is. `list_` stands for `array_`, too. What
/// stands behind `?` is null where an argument is null. What stands behind `=` is so, too, and an
/// error where the lists of the two arguments differ in length.
pub(super) const FUNCTIONS: &[(&str, usize, &str)] = &[
    // Lists.
    ("list_len", 1, "size($0)"),
    ("len", 1, "size($0)"),
    ("array_extract", 2, "graven.element($0, $1, true)"),
    ("list_extract", 2, "graven.element($0, $1, false)"),
    ("list_element", 2, "graven.element($0, $1, false)"),
    ("list_concat", 2, "$0 + $1"),
    ("list_cat", 2, "$0 + $1"),
    (
        "list_append",
        2,
        "CASE WHEN $1 IS NOT NULL THEN $0 || [$1] END",
    ),
    (
        "list_push_back",
        2,
        "CASE WHEN $1 IS NOT NULL THEN $0 || [$1] END",
    ),
    (
        "list_prepend",
        2,
        "CASE WHEN $1 IS NOT NULL THEN [$1] || $0 END",
    ),
    (
        "list_push_front",
        2,
        "CASE WHEN $1 IS NOT NULL THEN [$1] || $0 END",
    ),
    ("list_position", 2, "?apoc.coll.indexOf($0, $1) + 1"),
    ("list_indexof", 2, "?apoc.coll.indexOf($0, $1) + 1"),
    ("list_contains", 2, "$1 IN $0"),
    ("list_has", 2, "$1 IN $0"),
    ("list_has_all", 2, "all(`  x` IN $1 WHERE `  x` IN $0)"),
    ("list_slice", 3, "graven.slice($0, $1, $2)"),
    ("list_sort", 1, "graven.sort($0, 'ASC', 'NULLS FIRST')"),
    ("list_sort", 2, "graven.sort($0, $1, 'NULLS FIRST')"),
    ("list_sort", 3, "graven.sort($0, $1, $2)"),
    (
        "list_reverse_sort",
        1,
        "graven.sort($0, 'DESC', 'NULLS FIRST')",
    ),
    ("list_reverse_sort", 2, "graven.sort($0, 'DESC', $1)"),
    ("list_reverse", 1, "reverse($0)"),
    (
        "list_sum",
        1,
        // The product is an error of what is no number, where a sum of texts is one.
        "reduce(`  s` = 0, `  x` IN $0 | `  s` + 1 * coalesce(`  x`, 0))",
    ),
    (
        "list_product",
        1,
        "reduce(`  s` = 1, `  x` IN $0 | `  s` * coalesce(`  x`, 1))",
    ),
    (
        "list_distinct",
        1,
        "apoc.coll.toSet([`  x` IN $0 WHERE `  x` IS NOT NULL])",
    ),
    (
        "list_unique",
        1,
        "size(apoc.coll.toSet([`  x` IN $0 WHERE `  x` IS NOT NULL]))",
    ),
    (
        "list_any_value",
        1,
        "head([`  x` IN $0 WHERE `  x` IS NOT NULL])",
    ),
    (
        "list_to_string",
        2,
        "?apoc.text.join([`  x` IN $1 WHERE `  x` IS NOT NULL | cast(`  x`, 'STRING')], $0)",
    ),
    // Vectors.
    (
        "array_inner_product",
        2,
        "=reduce(`  s` = 0.0, `  i` IN range(0, size($0) - 1) | `  s` + $0[`  i`] * $1[`  i`])",
    ),
    (
        "array_dot_product",
        2,
        "=reduce(`  s` = 0.0, `  i` IN range(0, size($0) - 1) | `  s` + $0[`  i`] * $1[`  i`])",
    ),
    (
        "array_squared_distance",
        2,
        "=reduce(`  s` = 0.0, `  i` IN range(0, size($0) - 1) | \
            `  s` + ($0[`  i`] - $1[`  i`]) ^ 2)",
    ),
    (
        "array_distance",
        2,
        "=sqrt(reduce(`  s` = 0.0, `  i` IN range(0, size($0) - 1) | \
            `  s` + ($0[`  i`] - $1[`  i`]) ^ 2))",
    ),
    (
        "array_cosine_similarity",
        2,
        "2 * vector.similarity.cosine($0, $1) - 1",
    ),
    (
        "array_cross_product",
        2,
        "CASE WHEN size($0) = 3 AND size($1) = 3 THEN \
            [$0[1] * $1[2] - $0[2] * $1[1], $0[2] * $1[0] - $0[0] * $1[2], \
            $0[0] * $1[1] - $0[1] * $1[0]] END",
    ),
    // Texts.
    ("contains", 2, "$0 CONTAINS $1"),
    ("starts_with", 2, "$0 STARTS WITH $1"),
    ("prefix", 2, "$0 STARTS WITH $1"),
    ("ends_with", 2, "$0 ENDS WITH $1"),
    ("suffix", 2, "$0 ENDS WITH $1"),
    ("ucase", 1, "toUpper($0)"),
    ("lcase", 1, "toLower($0)"),
    (
        "substr",
        3,
        "?CASE WHEN $1 < 1 OR $2 < 0 THEN '' ELSE substring($0, $1 - 1, $2) END",
    ),
    (
        "lpad",
        3,
        "?CASE WHEN $1 < 0 THEN '' WHEN size($0) >= $1 THEN left($0, $1) \
            ELSE left(apoc.text.repeat($2, $1), $1 - size($0)) || $0 END",
    ),
    (
        "rpad",
        3,
        "?CASE WHEN $1 < 0 THEN '' WHEN size($0) >= $1 THEN left($0, $1) \
            ELSE left($0 || apoc.text.repeat($2, $1), $1) END",
    ),
    ("repeat", 2, "?apoc.text.repeat($0, $1)"),
    (
        "initcap",
        1,
        "toUpper(left($0, 1)) || toLower(substring($0, 1))",
    ),
    ("levenshtein", 2, "apoc.text.levenshteinDistance($0, $1)"),
    ("string_split", 2, SPLIT),
    ("str_split", 2, SPLIT),
    ("string_to_array", 2, SPLIT),
    (
        "split_part",
        3,
        "?CASE WHEN $2 > 0 THEN coalesce(string_split($0, $1)[$2 - 1], '') ELSE '' END",
    ),
    (
        "regexp_extract",
        2,
        "?coalesce(apoc.text.regexGroups($0, $1)[0][0], '')",
    ),
    (
        "regexp_extract",
        3,
        "?head([`  g` IN [apoc.text.regexGroups($0, $1)[0]] | CASE \
            WHEN $2 < 0 OR $2 >= size(`  g`) THEN apoc.util.validatePredicate(true, \
            'regexp_extract: the pattern has no group %d', [$2]) \
            ELSE coalesce(`  g`[$2], '') END])",
    ),
    (
        "regexp_extract_all",
        2,
        "?[`  x` IN apoc.text.regexGroups($0, $1) | `  x`[0]]",
    ),
    (
        "regexp_extract_all",
        3,
        "?[`  x` IN apoc.text.regexGroups($0, $1) | CASE \
            WHEN $2 < 0 OR $2 >= size(`  x`) THEN apoc.util.validatePredicate(true, \
            'regexp_extract_all: the pattern has no group %d', [$2]) \
            ELSE coalesce(`  x`[$2], '') END]",
    ),
    (
        "regexp_replace",
        3,
        "graven.regexpReplace($0, $1, $2, false)",
    ),
    (
        "regexp_split_to_array",
        2,
        "[`  x` IN apoc.text.split($0, $1) WHERE `  x` <> '']",
    ),
    ("regexp_full_match", 2, "$0 =~ $1"),
    ("regexp_matches", 2, "$0 =~ ('(?s).*?(?:' || $1 || ').*')"),
    ("string", 1, "cast($0, 'STRING')"),
    ("to_string", 1, "cast($0, 'STRING')"),
    // Values.
    ("nextval", 1, "graven.nextValue($0)"),
    ("currval", 1, "graven.currentValue($0)"),
    ("typeof", 1, "graven.typeOf($0)"),
    ("union_tag", 1, "graven.unionOf($0)"),
    ("union_extract", 2, "graven.unionOf($0, $1)"),
    ("ifnull", 2, "coalesce($0, $1)"),
    (
        "constant_or_null",
        2,
        "CASE WHEN $1 IS NULL THEN NULL ELSE $0 END",
    ),
    (
        "count_if",
        1,
        "sum(CASE WHEN cast($0, 'BOOL') THEN 1 ELSE 0 END)",
    ),
    ("uuid", 0, "randomUUID()"),
    ("gen_random_uuid", 0, "randomUUID()"),
    ("uuid", 1, "cast($0, 'UUID')"),
    ("to_uuid", 1, "cast($0, 'UUID')"),
    ("error", 1, "apoc.util.validatePredicate(true, $0, [])"),
    ("blob", 1, "cast($0, 'BLOB')"),
    ("to_blob", 1, "cast($0, 'BLOB')"),
    ("encode", 1, "graven.encode($0)"),
    ("decode", 1, "graven.decode($0)"),
    ("octet_length", 1, "graven.octetLength($0)"),
    ("md5", 1, "?apoc.util.md5([cast($0, 'STRING')])"),
    ("hash", 1, "graven.hash($0)"),
    ("sha256", 1, "?apoc.util.sha256([cast($0, 'STRING')])"),
    ("to_int64", 1, "cast($0, 'INT64')"),
    ("to_int32", 1, "cast($0, 'INT32')"),
    ("to_int16", 1, "cast($0, 'INT16')"),
    ("to_int8", 1, "cast($0, 'INT8')"),
    ("to_int128", 1, "cast($0, 'INT128')"),
    ("to_uint64", 1, "cast($0, 'UINT64')"),
    ("to_uint32", 1, "cast($0, 'UINT32')"),
    ("to_uint16", 1, "cast($0, 'UINT16')"),
    ("to_uint8", 1, "cast($0, 'UINT8')"),
    ("to_float", 1, "cast($0, 'FLOAT')"),
    ("to_double", 1, "cast($0, 'DOUBLE')"),
    ("to_bool", 1, "cast($0, 'BOOL')"),
    ("to_date", 1, "cast($0, 'DATE')"),
    ("to_interval", 1, "cast($0, 'INTERVAL')"),
    ("to_serial", 1, "cast($0, 'INT64')"),
    // JSON.
    ("to_json", 1, "graven.json.of($0)"),
    ("json_quote", 1, "graven.json.of($0)"),
    ("row_to_json", 1, "graven.json.of($0)"),
    ("array_to_json", 1, "graven.json.of($0)"),
    ("json", 1, "graven.json($0)"),
    ("json_array_length", 1, "graven.json.arrayLength($0)"),
    ("json_contains", 2, "graven.json.contains($0, $1)"),
    ("json_extract", 2, "graven.json.extract($0, $1)"),
    ("json_keys", 1, "graven.json.keys($0)"),
    ("json_merge_patch", 2, "graven.json.mergePatch($0, $1)"),
    ("json_structure", 1, "graven.json.structure($0)"),
    ("json_valid", 1, "graven.json.valid($0)"),
    // Comparisons.
    ("equals", 2, "$0 = $1"),
    ("not_equals", 2, "$0 <> $1"),
    ("less_than", 2, "$0 < $1"),
    ("less_than_equals", 2, "$0 <= $1"),
    ("greater_than", 2, "$0 > $1"),
    ("greater_than_equals", 2, "$0 >= $1"),
    // Maps.
    ("struct_extract", 2, "$0[$1]"),
    ("struct_keys", 1, "keys($0)"),
    ("map", 0, "{}"),
    (
        "map",
        2,
        "apoc.map.fromLists([`  x` IN $0 | cast(`  x`, 'STRING')], $1)",
    ),
    (
        "map_extract",
        2,
        "?CASE WHEN cast($1, 'STRING') IN keys($0) THEN [$0[cast($1, 'STRING')]] ELSE [] END",
    ),
    (
        "element_at",
        2,
        "?CASE WHEN cast($1, 'STRING') IN keys($0) THEN [$0[cast($1, 'STRING')]] ELSE [] END",
    ),
    ("map_keys", 1, "keys($0)"),
    ("map_values", 1, "[`  x` IN keys($0) | $0[`  x`]]"),
    ("cardinality", 1, "size($0)"),
    // Graphs.
    ("label", 1, "graven.label($0)"),
    ("offset", 1, "$0"),
    ("rels", 1, "relationships($0)"),
    ("start_node", 1, "startNode($0)"),
    ("end_node", 1, "endNode($0)"),
    ("properties", 2, "[`  x` IN $0 | `  x`[$1]]"),
    (
        "is_trail",
        1,
        "size(relationships($0)) = size(apoc.coll.toSet(relationships($0)))",
    ),
    (
        "is_acyclic",
        1,
        "size(nodes($0)) = size(apoc.coll.toSet(nodes($0)))",
    ),
    // Dates and times.
    ("timestamp", 1, "cast($0, 'TIMESTAMP')"),
    ("interval", 1, "cast($0, 'INTERVAL')"),
    ("current_date", 0, "date()"),
    ("current_timestamp", 0, "datetime()"),
    ("make_date", 3, "?date({year: $0, month: $1, day: $2})"),
    (
        "last_day",
        1,
        "?date.truncate('month', $0) + duration({months: 1}) - duration({days: 1})",
    ),
    (
        "dayname",
        1,
        "['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']\
            [$0.dayOfWeek - 1]",
    ),
    (
        "monthname",
        1,
        "['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', \
            'September', 'October', 'November', 'December'][$0.month - 1]",
    ),
    ("century", 1, "cast(ceil($0.year / 100.0), 'INT64')"),
    ("to_epoch_ms", 1, "?datetime($0).epochMillis"),
    (
        "epoch_ms",
        1,
        "?localdatetime(datetime.fromEpochMillis($0))",
    ),
    (
        "to_timestamp",
        1,
        "?localdatetime(datetime.fromEpoch(cast(floor($0), 'INT64'), 0)) + \
            duration({microseconds: cast(($0 - floor($0)) * 1000000, 'INT64')})",
    ),
    ("to_years", 1, "?duration({years: $0})"),
    ("to_months", 1, "?duration({months: $0})"),
    ("to_days", 1, "?duration({days: $0})"),
    ("to_hours", 1, "?duration({hours: $0})"),
    ("to_minutes", 1, "?duration({minutes: $0})"),
    ("to_seconds", 1, "?duration({seconds: $0})"),
    ("to_milliseconds", 1, "?duration({milliseconds: $0})"),
    ("to_microseconds", 1, "?duration({microseconds: $0})"),
    (
        "date_trunc",
        2,
        "?CASE WHEN $1 IS :: DATE AND $0 IN ['hour', 'minute', \
            'second', 'millisecond', 'microsecond'] THEN $1 \
            WHEN $1 IS :: DATE THEN date.truncate($0, $1) \
            WHEN $1 IS :: ZONED DATETIME THEN datetime.truncate($0, $1) \
            ELSE localdatetime.truncate($0, $1) END",
    ),
    // Numbers.
    ("pow", 2, "$0 ^ $1"),
    ("power", 2, "$0 ^ $1"),
    ("ceiling", 1, "ceil($0)"),
    ("ln", 1, "log($0)"),
    ("log2", 1, "log($0) / log(2.0)"),
    ("cbrt", 1, "sign($0) * abs($0) ^ (1.0 / 3)"),
    (
        "even",
        1,
        "CASE WHEN $0 >= 0 THEN ceil($0 / 2.0) * 2 ELSE floor($0 / 2.0) * 2 END",
    ),
    ("negate", 1, "-$0"),
    ("gamma", 1, "graven.gamma($0)"),
    ("lgamma", 1, "graven.lgamma($0)"),
    ("bitwise_and", 2, "apoc.bitwise.op($0, '&', $1)"),
    ("bitwise_or", 2, "apoc.bitwise.op($0, '|', $1)"),
    ("bitwise_xor", 2, "apoc.bitwise.op($0, '^', $1)"),
    ("bitshift_left", 2, "apoc.bitwise.op($0, '<<', $1)"),
    ("bitshift_right", 2, "apoc.bitwise.op($0, '>>', $1)"),
    (
        "greatest",
        2,
        "CASE WHEN graven.beside($0, $1) >= graven.beside($1, $0) THEN graven.beside($0, $1) \
            WHEN graven.beside($0, $1) < graven.beside($1, $0) THEN graven.beside($1, $0) END",
    ),
    (
        "least",
        2,
        "CASE WHEN graven.beside($0, $1) <= graven.beside($1, $0) THEN graven.beside($0, $1) \
            WHEN graven.beside($0, $1) > graven.beside($1, $0) THEN graven.beside($1, $0) END",
    ),
    (
        "factorial",
        1,
        "?reduce(`  s` = 1, `  x` IN range(1, coalesce($0, 0)) | `  s` * `  x`)",
    ),
];

/// Parts of dates, times and durations by their names, and the components that they are here.
pub(super) const PARTS: &[(&[&str], &str)] = &[
    (
        &["year", "years", "y"],
        "CASE WHEN $1 IS :: DURATION THEN $1.years ELSE $1.year END",
    ),
    (
        &["month", "months", "mon"],
        "CASE WHEN $1 IS :: DURATION THEN $1.monthsOfYear ELSE $1.month END",
    ),
    (
        &["day", "days", "d"],
        "CASE WHEN $1 IS :: DURATION THEN $1.days ELSE $1.day END",
    ),
    (
        &["decade", "decades"],
        "CASE WHEN $1 IS :: DURATION THEN $1.years / 10 ELSE $1.year / 10 END",
    ),
    (
        &["century", "centuries"],
        "CASE WHEN $1 IS :: DURATION THEN $1.years / 100 ELSE ($1.year - 1) / 100 + 1 END",
    ),
    (
        &["millennium", "millenniums"],
        "CASE WHEN $1 IS :: DURATION THEN $1.years / 1000 \
            ELSE ($1.year - 1) / 1000 + 1 END",
    ),
    (
        &["quarter", "quarters"],
        "CASE WHEN $1 IS :: DURATION THEN $1.monthsOfYear / 3 + 1 ELSE $1.quarter END",
    ),
    (&["week", "weeks"], "$1.week"),
    (
        &["hour", "hours", "h"],
        "CASE WHEN $1 IS :: DURATION THEN $1.hours WHEN $1 IS :: DATE NOT NULL THEN 0 \
            ELSE $1.hour END",
    ),
    (
        &["minute", "minutes", "m"],
        "CASE WHEN $1 IS :: DURATION THEN $1.minutesOfHour WHEN $1 IS :: DATE NOT NULL THEN 0 \
            ELSE $1.minute END",
    ),
    (
        &["second", "seconds", "s"],
        "CASE WHEN $1 IS :: DURATION THEN $1.secondsOfMinute \
            WHEN $1 IS :: DATE NOT NULL THEN 0 ELSE $1.second END",
    ),
    (
        &["millisecond", "milliseconds", "ms"],
        "CASE WHEN $1 IS :: DURATION THEN $1.secondsOfMinute * 1000 + $1.millisecondsOfSecond \
            WHEN $1 IS :: DATE NOT NULL THEN 0 ELSE $1.second * 1000 + $1.millisecond END",
    ),
    (
        &["microsecond", "microseconds", "us"],
        "CASE WHEN $1 IS :: DURATION THEN $1.secondsOfMinute * 1000000 + $1.microsecondsOfSecond \
            WHEN $1 IS :: DATE NOT NULL THEN 0 ELSE $1.second * 1000000 + $1.microsecond END",
    ),
];

/// The unit of `date_trunc` by its name here.
pub(super) const UNIT: &str = "coalesce({years: 'year', y: 'year', months: 'month', mon: 'month', \
    days: 'day', d: 'day', decades: 'decade', centuries: 'century', millenniums: 'millennium', \
    quarters: 'quarter', weeks: 'week', hours: 'hour', h: 'hour', minutes: 'minute', \
    m: 'minute', seconds: 'second', s: 'second', milliseconds: 'millisecond', \
    ms: 'millisecond', microseconds: 'microsecond', us: 'microsecond'}[toLower($0)], \
    toLower($0))";

/// Functions whose first argument may be a column of type `STRUCT` or `MAP`.
pub(super) const OF_MAPS: &[&str] = &[
    "struct_extract",
    "struct_keys",
    "map_extract",
    "element_at",
    "map_keys",
    "map_values",
    "cardinality",
];

/// Functions that take a lambda as their last argument.
pub(super) const WITH_LAMBDA: &[&str] = &[
    "list_transform",
    "list_filter",
    "list_reduce",
    "list_all",
    "list_any",
    "list_none",
    "list_single",
];

/// Names, in lower case, that are read in a way of their own where they are called: by the parser,
/// or by the binder.
const OTHER_NAMES: &[&str] = &[
    "all",
    "any",
    "none",
    "single",
    "reduce",
    "cast",
    "shortestpath",
    "allshortestpaths",
    "struct_pack",
    "union_value",
    "concat",
    "concat_ws",
    "list_creation",
    "list_value",
    "array_value",
    "date_part",
    "datepart",
    "datetrunc",
    "json_array",
    "json_object",
    "linenumber",
    "file",
    "regexp_replace",
];

/// Whether a call of that name is read as another expression, with some number of arguments.
pub(crate) fn is_function_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let of_list = match lower.strip_prefix("array_") {
        Some(rest) => format!("list_{rest}"),
        None => lower.clone(),
    };
    let is_known = |known: &str| known == lower || known == of_list;
    FUNCTIONS.iter().any(|(known, ..)| is_known(known))
        || WITH_LAMBDA
            .iter()
            .chain(OTHER_NAMES)
            .any(|known| is_known(known))
}
