//! Other processes attach to the one that owns the file.

use crate::instance::Instance;
use crate::remote::owner::Owner;
use std::sync::{Arc, PoisonError};

use super::Shared;

impl Shared {
    /// Lets other processes attach. Where no socket can be made they are told that the database is
    /// in use.
    pub(super) fn serve(&self, inner: &Arc<Instance>) {
        let listener = inner
            .listener
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(listener) = listener {
            let mut owner = self.owner.lock().unwrap_or_else(PoisonError::into_inner);
            *owner = Owner::start(inner, listener).ok();
        }
    }
}
