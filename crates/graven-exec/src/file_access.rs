//! Which files and URLs a statement may name, and the way it gets to files.
//!
//! # How it works
//! Whatever reads or writes a file that a statement names asks here: `LOAD CSV`, `graven.backup`,
//! and what comes. A program's own statements may name any file. Those of a server's clients may
//! name none, or what lies below one folder: the kernel resolves the name below that folder
//! (`openat2` with `RESOLVE_BENEATH`), so neither `..` nor a symbolic link leads out of it. Where
//! the kernel has no `openat2`, each part of the name is opened by itself and a symbolic link is
//! refused. URLs are those below the ones that were opened ([`Allowed`]).
//!
//! # Invariants
//! * FA-1 What is opened is a regular file: looked at through the descriptor that is read, before
//!   anything is opened for reading.
//! * FA-2 Below a folder no name is resolved twice: what was checked is what is used, through its
//!   descriptor.
//! * FA-3 Files of the server itself, such as the database and the first password, are neither read
//!   nor written, also where they lie below the folder ([`Opened::kept`]).

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use graven_objects::{Allowed, is_url};
use graven_storage::{BEGINNING_BYTES, is_of_database};
use graven_types::told;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// Which files and URLs a statement may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileAccess {
    /// Any; relative names count from this folder, or else from the process's working directory.
    Any(Option<Arc<Path>>),
    /// Those that were opened to it.
    Opened(Opened),
}

/// What was opened to clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Files below this folder, from which all names count; none: no file.
    pub folder: Option<Arc<Path>>,
    /// URLs.
    pub urls: Allowed,
    /// Files of the server, by their whole names: these stay closed, and those with names that go
    /// on with `-`, as that of a log does. Of a folder: the databases in it, and what is theirs.
    pub kept: Arc<[PathBuf]>,
}

/// Endings of files that lie beside a database and hold what it holds, or secrets.
const BESIDE: [&str; 3] = ["", "-wal", "-password"];

impl Opened {
    /// This folder, and no URL.
    #[must_use]
    pub fn below(folder: impl Into<Arc<Path>>) -> Opened {
        Opened {
            folder: Some(folder.into()),
            urls: Allowed::none(),
            kept: Arc::default(),
        }
    }

    /// Refuses files of the server: by their real names, and by what they are.
    fn check_kept(&self, real: &Path, found: Option<(u64, u64)>) -> Result<(), Refused> {
        let of_name = |own: &Path| {
            let rest = real
                .as_os_str()
                .as_encoded_bytes()
                .strip_prefix(own.as_os_str().as_encoded_bytes());
            let name = real.file_name().unwrap_or_default().to_string_lossy();
            let is_beside = |rest: &[u8]| rest[0] == b'-' && !rest.contains(&b'/');
            rest.is_some_and(|rest| rest.is_empty() || is_beside(rest))
                || real.parent() == Some(own) && name.contains(".graven")
        };
        let is_one = |own: &Path| {
            BESIDE.iter().any(|ending| {
                let mut path = own.as_os_str().to_owned();
                path.push(ending);
                let known = std::fs::metadata(path);
                known.is_ok_and(|known| found == Some((known.dev(), known.ino())))
            })
        };
        match self.kept.iter().find(|own| of_name(own) || is_one(own)) {
            None => Ok(()),
            Some(_) => Err(Refused::Policy(
                "it is a file of the server, closed to clients".to_owned(),
            )),
        }
    }
}

impl Default for FileAccess {
    fn default() -> Self {
        FileAccess::Any(None)
    }
}

/// Why a file was not opened.
#[derive(Debug)]
pub enum Refused {
    /// The policy does not let the statement do it: what is wrong with the name.
    Policy(String),
    /// The operating system's answer.
    System(io::Error),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Refused::System(error)
    }
}

impl From<Errno> for Refused {
    fn from(error: Errno) -> Self {
        Refused::System(error.into())
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refused::Policy(why) => f.write_str(why),
            Refused::System(error) => error.fmt(f),
        }
    }
}

