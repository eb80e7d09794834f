//! What an attached process asks and the owner answers, and how it travels.
//!
//! # On the wire
//! A frame is its length (4 bytes, little-endian, without itself), a kind (1 byte) and the content.
//! The first frame each way is [`Request::Hello`] and its answer; everything before the protocol
//! number never changes, so that any two versions can tell each other apart by name.
//!
//! A session does one thing at a time. A statement is answered by [`Reply::Columns`], any number of
//! [`Reply::Rows`] and [`Reply::End`], or at any point by [`Reply::Failed`]; everything else by one
//! frame.

use std::io::{self, Read, Write};
use std::time::Duration;

use graven_storage::TransactionOptions;

use super::address::FileIdentity;
use super::summary::{
    StatementOutcome, put_access, put_commit, put_duration, put_options, read_access, read_commit,
    read_duration, read_options,
};
use super::wire::{Decoded, Malformed, Reader, Writer};
use crate::access::Access;
use crate::error::Error;
use crate::names::Names;
use crate::params::Params;
use crate::summary::Commit;
use crate::value::Value;

/// Both ends speak the same number or do not speak.
pub(super) const PROTOCOL: u32 = 9;
const MAGIC: &[u8; 8] = b"GRVattch";
/// Longest frame that is read; rows are sent in frames of [`ROWS_BYTES`], one large row may take
/// more.
const FRAME_BYTES_MAX: u32 = 1 << 30;
/// Bytes of rows after which a frame is sent.
pub(super) const ROWS_BYTES: usize = 64 << 10;

/// Name of a commit, made by the process that asks for it; the log keeps it.
pub(super) type CommitId = [u8; 16];

/// From an attached process.
#[derive(Debug)]
pub(super) enum Request {
    /// First frame of a session.
    Hello {
        protocol: u32,
        file: FileIdentity,
        /// Statements of the session may not write.
        read_only: bool,
    },
    /// Runs a statement: in the session's open transaction, or in one of its own with these
    /// options.
    Run {
        options: TransactionOptions,
        /// How long it may run.
        timeout: Option<Duration>,
        /// What it may do; where any file may be named, with the folder that relative names count
        /// from.
        access: Access,
        text: String,
        params: Params,
    },
    /// Checks and plans a statement only.
    Check { text: String },
    /// Opens the session's transaction.
    Begin { options: TransactionOptions },
    /// Commits it.
    Commit,
    /// Ends it without a trace.
    Rollback,
    /// Whether a commit of this name is known to be durable.
    Outcome { commit: CommitId },
    /// Labels, types and keys.
    Names,
    /// Cancels the statement that another session runs.
    Cancel { session: u64, key: u64 },
}

/// From the owner.
#[derive(Debug)]
pub(super) enum Reply {
    /// Answer to Hello. The key lets another session cancel this one's statements.
    Welcome {
        process: u32,
        session: u64,
        key: u64,
        memory: u64,
    },
    /// Answer to Hello where the two cannot speak.
    Refused {
        protocol: u32,
        process: u32,
        why: String,
    },
    /// The statement runs; headings and declared types of its columns.
    Columns {
        columns: Vec<String>,
        /// Empty where there is none.
        declared: Vec<String>,
        explain: bool,
        profile: bool,
    },
    /// Rows, each as long as there are columns.
    Rows(Vec<Vec<Value>>),
    /// The statement is at its end (and committed, if it wrote).
    End(Box<StatementOutcome>),
    /// What was asked failed.
    Failed(Error),
    /// What was asked is done; a commit says what it did.
    Done(Commit),
    /// Answer to Outcome.
    Committed(bool),
    /// Answer to Names.
    Names(Names),
}

/// Why a frame did not arrive.
#[derive(Debug)]
pub(super) enum Broken {
    /// The other end is gone.
    Gone(io::Error),
    /// It sent what cannot be understood.
    Malformed(String),
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        Broken::Gone(error)
    }
}

impl From<Malformed> for Broken {
    fn from(Malformed(what): Malformed) -> Self {
        Broken::Malformed(what)
    }
}

impl Request {
    pub(super) fn send(&self, to: &mut impl Write) -> io::Result<()> {
        let mut w = Writer::default();
        let kind = match self {
            Request::Hello {
                protocol,
                file,
                read_only,
            } => {
                w.raw(MAGIC);
                w.u32(*protocol);
                w.u64(file.device);
                w.u64(file.inode);
                w.bool(*read_only);
                0
            }
            Request::Run {
                options,
                timeout,
                access,
                text,
                params,
            } => {
                put_options(&mut w, options);
                w.option(*timeout, put_duration);
                put_access(&mut w, access);
                w.text(text);
                w.list(params.iter(), |w, (name, value)| {
                    w.text(name);
                    w.value(value);
                });
                1
            }
            Request::Check { text } => {
                w.text(text);
                2
            }
            Request::Begin { options } => {
                put_options(&mut w, options);
                3
            }
            Request::Commit => 4,
            Request::Rollback => 5,
            Request::Outcome { commit } => {
                w.raw(commit);
                6
            }
            Request::Names => 7,
            Request::Cancel { session, key } => {
                w.u64(*session);
                w.u64(*key);
                8
            }
        };
        send(to, kind, &w.0)
    }

    pub(super) fn receive(from: &mut impl Read) -> Result<Self, Broken> {
        let (kind, content) = receive(from)?;
        let mut r = Reader::new(&content);
        let request = Self::read(kind, &mut r)?;
        r.end()?;
        Ok(request)
    }

