//! Rows in columns: what a program reads that wants many rows and no object for each.

use std::ops::Range;
use std::sync::Arc;

use graven_exec::Column;

use crate::value::Value;

/// Some rows of a result, a column at a time.
///
/// # Examples
/// ```no_run
/// use graven::{ColumnSlice, Config, Database, Params};
///
/// let db = Database::open("social.graven", Config::default())?;
/// let mut result = db.connect().query("MATCH (p:Person) RETURN p.birthday AS day", &Params::new())?;
/// let mut sum = 0;
/// while let Some(rows) = result.next_rows()? {
///     match rows.column(0) {
///         Some(ColumnSlice::Integers(days)) => sum += days.iter().sum::<i64>(),
///         other => println!("not all of {} rows are integers: {other:?}", rows.len()),
///     }
/// }
/// # Ok::<(), graven::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rows {
    names: Arc<[String]>,
    columns: Vec<Held>,
    len: usize,
}

/// The values of one column.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ColumnSlice<'a> {
    /// All are integers.
    Integers(&'a [i64]),
    /// All are floats.
    Floats(&'a [f64]),
    /// All are booleans.
    Booleans(&'a [bool]),
    /// Anything, null included.
    Values(&'a [Value]),
}

#[derive(Clone, Debug)]
enum Held {
    Shared(Arc<Column>, Range<usize>),
    Own(Vec<Value>),
}

impl Rows {
    /// `len` rows without columns so far.
    pub(crate) fn new(names: Arc<[String]>, len: usize) -> Self {
        Rows {
            columns: Vec::with_capacity(names.len()),
            names,
            len,
        }
    }

    /// Adds a column that is made already, if it is of a type that can be handed out as it is.
    pub(crate) fn share(&mut self, column: &Arc<Column>, range: Range<usize>) -> bool {
        let (column, range) = match &**column {
            Column::Integers(_) | Column::Floats(_) | Column::Booleans(_) => {
                (Arc::clone(column), range)
            }
            Column::Constant(value, _) => {
                let len = range.len();
                let same = match value {
                    graven_exec::Value::Integer(value) => Column::Integers(vec![*value; len]),
                    graven_exec::Value::Float(value) => Column::Floats(vec![*value; len]),
                    graven_exec::Value::Boolean(value) => Column::Booleans(vec![*value; len]),
                    _ => return false,
                };
                (Arc::new(same), 0..len)
            }
            _ => return false,
        };
        self.columns.push(Held::Shared(column, range));
        true
    }

    /// Adds a column.
    pub(crate) fn push(&mut self, values: Vec<Value>) {
        debug_assert_eq!(values.len(), self.len, "columns of one length");
        self.columns.push(Held::Own(values));
    }

    /// These rows, given one by one.
    pub(crate) fn of_rows(names: Arc<[String]>, rows: Vec<Vec<Value>>) -> Self {
        let mut columns = vec![Vec::with_capacity(rows.len()); names.len()];
        let mut made = Rows::new(names, rows.len());
        for row in rows {
            for (column, value) in columns.iter_mut().zip(row) {
                column.push(value);
            }
        }
        columns.into_iter().for_each(|column| made.push(column));
        made
    }

    /// The same rows but for the first ones.
    #[must_use]
    pub fn without_first(mut self, rows: usize) -> Rows {
        let rows = rows.min(self.len);
        for column in &mut self.columns {
            match column {
                Held::Own(values) => drop(values.drain(..rows)),
                Held::Shared(_, range) => range.start += rows,
            }
        }
        self.len -= rows;
        self
    }

    /// Rows; never none in what a result hands out.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Headings of the columns.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The values of a column by its 0-based place.
    #[must_use]
    pub fn column(&self, column: usize) -> Option<ColumnSlice<'_>> {
        Some(match self.columns.get(column)? {
            Held::Own(values) => ColumnSlice::Values(values),
            Held::Shared(column, range) => match &**column {
                Column::Integers(v) => ColumnSlice::Integers(&v[range.clone()]),
                Column::Floats(v) => ColumnSlice::Floats(&v[range.clone()]),
                Column::Booleans(v) => ColumnSlice::Booleans(&v[range.clone()]),
                _ => unreachable!("only these are shared"),
            },
        })
    }

    /// One value.
    #[must_use]
    pub fn value(&self, row: usize, column: usize) -> Option<Value> {
        match self.column(column)? {
            ColumnSlice::Integers(v) => v.get(row).copied().map(Value::Integer),
            ColumnSlice::Floats(v) => v.get(row).copied().map(Value::Float),
            ColumnSlice::Booleans(v) => v.get(row).copied().map(Value::Boolean),
            ColumnSlice::Values(v) => v.get(row).cloned(),
        }
    }
}
