//! Where answers go: gathered, and sent by the thread that answers.
//!
//! # How it works
//! Between two messages the wire is whole, and a sign of life may be put there: an empty chunk,
//! which drivers pass over. It is put there by the task of the connection while a thread still
//! works on an answer, if the wire is whole and free just then.
//!
//! # Invariants
//! * BO-13 A sign of life stands between two messages, never within one.

use std::future::Future;
use std::io::{self, Write};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::stage::Stage;
use crate::transport::Sending;

/// Bytes that leave together.
const BUFFER: usize = 64 << 10;

/// What an idle connection keeps.
const KEPT: usize = 4 << 10;

/// An empty chunk outside of a message.
const LIFE: [u8; 2] = [0, 0];

/// The wire, and whether a message is on its way.
struct Wire {
    half: Sending,
    within: bool,
    /// Something was sent since the last call of [`Life::sign`].
    used: bool,
    /// Of a sign of life, what was not taken.
    owed: Vec<u8>,
}

/// See the file header.
pub(crate) struct Out {
    wire: Arc<Mutex<Wire>>,
    buffer: Vec<u8>,
    /// The idle timeout: a client that takes no answers for so long keeps its transaction open,
    /// too.
    most: Option<Duration>,
    runtime: Handle,
    stop: watch::Receiver<Stage>,
}

/// Gives signs of life.
pub(crate) struct Life(Arc<Mutex<Wire>>);

fn lock(wire: &Mutex<Wire>) -> MutexGuard<'_, Wire> {
    wire.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Life {
    /// Gives one, unless something is being sent or has been since the last call.
    pub(crate) fn sign(&self) {
        let Ok(mut wire) = self.0.try_lock() else {
            return;
        };
        let Wire {
            half,
            within,
            used,
            owed,
        } = &mut *wire;
        if std::mem::take(used) || *within || !owed.is_empty() {
            return;
        }
        let mut no_task = Context::from_waker(Waker::noop());
        let sent = match Pin::new(&mut *half).poll_write(&mut no_task, &LIFE) {
            Poll::Ready(Ok(sent)) => sent,
            // The thread that answers finds out what is wrong.
            Poll::Ready(Err(_)) | Poll::Pending => return,
        };
        owed.extend(&LIFE[sent..]);
        let _ = Pin::new(half).poll_flush(&mut no_task);
    }
}

impl Out {
    pub(crate) fn new(half: Sending, most: Option<Duration>, stop: watch::Receiver<Stage>) -> Out {
        let wire = Wire {
            half,
            within: false,
            used: false,
            owed: Vec::new(),
        };
        Out {
            wire: Arc::new(Mutex::new(wire)),
            buffer: Vec::new(),
            most,
            runtime: Handle::current(),
            stop,
        }
    }

    /// What gives signs of life on this wire.
    pub(crate) fn life(&self) -> Life {
        Life(Arc::clone(&self.wire))
    }

    /// Sends what was gathered; `within`: it ends within a message.
    fn send(&mut self, within: bool) -> io::Result<()> {
        let Out {
            wire,
            buffer,
            most,
            runtime,
            stop,
        } = self;
        let mut wire = lock(wire);
        let Wire {
            half,
            within: now_within,
            used,
            owed,
        } = &mut *wire;
        {
            let mut sending = pin!(async {
                half.write_all(owed).await?;
                half.write_all(buffer).await?;
                half.flush().await
            });
            // Most answers are taken at once.
            let mut no_task = Context::from_waker(Waker::noop());
            match sending.as_mut().poll(&mut no_task) {
                Poll::Ready(sent) => sent?,
                Poll::Pending => runtime.block_on(async {
                    let sending = async {
                        match *most {
                            Some(most) => timeout(most, sending)
                                .await
                                .map_err(|_| io::ErrorKind::TimedOut)?,
                            None => sending.await,
                        }
                    };
                    tokio::select! {
                        sent = sending => sent,
                        _ = stop.wait_for(|stage| *stage == Stage::Cut) => {
                            Err(io::ErrorKind::ConnectionAborted.into())
                        }
                    }
                })?,
            }
        }
        owed.clear();
        (*now_within, *used) = (within, true);
        drop(wire);
        buffer.clear();
        // An idle connection keeps little.
        buffer.shrink_to(KEPT);
        Ok(())
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER {
            self.send(true)?;
        }
        Ok(bytes.len())
    }

    /// Called between messages.
    fn flush(&mut self) -> io::Result<()> {
        match self.buffer.is_empty() {
            true => {
                lock(&self.wire).within = false;
                Ok(())
            }
            false => self.send(false),
        }
    }
}

impl Drop for Out {
    /// Says that nothing follows, as far as the wire takes it.
    fn drop(&mut self) {
        let mut wire = lock(&self.wire);
        let mut no_task = Context::from_waker(Waker::noop());
        let _ = Pin::new(&mut wire.half).poll_shutdown(&mut no_task);
    }
}

#[cfg(test)]
mod tests {
    //! Goal: signs of life come between messages alone (BO-13), and only where nothing else was
    //! sent.

    use super::*;
    use tokio::io::AsyncReadExt;

    #[test]
    fn signs_of_life_stand_between_messages() {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.expect("a runtime");
        let (near, mut far) = tokio::io::duplex(1 << 20);
        let (_stage, stop) = watch::channel(Stage::Runs);
        let entered = runtime.enter();
        let mut out = Out::new(Box::new(near), None, stop);
        drop(entered);
        let life = out.life();
        let mut sent = |bytes| {
            let mut read = vec![0; bytes];
            runtime.block_on(far.read_exact(&mut read)).expect("sent");
            read
        };
        life.sign();
        assert_eq!(sent(2), LIFE);
        out.write_all(&[7]).expect("gathered");
        life.sign();
        assert_eq!(sent(2), LIFE);
        out.flush().expect("sent");
        assert_eq!(sent(1), [7]);
        // The first call only notes that something was sent.
        life.sign();
        life.sign();
        assert_eq!(sent(2), LIFE);
        out.write_all(&[1; BUFFER]).expect("sent in part");
        life.sign();
        life.sign();
        out.write_all(&[2]).expect("gathered");
        out.flush().expect("sent");
        assert_eq!(sent(BUFFER + 1)[BUFFER..], [2]);
    }
}
