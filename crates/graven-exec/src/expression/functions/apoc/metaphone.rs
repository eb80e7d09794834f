//! `apoc.text.doubleMetaphone`: the sound of words by the first code of Double Metaphone.
//!
//! # Source
//! Lawrence Philips, "The Double Metaphone Search Algorithm" (2000), as Apache Commons Codec has
//! it: four letters for each word; `0` is the sound of `th`.

use super::text;
use crate::error::Result;
use crate::expression::signature::Function;
use crate::growth::{Text, work};
use crate::query_context::QueryContext;
use crate::value::Value;

pub(in crate::expression) const FUNCTIONS: &[Function] = &[Function::new(
    "apoc.text.doublemetaphone",
    (1, 1),
    double_metaphone,
)];

/// Letters of a code.
const LENGTH: usize = 4;

fn double_metaphone(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let Some(of) = text("apoc.text.doubleMetaphone", &args[0])? else {
        return Ok(Value::Null);
    };
    let mut out = Text::default();
    // Java's `\W` is every character but these.
    let is_between = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    // Before a first sign there is an empty word, of which APOC says that it is null.
    if of.starts_with(is_between) && of.contains(|c| !is_between(c)) {
        out.push("null")?;
    }
    for word in of.split(is_between) {
        work(1 + word.len())?;
        if !word.is_empty() {
            out.push(&Word::of(word).code())?;
        }
    }
    out.value()
}

/// A word in capitals, and what is known of its sound.
struct Word {
    letters: Vec<u8>,
    is_slavic_or_german: bool,
    code: String,
}

impl Word {
    fn of(word: &str) -> Self {
        let upper = word.to_ascii_uppercase();
        let slavic = ["W", "K", "CZ", "WITZ"];
        Word {
            is_slavic_or_german: slavic.iter().any(|part| upper.contains(part)),
            letters: upper.into_bytes(),
            code: String::new(),
        }
    }

    /// Whether one of these texts stands at a place.
    fn has(&self, at: isize, texts: &[&str]) -> bool {
        let rest = usize::try_from(at)
            .ok()
            .and_then(|at| self.letters.get(at..));
        rest.is_some_and(|rest| texts.iter().any(|text| rest.starts_with(text.as_bytes())))
    }

    /// The letter at a place; 0 where there is none.
    fn letter(&self, at: isize) -> u8 {
        let letter = usize::try_from(at).ok().and_then(|at| self.letters.get(at));
        letter.copied().unwrap_or(0)
    }

    fn is_vowel(&self, at: isize) -> bool {
        matches!(self.letter(at), b'A' | b'E' | b'I' | b'O' | b'U' | b'Y')
    }

    fn is_last(&self, at: isize) -> bool {
        at + 1 == self.letters.len().cast_signed()
    }

    fn is_germanic(&self) -> bool {
        self.has(0, &["SCH"])
    }

    /// Adds a sound that so many letters make.
    fn says(&mut self, sound: &str, letters: isize) -> isize {
        self.code.push_str(sound);
        letters
    }

    /// Adds the sound of a letter that may be doubled.
    fn doubled(&mut self, at: isize, sound: &str) -> isize {
        let letters = 1 + isize::from(self.letter(at) == self.letter(at + 1));
        self.says(sound, letters)
    }

    fn code(mut self) -> String {
        let silent = ["GN", "KN", "PN", "WR", "PS"];
        let mut at = isize::from(self.has(0, &silent));
        while at < self.letters.len().cast_signed() && self.code.len() < LENGTH {
            at += self.sound(at);
        }
        self.code.truncate(LENGTH);
        self.code
    }

