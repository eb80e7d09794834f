//! Care of database files: checkpoints, backups, salvage.

use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

use graven_io::{Access, File, FileLock, OWNER_ONLY, OpenOptions, Use};
use graven_pagecache::{Budget, PageCache, SpillFile};
use graven_storage::{
    BackupReport, CheckpointOptions, CheckpointReport, Lost, SalvageReport, Store, Until,
};

use crate::config::Config;
use crate::database::Database;
use crate::error::{Error, LOCKED, NOT_FOUND, Retry};
use crate::files::{WalLocation, in_use, is_same, resolved, sibling_path};
use crate::folded_duplicate::folded;
use crate::instance::Backend;
use crate::params::Params;
use crate::value::Value;

/// Memory for checking a finished copy.
const CHECK_BYTES: u64 = 16 << 20;
/// Bytes that are copied between two looks at whether the copy is still wanted.
const PIECE_BYTES: u64 = 64 << 20;

impl Database {
    /// Merges what was committed since the last checkpoint into the data file, beside readers and
    /// writers. `None` if nothing was. Where another process has the database open, that process
    /// does it.
    ///
    /// # Errors
    /// `Database.ReadOnly`; `Io.Failed`; `Memory.Limit`. Nothing is lost by a failure.
    pub fn checkpoint(&self) -> Result<Option<CheckpointReport>, Error> {
        let inner = match self.backend()? {
            Backend::Local(inner) => inner,
            Backend::Remote(_) => return self.let_owner_checkpoint(),
        };
        let mut options = CheckpointOptions::default();
        // The caller waits for it.
        options.paced = false;
        Ok(inner.store.checkpoint(options)?)
    }

    /// As [`Database::checkpoint`], with pauses between its writes that leave the disk to others:
    /// so the database does it by itself.
    ///
    /// # Errors
    /// As [`Database::checkpoint`].
    pub fn checkpoint_paced(&self) -> Result<Option<CheckpointReport>, Error> {
        Ok(self
            .inner()?
            .store
            .checkpoint(CheckpointOptions::default())?)
    }

    /// Copies everything committed so far to a new file while the database is used, and checks the
    /// copy. Restoring is opening it. Gives the length of the copy.
    ///
    /// # Errors
    /// `Database.Exists` if there is a file; `Database.Damaged` if the copy is; `Io.Failed`.
    pub fn backup(&self, path: impl AsRef<Path>) -> Result<u64, Error> {
        match self.backend()? {
            Backend::Local(inner) => backup(&inner.store, path.as_ref(), &Until::DONE),
            Backend::Remote(_) => Ok(self.let_owner_back_up(path.as_ref(), None)?.0),
        }
    }

    /// As [`Database::backup`], from an earlier backup `since`, of which everything is taken that
    /// has not changed; `path` may be the same file. At any moment the earlier backup is whole.
    /// Gives the length of the copy and how many bytes of pages had changed.
    ///
    /// # Errors
    /// `Database.NotFound` if there is no earlier backup; `Database.Exists` if there is another
    /// file at `path`, or the database itself; `Database.InUse` if the earlier backup is open;
    /// `Database.Incomplete` if `since` is of another database; `Database.Damaged`; `Io.Failed`.
    pub fn backup_since(
        &self,
        path: impl AsRef<Path>,
        since: impl AsRef<Path>,
    ) -> Result<(u64, u64), Error> {
        let (path, since) = (path.as_ref(), since.as_ref());
        match self.backend()? {
            Backend::Local(inner) => backup_since(&inner.store, path, since, &Until::DONE),
            Backend::Remote(_) => self.let_owner_back_up(path, Some(since)),
        }
    }

    /// Lets the process that owns the database make the copy: its length, and how many bytes had
    /// changed.
    fn let_owner_back_up(&self, path: &Path, since: Option<&Path>) -> Result<(u64, u64), Error> {
        let text = |path: &Path| -> Result<Value, Error> {
            let whole = std::path::absolute(path)
                .map_err(|error| Error::new("Io.Failed", format!("{}: {error}", path.display())))?;
            match whole.to_str() {
                Some(text) => Ok(Value::from(text)),
                None => Err(Error::usage(format!(
                    "{}: another process has the database open, and a file name that is not UTF-8 \
                        cannot be sent to it",
                    path.display()
                ))),
            }
        };
        let mut params = Params::new();
        params.set("file", text(path)?);
        params.set("since", since.map(text).transpose()?.unwrap_or(Value::Null));
        let mut result = self.connect().query(
            "CALL graven.backup($file, $since) YIELD bytes, changedBytes RETURN bytes, \
                changedBytes",
            &params,
        )?;
        let row = result.next_row()?;
        let number = |at: usize| {
            let value = row.as_ref().and_then(|row| row.values().get(at));
            value
                .and_then(Value::as_integer)
                .map_or(0, i64::unsigned_abs)
        };
        Ok((number(0), number(1)))
    }

