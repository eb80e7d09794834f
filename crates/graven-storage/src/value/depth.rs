//! Lists that nest too deep for the file are refused before they are written.

use super::encode::DEPTH_MAX;
use crate::{Error, Result};
use graven_types::PropertyValue;

/// Checks that lists in `value` nest at most [`DEPTH_MAX`] deep: what is deeper could not be read.
///
/// # Errors
/// [`Error::Nesting`].
#[inline]
pub(crate) fn check_depth(value: &PropertyValue) -> Result<()> {
    fn fits(value: &PropertyValue, left: usize) -> bool {
        match value {
            PropertyValue::List(values) => {
                left > 0 && values.iter().all(|value| fits(value, left - 1))
            }
            _ => true,
        }
    }
    match fits(value, DEPTH_MAX) {
        true => Ok(()),
        false => Err(Error::Nesting { limit: DEPTH_MAX }),
    }
}
