//! Makes the rows of its input on a thread of its own, while the operators above write those
//! before.
//!
//! # How it works
//! The planner puts it between an operator that writes and the reading of a file below it. The
//! calling thread makes the first batch itself: a statement of few rows starts no thread. With the
//! second batch a thread takes over the input. It leaves batches in a queue and makes no more while
//! those in the queue and the one that is being worked on take [`BATCHES`] times what a batch may
//! take, or the queue holds [`SMALL_BATCHES`].
//!
//! # Invariants
//! * EX-89 Rows come in the order of the input, and its error after the rows before it.
//! * EX-90 Once it is rewound or dropped its thread has ended.
//!
//! # Concurrency
//! The thread reads the transaction that the calling thread writes. What it reads is not what is
//! written: where it could be, the plan has a barrier in between, and all rows are read first.
//!
//! # Costs
//! The batches of the queue are charged.

use std::collections::VecDeque;
use std::mem;
use std::panic::resume_unwind;
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use crate::batch::Batch;
use crate::error::{ExecError, Result};
use crate::memory::Memory;
use crate::operator::{BoxedOperator, PhysicalOperator};
use crate::query_context::QueryContext;
use crate::reading_threads::counting_pages;

/// As many batches are ahead at most if they are as large as they may be, and if they are small.
const BATCHES: usize = 2;
const SMALL_BATCHES: usize = 64;

/// See the file header.
pub(crate) struct ReadAhead(Stage);

enum Stage {
    First(BoxedOperator),
    Further(BoxedOperator),
    Ahead(Reader),
    Done(BoxedOperator),
    /// A thread that panicked has taken its input along.
    Lost,
}

/// A thread that makes rows.
struct Reader {
    queue: Arc<Queue>,
    thread: Option<JoinHandle<BoxedOperator>>,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    /// Told of every change of the state.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    batches: VecDeque<(Batch, usize)>,
    /// Bytes of these.
    queued: usize,
    /// Bytes of the batch that is being worked on.
    handed_out: usize,
    failed: Option<ExecError>,
    /// The thread makes no more.
    ended: bool,
    /// No more are wanted.
    closed: bool,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state once `is_so` holds, or no more rows are wanted.
    fn wait(&self, is_so: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let waits = |state: &mut State| !state.closed && !is_so(state);
        let state = self.changed.wait_while(self.state(), waits);
        state.unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.notify_all();
    }

    /// Makes the rows of `input`, which may be ahead by so many bytes.
    fn fill(&self, input: &mut BoxedOperator, most: usize, rt: &QueryContext) -> Result<()> {
        let mut memory = Memory::new(&rt.budget, "ReadAhead", "use fewer threads");
        let has_room = |state: &State| {
            let ahead = state.queued + state.handed_out;
            state.batches.len() < SMALL_BATCHES && (ahead == 0 || ahead < most)
        };
        while !self.wait(has_room).closed {
            let Some(batch) = input.next(rt)? else {
                break;
            };
            let bytes = batch.heap_bytes();
            let queued = self.state().queued;
            if memory.set(queued + bytes).is_err() {
                // As without this thread, a single batch needs no room here.
                let all_done = |state: &State| state.queued + state.handed_out == 0;
                drop(self.wait(all_done));
            }
            self.change(|state| {
                state.queued += bytes;
                state.batches.push_back((batch, bytes));
            });
        }
        Ok(())
    }
}

/// While this lives its thread may make rows.
struct Ending<'a>(&'a Queue);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.change(|state| state.ended = true);
    }
}

impl Reader {
    /// A thread that makes the rows that `input` has left; the input, if there is no thread.
    fn start(
        input: BoxedOperator,
        rt: &QueryContext,
    ) -> std::result::Result<Reader, BoxedOperator> {
        let queue = Arc::new(Queue::default());
        let (own, context) = (Arc::clone(&queue), rt.beside());
        let most = BATCHES * rt.batch_bytes();
        let (give, given) = channel::<BoxedOperator>();
        let run = move || {
            let mut input = given.recv().expect("sent once the thread runs");
            let ending = Ending(&own);
            let filled = counting_pages(&context, || own.fill(&mut input, most, &context));
            own.change(|state| state.failed = filled.err());
            drop(ending);
            input
        };
        let named = thread::Builder::new().name("graven-read-ahead".to_owned());
        let Ok(thread) = named.spawn(run) else {
            return Err(input);
        };
        give.send(input).expect("its thread waits for it");
        Ok(Reader {
            queue,
            thread: Some(thread),
        })
    }

    /// The next rows; `None` once the thread has made all.
    fn next(&self) -> Result<Option<Batch>> {
        self.queue.change(|state| state.handed_out = 0);
        let is_ready = |state: &State| state.ended || !state.batches.is_empty();
        let mut state = self.queue.wait(is_ready);
        if let Some((batch, bytes)) = state.batches.pop_front() {
            state.queued -= bytes;
            state.handed_out = bytes;
            drop(state);
            self.queue.changed.notify_all();
            return Ok(Some(batch));
        }
        match state.failed.take() {
            Some(error) => Err(error),
            None => Ok(None),
        }
    }

    /// Ends the thread; its input, or what it panicked with.
    fn end(&mut self) -> Option<thread::Result<BoxedOperator>> {
        self.queue.change(|state| state.closed = true);
        self.thread.take().map(JoinHandle::join)
    }

    fn into_input(mut self) -> BoxedOperator {
        let ended = self.end().expect("ends once");
        ended.unwrap_or_else(|panic| resume_unwind(panic))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // What it panicked with is of no interest where its rows are of none.
        drop(self.end());
    }
}

impl ReadAhead {
    /// Reads `input` ahead.
    pub(crate) fn new(input: BoxedOperator) -> Self {
        Self(Stage::First(input))
    }
}

impl PhysicalOperator for ReadAhead {
    fn next(&mut self, rt: &QueryContext) -> Result<Option<Batch>> {
        loop {
            match mem::replace(&mut self.0, Stage::Lost) {
                Stage::First(mut input) => {
                    let first = input.next(rt);
                    self.0 = Stage::Further(input);
                    return first;
                }
                Stage::Further(input) => match Reader::start(input, rt) {
                    Ok(reader) => self.0 = Stage::Ahead(reader),
                    // The thread that calls makes them, too.
                    Err(input) => self.0 = Stage::First(input),
                },
                Stage::Ahead(reader) => {
                    let next = reader.next();
                    self.0 = match &next {
                        Ok(None) => Stage::Done(reader.into_input()),
                        _ => Stage::Ahead(reader),
                    };
                    return next;
                }
                Stage::Done(input) => {
                    self.0 = Stage::Done(input);
                    return Ok(None);
                }
                Stage::Lost => unreachable!("a panic ends the statement"),
            }
        }
    }

    fn rewind(&mut self) {
        let mut input = match mem::replace(&mut self.0, Stage::Lost) {
            Stage::First(input) | Stage::Further(input) | Stage::Done(input) => input,
            Stage::Ahead(reader) => reader.into_input(),
            Stage::Lost => unreachable!("a panic ends the statement"),
        };
        input.rewind();
        self.0 = Stage::First(input);
    }
}
