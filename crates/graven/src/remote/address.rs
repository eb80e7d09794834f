//! Where the owner of a file can be reached: a local socket that both sides find from the file
//! alone.
//!
//! # How it works
//! Three places are tried in this order, by the owner to listen and by others to connect:
//! `NAME-sock` beside the file; `graven-DEVICE-INODE.sock` in the user's runtime directory, where
//! the folder is read-only or the path too long; an abstract name. The socket file has mode 0600.
//!
//! # Invariants
//! * AT-1: A process that listens holds the kernel lock of the data file, so a socket file that is
//!   there already is a dead owner's and may be replaced.
//! * AT-2: Each side asks the kernel for the user of the other and hangs up unless that is the same
//!   user or root; an abstract name has no mode, and any process can take it.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use graven_io::ForkSafe;
use graven_storage::Role;

use crate::access::Access;

/// Longest path of a socket, without the zero at its end (`sun_path` of `unix(7)`).
const PATH_BYTES_MAX: usize = 107;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 128;

/// The file that is meant, whatever its names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FileIdentity {
    pub(super) device: u64,
    pub(super) inode: u64,
}

impl FileIdentity {
    pub(super) fn of(file: &Path) -> io::Result<Self> {
        let metadata = std::fs::metadata(file)?;
        Ok(FileIdentity {
            device: metadata.dev(),
            inode: metadata.ino(),
        })
    }
}

/// One place for a socket.
enum Place {
    File(PathBuf),
    Abstract(String),
}

fn places(file: &Path, identity: FileIdentity) -> Vec<Place> {
    let FileIdentity { device, inode } = identity;
    let mut places = Vec::with_capacity(3);
    // Another name of the same file leads to the same socket.
    let real = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf());
    let mut name = real.file_name().unwrap_or_default().to_owned();
    name.push("-sock");
    places.push(real.with_file_name(name));
    if let Some(folder) = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty()) {
        places.push(Path::new(&folder).join(format!("graven-{device:x}-{inode:x}.sock")));
    }
    places.retain(|path| path.as_os_str().len() <= PATH_BYTES_MAX);
    let user = rustix::process::geteuid().as_raw();
    (places.into_iter().map(Place::File))
        .chain([Place::Abstract(format!(
            "graven-{user}-{device:x}-{inode:x}"
        ))])
        .collect()
}

/// A listening socket; its file is removed with it.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: ForkSafe<UnixListener>,
    identity: FileIdentity,
    /// The socket's file, and which one it is.
    path: Option<(PathBuf, FileIdentity)>,
    /// The data file.
    file: PathBuf,
}

impl Listener {
    /// Listens at the first place that works. The caller holds the lock of `file`.
    pub(crate) fn bind(file: &Path) -> io::Result<Self> {
        let identity = FileIdentity::of(file)?;
        let mut failed = io::Error::from(io::ErrorKind::NotFound);
        for place in places(file, identity) {
            let bound = match place {
                Place::File(path) => bind_file(&path).and_then(|socket| {
                    let bound = FileIdentity::of(&path)?;
                    Ok((socket, Some((path, bound))))
                }),
                Place::Abstract(name) => SocketAddr::from_abstract_name(name)
                    .and_then(|address| ForkSafe::open(|| UnixListener::bind_addr(&address)))
                    .map(|socket| (socket, None)),
            };
            match bound {
                Ok((socket, path)) => {
                    return Ok(Listener {
                        socket,
                        identity,
                        path,
                        file: file.to_path_buf(),
                    });
                }
                Err(e) => failed = e,
            }
        }
        Err(failed)
    }

    /// The file that is served.
    pub(super) fn file(&self) -> FileIdentity {
        self.identity
    }

    /// What the process at the other end may do at most: everything, if it is of the same user or
    /// of root; otherwise what it could do with the data file by itself, and nothing with other
    /// files.
    pub(super) fn access_of(&self, stream: &UnixStream) -> io::Result<Access> {
        let peer = rustix::net::sockopt::socket_peercred(stream)?;
        if peer.uid.is_root() || peer.uid == rustix::process::geteuid() {
            return Ok(Access::default());
        }
        let file = std::fs::metadata(&self.file)?;
        let may = |right: u32| {
            let shift = match (
                file.uid() == peer.uid.as_raw(),
                file.gid() == peer.gid.as_raw(),
            ) {
                (true, _) => 6,
                (false, true) => 3,
                (false, false) => 0,
            };
            file.mode() >> shift & right != 0
        };
        match (may(4), may(2)) {
            (true, true) => Ok(Access::without_files(Role::Writer)),
            (true, false) => Ok(Access::without_files(Role::Reader)),
            (false, _) => Err(io::ErrorKind::PermissionDenied.into()),
        }
    }