/// A path that leads to the file that was meant, as long as this is kept.
#[derive(Debug)]
pub struct NamedFile {
    path: PathBuf,
    /// What the path goes through.
    _held: Option<OwnedFd>,
}

impl NamedFile {
    /// The path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn through(descriptor: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", descriptor.as_raw_fd()))
}

/// The name of what is open.
fn real(descriptor: &OwnedFd) -> io::Result<PathBuf> {
    std::fs::read_link(through(descriptor))
}

fn closed() -> Refused {
    Refused::Policy(
        "files of the server are closed to clients; the server opens a folder to them with --files \
            DIR"
            .to_owned(),
    )
}

/// Refuses a URL where the name of a file is wanted.
fn check_local(name: &Path) -> Result<(), Refused> {
    match name.to_str().is_some_and(is_url) {
        true => Err(Refused::System(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is a URL, and here only a file of this machine can be named",
        ))),
        false => Ok(()),
    }
}

fn outside(name: &Path) -> Refused {
    Refused::Policy(told!(
        "{} does not lie below the folder that this server opens to clients (--files)",
        name.display()
    ))
}

/// Refuses what is no regular file: reading a device or a pipe may never end, or do something.
fn check_regular(descriptor: &OwnedFd, name: &Path) -> Result<(), Refused> {
    use rustix::fs::FileType;
    let found = FileType::from_raw_mode(rustix::fs::fstat(descriptor)?.st_mode);
    let what = match found {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => "a folder",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        _ => "a device",
    };
    Err(Refused::Policy(told!(
        "{} is {what}, no regular file",
        name.display()
    )))
}

/// The name as one below `root`: absolute names count from there, too, and may begin with the
/// folder's own.
fn below(root: &Path, name: &Path) -> PathBuf {
    let inner = name.strip_prefix(root).unwrap_or(name);
    let parts = inner.components();
    parts
        .filter(|part| !matches!(part, Component::RootDir | Component::CurDir))
        .collect()
}

/// Opens `name` below `root`, as a place only.
fn resolve(root: &Path, name: &Path) -> Result<OwnedFd, Refused> {
    let place = OFlags::PATH | OFlags::CLOEXEC;
    let folder = rustix::fs::open(root, place | OFlags::DIRECTORY, Mode::empty())?;
    let name = match name.as_os_str().is_empty() {
        true => Path::new("."),
        false => name,
    };
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(&folder, name, place, Mode::empty(), beneath) {
        Err(Errno::XDEV | Errno::LOOP) => Err(outside(name)),
        Err(Errno::NOSYS | Errno::PERM) => step_by_step(folder, name),
        found => Ok(found?),
    }
}

fn step_by_step(mut at: OwnedFd, name: &Path) -> Result<OwnedFd, Refused> {
    let place = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    for part in name.components() {
        let part = match part {
            Component::Normal(part) => part,
            Component::CurDir => OsStr::new("."),
            _ => return Err(outside(name)),
        };
        at = rustix::fs::openat(&at, part, place, Mode::empty())?;
        let mode = rustix::fs::fstat(&at)?.st_mode;
        if rustix::fs::FileType::from_raw_mode(mode) == rustix::fs::FileType::Symlink {
            return Err(outside(name));
        }
    }
    Ok(at)
}

impl FileAccess {
    /// No file and no URL.
    #[must_use]
    pub fn closed() -> FileAccess {
        FileAccess::Opened(Opened {
            folder: None,
            urls: Allowed::none(),
            kept: Arc::default(),
        })
    }

    /// What lies below this folder, and no URL.
    #[must_use]
    pub fn below(folder: impl Into<Arc<Path>>) -> FileAccess {
        FileAccess::Opened(Opened::below(folder))
    }

    /// The URLs that a statement may name.
    #[must_use]
    pub fn urls(&self) -> Allowed {
        match self {
            FileAccess::Any(_) => Allowed::All,
            FileAccess::Opened(opened) => opened.urls.clone(),
        }
    }

