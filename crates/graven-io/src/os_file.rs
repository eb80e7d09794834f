//! A file of the operating system, direct or buffered.
//!
//! # How it works
//! Direct mode is tried by opening with `O_DIRECT`, asking `statx` for the alignment and, where the
//! kernel does not tell, reading once; a file system that refuses any of it gets a buffered
//! descriptor instead and the reason is kept for `graven info`. Buffered files are advised as
//! random: read-ahead is the page cache's business.
//!
//! Reads of a direct file that are not aligned go through an aligned copy. Writes whose buffer is
//! not aligned do so too; writes of an unaligned range are refused, because they would have to read
//! first and could then undo a neighbour's write.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::options::{OpenOptions, QueueChoice};
use crate::pread_pool::PreadPool;
use crate::uring::{self, UringQueue};
use crate::{AlignedBuffer, Error, File, ForkSafe, IoMode, Operation, ReadQueue, Result};

/// Most bytes copied through one aligned buffer.
const COPY_BYTES_MAX: usize = 1 << 20;

/// A file of the operating system.
#[derive(Debug)]
pub(crate) struct OsFile {
    path: PathBuf,
    file: Arc<ForkSafe<fs::File>>,
    mode: IoMode,
    alignment: usize,
    queue: QueueChoice,
}

impl OsFile {
    /// Opens `path`; see [`crate::open`].
    pub(crate) fn open(path: &Path, options: &OpenOptions) -> Result<OsFile> {
        let failed = |source| Error::os(Operation::Open, path, source);
        let direct = match options.mode {
            IoMode::Direct => true,
            IoMode::Buffered => false,
            other => {
                let text = format!("an operating system file has no {other} mode");
                return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, text)));
            }
        };
        check_kind(path).map_err(failed)?;
        let builder = builder(options);
        if direct && let Ok((file, alignment)) = open_direct(path, &builder).map_err(failed)? {
            return Ok(OsFile::new(
                path,
                ForkSafe::new(file),
                IoMode::Direct,
                alignment,
                options.queue,
            ));
        }
        let file = ForkSafe::open(|| builder.open(path)).map_err(failed)?;
        // SAFETY: plain system call on an open descriptor; a failed advice changes nothing.
        unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_RANDOM) };
        Ok(OsFile::new(path, file, IoMode::Buffered, 1, options.queue))
    }

    fn new(
        path: &Path,
        file: ForkSafe<fs::File>,
        mode: IoMode,
        alignment: usize,
        queue: QueueChoice,
    ) -> OsFile {
        OsFile {
            path: path.to_path_buf(),
            file: Arc::new(file),
            mode,
            alignment,
            queue,
        }
    }

    fn failed(
        &self,
        operation: Operation,
        offset: u64,
        length: usize,
    ) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::at(operation, &self.path, offset, length, source)
    }

    fn aligned(&self, start: *const u8, offset: u64, length: usize) -> bool {
        let mask = self.alignment - 1;
        start.addr() & mask == 0 && (offset as usize) & mask == 0 && length & mask == 0
    }

    fn read_through_copy(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let alignment = self.alignment as u64;
        let mut filled = 0;
        while filled < buf.len() {
            let from = offset + filled as u64;
            let first = from / alignment * alignment;
            let skip = (from - first) as usize;
            let span = (skip + buf.len() - filled)
                .next_multiple_of(self.alignment)
                .min(COPY_BYTES_MAX);
            let mut copy = AlignedBuffer::zeroed(span);
            let got = read_full(&self.file, &mut copy, first, self.alignment)?;
            let useful = got.saturating_sub(skip).min(buf.len() - filled);
            buf[filled..filled + useful].copy_from_slice(&copy[skip..skip + useful]);
            filled += useful;
            if got < span {
                break;
            }
        }
        Ok(filled)
    }

    fn write_through_copy(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let mut copy = AlignedBuffer::zeroed(buf.len().min(COPY_BYTES_MAX));
        for (i, piece) in buf.chunks(COPY_BYTES_MAX).enumerate() {
            copy[..piece.len()].copy_from_slice(piece);
            let at = offset + (i * COPY_BYTES_MAX) as u64;
            self.file.write_all_at(&copy[..piece.len()], at)?;
        }
        Ok(())
    }
}

