//! What reading an Arrow IPC file takes, known before it is read.
//!
//! # How it works
//! A record batch is read as a whole. Its size stands before it, and where its buffers are packed,
//! the size of what is in a buffer stands before that. The sizes of a stream are read first, by its
//! messages, those of a file by its footer and before each batch ([`crate::ipc_blocks`]). What is
//! too large is refused: the reader itself would allocate whatever the file says.
//!
//! # Invariants
//! * FI-11 No record batch, footer or schema is read that takes more than the limit.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::{Footer, Message, MessageHeader, root_as_footer, root_as_message};
use arrow_schema::SchemaRef;

/// Bytes at the beginning and at the end of a file.
pub(crate) const MAGIC: &[u8; 6] = b"ARROW1";

/// Stands before the length of a message.
pub(crate) const CONTINUATION: u32 = u32::MAX;

/// Why a file is not read.
#[derive(Debug)]
pub(crate) enum Refused {
    Io(io::Error),
    Why(String),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Refused::Io(error)
    }
}

pub(crate) fn damaged(why: impl std::fmt::Display) -> Refused {
    Refused::Why(format!("is no Arrow IPC file: {why}"))
}

/// What can be read from any place on.
pub(crate) trait Places: Read + Seek {}

impl<T: Read + Seek> Places for T {}

/// Reads sizes; nothing of more than `limit` bytes.
struct Sizes<'a> {
    file: &'a mut dyn Places,
    limit: u64,
}

/// Refuses what takes so many bytes.
pub(crate) fn too_large(bytes: u64, limit: u64) -> Refused {
    Refused::Why(format!(
        "has a record batch or dictionaries of {bytes} bytes, and with this memory limit at most \
            {limit} are read at a time; write the file with fewer rows in a batch, write Parquet, \
            or raise the memory limit"
    ))
}

/// Bytes that the reader of a stream holds at most at a time: all dictionaries and one batch.
///
/// # Errors
/// Something takes more than `limit` bytes; the stream is damaged or cannot be read.
pub(crate) fn held(file: &mut dyn Places, limit: u64) -> Result<u64, Refused> {
    let mut sizes = Sizes { file, limit };
    let (mut dictionaries, mut largest) = (0_u64, 0);
    sizes.of_stream(&mut |(of_dictionary, bytes): (bool, u64)| {
        match of_dictionary {
            true => dictionaries += bytes,
            false => largest = largest.max(bytes),
        }
        match dictionaries + largest > limit {
            true => Err(too_large(dictionaries + largest, limit)),
            false => Ok(()),
        }
    })?;
    Ok(dictionaries + largest)
}

/// A block, and whether it is of a dictionary.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) start: u64,
    /// Bytes of the description, and behind it of the buffers.
    pub(crate) meta: u64,
    pub(crate) body: u64,
    pub(crate) of_dictionary: bool,
}

impl Block {
    /// Where it ends.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.meta + self.body
    }
}

/// What a file or a stream says of itself.
#[derive(Debug)]
pub(crate) struct Summary {
    pub(crate) schema: SchemaRef,
    /// The blocks of a file; a stream has none.
    pub(crate) blocks: Vec<Block>,
    pub(crate) is_file: bool,
}

/// The columns of a file or a stream, and where the blocks of a file are; no batch is read.
///
/// # Errors
/// As [`held`].
pub(crate) fn summary(file: &mut dyn Places, limit: u64) -> Result<Summary, Refused> {
    let mut magic = [0; MAGIC.len()];
    file.rewind()?;
    let is_file = match file.read_exact(&mut magic) {
        Ok(()) => magic == *MAGIC,
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => false,
        Err(error) => return Err(error.into()),
    };
    let mut sizes = Sizes { file, limit };
    match is_file {
        true => sizes.summary_of_file(),
        false => sizes.summary_of_stream(),
    }
}

type See<'a> = &'a mut dyn FnMut((bool, u64)) -> Result<(), Refused>;

