//! The error of this crate: a policy that was asked for cannot be built.

use crate::registry;

/// Why a policy specification was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// No policy has this name.
    #[error("unknown policy {name:?}{}", match suggestion {
        Some(close) => format!("; did you mean {close:?}?"),
        None => format!("; known are {}", registry::names()),
    })]
    UnknownPolicy {
        /// The name as written.
        name: String,
        /// The closest known name, if one is close.
        suggestion: Option<String>,
    },
    /// The policy has no parameter of this name.
    #[error("policy {policy} has no parameter {parameter:?}; it has {known}")]
    UnknownParameter {
        /// The policy.
        policy: String,
        /// The parameter as written.
        parameter: String,
        /// The parameters it has, comma-separated.
        known: String,
    },
    /// A parameter's value is malformed or out of range.
    #[error("policy {policy}: {parameter}={value} is not accepted; expected {expected}")]
    BadValue {
        /// The policy.
        policy: String,
        /// The parameter.
        parameter: String,
        /// The value as written.
        value: String,
        /// What would be accepted.
        expected: String,
    },
    /// The text is not `name` or `name:key=value,key=value`.
    #[error("cannot read {part:?} in policy {spec:?}; expected name or name:key=value,key=value")]
    Malformed {
        /// The text as written.
        spec: String,
        /// The part that does not parse.
        part: String,
    },
    /// The policy needs the future of a trace and can only be simulated.
    #[error("policy {name} looks into the future of a trace: simulate it, it cannot run live")]
    Offline {
        /// The policy.
        name: String,
    },
    /// Another program's policy cannot be registered.
    #[error("policy {name:?} cannot be registered: {reason}")]
    Refused {
        /// Its name.
        name: String,
        /// Why, as a clause.
        reason: String,
    },
    /// A capacity of nothing.
    #[error("a policy needs a capacity of at least 1")]
    ZeroCapacity,
}
