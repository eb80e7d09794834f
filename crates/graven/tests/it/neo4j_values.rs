//! Goal: operators and functions of values that Neo4j 5 has beside those of openCypher give its
//! answers.

use crate::graph::social;
use crate::neo4j_compat::{refused, rows, value};

#[test]
fn concatenation_joins_texts_or_lists_and_nothing_else() {
    assert_eq!(value("RETURN 'a' || 'b' || 'c' = 'abc'"), "true");
    assert_eq!(value("RETURN [1] || [2, 'x'] || []"), "[1, 2, \"x\"]");
    assert_eq!(
        value("RETURN ('a' || null) IS NULL AND ([1] || null) IS NULL"),
        "true"
    );
    // As tight as `+`.
    assert_eq!(value("RETURN 'a' || 'b' + 1 || 'c' = 'ab1c'"), "true");
    assert_eq!(
        rows(
            &social(),
            "MATCH (p:Person) WHERE p.id < 3 RETURN p.name || '!' = 'Ada!' AS x ORDER BY p.id"
        ),
        ["true", "false"]
    );
    refused(
        "RETURN 1 || 'a'",
        &["SyntaxError.InvalidArgumentType", "||"],
    );
    refused(
        "RETURN [1] || 'a'",
        &["SyntaxError.InvalidArgumentType", "||"],
    );
    refused(
        "MATCH (p:Person) RETURN p.name || p.id",
        &["TypeError.InvalidArgumentType", "||"],
    );
    refused(
        "UNWIND [[1], [2]] AS l UNWIND ['a'] AS s RETURN [l, s][0] || [l, s][1]",
        &["TypeError.InvalidArgumentType", "||"],
    );
}

#[test]
fn texts_are_asked_for_their_normal_form() {
    // An o with two dots in one character and in two, and a ligature that only the compatible forms
    // take apart.
    for (text, forms) in [
        ("\\u00F6", [true, false, true, false]),
        ("o\\u0308", [false, true, false, true]),
        ("\\uFB01", [true, true, false, false]),
        ("plain", [true; 4]),
    ] {
        for (form, expected) in ["NFC", "NFD", "NFKC", "NFKD"].iter().zip(forms) {
            let asked = format!(
                "RETURN '{text}' IS {form} NORMALIZED <> ('{text}' IS NOT {form} NORMALIZED)"
            );
            assert_eq!(value(&asked), "true", "{asked}");
            let asked = format!("RETURN '{text}' IS {form} NORMALIZED");
            assert_eq!(value(&asked), expected.to_string(), "{asked}");
        }
    }
    assert_eq!(value("RETURN 'o\\u0308' IS NORMALIZED"), "false");
    assert_eq!(value("RETURN 'o\\u0308' IS NOT NORMALIZED"), "true");
    // What is no text has no form.
    assert_eq!(
        value("RETURN [x IN [1, null, ['a'], true] | x IS NORMALIZED]"),
        "[null, null, null, null]"
    );
    assert_eq!(
        value(
            "RETURN CASE 'a' WHEN IS NOT NFD NORMALIZED THEN 1 WHEN IS NFD NORMALIZED THEN 2 END"
        ),
        "2"
    );
}

#[test]
fn booleans_are_no_numbers() {
    assert_eq!(
        value("RETURN [toIntegerOrNull(true), toFloatOrNull(true)]"),
        "[null, null]"
    );
    assert_eq!(
        value("RETURN toIntegerList([true, 'x', 2.5])"),
        "[null, null, 2]"
    );
    // Neo4j has an integer for it, and refuses the other before it runs.
    for (text, code) in [
        ("RETURN toInteger(true)", "TypeError.InvalidArgumentValue"),
        ("RETURN toFloat(true)", "SyntaxError.InvalidArgumentType"),
    ] {
        refused(text, &[code]);
    }
}

#[test]
fn numbers_have_underscores_and_names() {
    assert_eq!(value("RETURN 1_000_000 + 0xff_ff"), "1065535");
    assert_eq!(value("RETURN 1_0.2_5"), "10.25");
    assert_eq!(
        value("RETURN INF > 1e308 AND -Infinity < 0 AND isNaN(NaN)"),
        "true"
    );
    assert_eq!(value("WITH 7 AS inf RETURN inf"), "7");
    assert_eq!(
        rows(
            &social(),
            "MATCH (p:Person) RETURN min(p.id) + INF > 3, count(*)"
        ),
        ["true 4"]
    );
    refused("RETURN 1__0", &["InvalidNumberLiteral"]);
    refused("RETURN 1_", &["InvalidNumberLiteral"]);
}

#[test]
fn trim_takes_characters_without_a_side() {
    assert_eq!(value("RETURN trim('x' FROM 'xaxx')"), "\"a\"");
    assert_eq!(value("RETURN trim(left('xy', 1) FROM 'xax')"), "\"a\"");
    assert_eq!(value("RETURN trim(BOTH FROM ' a ')"), "\"a\"");
    assert_eq!(value("WITH ' a ' AS from RETURN trim(from)"), "\"a\"");
}

#[test]
fn vectors_are_compared_as_vector_indexes_do() {
    assert_eq!(
        value("RETURN vector.similarity.cosine([1, 0], [0, 2])"),
        "0.5"
    );
    assert_eq!(
        value("RETURN vector.similarity.cosine([1, 2], [2.0, 4.0]) > 0.999999"),
        "true"
    );
    assert_eq!(
        value("RETURN vector.similarity.cosine([1, 0], [-3, 0])"),
        "0.0"
    );
    assert_eq!(
        value("RETURN vector.similarity.euclidean([1, 1], [1, 4])"),
        "0.10000000149011612"
    );
    assert_eq!(
        value("RETURN vector.similarity.euclidean(null, [1, 4])"),
        "null"
    );
    refused(
        "RETURN vector.similarity.cosine([1], [1, 2])",
        &["ArgumentError", "1 and 2"],
    );
    refused(
        "RETURN vector.similarity.cosine([0], [1])",
        &["ArgumentError", "direction"],
    );
    refused(
        "RETURN vector.similarity.euclidean(['a', 1][0..1], [1])",
        &["ArgumentError", "finite"],
    );
}

#[test]
fn a_point_has_only_the_parts_of_its_system() {
    assert_eq!(value("RETURN point({x: 1, y: 2}).y"), "2.0");
    assert_eq!(
        value("RETURN point({longitude: 1, latitude: 2, height: 3}).z"),
        "3.0"
    );
    refused(
        "RETURN point({x: 1, y: 2}).latitude",
        &["ArgumentError", "cartesian", "latitude"],
    );
    refused(
        "RETURN point({x: 1, y: 2}).z",
        &["ArgumentError", "cartesian", "no part z"],
    );
    refused("RETURN point({x: 1, y: 2})['w']", &["no part w", "x, y, z"]);
}

#[test]
fn dates_and_times_are_read_as_they_stand() {
    for text in [
        "date(' 2015-07-21')",
        "time('12:00 ')",
        "duration(' P1D')",
        "datetime('2015-07-21T12:00 ')",
    ] {
        refused(&format!("RETURN {text}"), &["ArgumentError"]);
    }
    assert_eq!(
        value("RETURN toString(datetime({epochMillis: 1234567, nanosecond: 5}))"),
        "\"1970-01-01T00:20:34.567000005Z\""
    );
    assert_eq!(
        value("RETURN toString(datetime({epochMillis: -1, microsecond: 5}))"),
        "\"1969-12-31T23:59:59.000005Z\""
    );
    refused(
        "RETURN datetime({epochMillis: 1, nanosecond: 1000000})",
        &["999999"],
    );
}
