//! Gives parts of a file back to the file system.

use std::fs::File;
use std::os::fd::AsRawFd;

/// Frees the blocks of `length` bytes from `offset` on; the file keeps its length, and these bytes
/// read as zeros. What the system cache holds of them goes, too, and is never written.
///
/// This only saves space: a file system that cannot do it leaves the file as it is.
pub fn free_range(file: &File, offset: u64, length: u64) {
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: plain system call on an open descriptor.
    let _ = unsafe { libc::fallocate(file.as_raw_fd(), mode, offset as i64, length as i64) };
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileExt, MetadataExt};

    use super::*;

    #[test]
    fn a_freed_range_takes_no_blocks_and_the_rest_stays() {
        let file = tempfile::tempfile().expect("a file");
        let mib = 1 << 20;
        file.write_all_at(&vec![7; 2 * mib], 0).expect("written");
        file.sync_all().expect("synced");
        let before = file.metadata().expect("metadata").blocks();
        free_range(&file, 0, mib as u64);
        let after = file.metadata().expect("metadata");
        assert_eq!(after.len(), 2 * mib as u64);
        let mut bytes = [0; 2];
        file.read_exact_at(&mut bytes[..1], mib as u64 - 1)
            .expect("read");
        file.read_exact_at(&mut bytes[1..], mib as u64)
            .expect("read");
        // A file system without holes keeps all of it.
        if after.blocks() < before {
            assert_eq!(bytes, [0, 7]);
            assert!(
                after.blocks() <= before / 2 + 16,
                "{} of {before}",
                after.blocks()
            );
        } else {
            assert_eq!(bytes, [7, 7]);
        }
    }
}