    /// Adds the sound at a place: how many letters it is made of.
    fn sound(&mut self, at: isize) -> isize {
        match self.letter(at) {
            b'A' | b'E' | b'I' | b'O' | b'U' | b'Y' => {
                let sound = if at == 0 { "A" } else { "" };
                self.says(sound, 1)
            }
            b'B' => self.doubled(at, "P"),
            b'C' => self.c(at),
            b'D' => self.d(at),
            b'F' | b'V' => self.doubled(at, "F"),
            b'G' => self.g(at),
            b'H' => match (at == 0 || self.is_vowel(at - 1)) && self.is_vowel(at + 1) {
                true => self.says("H", 2),
                false => 1,
            },
            b'J' => self.j(at),
            b'K' | b'Q' => self.doubled(at, "K"),
            b'L' => self.doubled(at, "L"),
            b'M' => {
                let silent_b = self.has(at - 1, &["UMB"])
                    && (self.is_last(at + 1) || self.has(at + 2, &["ER"]));
                let two = silent_b || self.letter(at + 1) == b'M';
                self.says("M", 1 + isize::from(two))
            }
            b'N' => self.doubled(at, "N"),
            b'P' if self.letter(at + 1) == b'H' => self.says("F", 2),
            b'P' => self.with_next(at, "P", &["P", "B"]),
            b'R' => {
                let is_french = self.is_last(at)
                    && !self.is_slavic_or_german
                    && self.has(at - 2, &["IE"])
                    && !self.has(at - 4, &["ME", "MA"]);
                self.doubled(at, if is_french { "" } else { "R" })
            }
            b'S' => self.s(at),
            b'T' => self.t(at),
            b'W' => self.w(at),
            b'X' => self.x(at),
            b'Z' if self.letter(at + 1) == b'H' => self.says("J", 2),
            b'Z' => self.doubled(at, "S"),
            _ => 1,
        }
    }

    /// Adds the sound of a letter together with the next one, if that is one of these.
    fn with_next(&mut self, at: isize, sound: &str, next: &[&str]) -> isize {
        let letters = 1 + isize::from(self.has(at + 1, next));
        self.says(sound, letters)
    }

    fn c(&mut self, at: isize) -> isize {
        let hard = self.has(at, &["CHIA"])
            || (at > 1
                && !self.is_vowel(at - 2)
                && self.has(at - 1, &["ACH"])
                && (!matches!(self.letter(at + 2), b'I' | b'E')
                    || self.has(at - 2, &["BACHER", "MACHER"])));
        if hard {
            return self.says("K", 2);
        }
        if at == 0 && self.has(at, &["CAESAR"]) {
            return self.says("S", 2);
        }
        if self.has(at, &["CH"]) {
            return self.ch(at);
        }
        if self.has(at, &["CZ"]) && !self.has(at - 2, &["WICZ"]) {
            return self.says("S", 2);
        }
        if self.has(at + 1, &["CIA"]) {
            return self.says("X", 3);
        }
        if self.has(at, &["CC"]) && !(at == 1 && self.letter(0) == b'M') {
            let soft = self.has(at + 2, &["I", "E", "H"]) && !self.has(at + 2, &["HU"]);
            let both = (at == 1 && self.letter(0) == b'A') || self.has(at - 1, &["UCCEE", "UCCES"]);
            return match (soft, both) {
                (true, true) => self.says("KS", 3),
                (true, false) => self.says("X", 3),
                (false, _) => self.says("K", 2),
            };
        }
        if self.has(at, &["CK", "CG", "CQ"]) {
            return self.says("K", 2);
        }
        if self.has(at, &["CI", "CE", "CY"]) {
            return self.says("S", 2);
        }
        let two = self.has(at + 1, &["C", "K", "Q"]) && !self.has(at + 1, &["CE", "CI"]);
        self.says("K", 1 + isize::from(two))
    }

