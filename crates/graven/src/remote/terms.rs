//! How a connection runs statements in the owner.

use std::sync::Arc;
use std::time::Duration;

use super::reply_timeout::ReplyTimeout;
use crate::access::Access;
use crate::cancel::Cancelling;

/// What a statement takes along from its connection.
#[derive(Debug)]
pub(crate) struct Terms {
    pub(crate) cancelling: Arc<Cancelling>,
    pub(crate) access: Access,
    pub(crate) timeout: Option<Duration>,
}

impl Terms {
    /// How long to wait for the answer to a statement that begins now; what was cancelled before is
    /// over.
    pub(super) fn reply_timeout(&self) -> ReplyTimeout {
        self.cancelling.reset();
        ReplyTimeout::of_statement(self.cancelling.flag(), self.timeout)
    }
}
