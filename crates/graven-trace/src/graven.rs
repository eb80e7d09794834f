//! Graven's own trace format: what `graven lab record` writes.
//!
//! # On disk
//! `NAME.gtrace` or `NAME.gtrace.zst` (compressed with zstd). Little-endian.
//!
//! | offset | bytes | field |
//! |--:|--:|---|
//! | 0 | 8 | `GRVTRACE` |
//! | 8 | 4 | version, 1 |
//! | 12 | 4 | bytes of a page, 0 where pages have several sizes |
//! | 16 | 4 | sampling: one page of so many is in the trace, 1 for all |
//! | 20 | 2 | number of kinds |
//! | 22 | 2 | number of files |
//! | 24 | 8 | reserved, 0 |
//!
//! Then the kinds (length in a byte, name), the files (id and length in two bytes each, name), then
//! records of 16 bytes to the end:
//!
//! | offset | bytes | field |
//! |--:|--:|---|
//! | 0 | 8 | page: `file << 48 | page` |
//! | 8 | 4 | query, 0 for none |
//! | 12 | 2 | thread |
//! | 14 | 1 | kind, an index into the kinds |
//! | 15 | 1 | flags: 1 write, 2 faulted, 4 scan, 8 read ahead |

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Read, Write};
use std::path::Path;

use crate::error::TraceError;
use crate::header::Header;
use crate::{Access, FileRow};

const MAGIC: &[u8; 8] = b"GRVTRACE";
const VERSION: u32 = 1;
const LEVEL: i32 = 3;

/// Hands over the accesses and returns the header.
///
/// # Errors
/// Files that are not of this format or version, or are cut off.
pub fn read(path: &Path, access: &mut dyn FnMut(Access)) -> Result<Header, TraceError> {
    let mut input = crate::open(path)?;
    let header = read_header(path, &mut input)?;
    let kinds = header.kinds.len();
    let mut wrong = None;
    crate::records_of(path, &mut input, |record: &[u8; 16]| {
        let word = u64::from_le_bytes(*record.first_chunk().unwrap_or(&[0; 8]));
        let [q0, q1, q2, q3, t0, t1, kind, flags] = *record.last_chunk::<8>().unwrap_or(&[0; 8]);
        if usize::from(kind) >= kinds.max(1) && wrong.is_none() {
            wrong = Some(kind);
        }
        access(Access {
            page: word,
            query: u32::from_le_bytes([q0, q1, q2, q3]),
            thread: u16::from_le_bytes([t0, t1]),
            kind,
            flags,
        });
    })?;
    match wrong {
        Some(kind) => {
            let reason = format!("a record is of kind {kind}, the header names {kinds} kinds");
            Err(TraceError::malformed(path, reason))
        }
        None => Ok(header),
    }
}

fn read_header(path: &Path, input: &mut dyn Read) -> Result<Header, TraceError> {
    let mut take = |bytes: usize| -> Result<Vec<u8>, TraceError> {
        let mut field = vec![0; bytes];
        input.read_exact(&mut field).map_err(|e| match e.kind() {
            ErrorKind::UnexpectedEof => {
                TraceError::malformed(path, "the header is cut off".to_owned())
            }
            _ => TraceError::io(path, "reading the header")(e),
        })?;
        Ok(field)
    };
    let malformed = |reason: String| TraceError::malformed(path, reason);
    let fixed = take(32)?;
    if &fixed[..8] != MAGIC {
        return Err(malformed(
            "the file does not start with GRVTRACE".to_owned(),
        ));
    }
    let word =
        |at: usize| u32::from_le_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
    if word(8) != VERSION {
        let reason = format!(
            "version {} is not {VERSION}, the one this build reads",
            word(8)
        );
        return Err(malformed(reason));
    }
    let counts = [word(20) & 0xffff, word(20) >> 16];
    let text = |bytes: Vec<u8>| {
        String::from_utf8(bytes)
            .map_err(|_| malformed("a name in the header is not UTF-8".to_owned()))
    };
    let mut kinds = Vec::new();
    for _ in 0..counts[0] {
        let length = take(1)?[0];
        kinds.push(text(take(usize::from(length))?)?);
    }
    let mut files = Vec::new();
    for _ in 0..counts[1] {
        let head = take(4)?;
        let length = u16::from_le_bytes([head[2], head[3]]);
        files.push(FileRow {
            id: u16::from_le_bytes([head[0], head[1]]),
            name: text(take(usize::from(length))?)?,
        });
    }
    Ok(Header {
        page_bytes: word(12),
        sampling: word(16).max(1),
        kinds,
        files,
    })
}