    fn ch(&mut self, at: isize) -> isize {
        let greek_start = at == 0
            && self.has(1, &["HARAC", "HARIS", "HOR", "HYM", "HIA", "HEM"])
            && !self.has(0, &["CHORE"]);
        let after = (at == 0 || self.has(at - 1, &["A", "O", "U", "E"]))
            && (self.is_last(at + 1)
                || self.has(at + 2, &["L", "R", "N", "M", "B", "H", "F", "V", "W"]));
        let hard = (at > 0 && self.has(at, &["CHAE"]))
            || greek_start
            || self.is_germanic()
            || self.has(at - 2, &["ORCHES", "ARCHIT", "ORCHID"])
            || self.has(at + 2, &["T", "S"])
            || after
            || (at > 0 && self.has(0, &["MC"]));
        self.says(if hard { "K" } else { "X" }, 2)
    }

    fn d(&mut self, at: isize) -> isize {
        match self.has(at, &["DG"]) {
            true if self.has(at + 2, &["I", "E", "Y"]) => self.says("J", 3),
            true => self.says("TK", 2),
            false => self.with_next(at, "T", &["T", "D"]),
        }
    }

    fn g(&mut self, at: isize) -> isize {
        const SOFT: &[&str] = &[
            "ES", "EP", "EB", "EL", "EY", "IB", "IL", "IN", "IE", "EI", "ER",
        ];
        let next = self.letter(at + 1);
        if next == b'H' {
            return self.gh(at);
        }
        if next == b'N' {
            let both = at == 1 && self.is_vowel(0) && !self.is_slavic_or_german;
            let silent = !self.has(at + 2, &["EY"]) && !self.is_slavic_or_german;
            return self.says(if both || !silent { "KN" } else { "N" }, 2);
        }
        if self.has(at + 1, &["LI"]) && !self.is_slavic_or_german {
            return self.says("KL", 2);
        }
        if at == 0 && (next == b'Y' || self.has(at + 1, SOFT)) {
            return self.says("K", 2);
        }
        if (self.has(at + 1, &["ER"]) || next == b'Y')
            && !self.has(0, &["DANGER", "RANGER", "MANGER"])
            && !self.has(at - 1, &["E", "I", "RGY", "OGY"])
        {
            return self.says("K", 2);
        }
        if matches!(next, b'E' | b'I' | b'Y') || self.has(at - 1, &["AGGI", "OGGI"]) {
            let hard = self.is_germanic() || self.has(at + 1, &["ET"]);
            return self.says(if hard { "K" } else { "J" }, 2);
        }
        self.doubled(at, "K")
    }

    fn gh(&mut self, at: isize) -> isize {
        if at > 0 && !self.is_vowel(at - 1) {
            return self.says("K", 2);
        }
        if at == 0 {
            let soft = self.letter(at + 2) == b'I';
            return self.says(if soft { "J" } else { "K" }, 2);
        }
        let is_silent = self.has(at - 2, &["B", "H", "D"])
            || self.has(at - 3, &["B", "H", "D"])
            || self.has(at - 4, &["B", "H"]);
        if is_silent {
            return 2;
        }
        let before = self.letter(at - 1);
        let is_f = before == b'U' && self.has(at - 3, &["C", "G", "L", "R", "T"]);
        match (is_f, before) {
            (true, _) => self.says("F", 2),
            (false, b'I') => 2,
            (false, _) => self.says("K", 2),
        }
    }

    fn j(&mut self, at: isize) -> isize {
        if self.has(at, &["JOSE"]) {
            let is_spanish = self.letters.len() == 4;
            return self.says(if is_spanish { "H" } else { "J" }, 1);
        }
        let as_spanish = self.is_vowel(at - 1)
            && !self.is_slavic_or_german
            && matches!(self.letter(at + 1), b'A' | b'O');
        let is_heard = !self.has(at + 1, &["L", "T", "K", "S", "N", "M", "B", "Z"])
            && !self.has(at - 1, &["S", "K", "L"]);
        let heard = at == 0 || as_spanish || self.is_last(at) || is_heard;
        self.doubled(at, if heard { "J" } else { "" })
    }

