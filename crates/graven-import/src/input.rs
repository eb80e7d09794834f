//! Table files as a stream of plain text blocks, decompressed ahead on a thread of their own.
//!
//! # How it works
//! The first bytes decide: zstd frame, gzip member, or plain text; names play no part. With two or
//! more threads a reader thread fills blocks of `BLOCK_BYTES` and hands them over through a bounded
//! channel, so decompression runs beside parsing; blocks go back for reuse.
//!
//! # Costs
//! At most `BLOCKS_AHEAD + 2` blocks in memory per open file; one file is open at a time.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;

use crate::error::ImportError;

const BLOCK_BYTES: usize = 256 << 10;
const BLOCKS_AHEAD: usize = 2;
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// A table whose text is made while it is read.
pub(crate) trait MadeTable: fmt::Debug + Send + Sync {
    /// A name for messages.
    fn name(&self) -> &Path;
    /// Bytes of the text, about.
    fn bytes(&self) -> u64;
    /// The text from its beginning. Its rows are made once.
    fn text(&self) -> Box<dyn Read + Send>;
    /// The table without its rows.
    fn header(&self) -> Arc<dyn MadeTable>;
}

/// Where the text of a table comes from.
#[derive(Debug, Clone)]
pub(crate) enum TableFile {
    /// A file, plain or compressed.
    Path(PathBuf),
    /// The program itself.
    Made(Arc<dyn MadeTable>),
}

impl TableFile {
    /// The file's path, or a name.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Path(path) => path,
            Self::Made(table) => table.name(),
        }
    }

    /// A table with the same header, to look at that alone: a made one has no rows.
    pub(crate) fn header(&self) -> Self {
        match self {
            Self::Path(path) => Self::Path(path.clone()),
            Self::Made(table) => Self::Made(table.header()),
        }
    }

    /// Bytes to be read, for progress.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Path(path) => std::fs::metadata(path).map_or(0, |m| m.len()),
            Self::Made(table) => table.bytes(),
        }
    }

    fn text(&self, count: &ByteCount) -> io::Result<Box<dyn Read + Send>> {
        match self {
            Self::Path(path) => open_text(path, count, WINDOW_LOG_MAX),
            Self::Made(table) => Ok(Box::new(Counted {
                inner: table.text(),
                count: count.clone(),
            })),
        }
    }
}

/// Counts the bytes read from the (compressed) files, for progress.
#[derive(Debug, Clone, Default)]
pub(crate) struct ByteCount(Arc<AtomicU64>);

impl ByteCount {
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

struct Counted<R> {
    inner: R,
    count: ByteCount,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buf)?;
        self.count.0.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

/// The content of a file as plain text: what zstd or gzip has packed is unpacked.
///
/// # Errors
/// What the operating system says.
pub fn unpacked(file: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    plain_text(file, &ByteCount::default(), WINDOW_LOG)
}

/// What unpacking zstd may look back, as a power of two of bytes, where no memory is set apart for
/// it: as far as `zstd -19` does.
const WINDOW_LOG: u32 = 23;
/// The same for an import.
const WINDOW_LOG_MAX: u32 = 27;

/// Opens `path` as plain text, whatever its compression.
fn open_text(path: &Path, count: &ByteCount, window_log: u32) -> io::Result<Box<dyn Read + Send>> {
    plain_text(File::open(path)?, count, window_log)
}

fn plain_text(
    file: impl Read + Send + 'static,
    count: &ByteCount,
    window_log: u32,
) -> io::Result<Box<dyn Read + Send>> {
    let counted = Counted {
        inner: file,
        count: count.clone(),
    };
    let mut reader = BufReader::with_capacity(128 << 10, counted);
    let start = reader.fill_buf()?;
    if start.starts_with(&ZSTD_MAGIC) {
        let mut unpacked = zstd::stream::read::Decoder::with_buffer(reader)?;
        unpacked.window_log_max(window_log)?;
        Ok(Box::new(unpacked))
    } else if start.starts_with(&GZIP_MAGIC) {
        Ok(Box::new(flate2::bufread::MultiGzDecoder::new(reader)))
    } else {
        Ok(Box::new(reader))
    }
}

/// Reads until `block` is full or the text ends.
fn fill(reader: &mut dyn Read, block: &mut Vec<u8>) -> io::Result<()> {
    block.clear();
    block.reserve(BLOCK_BYTES);
    reader.take(BLOCK_BYTES as u64).read_to_end(block).map(drop)
}

type Block = io::Result<Vec<u8>>;

enum Feed {
    /// There is no more text.
    Nothing,
    Inline(Box<dyn Read + Send>),
    Ahead {
        blocks: Receiver<Block>,
        spare: SyncSender<Vec<u8>>,
        thread: Option<JoinHandle<()>>,
        /// Whether the last block has come.
        ended: bool,
    },
}

/// The text of one file, block by block.
pub(crate) struct Input {
    path: PathBuf,
    feed: Feed,
}

impl Input {
    /// Opens a table's text; with `threads > 1` reading and decompressing run ahead on a thread.
    pub(crate) fn open(
        file: &TableFile,
        count: &ByteCount,
        threads: usize,
    ) -> Result<Self, ImportError> {
        let path = file.path();
        let text = file
            .text(count)
            .map_err(|e| ImportError::io(path, "open", e))?;
        let feed = if threads > 1 {
            ahead(text)
        } else {
            Feed::Inline(text)
        };
        Ok(Self {
            path: path.to_path_buf(),
            feed,
        })
    }

