//! Goal: the library and the naive interpreter agree on a slice of the long run
//! (`cargo xtask fuzz`), also where several transactions are open at once; words of the language
//! are names; the documents' statements have plans; damaged statements do not make the parser, the
//! binder or the planner panic, nor crafted files the storage.

mod files;
mod forms;
mod slices;