    /// Copies all that can be read of a damaged database to a new file. What is lost is in the
    /// report.
    ///
    /// # Errors
    /// `Database.NotFound`; `Database.InUse` if the file is open for writing elsewhere;
    /// `Database.Damaged` if neither superblock leads to a catalogue; `Database.Exists` if there is
    /// a file at `out`; `Io.Failed`; `Memory.Limit`.
    pub fn salvage(
        path: impl AsRef<Path>,
        out: impl AsRef<Path>,
        config: Config,
    ) -> Result<SalvageReport, Error> {
        let path = resolved(path.as_ref());
        into_new(out.as_ref(), "-salvage", &path, |target| {
            salvage(&path, target, config)
        })
    }

    /// Copies a database of the format before this one, with all it has, to a new file of this one.
    /// Nodes and relationships get new ids.
    ///
    /// # Errors
    /// `Database.NotADatabase` if the file is of another format, this one among them;
    /// `Database.Damaged` if anything of it cannot be read; as [`Database::salvage`].
    pub fn upgrade(
        path: impl AsRef<Path>,
        out: impl AsRef<Path>,
        mut config: Config,
    ) -> Result<SalvageReport, Error> {
        config.read_only = true;
        config.attach = false;
        config.older_format = true;
        let path = path.as_ref();
        into_new(out.as_ref(), "-upgrade", path, |target| {
            let older = Database::open(path, config)?;
            let report = older.inner()?.store.salvage(target)?;
            let Some(lost) = report.lost.first() else {
                return Ok(report);
            };
            let what = format!(
                "{}: {}: {}; check it with the build that wrote it",
                path.display(),
                lost.place,
                lost.why
            );
            Err(Error::new("Database.Damaged", what))
        })
    }
}

/// Makes a copy of `source` beside its place and gives it its name `out` when it is whole.
fn into_new(
    out: &Path,
    suffix: &str,
    source: &Path,
    fill: impl FnOnce(Arc<dyn File>) -> Result<SalvageReport, Error>,
) -> Result<SalvageReport, Error> {
    let part = sibling_path(out, suffix);
    let target = create(out, &part, source)?;
    let filled = fill(target);
    match &filled {
        Ok(_) => graven_io::durable_rename(&part, out)?,
        // An incomplete copy cannot be opened and is of no use.
        Err(_) => _ = std::fs::remove_file(&part),
    }
    filled
}

/// See [`Database::backup`].
pub(crate) fn backup(store: &Store, path: &Path, until: &Until) -> Result<u64, Error> {
    let part = sibling_path(path, "-backup");
    let file = create(path, &part, store.file().path())?;
    let settings = graven_pagecache::Config::new(Budget::new(CHECK_BYTES));
    let cache = PageCache::new(settings)?;
    let copied = folded(store, path, |store| {
        Ok(store.backup_until(file, cache, until)?)
    });
    // An incomplete copy cannot be opened and is of no use.
    let report = copied.inspect_err(|_| _ = std::fs::remove_file(&part))?;
    sound(&part, &report)?;
    graven_io::durable_rename(&part, path)?;
    Ok(report.bytes)
}

/// See [`Database::backup_since`].
pub(crate) fn backup_since(
    store: &Store,
    path: &Path,
    since: &Path,
    until: &Until,
) -> Result<(u64, u64), Error> {
    let failed = |error: std::io::Error| {
        let message = format!("{} cannot be read: {error}", since.display());
        match error.kind() {
            std::io::ErrorKind::NotFound => Error::new(NOT_FOUND, message),
            _ => Error::new("Io.Failed", message),
        }
    };
    let earlier = since.canonicalize().map_err(failed)?;
    for copy in [&earlier, path] {
        if is_same(copy, store.file().path()) {
            let what = format!(
                "{} is the database itself; name a file for the copy",
                copy.display()
            );
            return Err(Error::new("Database.Exists", what));
        }
    }
    let in_place = is_same(path, &earlier);
    if !in_place {
        refuse_existing(path)?;
    }
    // No process writes to it during the backup, and a process that has it open keeps it.
    let how = match in_place {
        true => Use::Alone,
        false => Use::Shared,
    };
    let lock = FileLock::try_acquire(&earlier, how)?;
    let _lock = lock.ok_or_else(|| in_use(&earlier))?;
    let path = match in_place {
        // Not the link that leads to it.
        true => &earlier,
        false => path,
    };
    let part = sibling_path(path, "-backup");
    // File systems that can share blocks between files do so here.
    let duplicated = duplicate(&earlier, &part, until).map_err(failed);
    let duplicated = duplicated.and_then(|_| Ok(Access::of(store.file().path())?.give_to(&part)?));
    let updated =
        duplicated.and_then(|()| folded(store, path, |store| update_backup(store, &part, until)));
    match updated {
        Ok(done) => {
            graven_io::durable_rename(&part, path)?;
            if in_place {
                // Of what was written to the copy; the new one has none.
                let _ = std::fs::remove_file(sibling_path(path, "-wal"));
            }
            Ok(done)
        }
        Err(error) => {
            // The first error is the one to tell.
            let _ = std::fs::remove_file(&part);
            Err(error)
        }
    }
}

