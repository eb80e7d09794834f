//! TEMPORARY
pub(crate) use crate::stub::*;