    fn read(kind: u8, r: &mut Reader<'_>) -> Decoded<Self> {
        Ok(match kind {
            0 => {
                if r.array()? != *MAGIC {
                    return Err(Malformed("the other end is no Graven".into()));
                }
                Request::Hello {
                    protocol: r.u32()?,
                    file: FileIdentity {
                        device: r.u64()?,
                        inode: r.u64()?,
                    },
                    read_only: r.bool()?,
                }
            }
            1 => Request::Run {
                options: read_options(r)?,
                timeout: r.option(read_duration)?,
                access: read_access(r)?,
                text: r.text()?.to_owned(),
                params: r
                    .list(|r| Ok((r.shared()?, r.value()?)))?
                    .into_iter()
                    .collect(),
            },
            2 => Request::Check {
                text: r.text()?.to_owned(),
            },
            3 => Request::Begin {
                options: read_options(r)?,
            },
            4 => Request::Commit,
            5 => Request::Rollback,
            6 => Request::Outcome { commit: r.array()? },
            7 => Request::Names,
            8 => Request::Cancel {
                session: r.u64()?,
                key: r.u64()?,
            },
            other => return Err(Malformed(format!("{other} is no kind of request"))),
        })
    }
}

impl Reply {
    pub(super) fn send(&self, to: &mut impl Write) -> io::Result<()> {
        let mut w = Writer::default();
        let kind = match self {
            Reply::Welcome {
                process,
                session,
                key,
                memory,
            } => {
                w.u32(*process);
                w.u64(*session);
                w.u64(*key);
                w.u64(*memory);
                0
            }
            Reply::Refused {
                protocol,
                process,
                why,
            } => {
                w.u32(*protocol);
                w.u32(*process);
                w.text(why);
                1
            }
            Reply::Columns {
                columns,
                declared,
                explain,
                profile,
            } => {
                w.list(columns.iter(), |w, column| w.text(column));
                w.list(declared.iter(), |w, of| w.text(of));
                w.bool(*explain);
                w.bool(*profile);
                2
            }
            Reply::Rows(rows) => {
                w.list(rows.iter(), |w, row| {
                    w.list(row.iter(), |w, value| w.value(value));
                });
                3
            }
            Reply::End(ended) => {
                ended.write(&mut w);
                4
            }
            Reply::Failed(error) => {
                error.write(&mut w);
                5
            }
            Reply::Done(commit) => {
                put_commit(&mut w, commit);
                6
            }
            Reply::Committed(yes) => {
                w.bool(*yes);
                7
            }
            Reply::Names(names) => {
                for list in [&names.labels, &names.types, &names.keys] {
                    w.list(list.iter(), |w, name| w.text(name));
                }
                8
            }
        };
        send(to, kind, &w.0)
    }

    pub(super) fn receive(from: &mut impl Read) -> Result<Self, Broken> {
        let (kind, content) = receive(from)?;
        let mut r = Reader::new(&content);
        let reply = Self::read(kind, &mut r)?;
        r.end()?;
        Ok(reply)
    }

    fn read(kind: u8, r: &mut Reader<'_>) -> Decoded<Self> {
        let texts = |r: &mut Reader<'_>| r.list(|r| Ok(r.text()?.to_owned()));
        Ok(match kind {
            0 => Reply::Welcome {
                process: r.u32()?,
                session: r.u64()?,
                key: r.u64()?,
                memory: r.u64()?,
            },
            1 => Reply::Refused {
                protocol: r.u32()?,
                process: r.u32()?,
                why: r.text()?.to_owned(),
            },
            2 => Reply::Columns {
                columns: texts(r)?,
                declared: texts(r)?,
                explain: r.bool()?,
                profile: r.bool()?,
            },
            3 => Reply::Rows(r.list(|r| r.list(Reader::value))?),
            4 => Reply::End(Box::new(StatementOutcome::read(r)?)),
            5 => Reply::Failed(Error::read(r)?),
            6 => Reply::Done(read_commit(r)?),
            7 => Reply::Committed(r.bool()?),
            8 => Reply::Names(Names {
                labels: texts(r)?,
                types: texts(r)?,
                keys: texts(r)?,
            }),
            other => return Err(Malformed(format!("{other} is no kind of reply"))),
        })
    }
}

fn send(to: &mut impl Write, kind: u8, content: &[u8]) -> io::Result<()> {
    let length = u32::try_from(content.len() + 1)
        .ok()
        .filter(|length| *length <= FRAME_BYTES_MAX)
        .ok_or_else(|| {
            let what = format!("{} bytes do not fit a frame", content.len());
            io::Error::new(io::ErrorKind::InvalidInput, what)
        })?;
    let mut head = [0; 5];
    head[..4].copy_from_slice(&length.to_le_bytes());
    head[4] = kind;
    to.write_all(&head)?;
    to.write_all(content)?;
    to.flush()
}

fn receive(from: &mut impl Read) -> Result<(u8, Vec<u8>), Broken> {
    let mut head = [0; 5];
    from.read_exact(&mut head)?;
    let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
    if length == 0 || length > FRAME_BYTES_MAX {
        return Err(Broken::Malformed(format!("a frame of {length} bytes")));
    }
    let mut content = Vec::new();
    // The length may lie: memory is taken as bytes arrive.
    let arrived = from.take(u64::from(length) - 1).read_to_end(&mut content)?;
    if arrived as u64 + 1 < u64::from(length) {
        return Err(Broken::Gone(io::ErrorKind::UnexpectedEof.into()));
    }
    Ok((head[4], content))
}
