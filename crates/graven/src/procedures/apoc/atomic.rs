//! `apoc.atomic.*`: a property is read and set in one step of the transaction that calls.
//!
//! # Concurrency
//! Nothing is locked. Where another transaction has changed the node or relationship since this one
//! began, the commit fails, and the driver that sent it tries again. `retryAttempts` has no effect.

use graven_cypher::TypeSet;

use super::super::entry::{Body, Field, Named, Procedure, procedure};
use crate::right::Right;

const CONTAINER: Field = ("container", TypeSet::ENTITY);
const PROPERTY: Field = ("propertyName", TypeSet::STRING);
const POSITION: Field = ("position", TypeSet::INTEGER);
const NUMBER: Field = ("number", TypeSet::NUMBER);
const RETRIES: Field = ("retryAttempts", TypeSet::INTEGER);

const CHANGED: &[Field] = &[
    CONTAINER,
    ("property", TypeSet::STRING),
    ("oldValue", TypeSet::ANY),
    ("newValue", TypeSet::ANY),
];

/// The text of a statement that sets the property to an expression of `oldValue`.
macro_rules! sets {
    ($value:literal, $($where:tt)+) => {
        sets!(of "n[$propertyName]", $value, $($where)+)
    };
    (of $old:literal, $value:literal, $($where:tt)+) => {
        Body::Statement(concat!(
            "WITH $container AS n WITH n, ",
            $old,
            " AS oldValue WHERE ",
            "apoc.util.validatePredicate(n IS NOT NULL AND oldValue IS NULL, ",
            "'the property %s is absent: set it first', [$propertyName]) AND ",
            $($where)+,
            " SET n[$propertyName] = ",
            $value,
            " RETURN n AS container, $propertyName AS property, oldValue, ",
            "n[$propertyName] AS newValue"
        ))
    };
}

/// Fails unless the property holds a number.
macro_rules! is_number {
    () => {
        "apoc.util.validatePredicate(NOT oldValue IS :: INTEGER | FLOAT, \
            'the property %s holds no number', [$propertyName])"
    };
}

/// By name.
pub(super) const TABLE: &[Procedure] = &[
    procedure(
        "apoc.atomic.add",
        "adds a number to a property",
        (&[CONTAINER, PROPERTY, NUMBER, RETRIES], 3),
        Right::Write,
        CHANGED,
        sets!(
            "CASE WHEN oldValue IS :: INTEGER THEN oldValue + toInteger($number) \
                ELSE toFloat(oldValue) + $number END",
            is_number!()
        ),
    ),
    procedure(
        "apoc.atomic.concat",
        "appends a text to a property",
        (
            &[CONTAINER, PROPERTY, ("string", TypeSet::STRING), RETRIES],
            3,
        ),
        Right::Write,
        CHANGED,
        sets!(of "toString(n[$propertyName])", "oldValue + $string", "true"),
    ),
    procedure(
        "apoc.atomic.insert",
        "inserts a value into the list of a property",
        (
            &[
                CONTAINER,
                PROPERTY,
                POSITION,
                ("value", TypeSet::ANY),
                RETRIES,
            ],
            4,
        ),
        Right::Write,
        CHANGED,
        sets!(
            "apoc.coll.insert(apoc.convert.toList(oldValue), \
                CASE WHEN $position > size(apoc.convert.toList(oldValue)) \
                    THEN size(apoc.convert.toList(oldValue)) ELSE $position END, $value)",
            "apoc.util.validatePredicate($position < 0, \
                'the list has no position %d', [$position])"
        ),
    ),
    procedure(
        "apoc.atomic.remove",
        "removes an element from the list of a property",
        (&[CONTAINER, PROPERTY, POSITION, RETRIES], 3),
        Right::Write,
        CHANGED,
        sets!(
            "apoc.coll.remove(apoc.convert.toList(oldValue), $position)",
            "apoc.util.validatePredicate(\
                NOT 0 <= $position < size(apoc.convert.toList(oldValue)), \
                'the list has no position %d', [$position])"
        ),
    ),
    procedure(
        "apoc.atomic.subtract",
        "subtracts a number from a property",
        (&[CONTAINER, PROPERTY, NUMBER, RETRIES], 3),
        Right::Write,
        CHANGED,
        sets!(
            "CASE WHEN oldValue IS :: INTEGER THEN oldValue - toInteger($number) \
                ELSE toFloat(oldValue) - $number END",
            is_number!()
        ),
    ),
    procedure(
        "apoc.atomic.update",
        "sets a property to an expression of `n`, the node or relationship",
        (
            &[CONTAINER, PROPERTY, ("operation", TypeSet::STRING), RETRIES],
            3,
        ),
        Right::Write,
        CHANGED,
        Body::Made(update),
    ),
];

fn update(args: &Named<'_>) -> Result<String, String> {
    let graven_exec::Value::String(operation) = args.get("operation") else {
        return Err("give the expression as text, such as 'n.salary * 2'".to_owned());
    };
    Ok(format!(
        "WITH $container AS n WITH n, n[$propertyName] AS oldValue SET n[$propertyName] = \
            {operation}\nRETURN n AS container, $propertyName AS property, oldValue, \
            n[$propertyName] AS newValue"
    ))
}
