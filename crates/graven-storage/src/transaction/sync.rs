//! The locks of publishing, named here so that its model can put others in their place.

pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