/// Copies a file as long as it is wanted.
fn duplicate(from: &Path, to: &Path, until: &Until) -> std::io::Result<()> {
    let from = std::fs::File::open(from)?;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut to = options.open(to)?;
    while !until.is_over() {
        if std::io::copy(&mut (&from).take(PIECE_BYTES), &mut to)? == 0 {
            return Ok(());
        }
    }
    Err(std::io::Error::other("the copy is not wanted any more"))
}

fn update_backup(store: &Store, part: &Path, until: &Until) -> Result<(u64, u64), Error> {
    let file = graven_io::open(part, &OpenOptions::default())?;
    let settings = graven_pagecache::Config::new(Budget::new(CHECK_BYTES));
    let report = store.backup_since(file, PageCache::new(settings)?, until)?;
    sound(part, &report)?;
    Ok((report.bytes, report.written))
}

fn salvage(path: &Path, out: Arc<dyn File>, config: Config) -> Result<SalvageReport, Error> {
    let budget = config
        .budget
        .clone()
        .unwrap_or_else(|| Budget::new(config.memory));
    let mut read_only = config.clone();
    read_only.read_only = true;
    read_only.attach = false;
    read_only.budget = Some(budget.clone());
    // With the log, if both can be opened.
    let (store, mut lost) = match Database::open(path, read_only) {
        Ok(db) => (db.inner()?.store.clone(), Vec::new()),
        Err(error) if error.code() == NOT_FOUND => {
            let what = format!(
                "{} does not exist: there is nothing to salvage",
                path.display()
            );
            return Err(Error::new(NOT_FOUND, what));
        }
        // Its owner gives pages out again while they would be read here.
        Err(error) if error.code() == LOCKED => {
            let what = format!(
                "{error}; a database in use cannot be salvaged, but `graven backup` copies it"
            );
            return Err(Error::with_retry(LOCKED, what, Retry::MayHelp));
        }
        Err(error) => open_damaged(path, &config, &budget, &error)?,
    };
    let mut report = store.salvage(out)?;
    lost.append(&mut report.lost);
    report.lost = lost;
    Ok(report)
}

/// What cannot be opened because of `error`: with its log up to what is damaged there, or else
/// without.
fn open_damaged(
    path: &Path,
    config: &Config,
    budget: &Arc<Budget>,
    error: &Error,
) -> Result<(Arc<Store>, Vec<Lost>), Error> {
    let options = OpenOptions {
        mode: config.io.into(),
        read_only: true,
        ..OpenOptions::default()
    };
    let file = graven_io::open(path, &options)?;
    let cache = || {
        let mut settings = graven_pagecache::Config::new(budget.clone());
        settings.policy.clone_from(&config.policy);
        PageCache::new(settings)
    };
    if let Ok(opened) = with_part_of_log(path, file.clone(), cache()?, config) {
        return Ok(opened);
    }
    let (store, missing) = Store::open_damaged(file, cache()?)?;
    let mut lost = vec![Lost {
        place: "what was committed since the last checkpoint, if anything".to_owned(),
        why: error.to_string(),
        ids: 0,
    }];
    lost.extend(missing);
    Ok((store, lost))
}

fn with_part_of_log(
    path: &Path,
    file: Arc<dyn File>,
    cache: Arc<PageCache>,
    config: &Config,
) -> Result<(Arc<Store>, Vec<Lost>), Error> {
    let log = WalLocation::new(path, config, true);
    let mut options = graven_storage::OpenOptions::new(Box::new(log));
    options.read_only = Some("it is being salvaged".to_owned());
    options.spill = Some(Arc::new(SpillFile::at(
        &cache,
        sibling_path(path, "-tmp"),
        u64::MAX,
    )?));
    Ok(Store::open_with_damaged_log(file, cache, options)?)
}

/// Refuses a copy in which the check found anything.
fn sound(part: &Path, report: &BackupReport) -> Result<(), Error> {
    let Some(problem) = report.check.problems.first() else {
        return Ok(());
    };
    let message = format!(
        "{}: the copy is damaged, as the original is: {}: {}; `graven check` lists everything, \
            `graven salvage` copies \
         what can be read",
        part.display(),
        problem.place,
        problem.what
    );
    Err(Error::new("Database.Damaged", message))
}

fn refuse_existing(path: &Path) -> Result<(), Error> {
    if path.exists() {
        let message = format!("{} exists already; name a new file", path.display());
        return Err(Error::new("Database.Exists", message));
    }
    Ok(())
}

/// An empty file at `part`, for a copy of `source` that will be at `path`: open to no more users
/// than `source` is.
fn create(path: &Path, part: &Path, source: &Path) -> Result<Arc<dyn File>, Error> {
    refuse_existing(path)?;
    // Where the source is missing, the one that reads it says so.
    let access = Access::of(source).ok();
    let options = OpenOptions {
        create: true,
        create_mode: Some(access.map_or(OWNER_ONLY, |access| access.create_mode())),
        ..OpenOptions::default()
    };
    let file = graven_io::open(part, &options)?;
    if let Some(access) = access {
        access.give_to(part)?;
    }
    // What an earlier attempt left.
    file.set_len(0)?;
    Ok(file)
}
