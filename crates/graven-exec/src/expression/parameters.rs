//! Parameters of compiled expressions: their values change from run to run of a statement, nothing
//! else does.

use super::Compiled;
use crate::error::Result;
use crate::runtime::Runtime;
use crate::value::Value;

impl Compiled {
    /// Gives the parameters the values they have in this run; without one they lose theirs. Whether
    /// there are any.
    ///
    /// # Errors
    /// A missing parameter.
    pub(crate) fn bind(&mut self, run: Option<&Runtime>) -> Result<bool> {
        match self {
            Self::Parameter(name, value, at) => {
                *value = match run {
                    Some(rt) => rt.parameter(name).map_err(|error| error.at(*at))?,
                    None => Value::Null,
                };
                Ok(true)
            }
            Self::Constant(_) | Self::Slot(_) => Ok(false),
            Self::Property { base, .. } | Self::HasLabels { base, .. } => base.bind(run),
            Self::Index(a, b, _) | Self::Binary(_, a, b, _) => Ok(a.bind(run)? | b.bind(run)?),
            Self::Slice { base, from, to, .. } => {
                let bounds = from.iter_mut().chain(to).map(|e| &mut **e);
                Ok(base.bind(run)? | bind_all(bounds, run)?)
            }
            Self::List(items) | Self::Call(_, items, _) => bind_all(items, run),
            Self::Map(entries) => bind_all(entries.iter_mut().map(|(_, e)| e), run),
            Self::Unary(_, e, _) => e.bind(run),
            Self::Chain(first, rest, _) => {
                Ok(first.bind(run)? | bind_all(rest.iter_mut().map(|(_, e)| e), run)?)
            }
            Self::Case {
                branches,
                otherwise,
                ..
            } => {
                let branches = branches.iter_mut().flat_map(|(when, then)| [when, then]);
                let otherwise = otherwise.iter_mut().map(|e| &mut **e);
                Ok(bind_all(branches, run)? | bind_all(otherwise, run)?)
            }
            Self::Let { scope, body } => Ok(scope.list.bind(run)? | body.bind(run)?),
            Self::ListComprehension {
                scope, filter, map, ..
            } => {
                let parts = filter.iter_mut().chain(map).map(|e| &mut **e);
                Ok(scope.list.bind(run)? | bind_all(parts, run)?)
            }
            Self::Quantifier {
                scope, predicate, ..
            } => Ok(scope.list.bind(run)? | predicate.bind(run)?),
            Self::Reduce {
                scope, init, step, ..
            } => Ok(scope.list.bind(run)? | init.bind(run)? | step.bind(run)?),
        }
    }
}

/// As [`Compiled::bind`] for each of them; whether there are parameters in any.
///
/// # Errors
/// As [`Compiled::bind`].
pub(crate) fn bind_all<'e>(
    exprs: impl IntoIterator<Item = &'e mut Compiled>,
    run: Option<&Runtime>,
) -> Result<bool> {
    let mut exprs = exprs.into_iter();
    exprs.try_fold(false, |any, expr| Ok(any | expr.bind(run)?))
}

/// Takes their values from the parameters of all these expressions; whether there are any.
pub(crate) fn unbind_all<'e>(exprs: impl IntoIterator<Item = &'e mut Compiled>) -> bool {
    bind_all(exprs, None).expect("only values that are wanted can be missing")
}