    /// The next peer of an acceptable user.
    pub(super) fn accept(&self) -> io::Result<ForkSafe<UnixStream>> {
        loop {
            let stream = ForkSafe::new(self.socket.accept()?.0);
            if trusted(&stream).is_ok() {
                return Ok(stream);
            }
        }
    }

    /// Wakes a thread that waits in [`Listener::accept`]; from then on no process can connect.
    pub(super) fn shut_down(&self) {
        // A socket that is shut down already says so; nothing is left to do then.
        let _ = rustix::net::shutdown(&*self.socket, rustix::net::Shutdown::Both);
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Another owner, of a file that has this name by now, may have put its own socket there.
        if let Some((path, bound)) = &self.path
            && FileIdentity::of(path).is_ok_and(|found| found == *bound)
        {
            // A missing file is what is wanted.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn bind_file(path: &Path) -> io::Result<ForkSafe<UnixListener>> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let socket = ForkSafe::open(|| {
        let kind = (
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
        );
        let socket = rustix::net::socket_with(kind.0, kind.1, kind.2, None)?;
        // Linux makes the file with the mode of the socket: it is never open to others, not for a
        // moment.
        rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
        rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
        rustix::net::listen(&socket, BACKLOG)?;
        Ok::<_, io::Error>(UnixListener::from(socket))
    })?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(socket)
}

/// Connects to the owner of `file`, wherever it listens.
///
/// # Errors
/// No process listens, or a process of another user does.
pub(super) fn connect(file: &Path, identity: FileIdentity) -> io::Result<ForkSafe<UnixStream>> {
    let mut failed = io::Error::from(io::ErrorKind::NotFound);
    for place in places(file, identity) {
        let connected = match place {
            Place::File(path) => UnixStream::connect(path),
            Place::Abstract(name) => SocketAddr::from_abstract_name(name)
                .and_then(|address| UnixStream::connect_addr(&address)),
        };
        // Not opened as such: a full queue of this very process may be waited for, and the thread
        // that empties it must be able to go on.
        let connected = connected.map(ForkSafe::new);
        match connected.and_then(|stream| trusted(&stream).map(|()| stream)) {
            Ok(stream) => return Ok(stream),
            Err(e) => failed = e,
        }
    }
    Err(failed)
}

/// Whether the other end runs as the same user or as root.
fn trusted(stream: &UnixStream) -> io::Result<()> {
    let user = rustix::net::sockopt::socket_peercred(stream)?.uid;
    if user.is_root() || user == rustix::process::geteuid() || rustix::process::geteuid().is_root()
    {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!("the other end runs as user {}", user.as_raw()),
    ))
}

#[cfg(test)]
mod tests {
    //! Goal: both sides find each other beside the file, through another name of it, and where no
    //! socket file can be made.

    use super::*;

    fn round_trip(served: &Path, asked: &Path) {
        let identity = FileIdentity::of(served).expect("a file");
        assert_eq!(identity, FileIdentity::of(asked).expect("a file"));
        let listener = Listener::bind(served).expect("a socket");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                use std::io::Write;
                listener
                    .accept()
                    .expect("a peer")
                    .write_all(b"!")
                    .expect("open");
            });
            let mut stream = connect(asked, identity).expect("a listener");
            let mut byte = [0];
            std::io::Read::read_exact(&mut *stream, &mut byte).expect("a byte");
            assert_eq!(&byte, b"!");
        });
        listener.shut_down();
        drop(listener);
        assert!(connect(asked, identity).is_err());
    }

    #[test]
    fn found_beside_the_file_and_through_a_link() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.graven");
        std::fs::write(&file, b"x").expect("a file");
        let link = folder.path().join("b.graven");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        round_trip(&file, &link);
        // A socket file left by a dead owner is replaced.
        std::fs::write(folder.path().join("a.graven-sock"), b"").expect("a file");
        round_trip(&file, &file);
    }

    #[test]
    fn found_under_an_abstract_name_where_the_path_is_too_long() {
        let folder = tempfile::tempdir().expect("a folder");
        let deep = folder.path().join("x".repeat(100));
        std::fs::create_dir(&deep).expect("a folder");
        let file = deep.join("a.graven");
        std::fs::write(&file, b"x").expect("a file");
        round_trip(&file, &file);
    }
}
