//! Bound expressions: variables are [`VarId`]s, functions are checked, aggregates are taken out.
//!
//! # How it works
//! What can fail while a statement runs says where it stands in the text (`at`), so that the error
//! can say so. Places do not take part in comparing; the place of what a rule or the binder made up
//! is empty, and that of what stands around it is taken.

use std::sync::Arc;

use super::VarId;
use crate::token::Span;

/// A literal as the text gives it.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `null`.
    Null,
    /// `true`, `false`.
    Boolean(bool),
    /// 64-bit integer.
    Integer(i64),
    /// 64-bit float.
    Float(f64),
    /// String.
    String(Arc<str>),
}

/// Unary operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnaryOp {
    /// `NOT`
    Not,
    /// `-`
    Minus,
    /// `+`
    Plus,
    /// `IS NULL`
    IsNull,
    /// `IS NOT NULL`
    IsNotNull,
}

/// Binary operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "each variant is the operator of its name")]
pub enum BinaryOp {
    Or,
    Xor,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Power,
    In,
    StartsWith,
    EndsWith,
    Contains,
    RegexMatch,
}

/// An expression over one row.
#[expect(missing_docs, reason = "fields are explained by the variant")]
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A constant.
    Literal(Literal),
    /// `$name`.
    Parameter(Arc<str>, Span),
    /// A row variable.
    Variable(VarId),
    /// `base.key`
    Property {
        base: Box<Expr>,
        key: Arc<str>,
        at: Span,
    },
    /// `base[index]`
    Index {
        base: Box<Expr>,
        index: Box<Expr>,
        at: Span,
    },
    /// `base[from..to]`
    Slice {
        base: Box<Expr>,
        from: Option<Box<Expr>>,
        to: Option<Box<Expr>>,
        at: Span,
    },
    /// `[a, b]`
    List(Vec<Expr>),
    /// `{a: 1}`
    Map(Vec<(Arc<str>, Expr)>),
    /// Unary operator.
    Unary {
        op: UnaryOp,
        operand: Box<Expr>,
        at: Span,
    },
    /// Binary operator.
    Binary {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
        at: Span,
    },
    /// `a < b <= c`: all neighbours must hold; each operand evaluated once.
    Chain {
        first: Box<Expr>,
        rest: Vec<(BinaryOp, Expr)>,
        at: Span,
    },
    /// `n:A:B` (all labels) or `r:T`.
    HasLabels {
        base: Box<Expr>,
        labels: Vec<Arc<str>>,
        at: Span,
    },
    /// Function call; `name` is lower case and known to the executor.
    Call {
        name: Arc<str>,
        args: Vec<Expr>,
        at: Span,
    },
    /// `CASE` with conditions already made boolean (the simple form compares with `=`).
    Case {
        branches: Vec<(Expr, Expr)>,
        otherwise: Option<Box<Expr>>,
        at: Span,
    },
    /// A value that is computed once, with a name of its own for `body`.
    Let {
        var: VarId,
        value: Box<Expr>,
        body: Box<Expr>,
    },
    /// `[x IN list WHERE p | e]`
    ListComprehension {
        var: VarId,
        list: Box<Expr>,
        filter: Option<Box<Expr>>,
        map: Option<Box<Expr>>,
        at: Span,
    },
    /// `all|any|none|single(x IN list WHERE p)`
    Quantifier {
        kind: Quantifier,
        var: VarId,
        list: Box<Expr>,
        predicate: Box<Expr>,
        at: Span,
    },
    /// `reduce(acc = init, x IN list | e)`
    Reduce {
        accumulator: VarId,
        init: Box<Expr>,
        var: VarId,
        list: Box<Expr>,
        step: Box<Expr>,
        at: Span,
    },
}

/// The place of an expression that can fail, borrowed as the expression is.
macro_rules! place_of {
    ($expr:expr) => {
        match $expr {
            Expr::Literal(_)
            | Expr::Variable(_)
            | Expr::List(_)
            | Expr::Map(_)
            | Expr::Let { .. } => None,
            Expr::Parameter(_, at)
            | Expr::Property { at, .. }
            | Expr::Index { at, .. }
            | Expr::Slice { at, .. }
            | Expr::Unary { at, .. }
            | Expr::Binary { at, .. }
            | Expr::Chain { at, .. }
            | Expr::HasLabels { at, .. }
            | Expr::Call { at, .. }
            | Expr::Case { at, .. }
            | Expr::ListComprehension { at, .. }
            | Expr::Quantifier { at, .. }
            | Expr::Reduce { at, .. } => Some(at),
        }
    };
}

impl Expr {
    /// Where it stands, for what can fail; empty where no text says so.
    #[must_use]
    pub fn place(&self) -> Span {
        place_of!(self).copied().unwrap_or_default()
    }

    /// The same, standing at `span` unless it has a place already.
    pub(crate) fn standing_at(mut self, span: Span) -> Expr {
        if let Some(at) = place_of!(&mut self)
            && at.is_empty()
        {
            *at = span;
        }
        self
    }
}

/// List predicates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "each variant is the predicate of its name")]
pub enum Quantifier {
    All,
    Any,
    None,
    Single,
}

impl Quantifier {
    /// As in a statement.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Quantifier::All => "all",
            Quantifier::Any => "any",
            Quantifier::None => "none",
            Quantifier::Single => "single",
        }
    }
}

/// Aggregate functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "each variant is the function of its name")]
pub enum AggregateFunction {
    CountStar,
    Count,
    Sum,
    Min,
    Max,
    Avg,
    Collect,
    StDev,
    StDevP,
    PercentileCont,
    PercentileDisc,
}

impl AggregateFunction {
    /// As in a statement; `count(*)` with its star.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            AggregateFunction::CountStar => "count(*)",
            AggregateFunction::Count => "count",
            AggregateFunction::Sum => "sum",
            AggregateFunction::Min => "min",
            AggregateFunction::Max => "max",
            AggregateFunction::Avg => "avg",
            AggregateFunction::Collect => "collect",
            AggregateFunction::StDev => "stDev",
            AggregateFunction::StDevP => "stDevP",
            AggregateFunction::PercentileCont => "percentileCont",
            AggregateFunction::PercentileDisc => "percentileDisc",
        }
    }

    /// Whether a percentile can be asked for this share of the values.
    #[must_use]
    pub fn takes_share(share: f64) -> bool {
        (0.0..=1.0).contains(&share)
    }
}

/// One aggregate of an aggregation.
#[derive(Clone, Debug, PartialEq)]
pub struct AggregateCall {
    /// Which.
    pub function: AggregateFunction,
    /// Argument; `None` for `count(*)`.
    pub argument: Option<Expr>,
    /// Second argument of the percentiles.
    pub parameter: Option<Expr>,
    /// `DISTINCT`.
    pub distinct: bool,
    /// Where the call stands in the text.
    pub at: Span,
}

impl AggregateCall {
    /// The sum of the values of a variable.
    pub(crate) fn sum(of: VarId) -> Self {
        Self {
            function: AggregateFunction::Sum,
            argument: Some(Expr::Variable(of)),
            parameter: None,
            distinct: false,
            at: Span::default(),
        }
    }

    /// Whether rows that repeat others change nothing about the result.
    pub(crate) fn ignores_duplicates(&self) -> bool {
        let extreme = matches!(
            self.function,
            AggregateFunction::Min | AggregateFunction::Max
        );
        self.distinct || extreme
    }
}