/// Writes a trace record by record.
pub struct Writer {
    output: Output,
    path: std::path::PathBuf,
    written: u64,
    /// The last line, where the trace is text.
    line: Option<String>,
}

enum Output {
    Plain(BufWriter<File>),
    Compressed(Box<BufWriter<zstd::Encoder<'static, File>>>),
}

impl Writer {
    /// Creates the file and writes the header; compressed where the name ends in `.zst`, as
    /// [`crate::text`] where it is the name of a text trace.
    ///
    /// # Errors
    /// What the system refuses; names of kinds beyond 255 bytes.
    pub fn create(path: &Path, header: &Header) -> Result<Self, TraceError> {
        let failed = |action| TraceError::io(path, action);
        let file = File::create(path).map_err(failed("creating"))?;
        let output = if path.extension().is_some_and(|e| e == "zst") {
            let encoder = zstd::Encoder::new(file, LEVEL).map_err(failed("compressing"))?;
            Output::Compressed(Box::new(BufWriter::with_capacity(1 << 18, encoder)))
        } else {
            Output::Plain(BufWriter::with_capacity(1 << 18, file))
        };
        let mut writer = Self {
            output,
            path: path.into(),
            written: 0,
            line: crate::text::is_text(path).then(String::new),
        };
        if writer.line.is_some() {
            writer.write(crate::text::header(header).as_bytes())?;
            return Ok(writer);
        }
        let mut bytes = Vec::from(*MAGIC);
        for word in [VERSION, header.page_bytes, header.sampling.max(1)] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend((header.kinds.len() as u16).to_le_bytes());
        bytes.extend((header.files.len() as u16).to_le_bytes());
        bytes.extend([0; 8]);
        for kind in &header.kinds {
            let length = u8::try_from(kind.len()).map_err(|_| {
                TraceError::malformed(path, format!("the kind {kind:?} is too long"))
            })?;
            bytes.push(length);
            bytes.extend(kind.as_bytes());
        }
        for FileRow { id, name } in &header.files {
            let length = u16::try_from(name.len()).map_err(|_| {
                TraceError::malformed(path, format!("the file name {name:?} is too long"))
            })?;
            bytes.extend(id.to_le_bytes());
            bytes.extend(length.to_le_bytes());
            bytes.extend(name.as_bytes());
        }
        writer.write(&bytes)?;
        Ok(writer)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), TraceError> {
        let outcome = match &mut self.output {
            Output::Plain(output) => output.write_all(bytes),
            Output::Compressed(output) => output.write_all(bytes),
        };
        outcome.map_err(TraceError::io(&self.path, "writing"))
    }

    /// Appends an access.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn push(&mut self, access: &Access) -> Result<(), TraceError> {
        if let Some(mut line) = self.line.take() {
            crate::text::row(&mut line, access);
            self.written += 1;
            let outcome = self.write(line.as_bytes());
            self.line = Some(line);
            return outcome;
        }
        let mut record = [0; 16];
        record[..8].copy_from_slice(&access.page.to_le_bytes());
        record[8..12].copy_from_slice(&access.query.to_le_bytes());
        record[12..14].copy_from_slice(&access.thread.to_le_bytes());
        record[14] = access.kind;
        record[15] = access.flags;
        self.written += 1;
        self.write(&record)
    }

    /// Ends the file and says how many accesses it holds.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn finish(self) -> Result<u64, TraceError> {
        let failed = |action| TraceError::io(&self.path, action);
        match self.output {
            Output::Plain(mut output) => output.flush().map_err(failed("writing"))?,
            Output::Compressed(output) => {
                let encoder = output
                    .into_inner()
                    .map_err(|e| failed("writing")(e.into_error()))?;
                encoder.finish().map_err(failed("compressing"))?;
            }
        }
        Ok(self.written)
    }
}
