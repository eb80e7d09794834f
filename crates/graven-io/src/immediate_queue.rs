//! Read queue that reads at submission: for files that have nothing to wait for.
//!
//! # How it works
//! `submit` carries the reads out and keeps their completions for `reap`. The fault injector asks
//! for completions in a seeded disorder: then `reap` delivers them shuffled, and without waiting
//! only some.

use std::sync::Arc;

use crate::{Completion, File, QueueKind, ReadQueue, ReadRequest, Result, Wait};
use graven_types::rng::SplitMix64;

/// Read queue that reads at submission.
pub(crate) struct ImmediateQueue {
    file: Arc<dyn File>,
    ended: Vec<Completion>,
    disorder: Option<SplitMix64>,
}

impl ImmediateQueue {
    /// A queue over `file`, delivering in order of submission.
    pub(crate) fn new(file: Arc<dyn File>) -> ImmediateQueue {
        ImmediateQueue {
            file,
            ended: Vec::new(),
            disorder: None,
        }
    }

    /// A queue over `file`, delivering as `dice` say.
    pub(crate) fn in_disorder(file: Arc<dyn File>, dice: SplitMix64) -> ImmediateQueue {
        ImmediateQueue {
            file,
            ended: Vec::new(),
            disorder: Some(dice),
        }
    }

    fn read(&self, request: &ReadRequest) -> Completion {
        let token = request.token;
        let mut done = 0;
        for part in request.parts() {
            // SAFETY: valid for writes, and no other code uses it until the completion is reaped
            // (contract of `submit`); the slice ends before this function does. Frames are mapped
            // memory, so initialised.
            let buf = unsafe { std::slice::from_raw_parts_mut(part.start, part.bytes) };
            match self.file.read_at(buf, request.offset + done as u64) {
                Ok(got) => {
                    done += got;
                    if got < part.bytes {
                        break;
                    }
                }
                Err(error) => {
                    return Completion {
                        token,
                        result: Err(error.into()),
                    };
                }
            }
        }
        Completion {
            token,
            result: Ok(done),
        }
    }
}

impl ReadQueue for ImmediateQueue {
    unsafe fn submit(&mut self, reads: &[ReadRequest]) -> Result<()> {
        for read in reads {
            read.check(self.file.path(), self.file.alignment())?;
        }
        for read in reads {
            let completion = self.read(read);
            self.ended.push(completion);
        }
        Ok(())
    }

    fn reap(&mut self, wait: Wait, done: &mut Vec<Completion>) -> Result<()> {
        let Some(dice) = &mut self.disorder else {
            done.append(&mut self.ended);
            return Ok(());
        };
        let wanted = match wait {
            Wait::None => 0,
            Wait::AtLeast(count) => count,
        };
        let available = self.ended.len();
        let delivered = wanted
            .max(dice.below(available as u64 + 1) as usize)
            .min(available);
        for _ in 0..delivered {
            let pick = dice.below(self.ended.len() as u64) as usize;
            done.push(self.ended.swap_remove(pick));
        }
        Ok(())
    }

    fn in_flight(&self) -> usize {
        self.ended.len()
    }

    fn kind(&self) -> QueueKind {
        QueueKind::Immediate
    }
}
