//! Results as streams of the Arrow C data interface.

use graven_files::ffi_stream::FFI_ArrowArrayStream;

use crate::error::{Error, guard, there};
use crate::result::QueryResult;

/// Makes `stream` a stream of the rows that are left, of the Arrow C stream interface. The
/// statement runs to its end first: a column's type is what all of its values have in common. What
/// `stream` held before is not released; the program releases the stream when it has read it. It
/// outlives the result and its database. Whether there is a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graven_result_arrow(
    result: Option<&mut QueryResult>,
    stream: *mut FFI_ArrowArrayStream,
    error: Option<&mut *mut Error>,
) -> bool {
    let done = guard(error, || {
        let result = there(result, "result")?;
        if stream.is_null() {
            return Err(graven::Error::usage("the stream is a null pointer"));
        }
        let (ahead, rest) = result.rest()?;
        let ahead = ahead.map(|(rows, from)| rows.without_first(from));
        let ahead = ahead.into_iter().filter(|rows| !rows.is_empty());
        let reader = rest.into_arrow_after(ahead.collect())?;
        // SAFETY: CA-2: there is room for a stream; nothing is read from what was there.
        unsafe { stream.write(FFI_ArrowArrayStream::new(reader)) };
        Ok(())
    });
    done.is_some()
}
