//! Goal: the header says what the library has, and programs in C do what its guide says, leak
//! nothing, and may use threads.

mod examples;
mod header;
