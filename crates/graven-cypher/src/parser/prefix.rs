//! What stands before a statement: `EXPLAIN`, `PROFILE`, `CYPHER` with a version and options.
//!
//! # How it works
//! Options choose among ways of running a statement that this database does not have: those of
//! Neo4j are read and have no meaning, others are refused. The one version is 5. Kuzu has a
//! logical plan and a physical one; here is one plan, and `EXPLAIN LOGICAL` shows it.

use super::{Parser, Result};
use crate::diagnostic::Code;
use crate::plan::PlanMode;
use crate::token::TokenKind;

/// What was found there.
pub(super) struct Prefix {
    pub mode: PlanMode,
}

/// The version of the language.
const VERSION: &str = "5";

/// Options of Neo4j 5, and the values they may have; none: any number or name.
const OPTIONS: &[(&str, &[&str])] = &[
    ("connectComponentsPlanner", &["greedy", "idp"]),
    ("debug", &[]),
    ("eagerAnalyzer", &["ir", "lp"]),
    (
        "expressionEngine",
        &["compiled", "default", "interpreted", "onlyWhenHot"],
    ),
    (
        "inferSchemaParts",
        &["mostSelectiveLabel", "most_selective_label", "off"],
    ),
    (
        "interpretedPipesFallback",
        &["all", "default", "disabled", "whitelisted_plans_only"],
    ),
    ("operatorEngine", &["compiled", "default", "interpreted"]),
    ("parallelRuntimeSupport", &["all", "default", "disabled"]),
    ("planner", &["cost", "dp", "idp"]),
    ("planVarExpandInto", &["minimum_cost", "single_row"]),
    ("replan", &["default", "force", "skip"]),
    (
        "runtime",
        &["interpreted", "legacy", "parallel", "pipelined", "slotted"],
    ),
    (
        "statefulShortestPlanningMode",
        &["all_if_possible", "cardinality_heuristic", "into_only"],
    ),
    ("updateStrategy", &["default", "eager"]),
];

impl Parser<'_> {
    pub(super) fn prefix(&mut self) -> Result<Prefix> {
        let mut prefix = Prefix {
            mode: PlanMode::Execute,
        };
        let mut options = false;
        loop {
            if prefix.mode != PlanMode::Profile && self.eat_word("EXPLAIN") {
                prefix.mode = PlanMode::Explain;
                self.eat_word("LOGICAL");
            } else if prefix.mode != PlanMode::Explain && self.eat_word("PROFILE") {
                prefix.mode = PlanMode::Profile;
            } else if !options && self.eat_word("CYPHER") {
                options = true;
                self.version()?;
                self.statement_options()?;
            } else if self.is_word("EXPLAIN") || self.is_word("PROFILE") {
                let message = "a statement is explained or profiled, not both";
                return Err(self.error(self.token().span, Code::InvalidOption, message));
            } else {
                break;
            }
        }
        Ok(prefix)
    }

    fn version(&mut self) -> Result<()> {
        if !matches!(
            self.kind(),
            TokenKind::Integer | TokenKind::Float | TokenKind::BadNumber
        ) {
            return Ok(());
        }
        let span = self.advance().span;
        let version = span.slice(self.text);
        if version == VERSION {
            return Ok(());
        }
        let message = format!("`CYPHER {version}` is not available in this build");
        Err(self
            .error(span, Code::InvalidOption, message)
            .with_hint(format!("leave it out, or write `CYPHER {VERSION}`")))
    }

    /// `name=value ...`, each of them known.
    fn statement_options(&mut self) -> Result<()> {
        let mut given: Vec<&str> = Vec::new();
        while self.at_name() && self.peek(1) == TokenKind::Equal {
            let name = self.name("an option")?;
            self.advance();
            let of_name = |(known, _): &&(&str, _)| known.eq_ignore_ascii_case(&name.text);
            let Some((known, values)) = OPTIONS.iter().find(of_name) else {
                let message = format!("there is no option `{}`", name.text);
                return Err(self
                    .error(name.span, Code::InvalidOption, message)
                    .with_hint("leave it out"));
            };
            if given.contains(known) {
                let message = format!("the option `{known}` has a value already");
                return Err(self.error(name.span, Code::InvalidOption, message));
            }
            given.push(known);
            let value = self.token();
            if !matches!(
                value.kind,
                TokenKind::Word | TokenKind::QuotedName | TokenKind::String | TokenKind::Integer
            ) {
                return Err(self.unexpected("the value of the option"));
            }
            self.advance();
            let text = value.span.slice(self.text).trim_matches(['`', '\'', '"']);
            if !values.is_empty() && !values.iter().any(|v| v.eq_ignore_ascii_case(text)) {
                let message = format!("`{text}` is no value of the option `{known}`");
                return Err(self
                    .error(value.span, Code::InvalidOption, message)
                    .with_hint(format!("write one of: {}", values.join(", "))));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::parser::parse;
    use crate::plan::PlanMode;

    /// Goal: `EXPLAIN LOGICAL` of Kuzu is `EXPLAIN`, and the word means nothing anywhere else.
    #[test]
    fn a_logical_plan_is_the_plan() {
        for text in ["EXPLAIN RETURN 1", "explain logical RETURN 1"] {
            let statement = parse(text).expect(text);
            assert_eq!(statement.mode, PlanMode::Explain, "{text}");
        }
        for text in [
            "LOGICAL RETURN 1",
            "PROFILE LOGICAL RETURN 1",
            "EXPLAIN LOGICAL LOGICAL RETURN 1",
        ] {
            parse(text).expect_err(text);
        }
    }
}
