//! What a statement came to, how its transaction is to behave, and errors, as they travel.

use std::borrow::Cow;
use std::time::Duration;

use graven_pagecache::{KindStats, PageKind, PerKind};
use graven_storage::{Durability, Durable, Isolation, TransactionOptions, WriteCounters};

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use graven_exec::{FileAccess, Opened};
use graven_objects::Allowed;
use graven_storage::Role;

use super::wire::{Decoded, Malformed, Reader, Writer};
use crate::access::Access;
use crate::error::{Error, WireError};
use crate::summary::Commit;
use crate::summary::{Notice, StatementKind, Summary};

/// The end of a statement.
#[derive(Debug)]
pub(crate) struct StatementOutcome {
    pub(crate) summary: Summary,
    /// The plan as text, where it was asked for.
    pub(crate) plan: Option<String>,
}

impl StatementOutcome {
    pub(super) fn write(&self, w: &mut Writer) {
        let summary = &self.summary;
        w.u64(summary.rows);
        put_duration(w, summary.elapsed);
        w.list(summary.notices.iter(), |w, notice| {
            w.text(&notice.code);
            w.text(&notice.message);
            w.option(notice.position, |w, (line, column)| {
                w.u32(line);
                w.u32(column);
            });
        });
        let pages: Vec<_> = summary.pages.iter().collect();
        w.list(pages.into_iter(), |w, (kind, stats)| {
            w.u8(kind as u8);
            stats_fields(stats).iter().for_each(|n| w.u64(*n));
        });
        for (_, count) in summary.counters.named() {
            w.u64(count);
        }
        w.option(summary.commit.as_ref(), put_commit);
        w.u8(match summary.kind {
            StatementKind::Reads => 0,
            StatementKind::Writes => 1,
            StatementKind::ChangesSchema => 2,
            StatementKind::OfSystem => 3,
        });
        w.option(self.plan.as_ref(), |w, plan| w.text(plan));
    }

    pub(super) fn read(r: &mut Reader<'_>) -> Decoded<Self> {
        let rows = r.u64()?;
        let elapsed = read_duration(r)?;
        let notices = r.list(|r| {
            Ok(Notice {
                code: r.text()?.to_owned(),
                message: r.text()?.to_owned(),
                position: r.option(|r| Ok((r.u32()?, r.u32()?)))?,
            })
        })?;
        let mut pages = PerKind::default();
        for (kind, stats) in r.list(|r| Ok((read_kind(r)?, read_stats(r)?)))? {
            pages.add(kind, stats);
        }
        let mut counters = WriteCounters::default();
        for counter in counters.counts_mut() {
            *counter = r.u64()?;
        }
        let summary = Summary {
            rows,
            elapsed,
            planning: Duration::ZERO,
            notices,
            pages,
            counters,
            commit: r.option(read_commit)?,
            kind: match r.u8()? {
                0 => StatementKind::Reads,
                1 => StatementKind::Writes,
                2 => StatementKind::ChangesSchema,
                3 => StatementKind::OfSystem,
                other => return Err(Malformed(format!("{other} is no kind of statement"))),
            },
        };
        Ok(StatementOutcome {
            summary,
            plan: r.option(|r| Ok(r.text()?.to_owned()))?,
        })
    }
}

fn stats_fields(stats: &KindStats) -> [u64; 8] {
    [
        stats.hits,
        stats.faults,
        stats.blocked,
        stats.evictions_background,
        stats.evictions_cooperative,
        stats.wait_ns,
        stats.bytes_read,
        stats.bytes_written,
    ]
}

fn read_stats(r: &mut Reader<'_>) -> Decoded<KindStats> {
    Ok(KindStats {
        hits: r.u64()?,
        faults: r.u64()?,
        blocked: r.u64()?,
        evictions_background: r.u64()?,
        evictions_cooperative: r.u64()?,
        wait_ns: r.u64()?,
        bytes_read: r.u64()?,
        bytes_written: r.u64()?,
    })
}

fn read_kind(r: &mut Reader<'_>) -> Decoded<PageKind> {
    let number = r.u8()?;
    let kind = PageKind::ALL.iter().find(|kind| **kind as u8 == number);
    kind.copied()
        .ok_or_else(|| Malformed(format!("{number} is no kind of page")))
}

pub(super) fn put_commit(w: &mut Writer, commit: &Commit) {
    w.u64(commit.timestamp);
    w.u64(commit.log_bytes);
    put_duration(w, commit.waited);
    w.u32(commit.group);
    put_duration(w, commit.checkpoint);
}

pub(super) fn read_commit(r: &mut Reader<'_>) -> Decoded<Commit> {
    Ok(Commit {
        timestamp: r.u64()?,
        log_bytes: r.u64()?,
        waited: read_duration(r)?,
        group: r.u32()?,
        checkpoint: read_duration(r)?,
    })
}

