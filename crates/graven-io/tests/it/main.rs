//! Goal: every backend does what a file and a read queue promise, names survive, and the machine's
//! capabilities are told as they are.

mod backends;
mod directory;
mod environment;