    /// A file to be read.
    ///
    /// # Errors
    /// [`Refused::Policy`] for what may not be named, or is no regular file.
    pub fn open(&self, name: &Path) -> Result<File, Refused> {
        let place = self.place(name)?;
        Ok(File::open(through(&place))?)
    }

    /// The path of a file that is there.
    ///
    /// # Errors
    /// As [`FileAccess::open`].
    pub fn existing(&self, name: &Path) -> Result<NamedFile, Refused> {
        let place = self.place(name)?;
        Ok(NamedFile {
            path: through(&place),
            _held: Some(place),
        })
    }

    /// Hands out the names of what lies in a folder, until that is refused; none where there is no
    /// such folder.
    ///
    /// # Errors
    /// As [`FileAccess::open`]; what is told instead of taking a name.
    pub fn names_in(
        &self,
        folder: &Path,
        take: &mut dyn FnMut(String) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        check_local(folder)?;
        let place = match self {
            FileAccess::Any(from) => {
                let from = from.as_deref().unwrap_or_else(|| Path::new("."));
                let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
                rustix::fs::open(from.join(folder), flags, Mode::empty()).map_err(Refused::from)
            }
            FileAccess::Opened(opened) => {
                let root = opened.folder.as_deref().ok_or_else(closed)?;
                resolve(root, &below(root, folder))
            }
        };
        let listed = place.and_then(|place| Ok(std::fs::read_dir(through(&place))?));
        let entries = match listed {
            Ok(entries) => entries,
            Err(Refused::System(error))
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Ok(());
            }
            Err(refused) => return Err(refused),
        };
        for entry in entries {
            if let Ok(name) = entry?.file_name().into_string() {
                take(name)?;
            }
        }
        Ok(())
    }

    /// The regular file of this name.
    fn place(&self, name: &Path) -> Result<OwnedFd, Refused> {
        check_local(name)?;
        let place = match self {
            FileAccess::Any(folder) => {
                let path = folder
                    .as_deref()
                    .unwrap_or_else(|| Path::new(""))
                    .join(name);
                let flags = OFlags::PATH | OFlags::CLOEXEC;
                rustix::fs::openat(CWD, &path, flags, Mode::empty())?
            }
            FileAccess::Opened(opened) => {
                let root = opened.folder.as_deref().ok_or_else(closed)?;
                resolve(root, &below(root, name))?
            }
        };
        check_regular(&place, name)?;
        if let FileAccess::Opened(opened) = self {
            let found = rustix::fs::fstat(&place)?;
            opened.check_kept(&real(&place)?, Some((found.st_dev, found.st_ino)))?;
        }
        Ok(place)
    }

    /// The path of a file to be made.
    ///
    /// # Errors
    /// As [`FileAccess::open`].
    pub fn new_file(&self, name: &Path) -> Result<NamedFile, Refused> {
        check_local(name)?;
        match self {
            FileAccess::Any(folder) => Ok(NamedFile {
                path: folder
                    .as_deref()
                    .unwrap_or_else(|| Path::new(""))
                    .join(name),
                _held: None,
            }),
            FileAccess::Opened(opened) => {
                let root = opened.folder.as_deref().ok_or_else(closed)?;
                let inner = below(root, name);
                let (Some(last), Some(folder)) = (inner.file_name(), inner.parent()) else {
                    return Err(outside(name));
                };
                let folder = resolve(root, folder)?;
                let path = through(&folder).join(last);
                let found = std::fs::symlink_metadata(&path);
                let known = found.as_ref().ok().map(|it| (it.dev(), it.ino()));
                opened.check_kept(&real(&folder)?.join(last), known)?;
                // A link that is there would lead elsewhere.
                match found {
                    Ok(found) if found.is_symlink() => Err(outside(name)),
                    _ => Ok(NamedFile {
                        path,
                        _held: Some(folder),
                    }),
                }
            }
        }
    }
}

