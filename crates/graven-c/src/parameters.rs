//! Parameters of a statement from a map of the program.

use std::sync::Arc;

use graven::Params;

use crate::value::Value;

/// Parameters of a map, or none.
pub(crate) fn params(map: Option<&Value>) -> Result<Params, graven::Error> {
    match map.map(|value| &value.0) {
        None | Some(graven::Value::Null) => Ok(Params::new()),
        Some(graven::Value::Map(entries)) => Ok(entries
            .iter()
            .map(|(k, v)| (Arc::clone(k), v.clone()))
            .collect()),
        Some(other) => Err(graven::Error::usage(format!(
            "parameters are a map of graven_value_new_map(), not {other}"
        ))),
    }
}
