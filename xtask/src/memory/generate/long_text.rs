//! Statements with long texts: many of whatever a statement may have many of.

use super::Generator;

/// What is repeated, between a beginning and an end; `#` is its number.
type Repeated = (&'static str, &'static str, &'static str, &'static str);

/// Beginning, part, what stands between two parts, end.
const REPEATED: &[Repeated] = &[
    (
        "UNWIND [1] AS x WITH x WHERE ",
        "x = #",
        " OR ",
        " RETURN count(*)",
    ),
    (
        "UNWIND [1] AS x WITH x WHERE ",
        "(x = # OR x = -#)",
        " AND ",
        " RETURN count(*)",
    ),
    ("RETURN ", "# AS c#", ", ", ""),
    ("RETURN size([", "'item #'", ", ", "])"),
    ("RETURN size([", "[]", ",", "])"),
    ("RETURN size([", "{}", ",", "])"),
    ("RETURN size([", "abs(1)", ",", "])"),
    ("RETURN keys({", "k#: #", ", ", "})[0]"),
    ("RETURN ", "#", " + ", ""),
    ("RETURN ", "NOT ", "", "true"),
    ("RETURN ", "1", " < ", ""),
    ("RETURN [1]", "[0..]", "", ""),
    ("RETURN CASE ", "WHEN false THEN #", " ", " END"),
    ("RETURN ", "[x IN [1] | x]", " + ", ""),
    ("RETURN ", "any(x IN [] WHERE x)", " OR ", ""),
    ("MATCH (n) RETURN n", ".a", "", ""),
    ("MATCH (n) RETURN n {", ".k#", ", ", "}"),
    ("MATCH (n", ":L#", "", ") RETURN count(*)"),
    ("MATCH (n:", "L#", "|", ") RETURN count(*)"),
    ("MATCH ()-[:", "T#", "|", "]->() RETURN count(*)"),
    ("MATCH ", "(a#)", ", ", " RETURN count(*)"),
    ("MATCH ()", "--()", "", " RETURN count(*)"),
    ("MATCH (n) WHERE ", "(n)--()", " AND ", " RETURN count(*)"),
    (
        "MATCH (n) WHERE ",
        "EXISTS { (n)--() }",
        " OR ",
        " RETURN count(*)",
    ),
    ("MATCH (n) WHERE n.x IN [", "#", ",", "] RETURN count(*)"),
    ("MATCH (n:N) WITH n LIMIT 3 SET ", "n.q# = 1", ", ", ""),
    ("MATCH (n:N) WITH n LIMIT 3 SET ", "n:L#", ", ", ""),
    ("CREATE ", "(:C)", ", ", ""),
    ("CREATE (:C)", "-[:R]->(:C)", "", ""),
    ("", "CREATE ()", " ", ""),
    ("", "WITH 1 AS a", " ", " RETURN a"),
    ("", "UNWIND [1] AS a#", " ", " RETURN 1"),
    ("", "RETURN # AS a", " UNION ", ""),
    ("", "CALL () { RETURN 1 AS a# }", " ", " RETURN 1"),
    ("UNWIND [1] AS x RETURN x ORDER BY ", "x + #", ", ", ""),
    ("UNWIND [1] AS x RETURN ", "sum(x + #) AS c#", ", ", ""),
    ("RETURN '", "a\\u0041", "", "'"),
    ("RETURN 1 /* ", "word # ", "", "*/"),
    ("RETURN 'a' =~ '", "(a|b)", "", "'"),
    ("RETURN 'a' =~ '", "[a-z]{1,50}", "", "'"),
    ("RETURN 1", "", "1", ""),
];

impl Generator<'_> {
    /// A statement with a long text.
    pub(super) fn long_text(&mut self) -> String {
        let bytes = self.size(&[10_000, 60_000, 200_000, 600_000]);
        let (begin, part, between, end) = self.pick(REPEATED);
        let mut text = String::from(begin);
        let mut number = 0_usize;
        loop {
            text.push_str(&part.replace('#', &number.to_string()));
            number += 1;
            if text.len() >= bytes {
                break;
            }
            text.push_str(between);
        }
        text.push_str(end);
        text
    }
}