impl Sizes<'_> {
    fn bytes(&mut self, at: u64, length: u64) -> Result<Vec<u8>, Refused> {
        let end = self.file.seek(SeekFrom::End(0))?;
        if at.checked_add(length).is_none_or(|behind| behind > end) {
            return Err(damaged("it is cut"));
        }
        if length > self.limit {
            return Err(Refused::Why(format!(
                "says what is in it with {length} bytes, and with this memory limit at most {} \
                    are read; raise it",
                self.limit
            )));
        }
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        self.file.seek(SeekFrom::Start(at))?;
        self.file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Four bytes, or none at the end.
    fn number(&mut self, at: u64) -> Result<Option<u32>, Refused> {
        let mut bytes = [0; 4];
        self.file.seek(SeekFrom::Start(at))?;
        match self.file.read_exact(&mut bytes) {
            Ok(()) => Ok(Some(u32::from_le_bytes(bytes))),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn summary_of_file(&mut self) -> Result<Summary, Refused> {
        let end = self.file.seek(SeekFrom::End(0))?;
        let foot = end.checked_sub(10).ok_or_else(|| damaged("it is cut"))?;
        let length = u64::from(self.number(foot)?.unwrap_or(0));
        let at = foot.checked_sub(length);
        let bytes = self.bytes(at.ok_or_else(|| damaged("its footer is too long"))?, length)?;
        let footer: Footer<'_> = root_as_footer(&bytes).map_err(damaged)?;
        let schema = footer.schema().ok_or_else(|| damaged("it has no schema"))?;
        let mut blocks = Vec::new();
        let number = |n: i64| u64::try_from(n).map_err(|_| damaged("a size is negative"));
        let of_footer = [
            (footer.dictionaries(), true),
            (footer.recordBatches(), false),
        ];
        for (some, of_dictionary) in of_footer {
            for block in some.into_iter().flatten() {
                blocks.push(Block {
                    start: number(block.offset())?,
                    meta: number(block.metaDataLength().into())?,
                    body: number(block.bodyLength())?,
                    of_dictionary,
                });
            }
        }
        Ok(Summary {
            schema: Arc::new(try_fb_to_schema(schema).map_err(damaged)?),
            blocks,
            is_file: true,
        })
    }

    fn summary_of_stream(&mut self) -> Result<Summary, Refused> {
        let mut at = 4;
        let mut length = self.number(0)?.unwrap_or(0);
        if length == CONTINUATION {
            length = self.number(at)?.unwrap_or(0);
            at += 4;
        }
        let bytes = self.bytes(at, length.into())?;
        let message = root_as_message(&bytes).map_err(damaged)?;
        let schema = message.header_as_schema();
        let schema = schema.ok_or_else(|| damaged("its first message is no schema"))?;
        Ok(Summary {
            schema: Arc::new(try_fb_to_schema(schema).map_err(damaged)?),
            blocks: Vec::new(),
            is_file: false,
        })
    }

    fn of_stream(&mut self, see: See<'_>) -> Result<(), Refused> {
        let mut at = 0_u64;
        while let Some(mut length) = self.number(at)? {
            at += 4;
            if length == CONTINUATION {
                length = self.number(at)?.unwrap_or(0);
                at += 4;
            }
            if length == 0 {
                break;
            }
            let bytes = self.bytes(at, length.into())?;
            at += u64::from(length);
            let message = root_as_message(&bytes).map_err(damaged)?;
            let body = u64::try_from(message.bodyLength());
            let body = body.map_err(|_| damaged("a size is negative"))?;
            let whole = body.saturating_add(length.into());
            see(self.message(&message, at, whole)?)?;
            at = (at.checked_add(body)).ok_or_else(|| damaged("a size is too large"))?;
        }
        Ok(())
    }

    /// Whether it is of a dictionary, and its `whole` bytes with those that they unpack to.
    fn message(
        &mut self,
        message: &Message<'_>,
        body: u64,
        whole: u64,
    ) -> Result<(bool, u64), Refused> {
        let of_dictionary = message.header_type() == MessageHeader::DictionaryBatch;
        let batch = match of_dictionary {
            true => message
                .header_as_dictionary_batch()
                .and_then(|it| it.data()),
            false => message.header_as_record_batch(),
        };
        let packed = batch.filter(|batch| batch.compression().is_some());
        let buffers = packed.and_then(|batch| batch.buffers());
        let mut bytes = whole;
        for buffer in buffers.into_iter().flatten() {
            if buffer.length() < 8 {
                continue;
            }
            let at = u64::try_from(buffer.offset()).unwrap_or(u64::MAX);
            let at = body.saturating_add(at);
            self.file.seek(SeekFrom::Start(at.min(i64::MAX as u64)))?;
            let mut head = [0; 8];
            self.file.read_exact(&mut head)?;
            // Less than 0: it is not packed.
            let unpacked = u64::try_from(i64::from_le_bytes(head)).unwrap_or(0);
            bytes = bytes.saturating_add(unpacked);
        }
        Ok((of_dictionary, bytes))
    }
}
