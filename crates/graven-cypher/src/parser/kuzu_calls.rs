//! Calls, settings and extensions of Kuzu.
//!
//! # How it works
//! `CALL show_tables() RETURN *` needs no `YIELD`: the call is one of a procedure of this database
//! under another name. `CALL name = value` is a setting: one that changes no result is read over.
//! What there is nothing for here is refused by its name, with what to write instead.

use super::{Parser, Result};
use crate::ast::{ClauseKind, Expr, ExprKind, Name, ProcedureCall, Yields};
use crate::diagnostic::Code;
use crate::token::{Span, TokenKind};

/// Procedures that give their columns without `YIELD`, by their names in Kuzu.
const CALLS: &[(&str, &str)] = &[
    ("clear_warnings", "graven.clearWarnings"),
    ("current_setting", "graven.setting"),
    ("db_version", "graven.kuzuVersion"),
    ("show_attached_databases", "graven.kuzuAttached"),
    ("show_connection", "graven.tableEnds"),
    ("show_functions", "graven.kuzuFunctions"),
    ("show_indexes", "graven.kuzuIndexes"),
    ("show_loaded_extensions", "graven.kuzuLoaded"),
    ("show_macros", "graven.kuzuMacros"),
    ("show_official_extensions", "graven.kuzuExtensions"),
    ("show_sequences", "graven.kuzuSequences"),
    ("show_tables", "graven.tables"),
    ("show_warnings", "graven.kuzuWarnings"),
    ("storage_info", "graven.storageInfo"),
    ("table_info", "graven.tableInfo"),
];

const SEARCH: &str = "`CONTAINS` finds texts; `ORDER BY array_distance(...) LIMIT 10` vectors";
const PAGES: &str = "`CALL graven.info()` tells of pages and memory";
const GRAPHS: &str = "`CALL graven.procedures()` lists what there is; a `MATCH` names labels";

/// Calls of Kuzu that there is nothing for, and what to do instead.
const WITHOUT: &[(&str, &str)] = &[
    ("bm_info", PAGES),
    (
        "catalog_version",
        "changes of the schema are not counted: compare `CALL show_tables() RETURN *`",
    ),
    ("create_fts_index", SEARCH),
    ("create_vector_index", SEARCH),
    ("drop_fts_index", SEARCH),
    ("drop_projected_graph", GRAPHS),
    ("drop_vector_index", SEARCH),
    ("file_info", PAGES),
    ("free_space_info", PAGES),
    ("fsm_info", PAGES),
    ("page_rank", GRAPHS),
    ("project_graph", GRAPHS),
    ("project_graph_cypher", GRAPHS),
    ("projected_graph_info", GRAPHS),
    ("query_fts_index", SEARCH),
    ("query_vector_index", SEARCH),
    ("show_projected_graphs", GRAPHS),
    (
        "stats_info",
        "write `MATCH (n:Label) RETURN count(*), count(DISTINCT n.key)`",
    ),
];

/// Settings of Kuzu that change no result, and have no meaning here.
const SETTINGS: &[&str] = &[
    "auto_checkpoint",
    "checkpoint_threshold",
    "clear_attached_db_cache",
    "debug_enable_multi_writes",
    "disable_map_key_check",
    "enable_mvcc",
    "enable_optimizer",
    "enable_plan_optimizer",
    "enable_semi_mask",
    "enable_zone_map",
    "force_checkpoint_on_close",
    "home_directory",
    "progress_bar",
    "progress_bar_time",
    "recursive_pattern_factor",
    "spill_to_disk",
    "threads",
    "warning_limit",
];

/// Settings that would change results, and what to write instead.
const REFUSED: &[(&str, &str)] = &[
    (
        "file_search_path",
        "write the path of a file from the working folder, or the whole path",
    ),
    (
        "recursive_pattern_semantic",
        "a pattern is a trail, which 'TRAIL' says: there are no walks, and `[:K* ACYCLIC 1..3]` \
            is said in the pattern",
    ),
    (
        "timeout",
        "the program sets the timeout: `set_query_timeout`, `--timeout`",
    ),
    (
        "var_length_extend_max_depth",
        "write the bound in the pattern: `[:K*1..10]`",
    ),
];

/// Extensions that need no loading: their functions, files and URLs are there.
const BUILT_IN: &[&str] = &["AZURE", "HTTPFS", "JSON"];

