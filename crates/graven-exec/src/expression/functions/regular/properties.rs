//! Properties of characters by the names that Java's `\p{...}` knows, as insides of classes for the
//! engine.
//!
//! Categories, scripts and Unicode properties are the engine's own; POSIX classes, the methods of
//! Java's characters and some blocks are written out here.

/// Every character.
pub(super) const EVERYTHING: &str = r"\u{0}-\u{10FFFF}";
const PUNCTUATION: &str = r"\u{21}-\u{2F}\u{3A}-\u{40}\u{5B}-\u{60}\u{7B}-\u{7E}";
/// Letters that have a case.
const CASED: &str = r"\p{Lu}\p{Ll}\p{Lt}";

/// POSIX classes: in ASCII, and with `U`.
const POSIX: &[(&str, &str, &str)] = &[
    ("Lower", "a-z", r"\p{Lowercase}"),
    ("Upper", "A-Z", r"\p{Uppercase}"),
    ("ASCII", r"\u{0}-\u{7F}", r"\u{0}-\u{7F}"),
    ("Alpha", "a-zA-Z", r"\p{Alphabetic}"),
    ("Digit", "0-9", r"\p{Nd}"),
    ("Alnum", "a-zA-Z0-9", r"\p{Alphabetic}\p{Nd}"),
    ("Punct", PUNCTUATION, r"\p{P}"),
    ("Graph", r"\u{21}-\u{7E}", r"[^\p{White_Space}\p{Cc}\p{Cn}]"),
    (
        "Print",
        r"\u{20}-\u{7E}",
        r"[^\p{White_Space}\p{Cc}\p{Cn}]\p{Zs}",
    ),
    ("Blank", r"\u{20}\u{9}", r"\p{Zs}\u{9}"),
    ("Cntrl", r"\u{0}-\u{1F}\u{7F}", r"\p{Cc}"),
    ("XDigit", "0-9a-fA-F", r"\p{Nd}\p{Hex_Digit}"),
    ("Space", r"\u{20}\u{9}-\u{D}", r"\p{White_Space}"),
];

/// Properties by the methods of Java's characters, and other names.
const NAMED: &[(&str, &str)] = &[
    ("javaLowerCase", r"\p{Lowercase}"),
    ("javaUpperCase", r"\p{Uppercase}"),
    ("javaTitleCase", r"\p{Lt}"),
    ("javaAlphabetic", r"\p{Alphabetic}"),
    ("javaIdeographic", r"\p{Ideographic}"),
    ("javaDigit", r"\p{Nd}"),
    ("javaDefined", r"\P{Cn}"),
    ("javaLetter", r"\p{L}"),
    ("javaLetterOrDigit", r"\p{L}\p{Nd}"),
    ("javaSpaceChar", r"\p{Z}"),
    (
        "javaWhitespace",
        r"\u{9}-\u{D}\u{1C}-\u{20}\u{1680}\u{2000}-\u{2006}\u{2008}-\u{200A}\u{2028}\u{2029}\u{205F}\u{3000}",
    ),
    ("javaISOControl", r"\u{0}-\u{1F}\u{7F}-\u{9F}"),
    ("javaJavaIdentifierStart", r"\p{L}\p{Nl}\p{Sc}\p{Pc}"),
    (
        "javaJavaIdentifierPart",
        r"\p{L}\p{Nl}\p{Sc}\p{Pc}\p{Nd}\p{Mn}\p{Mc}",
    ),
    ("L1", r"\u{0}-\u{FF}"),
    ("LC", CASED),
    ("LD", r"\p{L}\p{Nd}"),
    ("all", EVERYTHING),
    ("ALL", EVERYTHING),
    ("IsLetter", r"\p{L}"),
    ("IsDigit", r"\p{Nd}"),
    ("IsPunctuation", r"\p{P}"),
    ("IsControl", r"\p{Cc}"),
    ("IsAlnum", r"\p{Alphabetic}\p{Nd}"),
    ("IsAssigned", r"\P{Cn}"),
    ("IsTitlecase", r"\p{Lt}"),
];

/// General categories.
const CATEGORIES: &[&str] = &[
    "L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "Me", "N", "Nd", "Nl", "No", "P", "Pc",
    "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "S", "Sm", "Sc", "Sk", "So", "Z", "Zs", "Zl", "Zp", "C",
    "Cc", "Cf", "Co", "Cn",
];

