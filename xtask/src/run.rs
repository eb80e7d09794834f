//! Child processes: where the repository is, which cargo to call, and how to fail with the
//! command's name.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The repository's root folder.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// Cargo with an environment that cannot change what is checked: flags and settings of the caller's
/// shell are dropped, the toolchain is the one that built this program.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root());
    for name in [
        "RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "RUSTDOCFLAGS",
        "CARGO_BUILD_TARGET",
    ] {
        command.env_remove(name);
    }
    command
}

/// Runs a command to its end.
///
/// # Errors
/// The command cannot be started or ends unsuccessfully.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let shown = shown(command);
    eprintln!("+ {shown}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{shown}` failed ({status})")),
        Err(e) => Err(format!("`{shown}` cannot be started: {e}")),
    }
}

/// Standard output of a command that succeeds; its errors go to this program's standard error.
///
/// # Errors
/// As [`run`].
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let shown = shown(command);
    let output = command
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|e| format!("`{shown}` cannot be started: {e}"))?;
    if !output.status.success() {
        return Err(format!("`{shown}` failed ({})", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The command line without folders of this machine.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut text = program
        .file_name()
        .unwrap_or(program.as_os_str())
        .to_string_lossy()
        .into_owned();
    for arg in command.get_args() {
        text.push(' ');
        text.push_str(&arg.to_string_lossy());
    }
    text
}
