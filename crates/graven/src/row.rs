//! One row of a result.

use crate::value::Value;
use std::sync::Arc;

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub(crate) columns: Arc<[String]>,
    pub(crate) values: Vec<Value>,
}

impl Row {
    pub(crate) fn new(columns: Arc<[String]>, values: Vec<Value>) -> Self {
        Row { columns, values }
    }

    /// The value of a column by its 0-based place.
    #[must_use]
    pub fn get(&self, column: usize) -> Option<&Value> {
        self.values.get(column)
    }

    /// The value of a column by its heading.
    #[must_use]
    pub fn get_by_name(&self, column: &str) -> Option<&Value> {
        let place = self.columns.iter().position(|name| name == column)?;
        self.values.get(place)
    }

    /// All values in the order of the columns.
    #[must_use]
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// All values, taken out.
    #[must_use]
    pub fn into_values(self) -> Vec<Value> {
        self.values
    }
}
