//! Asking again for what did not come, or came wrong.
//!
//! # How it works
//! The client of a store repeats requests that fail on their way. An answer that breaks off, has
//! another length than was asked for, or is not what its name says, is asked for again here, with
//! growing pauses.
//!
//! # Cost
//! A thing that never comes takes as long as the client's own attempts do, up to [`ATTEMPTS`]
//! times, and begins no further attempt after [`LIMIT`].

use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::traffic::Traffic;

/// Attempts here, each of which the client repeats by itself.
const ATTEMPTS: u32 = 4;
/// The pause after the first one; it doubles.
const PAUSE: Duration = Duration::from_millis(50);
/// No attempt begins later.
const LIMIT: Duration = Duration::from_secs(60);

/// Whether another attempt may go better.
fn may_pass(error: &Error) -> bool {
    matches!(
        error,
        Error::Request { denied: false, .. } | Error::Damaged { .. }
    )
}

/// What `ask` gives, asked again while it may go better.
pub(crate) async fn repeated<T, F: Future<Output = Result<T>>>(
    traffic: &Traffic,
    mut ask: impl FnMut() -> F,
) -> Result<T> {
    let begun = Instant::now();
    let mut pause = PAUSE;
    let mut attempt = 1;
    loop {
        match ask().await {
            Err(error)
                if may_pass(&error) && attempt < ATTEMPTS && begun.elapsed() + pause < LIMIT =>
            {
                traffic.retry();
                tokio::time::sleep(pause).await;
                pause *= 2;
                attempt += 1;
            }
            done => return done,
        }
    }
}