impl Parser<'_> {
    /// `CHECKPOINT`, which is a procedure here.
    pub(super) fn checkpoint(&mut self) -> ClauseKind {
        let span = self.advance().span;
        ClauseKind::Call(ProcedureCall::of("graven.checkpoint", Vec::new(), span))
    }

    /// A statement about extensions or other databases, if one begins here: refused, unless it asks
    /// for what is built in.
    pub(super) fn extension_statement(&mut self) -> Result<Option<ClauseKind>> {
        let ends = |ahead: usize| {
            let last = matches!(self.peek(ahead), TokenKind::End | TokenKind::Semicolon);
            last && matches!(
                self.peek(ahead - 1),
                TokenKind::Word | TokenKind::QuotedName
            )
        };
        let extension = |ahead: usize| self.is_word_at(ahead, "EXTENSION");
        let is_clause = ["DELETE", "FROM", "CSV"]
            .iter()
            .any(|it| self.is_word_at(1, it));
        if self.is_word("ATTACH") || self.is_word("DETACH") && ends(2) && !is_clause {
            let hint = "read its files with `LOAD FROM`, or a file of its export with `COPY`";
            return Err(self.without("other databases to attach", hint));
        }
        let (load, forced) = (self.is_word("LOAD"), self.is_word("FORCE"));
        let installs = self.is_word_at(usize::from(forced), "INSTALL");
        let named = self.is_word("UNINSTALL") || load && extension(1);
        let alone = (load || self.is_word("UPDATE")) && ends(2) && !is_clause;
        if !(installs || named || alone) {
            return Ok(None);
        }
        let mut at = 1 + usize::from(forced);
        at += usize::from(extension(at));
        let Some(token) = self.tokens.list.get(self.next + at) else {
            return Ok(None);
        };
        let name = token.span.slice(self.text);
        let name = name.trim_matches(['\'', '"', '`']).to_ascii_uppercase();
        if BUILT_IN.contains(&&*name) && !self.is_word("UNINSTALL") {
            self.next += at + 1;
            return Ok(Some(ClauseKind::Finish));
        }
        let hint = match name.as_str() {
            "JSON" | "HTTPFS" | "AZURE" => "leave it out: it is built in",
            "FTS" | "VECTOR" => SEARCH,
            "ALGO" => GRAPHS,
            _ => "leave it out; what is not built in comes from files",
        };
        Err(self.without("extensions to load", hint))
    }

    /// A call of a procedure, by its name in Kuzu, whose rows are a source; none if none is here.
    pub(super) fn kuzu_source(&mut self) -> Result<Option<ClauseKind>> {
        let word = self.token().span.slice(self.text).to_ascii_lowercase();
        let known = CALLS.iter().find(|(name, _)| *name == word);
        let Some((_, procedure)) = known.filter(|_| self.peek(1) == TokenKind::OpenParen) else {
            return Ok(None);
        };
        let span = self.advance().span;
        self.advance();
        let args = self.arguments()?;
        Ok(Some(ClauseKind::Call(ProcedureCall {
            name: Name {
                text: (*procedure).into(),
                span,
            },
            yields: setting_by_name(&word, &args).unwrap_or(Yields::None),
            args: Some(args),
            filter: self.where_clause()?,
            shown: true,
            optional: false,
        })))
    }

    /// The rest of `CALL` where it is one of Kuzu: a procedure that gives its columns without
    /// `YIELD`, or a setting.
    pub(super) fn kuzu_call(&mut self, start: Span) -> Result<Option<ClauseKind>> {
        let word = self.token().span.slice(self.text).to_ascii_lowercase();
        if self.peek(1) == TokenKind::Equal {
            return self.kuzu_setting(&word, start).map(Some);
        }
        if self.peek(1) != TokenKind::OpenParen {
            return Ok(None);
        }
        if let Some((name, hint)) = WITHOUT.iter().find(|(name, _)| *name == word) {
            let message = format!("there is no `{name}` in this build");
            return Err(self
                .error(self.token().span, Code::FeatureNotAvailable, message)
                .with_hint(*hint));
        }
        let Some((_, procedure)) = CALLS.iter().find(|(name, _)| *name == word) else {
            return Ok(None);
        };
        let span = self.advance().span;
        self.advance();
        let args = self.arguments()?;
        let mut yields = Yields::None;
        let mut filter = None;
        if self.eat_word("YIELD") {
            yields = self.yields()?;
            filter = self.where_clause()?;
        } else {
            yields = setting_by_name(&word, &args).unwrap_or(yields);
            if self.is_word("WHERE") {
                filter = self.where_clause()?;
            }
        }
        // Alone, a call gives its columns in their own order; `RETURN *` would sort them.
        let ends = matches!(self.peek(2), TokenKind::End | TokenKind::Semicolon);
        if self.is_word("RETURN") && self.peek(1) == TokenKind::Star && ends {
            self.next += 2;
        }
        let call = ProcedureCall {
            name: Name {
                text: (*procedure).into(),
                span,
            },
            args: Some(args),
            yields,
            filter,
            shown: true,
            optional: false,
        };
        Ok(Some(ClauseKind::Call(call)))
    }

    /// `name = value`.
    fn kuzu_setting(&mut self, word: &str, start: Span) -> Result<ClauseKind> {
        let name = self.name("a setting")?;
        self.advance();
        let value = self.expression()?;
        let says_trail = match &value.kind {
            ExprKind::String(text) => text.eq_ignore_ascii_case("TRAIL"),
            _ => false,
        };
        let says_trail = says_trail && word == "recursive_pattern_semantic";
        if says_trail || SETTINGS.contains(&word) {
            return Ok(ClauseKind::Finish);
        }
        let hint = REFUSED.iter().find(|(known, _)| *known == word);
        let message = match hint {
            Some(_) => format!("{} cannot be set by a statement", name.text),
            None => format!("there is no setting {} in this build", name.text),
        };
        Err(self
            .error(start.to(name.span), Code::InvalidOption, message)
            .with_hint(hint.map_or("leave it out", |(_, hint)| *hint)))
    }
}

/// The column of `current_setting('name')` has the name of the setting.
fn setting_by_name(word: &str, args: &[Expr]) -> Option<Yields> {
    let [arg] = args else {
        return None;
    };
    let ExprKind::String(name) = &arg.kind else {
        return None;
    };
    let named = |text: &str| Name {
        text: text.into(),
        span: arg.span,
    };
    let item = (named("setting"), Some(named(name)));
    (word == "current_setting").then(|| Yields::Items(vec![item]))
}
