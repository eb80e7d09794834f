//! What the kernel counted as read and written by this process: the proof that a benchmark reached
//! storage.

use crate::{Error, Result};

/// Counters of this process since its start, all threads together, from `/proc/self/io`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DeviceCounters {
    /// Bytes fetched from storage: the system's page cache does not count, direct and mapped reads
    /// do.
    pub read_bytes: u64,
    /// Bytes sent to storage.
    pub written_bytes: u64,
    /// System calls that read (io_uring's reads are not among them).
    pub read_calls: u64,
    /// System calls that write.
    pub write_calls: u64,
}

impl DeviceCounters {
    /// What was counted between `earlier` and `self`.
    #[must_use]
    pub fn since(self, earlier: DeviceCounters) -> DeviceCounters {
        DeviceCounters {
            read_bytes: self.read_bytes.saturating_sub(earlier.read_bytes),
            written_bytes: self.written_bytes.saturating_sub(earlier.written_bytes),
            read_calls: self.read_calls.saturating_sub(earlier.read_calls),
            write_calls: self.write_calls.saturating_sub(earlier.write_calls),
        }
    }
}

/// The counters now.
///
/// # Errors
/// The kernel keeps none, or `/proc` is not there.
pub fn device_counters() -> Result<DeviceCounters> {
    let text = std::fs::read_to_string("/proc/self/io").map_err(|error| Error::NoCounters {
        reason: format!("/proc/self/io: {error}"),
    })?;
    parse(&text)
}

fn parse(text: &str) -> Result<DeviceCounters> {
    let field = |name: &str| {
        text.lines()
            .find_map(|line| {
                line.strip_prefix(name)?
                    .strip_prefix(": ")?
                    .trim()
                    .parse()
                    .ok()
            })
            .ok_or_else(|| Error::NoCounters {
                reason: format!("/proc/self/io has no {name}"),
            })
    };
    Ok(DeviceCounters {
        read_bytes: field("read_bytes")?,
        written_bytes: field("write_bytes")?,
        read_calls: field("syscr")?,
        write_calls: field("syscw")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_kernels_text() {
        let text = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\n";
        let counters = parse(text).unwrap();
        assert_eq!(counters.read_bytes, 5);
        assert_eq!(counters.written_bytes, 6);
        assert_eq!(counters.read_calls, 3);
        assert_eq!(counters.write_calls, 4);
        assert_eq!(counters.since(counters), DeviceCounters::default());
    }

    #[test]
    fn names_what_is_missing() {
        let error = parse("rchar: 1\n").unwrap_err().to_string();
        assert!(error.contains("read_bytes"), "{error}");
    }
}
