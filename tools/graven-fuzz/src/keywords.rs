//! Every word of the language in every position where a name may stand.
//!
//! # How it works
//! A word is a label, a type, a property key, a key of a map, an alias and a variable, in capitals
//! and in small letters. Each statement must give what it gives with a name that means nothing.

use crate::findings::Findings;
use crate::library::Library;

/// Words that mean something to the parser.
const WORDS: &[&str] = &[
    "ACTIVE",
    "ADMIN",
    "ALL",
    "AND",
    "ANY",
    "AS",
    "ASC",
    "ASCENDING",
    "ASSERT",
    "BATCH",
    "BY",
    "CALL",
    "CASE",
    "COLLECT",
    "COMMIT",
    "CONCURRENT",
    "CONSTRAINT",
    "CONTAINS",
    "COUNT",
    "CREATE",
    "CSV",
    "DATABASE",
    "DEFAULT",
    "DELETE",
    "DESC",
    "DESCENDING",
    "DETACH",
    "DISTINCT",
    "DROP",
    "EACH",
    "ELSE",
    "END",
    "ENDS",
    "ERROR",
    "EXISTS",
    "EXPLAIN",
    "FIELDTERMINATOR",
    "FILTER",
    "FINISH",
    "FOR",
    "FOREACH",
    "FROM",
    "GROUPS",
    "HEADERS",
    "IF",
    "IN",
    "INDEX",
    "INSERT",
    "IS",
    "JOIN",
    "KEY",
    "LET",
    "LIMIT",
    "LOAD",
    "MATCH",
    "MERGE",
    "NODE",
    "NODETACH",
    "NONE",
    "NORMALIZED",
    "NOT",
    "NULLS",
    "OF",
    "OFFSET",
    "ON",
    "OPTIONAL",
    "OPTIONS",
    "OR",
    "ORDER",
    "PATH",
    "PATHS",
    "PROFILE",
    "RANGE",
    "REDUCE",
    "REMOVE",
    "REPORT",
    "REQUIRE",
    "RETURN",
    "ROWS",
    "SCAN",
    "SEEK",
    "SET",
    "SHORTEST",
    "SHOW",
    "SINGLE",
    "SKIP",
    "STARTS",
    "STATUS",
    "TERMINATE",
    "TEXT",
    "THEN",
    "TO",
    "TRANSACTIONS",
    "TYPED",
    "UNION",
    "UNIQUE",
    "UNWIND",
    "USE",
    "USING",
    "VALUE",
    "WHEN",
    "WHERE",
    "WITH",
    "XOR",
    "YIELD",
    "TRUE",
    "FALSE",
    "NULL",
];

/// Words that are values wherever a value stands.
const NO_VARIABLES: &[&str] = &["TRUE", "FALSE", "NULL"];

/// Statements with a name, by the position of the name; all give the number 1.
const ANY_WORD: &[(&str, &str)] = &[
    (
        "label",
        "CREATE (n:WORD) WITH n WHERE n:WORD RETURN 1 AS one",
    ),
    (
        "two labels",
        "CREATE (n:A:WORD) WITH n WHERE n:A&WORD RETURN 1 AS one",
    ),
    (
        "type",
        "CREATE ()-[r:WORD]->() RETURN CASE type(r) WHEN 'WORD' THEN 1 END AS one",
    ),
    ("property", "CREATE (n {WORD: 1}) RETURN n.WORD AS one"),
    (
        "property set",
        "CREATE (n) SET n.WORD = 1 RETURN n.WORD AS one",
    ),
    ("key of a map", "WITH {WORD: 1} AS m RETURN m.WORD AS one"),
    (
        "key of a map projection",
        "WITH {WORD: 1} AS m RETURN m {.WORD}.WORD AS one",
    ),
    ("alias", "RETURN 1 AS WORD"),
    ("parameter", "RETURN coalesce($WORD, 1) AS one"),
];

