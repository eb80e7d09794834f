//! How deep the columns of a Parquet file nest, known before its description is read.
//!
//! # How it works
//! The library reads a description by functions that call themselves for each level, so that a file
//! of some hundred kilobytes could use up a thread's stack, and with it end the process. The list
//! of columns stands near the beginning of the description, in the compact form of Thrift: each
//! says how many of those behind it are within it. Everything else is passed over.
//!
//! # Invariants
//! * FI-13 No description is handed to the library whose columns nest deeper than [`DEPTH_MAX`].

use graven_types::told;

/// Most levels of columns: lists take two or three each.
const DEPTH_MAX: usize = 256;

/// Most levels of what is passed over.
const PASSED_MAX: usize = 64;

/// Why a description is refused.
///
/// # Errors
/// Its columns nest too deep, or how deep they nest cannot be told.
pub(crate) fn check(description: &[u8]) -> Result<(), String> {
    let mut input = Input(description);
    match input.depth() {
        Some(depth) if depth > DEPTH_MAX => Err(told!(
            "has columns that nest more than {DEPTH_MAX} levels deep, which cannot be read"
        )),
        Some(_) => Ok(()),
        None => Err("has no description of its columns that can be read".to_owned()),
    }
}

/// Kinds of fields in the compact form.
mod kind {
    pub(super) const TRUE: u8 = 1;
    pub(super) const FALSE: u8 = 2;
    pub(super) const BYTE: u8 = 3;
    pub(super) const I32: u8 = 5;
    pub(super) const I64: u8 = 6;
    pub(super) const DOUBLE: u8 = 7;
    pub(super) const TEXT: u8 = 8;
    pub(super) const LIST: u8 = 9;
    pub(super) const SET: u8 = 10;
    pub(super) const STRUCT: u8 = 12;
}

/// What is left to be read; `None` from any of these: it is damaged.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn pass(&mut self, bytes: usize) -> Option<()> {
        self.0 = self.0.get(bytes..)?;
        Some(())
    }

    fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let part = self.byte()?;
            value |= u64::from(part & 0x7f) << shift;
            if part < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// A field's number and kind; none at the end of its struct.
    fn field(&mut self, last: i64) -> Option<Option<(i64, u8)>> {
        let head = self.byte()?;
        if head == 0 {
            return Some(None);
        }
        let id = match head >> 4 {
            0 => self.zigzag()?,
            more => last + i64::from(more),
        };
        Some(Some((id, head & 0x0f)))
    }

    fn zigzag(&mut self) -> Option<i64> {
        let value = self.number()?;
        Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// Items of a list and their kind.
    fn list(&mut self) -> Option<(u64, u8)> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.number()?,
            few => u64::from(few),
        };
        Some((count, head & 0x0f))
    }

    /// Passes over a value, `levels` deep at most.
    fn value(&mut self, kind: u8, levels: usize) -> Option<()> {
        let levels = levels.checked_sub(1)?;
        match kind {
            kind::TRUE | kind::FALSE => Some(()),
            kind::BYTE => self.pass(1),
            4..=kind::I64 => self.number().map(drop),
            kind::DOUBLE => self.pass(8),
            kind::TEXT => {
                let length = self.number()?;
                self.pass(usize::try_from(length).ok()?)
            }
            kind::LIST | kind::SET => {
                let (count, item) = self.list()?;
                for _ in 0..count {
                    match item {
                        kind::TRUE | kind::FALSE => self.pass(1)?,
                        item => self.value(item, levels)?,
                    }
                }
                Some(())
            }
            kind::STRUCT => {
                let mut last = 0;
                while let Some((id, kind)) = self.field(last)? {
                    last = id;
                    self.value(kind, levels)?;
                }
                Some(())
            }
            _ => None,
        }
    }

    /// How deep the columns of a description nest.
    fn depth(&mut self) -> Option<usize> {
        /// The columns, among the fields of a description.
        const COLUMNS: i64 = 2;
        let mut last = 0;
        while let Some((id, kind)) = self.field(last)? {
            last = id;
            if id != COLUMNS || kind != kind::LIST {
                self.value(kind, PASSED_MAX)?;
                continue;
            }
            let (count, item) = self.list()?;
            if item != kind::STRUCT {
                return None;
            }
            // Columns still to come at each level that is open.
            let mut open: Vec<u64> = Vec::new();
            let mut deepest = 0;
            for _ in 0..count {
                let within = self.column()?;
                while open.last() == Some(&0) {
                    open.pop();
                }
                if let Some(left) = open.last_mut() {
                    *left -= 1;
                }
                if within > 0 {
                    open.push(within);
                    deepest = deepest.max(open.len());
                    if deepest > DEPTH_MAX {
                        break;
                    }
                }
            }
            return Some(deepest);
        }
        None
    }

    /// How many columns are within a column.
    fn column(&mut self) -> Option<u64> {
        /// Their number, among the fields of a column.
        const CHILDREN: i64 = 5;
        let (mut last, mut within) = (0, 0);
        while let Some((id, kind)) = self.field(last)? {
            last = id;
            match (id, kind) {
                (CHILDREN, kind::I32) => within = u64::try_from(self.zigzag()?).unwrap_or(0),
                _ => self.value(kind, PASSED_MAX)?,
            }
        }
        Some(within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A column with a name and so many within it.
    fn column(within: u8) -> Vec<u8> {
        match within {
            0 => vec![0x35, 0, 0x18, 1, b'x', 0],
            within => vec![0x48, 1, b'a', 0x15, 2 * within, 0],
        }
    }

    /// Of columns of which each holds as many as it says.
    fn description(columns: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x15, 2, 0x19, 0xfc];
        let mut count = columns.len();
        while count >= 0x80 {
            bytes.push(count as u8 | 0x80);
            count >>= 7;
        }
        bytes.push(count as u8);
        columns.iter().for_each(|it| bytes.extend(column(*it)));
        bytes.extend([0x16, 0, 0]);
        bytes
    }

    /// Goal: depth is counted, siblings are not; what is cut is refused.
    #[test]
    fn columns_that_nest_too_deep_are_refused() {
        let wide = description(&[3, 0, 2, 0, 0, 1, 0]);
        assert_eq!(Input(&wide).depth(), Some(2));
        assert!(check(&wide).is_ok());
        let mut chain = vec![1; 200];
        chain.push(0);
        assert_eq!(Input(&description(&chain)).depth(), Some(200));
        assert!(check(&description(&chain)).is_ok());
        let deep = description(&vec![1; 60_000]);
        assert!(check(&deep).expect_err("too deep").contains("256 levels"));
        let columns_end = wide.len() - 3;
        for end in 0..wide.len() {
            assert_eq!(check(&wide[..end]).is_ok(), end >= columns_end, "{end}");
        }
    }
}
