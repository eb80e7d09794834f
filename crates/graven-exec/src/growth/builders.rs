//! Texts and lists that are charged as they grow.

use std::sync::Arc;

use super::share::bytes_of_new;
use super::{charge, work};
use crate::error::Result;
use crate::value::Value;

/// Bytes of the head of what is counted, and of its allocation.
const HEAD: usize = 32;

/// A text that is charged as it grows.
#[derive(Default)]
pub(crate) struct Text(String);

impl Text {
    /// With room for so many bytes.
    ///
    /// # Errors
    /// [`ExecError::Memory`] if the budget has no room.
    pub(crate) fn with_room(bytes: usize) -> Result<Self> {
        charge(bytes)?;
        Ok(Self(String::with_capacity(bytes)))
    }

    /// Adds `part`.
    ///
    /// # Errors
    /// As [`Text::with_room`]; the statement was cancelled, or its time is over.
    pub(crate) fn push(&mut self, part: &str) -> Result<()> {
        let wanted = self.0.len().saturating_add(part.len());
        if wanted > self.0.capacity() {
            let room = wanted.max(2 * self.0.capacity());
            charge(room - self.0.capacity())?;
            self.0.reserve_exact(room - self.0.len());
        }
        work(1 + part.len() / 256)?;
        self.0.push_str(part);
        Ok(())
    }

    /// The value.
    ///
    /// # Errors
    /// As [`Text::with_room`].
    pub(crate) fn value(self) -> Result<Value> {
        charge(self.0.len() + HEAD)?;
        Ok(Value::String(Arc::from(self.0)))
    }
}

/// Items of a list that are charged as they come.
#[derive(Default)]
pub(crate) struct Items(Vec<Value>);

impl Items {
    /// With room for so many.
    ///
    /// # Errors
    /// [`ExecError::Memory`] if the budget has no room.
    pub(crate) fn with_room(items: usize) -> Result<Self> {
        charge(items.saturating_mul(size_of::<Value>()))?;
        Ok(Self(Vec::with_capacity(items)))
    }

    /// Adds a new item, with what it holds alone.
    ///
    /// # Errors
    /// As [`Items::with_room`]; the statement was cancelled, or its time is over.
    pub(crate) fn push(&mut self, item: Value) -> Result<()> {
        let room = self.0.capacity();
        if self.0.len() == room {
            let more = room.max(4);
            charge(more * size_of::<Value>())?;
            self.0.reserve_exact(more);
        }
        charge(bytes_of_new(&item))?;
        work(1)?;
        self.0.push(item);
        Ok(())
    }

    /// The items by themselves.
    pub(crate) fn into_items(self) -> Vec<Value> {
        self.0
    }

    /// The list.
    ///
    /// # Errors
    /// As [`Items::with_room`].
    pub(crate) fn value(self) -> Result<Value> {
        charge(size_of_val(self.0.as_slice()) + HEAD)?;
        Ok(Value::list(self.0))
    }
}