const VARIABLES: &[(&str, &str)] = &[
    ("variable", "WITH 1 AS WORD RETURN WORD AS one"),
    ("variable in a sum", "WITH 0 AS WORD RETURN 1 + WORD AS one"),
    (
        "variable first in a sum",
        "WITH 0 AS WORD RETURN WORD + 1 AS one",
    ),
    (
        "variable in a list",
        "WITH 1 AS WORD RETURN [WORD][0] AS one",
    ),
    (
        "variable compared",
        "WITH 1 AS WORD RETURN [x IN [1] WHERE 0 < WORD][0] AS one",
    ),
    (
        "variable unwound",
        "UNWIND [1] AS WORD RETURN WORD ORDER BY WORD",
    ),
    (
        "variable of a node",
        "CREATE (WORD:A {a: 1}) RETURN WORD.a AS one",
    ),
    (
        "variable of a relationship",
        "CREATE ()-[WORD:R {a: 1}]->() RETURN WORD.a AS one",
    ),
    (
        "variable of a list",
        "RETURN [WORD IN [1] | WORD][0] AS one",
    ),
    (
        "variable as the subject of CASE",
        "WITH 2 AS WORD RETURN CASE WORD WHEN 2 THEN 1 END AS one",
    ),
    (
        "variable in a branch of CASE",
        "WITH 1 AS WORD RETURN CASE WHEN WORD = 1 THEN WORD ELSE WORD + 1 END AS one",
    ),
    (
        "variable denied",
        "WITH false AS WORD RETURN CASE WHEN NOT WORD THEN 1 END AS one",
    ),
    (
        "variable of WHERE",
        "WITH 1 AS WORD, 2 AS b WHERE WORD < b AND b > WORD RETURN WORD AS one",
    ),
    (
        "variable of a node before IS",
        "CREATE (:Named {a: 1}) WITH 1 AS x MATCH (WORD IS Named) RETURN WORD.a AS one LIMIT 1",
    ),
    (
        "variable of a node before WHERE",
        "CREATE (:Named {a: 1}) WITH 1 AS x MATCH (WORD WHERE WORD.a = 1) RETURN WORD.a AS one \
            LIMIT 1",
    ),
    (
        "variable of a relationship before IS and WHERE",
        "CREATE ()-[:NAMED {a: 1}]->() WITH 1 AS x MATCH ()-[WORD IS NAMED WHERE WORD.a = 1]->() \
            RETURN WORD.a AS one LIMIT 1",
    ),
    (
        "variable before END",
        "WITH 1 AS WORD RETURN CASE WHEN true THEN WORD END AS one",
    ),
    (
        "variable behind ELSE",
        "WITH 1 AS WORD RETURN CASE WHEN false THEN 2 ELSE WORD END AS one",
    ),
    (
        "variable before UNION",
        "WITH 1 AS one WITH one AS WORD RETURN WORD UNION RETURN 1 AS WORD",
    ),
    (
        "variable before a list",
        "WITH 1 AS WORD RETURN CASE WHEN WORD IN [WORD] THEN 1 END AS one",
    ),
    (
        "variable before a clause",
        "WITH true AS WORD CREATE () WITH WORD WHERE WORD OPTIONAL MATCH (m:Nothing) RETURN 1 AS one",
    ),
    (
        "variable as an argument",
        "WITH 1 AS WORD RETURN abs(WORD) AS one",
    ),
];

/// Tries all of them.
///
/// # Errors
/// The machine's, such as a full disk.
pub fn keywords() -> Result<Findings, String> {
    let mut findings = Findings::default();
    let library = Library::empty()?;
    for word in WORDS {
        for word in [(*word).to_owned(), word.to_ascii_lowercase()] {
            let variables = match NO_VARIABLES.contains(&word.to_ascii_uppercase().as_str()) {
                true => &[],
                false => VARIABLES,
            };
            for (position, form) in ANY_WORD.iter().chain(variables) {
                let statement = form.replace("WORD", &word);
                // `NOT + 1` denies a number, `NOT END` what is called `END`, `CASE WHEN` has no
                // subject, `CASE IN` a subject, and `CASE END` ends at once.
                let other = [
                    ("CASE", "variable before a list"),
                    ("NOT", "variable before END"),
                    ("NOT", "variable behind ELSE"),
                    ("END", "variable as the subject of CASE"),
                    ("NOT", "variable first in a sum"),
                    ("NOT", "variable in a branch of CASE"),
                    ("NOT", "variable before a list"),
                    ("NOT", "variable before a clause"),
                    ("WHEN", "variable as the subject of CASE"),
                ];
                if other.contains(&(word.to_ascii_uppercase().as_str(), position)) {
                    continue;
                }
                findings.tried += 1;
                let null = graven::Value::Null;
                let params = graven::Params::new().with(word.as_str(), null);
                let answer = library.ask_with(&statement, &params);
                let one = answer
                    .as_ref()
                    .map(|rows| rows.len() == 1 && is_one(&rows[0]));
                if one != Ok(true) {
                    findings
                        .wrong
                        .push(format!("{word} as {position}: {statement}: {answer:?}"));
                }
            }
        }
    }
    Ok(findings)
}

fn is_one(row: &[graven::Value]) -> bool {
    row.first() == Some(&graven::Value::Integer(1))
}
