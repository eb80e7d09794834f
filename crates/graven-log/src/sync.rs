//! The locks of the group commit, named here so that its model can put others in their place.

pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
