//! Tools that make packages: found, installed where that touches nothing but what is built, or
//! named with the command that installs them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::graphs::target;
use crate::run::{output, root, run};

/// Whether a program can be started.
fn is_there(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok()
}

/// Asks for a program.
///
/// # Errors
/// It is missing: with the command that installs it.
pub(super) fn need(program: &str, install: &str) -> Result<(), String> {
    match is_there(program) {
        true => Ok(()),
        false => Err(format!(
            "`{program}` is missing: install it with `{install}`"
        )),
    }
}

/// Takes out of a program or library what only debuggers read: four fifths of it.
///
/// # Errors
/// `strip` is missing or fails.
pub(super) fn strip(file: &Path) -> Result<(), String> {
    need("strip", "apt install binutils")?;
    let what = match file.extension().and_then(|it| it.to_str()) {
        Some("a") => "--strip-debug",
        _ => "--strip-unneeded",
    };
    run(Command::new("strip").arg(what).arg(file))
}

/// Asks for the standard library of another target.
///
/// # Errors
/// It is missing and cannot be installed.
pub(super) fn need_target(name: &str) -> Result<(), String> {
    let hint = format!("the standard library for {name} is missing: `rustup target add {name}`");
    if !is_there("rustup") {
        let there =
            output(Command::new("rustc").args(["--print", "target-libdir", "--target", name]));
        return match there {
            Ok(folder) if PathBuf::from(folder.trim()).is_dir() => Ok(()),
            _ => Err(hint),
        };
    }
    let mut add = Command::new("rustup");
    add.current_dir(root()).args(["target", "add", name]);
    run(&mut add).map_err(|error| format!("{hint} ({error})"))
}

/// A program that packages of Python bring: one that is installed, or else from a virtual
/// environment below what is built, which gets the packages.
///
/// # Errors
/// There is neither the program nor a Python that can install it.
pub(super) fn of_python(program: &str, packages: &[&str]) -> Result<Command, String> {
    let folder = target().join("package/tools");
    let own = folder.join("bin").join(program);
    if !own.is_file() {
        if is_there(program) {
            return Ok(Command::new(program));
        }
        let hint = format!(
            "`{program}` is missing: install it with `pip install {}`",
            packages.join(" ")
        );
        if !is_there("python3") {
            return Err(format!("{hint}, or install python3"));
        }
        let within = |error| format!("{hint} ({error})");
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder)).map_err(within)?;
        let mut install = Command::new(folder.join("bin/python"));
        install.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]);
        run(install.args(packages)).map_err(within)?;
    }
    let mut command = Command::new(own);
    // Its neighbours are found by name, such as zig's module of Python.
    let mut path = folder.join("bin").into_os_string();
    if let Some(outer) = std::env::var_os("PATH") {
        path.push(":");
        path.push(outer);
    }
    command.env("PATH", path);
    Ok(command)
}

/// Builds a package of the workspace for a target by zig: `x86_64-unknown-linux-gnu.2.28` names
/// the oldest C library that it runs with.
///
/// # Errors
/// Those of [`of_python`] and of the build.
pub(super) fn zigbuild(profile: &str, target: &str, package: &str) -> Result<(), String> {
    let mut build = of_python("cargo-zigbuild", &["cargo-zigbuild", "ziglang"])?;
    build.current_dir(root());
    build.args(["zigbuild", "--locked", "--profile", profile]);
    run(build.args(["--target", target, "--package", package]))
}