/// Blocks by their names in small letters without blanks, and their first and last characters.
const BLOCKS: &[(&str, u32, u32)] = &[
    ("basiclatin", 0, 0x7f),
    ("latin1supplement", 0x80, 0xff),
    ("latinextendeda", 0x100, 0x17f),
    ("latinextendedb", 0x180, 0x24f),
    ("ipaextensions", 0x250, 0x2af),
    ("combiningdiacriticalmarks", 0x300, 0x36f),
    ("greek", 0x370, 0x3ff),
    ("greekandcoptic", 0x370, 0x3ff),
    ("cyrillic", 0x400, 0x4ff),
    ("armenian", 0x530, 0x58f),
    ("hebrew", 0x590, 0x5ff),
    ("arabic", 0x600, 0x6ff),
    ("devanagari", 0x900, 0x97f),
    ("thai", 0xe00, 0xe7f),
    ("georgian", 0x10a0, 0x10ff),
    ("hanguljamo", 0x1100, 0x11ff),
    ("latinextendedadditional", 0x1e00, 0x1eff),
    ("greekextended", 0x1f00, 0x1fff),
    ("generalpunctuation", 0x2000, 0x206f),
    ("currencysymbols", 0x20a0, 0x20cf),
    ("letterlikesymbols", 0x2100, 0x214f),
    ("arrows", 0x2190, 0x21ff),
    ("mathematicaloperators", 0x2200, 0x22ff),
    ("boxdrawing", 0x2500, 0x257f),
    ("hiragana", 0x3040, 0x309f),
    ("katakana", 0x30a0, 0x30ff),
    ("cjkunifiedideographs", 0x4e00, 0x9fff),
    ("hangulsyllables", 0xac00, 0xd7af),
    ("emoticons", 0x1_f600, 0x1_f64f),
];

/// A property as the inside of a class.
pub(super) fn property(name: &str, is_unicode: bool, ignores_case: bool) -> Option<String> {
    let found = match name.split_once('=') {
        Some((kind, value)) => match kind.to_ascii_lowercase().as_str() {
            "gc" | "general_category" => category(value)?,
            "sc" | "script" => format!("\\p{{Script={}}}", plain(value)?),
            "blk" | "block" => block(value)?,
            _ => return None,
        },
        None => by_name(name, is_unicode)?,
    };
    // Where letters of either case are alike, so are their categories.
    let has_case = ["Lu", "Ll", "Lt", "Lowercase", "Uppercase"];
    let is_of_case = has_case.iter().any(|of| found == format!("\\p{{{of}}}"));
    Some(match (ignores_case, found.as_str()) {
        (true, "a-z" | "A-Z") => "a-zA-Z".to_owned(),
        (true, _) if is_of_case => format!("{CASED}\\p{{Lowercase}}\\p{{Uppercase}}"),
        _ => found,
    })
}

fn by_name(name: &str, is_unicode: bool) -> Option<String> {
    if let Some((_, ascii, unicode)) = POSIX.iter().find(|(known, ..)| *known == name) {
        return Some((if is_unicode { unicode } else { ascii }).to_string());
    }
    if let Some((_, inside)) = NAMED.iter().find(|(known, _)| *known == name) {
        return Some((*inside).to_owned());
    }
    if let Some(rest) = name.strip_prefix("In") {
        return block(rest);
    }
    match name.strip_prefix("Is") {
        // A category, a script or a property that is either there or not.
        Some(rest) => category(rest).or_else(|| Some(format!("\\p{{{}}}", plain(rest)?))),
        None => category(name),
    }
}

fn category(name: &str) -> Option<String> {
    let known = CATEGORIES.contains(&name);
    known.then(|| format!("\\p{{{name}}}"))
}

fn block(name: &str) -> Option<String> {
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let name = name.to_ascii_lowercase();
    let (_, from, to) = BLOCKS.iter().find(|(known, ..)| *known == name)?;
    Some(format!("\\u{{{from:X}}}-\\u{{{to:X}}}"))
}

/// A name without anything that means something in a pattern.
fn plain(name: &str) -> Option<&str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ' ' | '-');
    (!name.is_empty() && name.chars().all(is_plain)).then_some(name)
}
