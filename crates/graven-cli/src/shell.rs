//! The parts of the interactive shell: its own commands, and the line editor with completion.

pub(crate) mod command;
pub(crate) mod editor;
