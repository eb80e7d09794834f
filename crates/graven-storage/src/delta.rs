//! Changes since the last checkpoint: how they are kept and how readers see them.
//!
//! # How it works
//! What a reader sees is a stack, newest on top; the first that knows a key decides:
//! ```text
//! own      what the reader's own transaction wrote      changes while it is read
//! active   committed since the newest checkpoint began  never changes: commits make a new one
//! frozen   what a running checkpoint merges in           never changes
//! base     the segments of the data file                never changes
//! ```
//! All but the base are a [`delta_layer::DeltaLayer`] in memory, and below it, if there was much,
//! layers that lie in temporary pages ([`immutable_delta`]). [`change`] says what an entry is,
//! [`committed`] holds the committed layers together, and [`overlay`] what columns, lists and
//! indexes need of the stack.

pub(crate) mod batch;
pub(crate) mod change;
pub(crate) mod changed_lists;
pub(crate) mod changed_nodes;
pub(crate) mod committed;
pub(crate) mod counts;
pub(crate) mod delta_layer;
pub(crate) mod encoded_values;
pub(crate) mod entry_filter;
pub(crate) mod filter_key;
pub(crate) mod frozen;
pub(crate) mod frozen_layer;
pub(crate) mod id_map;
pub(crate) mod immutable_delta;
pub(crate) mod logged_schema;
pub(crate) mod merge;
pub(crate) mod merged_delta;
pub(crate) mod overlay;
pub(crate) mod redo;
pub(crate) mod relationship_block;
pub(crate) mod small_map;
pub(crate) mod spilled_batch;
pub(crate) mod spilled_run;
pub(crate) mod stored;
pub(crate) mod unsorted_adjacency;
pub(crate) mod work_sharing;