impl NamedFile {
    /// Refuses what a file may not take the place of: a database or its log, and what is no file.
    ///
    /// # Errors
    /// [`Refused::Policy`] for these.
    pub fn check_replaceable(&self) -> Result<(), Refused> {
        let told = |what: &str| {
            let said = told!("{what} is there, which no file takes the place of: name another");
            Err(Refused::Policy(said))
        };
        match std::fs::metadata(&self.path) {
            Ok(found) if !found.is_file() => return told("no regular file"),
            Ok(_) => {}
            // What there is not is made.
            Err(_) => return Ok(()),
        }
        let mut beginning = Vec::new();
        let read = File::open(&self.path).and_then(|file| {
            let mut beginning_of = file.take(BEGINNING_BYTES as u64);
            beginning_of.read_to_end(&mut beginning)
        });
        match read {
            Ok(_) if is_of_database(&beginning) => told("a file of a database"),
            // Whether it may be replaced is for the system to say.
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    //! Goal: below a folder every way out is refused, and what lies in it is found; nothing but
    //! regular files is opened.

    use super::*;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    fn read(access: &FileAccess, name: &str) -> Result<String, String> {
        let mut text = String::new();
        let mut file = access.open(Path::new(name)).map_err(|e| e.to_string())?;
        file.read_to_string(&mut text).expect("readable");
        Ok(text)
    }

    #[test]
    fn nothing_leads_out_of_the_folder() {
        let base = tempfile::tempdir().expect("a folder");
        let root = base.path().join("open");
        std::fs::create_dir_all(root.join("sub")).expect("folders");
        std::fs::write(base.path().join("secret"), "secret").expect("a file");
        std::fs::write(root.join("sub/a.csv"), "in").expect("a file");
        symlink("../secret", root.join("link")).expect("a link");
        symlink(base.path(), root.join("out")).expect("a link");
        symlink("/proc/self/fd", root.join("fds")).expect("a link");
        let pipe = std::process::Command::new("mkfifo")
            .arg(root.join("pipe"))
            .status();
        assert!(pipe.expect("mkfifo runs").success());
        let access = FileAccess::below(root.clone());
        let whole = root.join("sub/a.csv");
        for name in [
            "sub/a.csv",
            "/sub/a.csv",
            "./sub/../sub/a.csv",
            whole.to_str().expect("text"),
        ] {
            assert_eq!(read(&access, name).as_deref(), Ok("in"), "{name}");
        }
        for name in [
            "../secret",
            "link",
            "out/secret",
            "sub/../../secret",
            "/etc/passwd",
            "pipe",
            "sub",
            "fds/0",
            "",
            "/",
            "..",
        ] {
            assert!(read(&access, name).is_err(), "{name}");
            assert_eq!(
                read(&FileAccess::closed(), name).map_err(|e| e.contains("closed")),
                Err(true)
            );
        }
        for name in ["../new", "link", "out/new", "sub/../../new", "..", "", "/"] {
            let new = access.new_file(Path::new(name));
            assert!(new.is_err(), "{name}: {new:?}");
        }
        let new = access.new_file(Path::new("sub/new")).expect("inside");
        std::fs::write(new.path(), "made").expect("written");
        assert_eq!(read(&access, "sub/new").as_deref(), Ok("made"));
        // The older way, by single steps.
        let open = |name: &str| {
            let flags = OFlags::PATH | OFlags::DIRECTORY;
            let folder = rustix::fs::open(&root, flags, Mode::empty()).expect("a folder");
            step_by_step(folder, Path::new(name)).map(|_| ())
        };
        assert!(open("sub/a.csv").is_ok());
        for name in ["../secret", "link", "out/secret", "fds/0"] {
            assert!(open(name).is_err(), "{name}");
        }
    }

    #[test]
    fn devices_and_pipes_are_always_refused() {
        let any = FileAccess::default();
        for name in ["/dev/zero", "/dev/null", "/", "/proc/self/fd"] {
            let said = read(&any, name).expect_err(name);
            assert!(said.contains("no regular file"), "{name}: {said}");
        }
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("a"), "there").expect("a file");
        let from = FileAccess::Any(Some(folder.path().into()));
        assert_eq!(read(&from, "a").as_deref(), Ok("there"));
    }
}
