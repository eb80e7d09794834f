//! Rows of a program as a stream of Arrow's batches, for readers in the same process.
//!
//! # How it works
//! The types of the columns are known before the first batch ([`Shape`]); each batch is made when
//! it is asked for. A field says in its metadata, as `graven.type`, which kind its values are of:
//! text that holds literals of the language (`CYPHER`) is told from plain text by it.
//!
//! # Cost
//! One batch at a time, with one copy of each value.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};

use crate::arrow_out::{array, data_type};
use crate::datum::Datum;
use crate::kind::Kind;
use crate::shape::Shape;

/// Key under which the metadata of a field names the kind of its values.
const KIND_KEY: &str = "graven.type";

/// See the file header.
pub struct ArrowRows<I> {
    columns: Vec<(Kind, Shape)>,
    schema: SchemaRef,
    parts: I,
}

impl<I: Iterator<Item = Vec<Vec<Datum>>>> ArrowRows<I> {
    /// A stream of these columns. Each part has the values of some rows, a list for each column.
    #[must_use]
    pub fn new(columns: Vec<(String, Shape)>, parts: I) -> Self {
        let mut fields = Vec::with_capacity(columns.len());
        let mut kinds = Vec::with_capacity(columns.len());
        for (name, shape) in columns {
            let kind = shape.kind();
            let said = HashMap::from([(KIND_KEY.to_owned(), kind.to_string())]);
            let field = Field::new(name, data_type(&kind, &shape), true).with_metadata(said);
            fields.push(field);
            kinds.push((kind, shape));
        }
        ArrowRows {
            columns: kinds,
            schema: Arc::new(Schema::new(fields)),
            parts,
        }
    }
}

impl<I: Iterator<Item = Vec<Vec<Datum>>>> Iterator for ArrowRows<I> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let part = self.parts.next()?;
        let arrays = self.columns.iter().zip(&part);
        let arrays = arrays
            .map(|((kind, shape), values)| array(&values.iter().collect::<Vec<_>>(), kind, shape));
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays.collect());
        Some(batch)
    }
}

impl<I: Iterator<Item = Vec<Vec<Datum>>>> RecordBatchReader for ArrowRows<I> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
