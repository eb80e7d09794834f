//! `graven_result`: rows one after another.

use std::ffi::{CString, c_char};

use graven::Rows;
use graven_binding::Folder;

use crate::error::{Error, guard, quiet, there};
use crate::text::{c_string, text};
use crate::value::Value;

/// Rows of a statement, those behind the first ones read as they are asked for.
pub struct QueryResult {
    /// None after its rows went into a stream.
    pub(crate) result: Option<graven::QueryResult>,
    names: Vec<CString>,
    declared: Vec<Option<CString>>,
    notices: Vec<CString>,
    plan: Option<CString>,
    /// Rows that were read, and the first of them that was not handed out.
    ahead: Option<Rows>,
    next: usize,
    /// The row that was handed out last.
    cells: Vec<graven::Value>,
    /// Keeps a database without a name.
    _folder: Folder,
}

impl QueryResult {
    /// Reads the first rows, so that most of what can go wrong goes wrong here.
    pub(crate) fn begin(
        mut result: graven::QueryResult,
        folder: Folder,
    ) -> Result<Box<Self>, graven::Error> {
        let ahead = result.next_rows()?;
        let declared = result.declared_types().into_iter();
        let notices = result.summary().notices;
        Ok(Box::new(QueryResult {
            names: result.columns().iter().map(|name| c_string(name)).collect(),
            declared: declared
                .map(|name| name.map(|name| c_string(&name)))
                .collect(),
            notices: notices.iter().map(|it| c_string(&it.message)).collect(),
            plan: None,
            ahead,
            next: 0,
            cells: Vec::new(),
            result: Some(result),
            _folder: folder,
        }))
    }

    /// Reads until there is a row; none at the end.
    fn advance(&mut self) -> Result<bool, graven::Error> {
        self.cells.clear();
        loop {
            if let Some(rows) = &self.ahead
                && self.next < rows.len()
            {
                let columns = 0..self.names.len();
                let values = columns.map(|column| rows.value(self.next, column));
                self.cells.extend(values.map(Option::unwrap_or_default));
                self.next += 1;
                return Ok(true);
            }
            self.next = 0;
            self.ahead = match &mut self.result {
                Some(result) => result.next_rows()?,
                None => None,
            };
            if self.ahead.is_none() {
                return Ok(false);
            }
        }
    }

    /// The rows that are left, as those of the first batch that were not handed out and the
    /// result.
    pub(crate) fn rest(
        &mut self,
    ) -> Result<(Option<(Rows, usize)>, graven::QueryResult), graven::Error> {
        self.cells.clear();
        let ahead = self.ahead.take().map(|rows| (rows, self.next));
        self.next = 0;
        let result = self.result.take();
        let result = result.ok_or_else(|| {
            graven::Error::usage("the rows of this result went into a stream already")
        })?;
        Ok((ahead, result))
    }
}

/// Goes to the next row: 1 if there is one, 0 at the end, -1 with an error. Values of the row
/// before are gone.
#[unsafe(no_mangle)]
pub extern "C" fn graven_result_next(
    result: Option<&mut QueryResult>,
    error: Option<&mut *mut Error>,
) -> i32 {
    let row = guard(error, || there(result, "result")?.advance());
    row.map_or(-1, i32::from)
}

/// How many columns the rows have; 0 for a statement without RETURN.
#[unsafe(no_mangle)]
pub extern "C" fn graven_result_column_count(result: Option<&QueryResult>) -> usize {
    result.map_or(0, |result| result.names.len())
}

/// The heading of a column, from 0; null beyond the last.
#[unsafe(no_mangle)]
pub extern "C" fn graven_result_column_name(
    result: Option<&QueryResult>,
    column: usize,
) -> *const c_char {
    let name = result.and_then(|result| result.names.get(column));
    name.map_or(std::ptr::null(), |name| name.as_ptr())
}

/// The type that a table or a cast in the statement declares for a column; null where none does.
/// What values are, each of them says: graven_value_type().
#[unsafe(no_mangle)]
pub extern "C" fn graven_result_declared_type(
    result: Option<&QueryResult>,
    column: usize,
) -> *const c_char {
    let declared = result.and_then(|result| result.declared.get(column)?.as_ref());
    declared.map_or(std::ptr::null(), |name| name.as_ptr())
}

/// The value of a column in the row of the last graven_result_next(); null where there is no row
/// or no such column. It lives until the next row.
#[unsafe(no_mangle)]
pub extern "C" fn graven_result_value(
    result: Option<&QueryResult>,
    column: usize,
) -> Option<&Value> {
    result?.cells.get(column).map(Value::view)
}

/// How much the statement changed of a kind: "nodes_created", "nodes_deleted",
/// "relationships_created", "relationships_deleted", "properties_set", "labels_added",
/// "labels_removed", "indexes_added", "indexes_removed", "constraints_added",
/// "constraints_removed". -1 for another name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graven_result_counter(
    result: Option<&QueryResult>,
    name: *const c_char,
) -> i64 {
    quiet(-1, || {
        // SAFETY: CA-2.
        let name = unsafe { text(name, "name") };
        let (Some(result), Ok(name)) = (result.and_then(|it| it.result.as_ref()), name) else {
            return -1;
        };
        let counters = result.summary().counters.named();
        let found = counters.into_iter().find(|(known, _)| *known == name);
        found.map_or(-1, |(_, count)| i64::try_from(count).unwrap_or(i64::MAX))
    })
}

/// How many things are worth knowing of the statement, such as unknown labels.
#[unsafe(no_mangle)]
pub extern "C" fn graven_result_notice_count(result: Option<&QueryResult>) -> usize {
    result.map_or(0, |result| result.notices.len())
}

/// One of them, a sentence; null beyond the last.
#[unsafe(no_mangle)]
pub extern "C" fn graven_result_notice(result: Option<&QueryResult>, at: usize) -> *const c_char {
    let notice = result.and_then(|result| result.notices.get(at));
    notice.map_or(std::ptr::null(), |text| text.as_ptr())
}

/// The plan of EXPLAIN, and of PROFILE with what each step did so far; null for other statements.
/// It lives until this is called again or the result is freed.
#[unsafe(no_mangle)]
pub extern "C" fn graven_result_plan(result: Option<&mut QueryResult>) -> *const c_char {
    quiet(std::ptr::null(), || {
        let Some(result) = result else {
            return std::ptr::null();
        };
        let plan = result.result.as_ref().and_then(graven::QueryResult::plan);
        result.plan = plan.map(|plan| c_string(&plan));
        let plan = result.plan.as_ref();
        plan.map_or(std::ptr::null(), |plan| plan.as_ptr())
    })
}

/// Frees a result and ends its statement. A null pointer is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn graven_result_free(result: Option<Box<QueryResult>>) {
    quiet((), || drop(result));
}