    /// The end of a text, of which the rest is at hand.
    pub(crate) fn ended(path: &Path) -> Self {
        Self {
            path: path.to_path_buf(),
            feed: Feed::Nothing,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends the next block to `out`; false at the end of the text.
    pub(crate) fn append(&mut self, out: &mut Vec<u8>) -> Result<bool, ImportError> {
        let block = match &mut self.feed {
            Feed::Nothing => Ok(Vec::new()),
            Feed::Inline(reader) => {
                let mut block = Vec::new();
                fill(&mut **reader, &mut block).map(|()| block)
            }
            Feed::Ahead { ended: true, .. } => Ok(Vec::new()),
            Feed::Ahead { blocks, thread, .. } => blocks.recv().unwrap_or_else(|_| ended(thread)),
        };
        let block = block.map_err(|e| ImportError::io(&self.path, "read", e))?;
        out.extend_from_slice(&block);
        let more = !block.is_empty();
        if let Feed::Ahead { spare, ended, .. } = &mut self.feed {
            *ended = !more;
            // A full or closed channel only means that the block is not needed again.
            let _ = spare.try_send(block);
        }
        Ok(more)
    }
}

fn ahead(mut text: Box<dyn Read + Send>) -> Feed {
    let (send, blocks) = sync_channel::<Block>(BLOCKS_AHEAD);
    let (spare, spares) = sync_channel::<Vec<u8>>(BLOCKS_AHEAD + 1);
    let thread = std::thread::spawn(move || {
        loop {
            let mut block = match spares.try_recv() {
                Ok(block) => block,
                Err(TryRecvError::Empty) => Vec::new(),
                Err(TryRecvError::Disconnected) => return,
            };
            let filled = fill(&mut *text, &mut block);
            let last = filled.is_err() || block.is_empty();
            if send.send(filled.map(|()| block)).is_err() || last {
                return;
            }
        }
    });
    Feed::Ahead {
        blocks,
        spare,
        thread: Some(thread),
        ended: false,
    }
}

/// The reading thread ended before the last block: its panic goes on here, so that no text is taken
/// for complete.
fn ended(thread: &mut Option<JoinHandle<()>>) -> Block {
    match thread.take().map(JoinHandle::join) {
        Some(Err(panic)) => std::panic::resume_unwind(panic),
        _ => Err(io::Error::other("the thread that reads it ended early")),
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        if let Feed::Ahead { blocks, thread, .. } = &mut self.feed {
            // Closing the channel first makes a reader that waits for room end.
            let (_, closed) = sync_channel(0);
            drop(std::mem::replace(blocks, closed));
            if let Some(thread) = thread.take() {
                let _ = thread.join();
            }
        }
    }
}
