//! What each function takes: the table of its arguments, and examples of each kind that are
//! ordinary, empty, wrong and huge.

/// What one argument is; the others are ordinary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Argument {
    Null,
    Empty,
    Wrong,
    Huge,
}

impl Argument {
    pub(crate) const ALL: [Argument; 4] = [
        Argument::Null,
        Argument::Empty,
        Argument::Wrong,
        Argument::Huge,
    ];
}

/// Kinds of argument: a letter, ordinary, empty, of another type, huge. What is bound by [`BOUND`]
/// can be no parameter.
const KINDS: &[(char, [&str; 4])] = &[
    ('i', ["2", "0", "'x'", "9223372036854775807"]),
    ('f', ["0.5", "0.0", "true", "1.7976931348623157e308"]),
    (
        's',
        [
            "'a b'",
            "''",
            "4",
            "reduce(t = 'ab', x IN range(1, 10) | t + t)",
        ],
    ),
    (
        'l',
        ["[1, 2]", "[]", "date('2020-02-29')", "range(1, 3000)"],
    ),
    (
        't',
        [
            "['1', 'x']",
            "[]",
            "2.5",
            "[x IN range(1, 3000) | toString(x)]",
        ],
    ),
    ('m', ["{a: 1}", "{}", "true", "{a: range(1, 3000)}"]),
    ('N', ["n", "e", "7", ""]),
    ('R', ["r", "q", "'x'", ""]),
    ('P', ["p", "z", "[1]", ""]),
    ('v', ["'7'", "''", "{a: 1}", "'9223372036854775808'"]),
    ('d', ["'2020-02-29'", "''", "[1]", "'+999999999-12-31'"]),
    (
        'L',
        [
            "'2020-02-29T12:30'",
            "''",
            "[1]",
            "'+999999999-12-31T23:59:59.999999999'",
        ],
    ),
    (
        'Z',
        [
            "'2020-02-29T12:30+01:00'",
            "''",
            "[1]",
            "'+999999999-12-31T23:59:59+18:00'",
        ],
    ),
    ('k', ["'12:30'", "''", "[1]", "'23:59:59.999999999'"]),
    (
        'K',
        ["'12:30+01:00'", "''", "[1]", "'23:59:59.999999999-18:00'"],
    ),
    ('S', ["'P1M2DT3S'", "''", "[1]", "'P999999999Y'"]),
    ('o', ["'+01:00'", "''", "[1]", "'+18:00'"]),
    ('u', ["'month'", "''", "5", "'millennium'"]),
    (
        'D',
        [
            "date('2020-02-29')",
            "date('0000-01-01')",
            "'x'",
            "date('+999999999-12-31')",
        ],
    ),
    (
        'M',
        [
            "datetime('2020-02-29T12:30Z')",
            "datetime('1970-01-01T00:00Z')",
            "1.5",
            "datetime('+999999999-12-31T23:59Z')",
        ],
    ),
    (
        'T',
        [
            "localdatetime('2020-02-29T12:30')",
            "localdatetime('1970-01-01T00:00')",
            "true",
            "localdatetime('+999999999-12-31T23:59')",
        ],
    ),
    (
        'C',
        [
            "localtime('12:30')",
            "localtime('00:00')",
            "true",
            "localtime('23:59:59.999999999')",
        ],
    ),
    (
        'Y',
        [
            "time('12:30Z')",
            "time('00:00Z')",
            "true",
            "time('23:59:59.999999999Z')",
        ],
    ),
    (
        'p',
        [
            "point({x: 1, y: 2})",
            "point({x: 0, y: 0})",
            "'x'",
            "point({x: 1e308, y: 1e308})",
        ],
    ),
    ('x', ["{x: 1, y: 2}", "{}", "[1]", "{x: 1e308, y: -1e308}"]),
    (
        'w',
        ["[1.0, 2.0]", "[]", "'x'", "[x IN range(1, 3000) | 1.0 * x]"],
    ),
    (
        'n',
        [
            "'NFC'",
            "''",
            "5",
            "reduce(t = 'ab', x IN range(1, 10) | t + t)",
        ],
    ),
    (
        'y',
        [
            "'INTEGER'",
            "''",
            "5",
            "reduce(t = 'ab', x IN range(1, 10) | t + t)",
        ],
    ),
];