pub(super) fn put_access(w: &mut Writer, access: &Access) {
    w.option(access.user.as_deref(), Writer::text);
    w.bool(access.listed);
    w.u8(access.role as u8);
    w.bool(access.reads_only);
    let path = |path: &Path| path.as_os_str().as_bytes().to_vec();
    let (kind, folder) = match &access.files {
        FileAccess::Any(folder) => (0, folder),
        FileAccess::Opened(opened) => (1, &opened.folder),
    };
    w.u8(kind);
    w.option(folder.as_deref().map(path).as_deref(), Writer::bytes);
    // All of them, for the first kind.
    let urls = match access.files.urls() {
        Allowed::All => Arc::default(),
        Allowed::Below(urls) => urls,
    };
    w.list(urls.iter(), |w, url| w.text(url));
    let kept = match &access.files {
        FileAccess::Any(_) => &[][..],
        FileAccess::Opened(opened) => &opened.kept,
    };
    w.list(kept.iter(), |w, kept| w.bytes(&path(kept)));
}

pub(super) fn read_access(r: &mut Reader<'_>) -> Decoded<Access> {
    let user = r.option(Reader::shared)?;
    let listed = r.bool()?;
    let role = r.u8()?;
    let mut all = Role::ALL.into_iter();
    let role = all.find(|known| *known as u8 == role);
    let role = role.ok_or_else(|| Malformed("an unknown role".to_owned()))?;
    let reads_only = r.bool()?;
    let kind = r.u8()?;
    let folder = r.option(Reader::bytes)?;
    let folder = folder.map(|bytes| Path::new(OsStr::from_bytes(bytes)).into());
    let urls = r.list(Reader::shared)?;
    let kept = r.list(|r| {
        r.bytes()
            .map(|bytes| Path::new(OsStr::from_bytes(bytes)).into())
    })?;
    let files = match kind {
        0 => FileAccess::Any(folder),
        1 => FileAccess::Opened(Opened {
            folder,
            urls: Allowed::Below(urls.into()),
            kept: kept.into(),
        }),
        _ => return Err(Malformed(format!("{kind} is no kind of access to files"))),
    };
    Ok(Access {
        users: None,
        user,
        listed,
        role,
        reads_only,
        files,
    })
}

pub(super) fn put_duration(w: &mut Writer, duration: Duration) {
    w.u64(duration.as_secs());
    w.u32(duration.subsec_nanos());
}

pub(super) fn read_duration(r: &mut Reader<'_>) -> Decoded<Duration> {
    let (seconds, nanoseconds) = (r.u64()?, r.u32()?);
    if nanoseconds >= 1_000_000_000 {
        return Err(Malformed(format!("{nanoseconds} nanoseconds of a second")));
    }
    Ok(Duration::new(seconds, nanoseconds))
}

pub(super) fn put_options(w: &mut Writer, options: &TransactionOptions) {
    w.bool(options.isolation == Isolation::Serializable);
    match options.durability {
        Durability::Relaxed(within) => {
            w.u8(1);
            put_duration(w, within);
        }
        Durability::Off => w.u8(2),
        // Full, and whatever is stricter.
        _ => w.u8(0),
    }
    w.option(options.client_id, |w, id| w.raw(&id));
}

pub(super) fn read_options(r: &mut Reader<'_>) -> Decoded<TransactionOptions> {
    let isolation = match r.bool()? {
        true => Isolation::Serializable,
        false => Isolation::Snapshot,
    };
    let durability = match r.u8()? {
        0 => Durability::Full,
        1 => Durability::Relaxed(read_duration(r)?),
        2 => Durability::Off,
        other => return Err(Malformed(format!("{other} is no durability"))),
    };
    let options = TransactionOptions::default()
        .isolation(isolation)
        .durability(durability);
    Ok(match r.option(Reader::array)? {
        Some(id) => options.client_id(id),
        None => options,
    })
}

impl Error {
    pub(super) fn write(&self, w: &mut Writer) {
        let sent = self.sent();
        w.text(&sent.code);
        w.text(&sent.message);
        w.bool(sent.retryable);
        w.option(sent.place, |w, (line, column, rendered, of_text)| {
            w.bool(of_text);
            w.u32(line);
            w.u32(column);
            w.text(&rendered);
        });
        w.option(sent.durable, |w, durable| {
            w.u8(match durable {
                Durable::Yes => 0,
                Durable::No => 1,
                _ => 2,
            });
        });
    }

    pub(super) fn read(r: &mut Reader<'_>) -> Decoded<Self> {
        Ok(Error::received(WireError {
            code: Cow::Owned(r.text()?.to_owned()),
            message: r.text()?.to_owned(),
            retryable: r.bool()?,
            place: r.option(|r| {
                let of_text = r.bool()?;
                Ok((r.u32()?, r.u32()?, r.text()?.to_owned(), of_text))
            })?,
            durable: r.option(|r| {
                Ok(match r.u8()? {
                    0 => Durable::Yes,
                    1 => Durable::No,
                    _ => Durable::Unknown,
                })
            })?,
        }))
    }
}