impl File for OsFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn len(&self) -> Result<u64> {
        let metadata = self
            .file
            .metadata()
            .map_err(self.failed(Operation::Length, 0, 0))?;
        Ok(metadata.len())
    }

    fn set_len(&self, length: u64) -> Result<()> {
        self.file
            .set_len(length)
            .map_err(self.failed(Operation::Length, length, 0))
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        let length = buf.len();
        let read = if self.aligned(buf.as_ptr(), offset, length) {
            read_full(&self.file, buf, offset, self.alignment)
        } else {
            self.read_through_copy(buf, offset)
        };
        read.map_err(self.failed(Operation::Read, offset, length))
    }

    fn write_all_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        if !self.aligned(std::ptr::null(), offset, buf.len()) {
            return Err(Error::Unaligned {
                operation: Operation::Write,
                path: self.path.clone(),
                offset,
                length: buf.len() as u64,
                alignment: self.alignment as u64,
            });
        }
        let written = if self.aligned(buf.as_ptr(), offset, buf.len()) {
            self.file.write_all_at(buf, offset)
        } else {
            self.write_through_copy(buf, offset)
        };
        written.map_err(self.failed(Operation::Write, offset, buf.len()))
    }

    fn sync_data(&self) -> Result<()> {
        self.file
            .sync_data()
            .map_err(self.failed(Operation::Sync, 0, 0))
    }

    fn allocate(&self, offset: u64, length: u64) -> Result<()> {
        let failed = |source| Error::Os {
            operation: Operation::Allocate,
            path: self.path.clone(),
            offset,
            length,
            source,
        };
        loop {
            // SAFETY: plain system call on an open descriptor.
            let code =
                unsafe { libc::fallocate(self.file.as_raw_fd(), 0, offset as i64, length as i64) };
            if code == 0 {
                return Ok(());
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                Some(libc::EOPNOTSUPP) if self.len()? < offset + length => {
                    return self.set_len(offset + length);
                }
                Some(libc::EOPNOTSUPP) => return Ok(()),
                _ => return Err(failed(error)),
            }
        }
    }

    fn mode(&self) -> IoMode {
        self.mode
    }

    fn alignment(&self) -> usize {
        self.alignment
    }

    fn read_queue(&self, depth: usize) -> Result<Box<dyn ReadQueue>> {
        let file = Arc::clone(&self.file);
        let uring = match self.queue {
            QueueChoice::PreadPool => false,
            QueueChoice::Auto => uring::permitted().is_ok(),
            QueueChoice::Uring => true,
        };
        if uring {
            match UringQueue::new(file, &self.path, self.alignment, depth) {
                Ok(queue) => return Ok(Box::new(queue)),
                Err(source) if self.queue == QueueChoice::Uring => {
                    return Err(Error::os(Operation::Queue, &self.path, source));
                }
                // Descriptors or memory ran out: reading with threads still works.
                Err(_) => {}
            }
        }
        let file = Arc::clone(&self.file);
        Ok(Box::new(PreadPool::new(
            file,
            &self.path,
            self.alignment,
            depth,
        )))
    }
}

/// Refuses what is no file: opening a pipe would wait for its other end.
fn check_kind(path: &Path) -> io::Result<()> {
    let Ok(found) = fs::metadata(path).map(|found| found.file_type()) else {
        // What there is not, and what cannot be looked at, is for opening to tell.
        return Ok(());
    };
    let what = match () {
        () if found.is_fifo() => "a pipe",
        () if found.is_socket() => "a socket",
        () if found.is_char_device() => "a device",
        () => return Ok(()),
    };
    let told = format!("it is {what}, no regular file");
    Err(io::Error::new(io::ErrorKind::InvalidInput, told))
}

fn builder(options: &OpenOptions) -> fs::OpenOptions {
    let mut builder = fs::OpenOptions::new();
    builder
        .read(true)
        .write(!options.read_only)
        .create(options.create && !options.read_only);
    if let Some(mode) = options.create_mode {
        builder.mode(mode);
    }
    builder
}

/// Opens past the page cache: the file and its alignment, or (inner error) why the file system
/// refuses.
pub(crate) fn open_direct(
    path: &Path,
    builder: &fs::OpenOptions,
) -> io::Result<std::result::Result<(fs::File, usize), String>> {
    let file = match builder.clone().custom_flags(libc::O_DIRECT).open(path) {
        Ok(file) => file,
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            return Ok(Err("the file system refuses O_DIRECT".to_owned()));
        }
        Err(error) => return Err(error),
    };
    match direct_alignment(&file) {
        Some(0) => {
            return Ok(Err(
                "the file system has no direct I/O for this file".to_owned()
            ));
        }
        Some(alignment) if alignment <= AlignedBuffer::ALIGNMENT => {
            return Ok(Ok((file, alignment)));
        }
        Some(alignment) => {
            return Ok(Err(format!(
                "direct I/O needs an alignment of {alignment} bytes"
            )));
        }
        None => {}
    }
    let mut page = AlignedBuffer::zeroed(AlignedBuffer::ALIGNMENT);
    match file.read_at(&mut page, 0) {
        Ok(_) => Ok(Ok((file, AlignedBuffer::ALIGNMENT))),
        Err(error) => Ok(Err(format!("a direct read fails: {error}"))),
    }
}

/// What the kernel says about direct I/O on `file`: 0 = impossible, `None` = it does not say.
fn direct_alignment(file: &fs::File) -> Option<usize> {
    // SAFETY: `statx` is plain old data, for which zero bytes are valid.
    let mut answer: libc::statx = unsafe { std::mem::zeroed() };
    // SAFETY: an open descriptor, an empty path as AT_EMPTY_PATH wants it, and a valid place for
    // the answer.
    let code = unsafe {
        libc::statx(
            file.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            libc::STATX_DIOALIGN,
            &raw mut answer,
        )
    };
    if code != 0 || answer.stx_mask & libc::STATX_DIOALIGN == 0 {
        return None;
    }
    let (memory, offset) = (answer.stx_dio_mem_align, answer.stx_dio_offset_align);
    Some(if offset == 0 {
        0
    } else {
        memory.max(offset) as usize
    })
}

/// Reads until `buf` is full or the file ends.
fn read_full(file: &fs::File, buf: &mut [u8], offset: u64, alignment: usize) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buf.len() {
        match file.read_at(&mut buf[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(got) => {
                filled += got;
                // A direct read stops off its alignment only where the file ends.
                if !filled.is_multiple_of(alignment) {
                    break;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    //! Goal: what is no file is refused at once, also where opening it would wait.

    use super::*;

    #[test]
    fn a_pipe_is_refused_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("mkfifo runs").success());
        for path in [path.as_path(), Path::new("/dev/null")] {
            for read_only in [true, false] {
                let options = OpenOptions {
                    read_only,
                    ..OpenOptions::default()
                };
                let refused = OsFile::open(path, &options).expect_err("no file");
                let refused = refused.to_string();
                assert!(refused.contains("no regular file"), "{refused}");
            }
        }
    }
}