/// Functions and the kinds of their arguments.
pub(crate) const CALLS: &[(&str, &str)] = &[
    ("abs", "i"),
    ("acos", "f"),
    ("asin", "f"),
    ("atan", "f"),
    ("atan2", "ff"),
    ("bTrim", "ss"),
    ("ceil", "f"),
    ("char_length", "s"),
    ("character_length", "s"),
    ("coalesce", "is"),
    ("cos", "f"),
    ("cosh", "f"),
    ("cot", "f"),
    ("coth", "f"),
    ("date", "d"),
    ("date.realtime", "o"),
    ("date.statement", "o"),
    ("date.transaction", "o"),
    ("date.truncate", "uD"),
    ("datetime", "Z"),
    ("datetime.fromEpoch", "ii"),
    ("datetime.fromEpochMillis", "i"),
    ("datetime.realtime", "o"),
    ("datetime.statement", "o"),
    ("datetime.transaction", "o"),
    ("datetime.truncate", "uM"),
    ("degrees", "f"),
    ("distance", "pp"),
    ("duration", "S"),
    ("duration.between", "DM"),
    ("duration.inDays", "TT"),
    ("duration.inMonths", "DD"),
    ("duration.inSeconds", "CC"),
    ("e", ""),
    ("elementId", "N"),
    ("endNode", "R"),
    ("exp", "f"),
    ("floor", "f"),
    ("graven.is_normalized", "sn"),
    ("graven.is_typed", "iy"),
    ("haversin", "f"),
    ("head", "l"),
    ("id", "N"),
    ("isEmpty", "s"),
    ("isNaN", "f"),
    ("keys", "m"),
    ("labels", "N"),
    ("last", "l"),
    ("left", "si"),
    ("length", "P"),
    ("localdatetime", "L"),
    ("localdatetime.realtime", "o"),
    ("localdatetime.statement", "o"),
    ("localdatetime.transaction", "o"),
    ("localdatetime.truncate", "uT"),
    ("localtime", "k"),
    ("localtime.realtime", "o"),
    ("localtime.statement", "o"),
    ("localtime.transaction", "o"),
    ("localtime.truncate", "hC"),
    ("log", "f"),
    ("log10", "f"),
    ("lower", "s"),
    ("lTrim", "ss"),
    ("nodes", "P"),
    ("normalize", "s"),
    ("nullIf", "is"),
    ("pi", ""),
    ("point", "x"),
    ("point.distance", "pp"),
    ("point.withinBBox", "ppp"),
    ("properties", "N"),
    ("radians", "f"),
    ("rand", ""),
    ("randomUUID", ""),
    ("range", "ji"),
    ("relationships", "P"),
    ("replace", "sss"),
    ("reverse", "s"),
    ("right", "si"),
    ("round", "fi"),
    ("rTrim", "ss"),
    ("sign", "f"),
    ("sin", "f"),
    ("sinh", "f"),
    ("size", "l"),
    ("split", "ss"),
    ("sqrt", "f"),
    ("startNode", "R"),
    ("substring", "sii"),
    ("tail", "l"),
    ("tan", "f"),
    ("tanh", "f"),
    ("time", "K"),
    ("time.realtime", "o"),
    ("time.statement", "o"),
    ("time.transaction", "o"),
    ("time.truncate", "hY"),
    ("timestamp", ""),
    ("toBoolean", "v"),
    ("toBooleanList", "t"),
    ("toBooleanOrNull", "v"),
    ("toFloat", "v"),
    ("toFloatList", "t"),
    ("toFloatOrNull", "v"),
    ("toInteger", "v"),
    ("toIntegerList", "t"),
    ("toIntegerOrNull", "v"),
    ("toLower", "s"),
    ("toString", "i"),
    ("toStringList", "t"),
    ("toStringOrNull", "i"),
    ("toUpper", "s"),
    ("trim", "s"),
    ("type", "R"),
    ("upper", "s"),
    ("valueType", "l"),
    ("vector.similarity.cosine", "ww"),
    ("vector.similarity.euclidean", "ww"),
    ("avg", "f"),
    ("collect", "i"),
    ("count", "s"),
    ("max", "i"),
    ("min", "f"),
    ("percentileCont", "ff"),
    ("percentileDisc", "if"),
    ("stDev", "f"),
    ("stDevP", "i"),
    ("sum", "i"),
];

pub(crate) fn kind(letter: char) -> Option<&'static [&'static str; 4]> {
    // A clock's unit, and the first of a range, which is not to be long.
    match letter {
        'h' => Some(&["'hour'", "''", "5", "'millennium'"]),
        'j' => Some(&["1", "0", "'x'", "9223372036854775805"]),
        _ => KINDS.iter().find(|(l, _)| *l == letter).map(|(_, all)| all),
    }
}

/// Why a cell can have no call, if it cannot.
pub(crate) fn impossible(name: &str, argument: Argument) -> Option<&'static str> {
    if name == "exists" {
        return Some("exists takes a property or a pattern");
    }
    let letters = CALLS.iter().find(|(known, _)| *known == name)?.1;
    let huge = |l: char| kind(l).is_some_and(|all| !all[3].is_empty());
    match argument {
        _ if letters.is_empty() => Some("the function takes no argument"),
        Argument::Huge if !letters.chars().any(huge) => {
            Some("nodes, relationships and paths are not huge")
        }
        _ => None,
    }
}
