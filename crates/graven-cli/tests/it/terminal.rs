//! Runs the program on a terminal of its own.

use std::fs::File;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

/// Starts it; the file is what a person sees and types.
pub(crate) fn start(args: &[&str]) -> (File, Child) {
    let (mut person, mut program) = (-1, -1);
    let size = libc::winsize {
        ws_row: 24,
        ws_col: 80,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: both numbers are written, the size is read; a null name and mode are allowed.
    let opened = unsafe {
        libc::openpty(
            &raw mut person,
            &raw mut program,
            std::ptr::null_mut(),
            std::ptr::null(),
            &raw const size,
        )
    };
    assert_eq!(opened, 0, "a terminal: {}", std::io::Error::last_os_error());
    // SAFETY: the call has just opened both, and nothing else owns them.
    let (person, program) =
        unsafe { (OwnedFd::from_raw_fd(person), OwnedFd::from_raw_fd(program)) };
    // Clones are closed by exec, unlike what the call gave; that is dropped here.
    let person = person.try_clone().expect("another handle");
    let end = || program.try_clone().expect("another handle");
    let mut command = Command::new(env!("CARGO_BIN_EXE_graven"));
    command.args(args).env("TERM", "xterm");
    command.stdin(end()).stdout(end()).stderr(end());
    // SAFETY: between fork and exec only these two system calls are made, which allocate nothing.
    unsafe {
        command.pre_exec(|| {
            // A session of its own, whose terminal this is: Control-C goes to it.
            if libc::setsid() < 0 || libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
                return Err(std::io::Error::last_os_error());
            }
            Ok(())
        });
    }
    let child = command.spawn().expect("the program starts");
    (File::from(person), child)
}