    fn s(&mut self, at: isize) -> isize {
        if self.has(at - 1, &["ISL", "YSL"]) {
            return 1;
        }
        if at == 0 && self.has(at, &["SUGAR"]) {
            return self.says("X", 1);
        }
        if self.has(at, &["SH"]) {
            let hard = self.has(at + 1, &["HEIM", "HOEK", "HOLM", "HOLZ"]);
            return self.says(if hard { "S" } else { "X" }, 2);
        }
        if self.has(at, &["SIO", "SIA"]) {
            return self.says("S", 3);
        }
        if (at == 0 && self.has(at + 1, &["M", "N", "L", "W"])) || self.has(at + 1, &["Z"]) {
            return self.with_next(at, "S", &["Z"]);
        }
        if self.has(at, &["SC"]) {
            return self.sc(at);
        }
        let is_french = self.is_last(at) && self.has(at - 2, &["AI", "OI"]);
        self.with_next(at, if is_french { "" } else { "S" }, &["S", "Z"])
    }

    fn sc(&mut self, at: isize) -> isize {
        let sound = match self.letter(at + 2) {
            b'H' if self.has(at + 3, &["ER", "EN"]) => "X",
            b'H' if self.has(at + 3, &["OO", "UY", "ED", "EM"]) => "SK",
            b'H' => "X",
            b'I' | b'E' | b'Y' => "S",
            _ => "SK",
        };
        self.says(sound, 3)
    }

    fn t(&mut self, at: isize) -> isize {
        if self.has(at, &["TION", "TIA", "TCH"]) {
            return self.says("X", 3);
        }
        if self.has(at, &["TH", "TTH"]) {
            let hard = self.has(at + 2, &["OM", "AM"]) || self.is_germanic();
            return self.says(if hard { "T" } else { "0" }, 2);
        }
        self.with_next(at, "T", &["T", "D"])
    }

    fn w(&mut self, at: isize) -> isize {
        if self.has(at, &["WR"]) {
            return self.says("R", 2);
        }
        if at == 0 && (self.is_vowel(1) || self.has(at, &["WH"])) {
            return self.says("A", 1);
        }
        let is_f = (self.is_last(at) && self.is_vowel(at - 1))
            || self.has(at - 1, &["EWSKI", "EWSKY", "OWSKI", "OWSKY"])
            || self.is_germanic();
        match !is_f && self.has(at, &["WICZ", "WITZ"]) {
            true => self.says("TS", 4),
            false => 1,
        }
    }

    fn x(&mut self, at: isize) -> isize {
        if at == 0 {
            return self.says("S", 1);
        }
        let is_french = self.is_last(at)
            && (self.has(at - 3, &["IAU", "EAU"]) || self.has(at - 2, &["AU", "OU"]));
        self.with_next(at, if is_french { "" } else { "KS" }, &["C", "X"])
    }
}

#[cfg(test)]
mod tests {
    //! Goal: words have the codes that Apache Commons Codec gives them.

    use super::Word;

    #[test]
    fn sounds_of_words() {
        for (word, code) in [
            ("testing", "TSTN"),
            ("The", "0"),
            ("quick", "KK"),
            ("brown", "PRN"),
            ("fox", "FKS"),
            ("jumped", "JMPT"),
            ("over", "AFR"),
            ("lazy", "LS"),
            ("dogs", "TKS"),
            ("MacCafferey", "MKFR"),
            ("Stephan", "STFN"),
            ("Kuczewski", "KSSK"),
            ("McClelland", "MKLL"),
            ("xenophobia", "SNFP"),
            ("Smith", "SM0"),
            ("Thomas", "TMS"),
            ("Schmidt", "XMT"),
            ("Hugh", "H"),
            ("laugh", "LF"),
            ("Wright", "RT"),
            ("Knight", "NT"),
            ("Jose", "HS"),
            ("Cabrillo", "KPRL"),
            ("focaccia", "FKX"),
            ("success", "SKSS"),
            ("edge", "AJ"),
            ("Campbell", "KMPL"),
            ("dumb", "TM"),
        ] {
            assert_eq!(Word::of(word).code(), code, "{word}");
        }
    }
}
