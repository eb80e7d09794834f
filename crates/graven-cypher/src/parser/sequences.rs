//! `CREATE SEQUENCE` and `DROP SEQUENCE`.
//!
//! # How it works
//! The options stand in any order, each at most once. What is not said is as in Kuzu: ascending
//! numbers go from 1 to the largest of 64 bits, descending ones from -1 to the least.
//!
//! # Cost
//! Linear in the text.

use super::{Parser, Result};
use crate::diagnostic::Code;
use crate::plan::sequences::{SequenceBounds, SequenceCommand};
use crate::token::{Span, TokenKind};

/// Options as they were written.
#[derive(Default)]
struct Written {
    start: Option<(i64, Span)>,
    increment: Option<(i64, Span)>,
    /// `NO MINVALUE` says only that nothing else does.
    min: Option<(Option<i64>, Span)>,
    max: Option<(Option<i64>, Span)>,
    cycle: Option<bool>,
}

impl Parser<'_> {
    /// A statement about sequences, if one begins here.
    pub(super) fn sequence_statement(&mut self) -> Result<Option<SequenceCommand>> {
        let creates = self.is_word("CREATE");
        if !(creates || self.is_word("DROP")) || !self.is_word_at(1, "SEQUENCE") {
            return Ok(None);
        }
        self.next += 2;
        if !creates {
            let lenient = self.if_exists()?;
            let name = self.name("a sequence")?.text;
            return Ok(Some(SequenceCommand::Drop { name, lenient }));
        }
        let lenient = self.if_not_exists()?;
        let name = self.name("a sequence")?;
        let mut written = Written::default();
        while self.at_name() {
            let at = self.token().span;
            let no = self.eat_word("NO");
            let twice = if !no && self.eat_word("START") {
                self.eat_word("WITH");
                let number = self.sequence_number()?;
                written.start.replace(number).is_some()
            } else if !no && self.eat_word("INCREMENT") {
                self.eat_word("BY");
                let number = self.sequence_number()?;
                written.increment.replace(number).is_some()
            } else if self.eat_word("MINVALUE") {
                let bound = self.sequence_bound(no)?;
                written.min.replace(bound).is_some()
            } else if self.eat_word("MAXVALUE") {
                let bound = self.sequence_bound(no)?;
                written.max.replace(bound).is_some()
            } else if self.eat_word("CYCLE") {
                written.cycle.replace(!no).is_some()
            } else {
                return Err(self.unexpected(
                    "`START`, `INCREMENT`, `MINVALUE`, `MAXVALUE`, `CYCLE` or the end",
                ));
            };
            if twice {
                let message = format!("the sequence {} has this option twice", name.text);
                let span = at.to(self.last_span());
                return Err(self.error(span, Code::InvalidOption, message));
            }
        }
        let bounds = self.sequence_bounds(&written, name.span)?;
        Ok(Some(SequenceCommand::Create {
            name: name.text,
            bounds,
            lenient,
        }))
    }

    /// A whole number of 64 bits with its sign.
    fn sequence_number(&mut self) -> Result<(i64, Span)> {
        let start = self.token().span;
        let negative = self.eat(TokenKind::Minus);
        if self.kind() != TokenKind::Integer {
            return Err(self.unexpected("a whole number"));
        }
        let token = self.advance();
        let number = crate::lexer::integer(self.text, token, negative)?;
        Ok((number, start.to(token.span)))
    }

    /// What stands behind `MINVALUE` or `MAXVALUE`: nothing behind `NO`.
    fn sequence_bound(&mut self, no: bool) -> Result<(Option<i64>, Span)> {
        if no {
            return Ok((None, self.last_span()));
        }
        let (number, span) = self.sequence_number()?;
        Ok((Some(number), span))
    }

    fn sequence_bounds(&self, written: &Written, at: Span) -> Result<SequenceBounds> {
        let (increment, span) = written.increment.unwrap_or((1, at));
        let wrong = |span: Span, message: String| {
            Err(self.error(span, Code::InvalidArgumentValue, message))
        };
        if increment == 0 {
            return wrong(span, "INCREMENT of a sequence is not 0".to_owned());
        }
        let ascends = increment > 0;
        let given = |bound: Option<(Option<i64>, Span)>| bound.and_then(|(number, _)| number);
        let min = given(written.min).unwrap_or(if ascends { 1 } else { i64::MIN });
        let max = given(written.max).unwrap_or(if ascends { i64::MAX } else { -1 });
        if min > max {
            let of = written.max.or(written.min).map_or(at, |(_, span)| span);
            return wrong(
                of,
                format!("MINVALUE {min} of the sequence is larger than its MAXVALUE {max}"),
            );
        }
        let first = if ascends { min } else { max };
        let (start, span) = written.start.unwrap_or((first, at));
        if !(min..=max).contains(&start) {
            return wrong(
                span,
                format!("START {start} of the sequence is not between {min} and {max}"),
            );
        }
        Ok(SequenceBounds {
            start,
            increment,
            min,
            max,
            cycle: written.cycle.unwrap_or(false),
        })
    }
}
