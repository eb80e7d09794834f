//! `cargo xtask release`: packages that one can install, in one folder, with their checksums.
//!
//! # How it works
//! Each part is made by the tool that its users know: maturin makes wheels and the source package
//! of Python, npm makes the archive of the package of Node.js, zig links against an old C library
//! and compiles for other machines, cargo-deb makes the package of Debian. Manual pages and
//! completions are made by the program itself. Tools of Python that are missing are installed into
//! a folder below what is built; a part without another tool fails, and says how to install it.
//! The other parts are made all the same.
//!
//! # Invariants
//! * RL-1 What is named in `SHA256SUMS` was made by this run or an earlier one in this folder, and
//!   nothing else is in the folder but what a part makes.

mod archive;
mod node;
mod python;
mod tools;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::graphs::target;
use crate::run::{cargo, root, run};
use archive::Archive;

/// The oldest C library that wheels and the package of Node.js run with: that of distributions
/// from 2018 on.
const GLIBC: &str = "2.28";

/// The version of all packages.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A part: its name, what it makes, and how.
type Part = (
    &'static str,
    &'static str,
    fn(&Release) -> Result<(), String>,
);

const PARTS: &[Part] = &[
    (
        "wheel",
        "the package of Python for this machine's processor",
        python::wheel,
    ),
    (
        "wheel-aarch64",
        "the same for 64-bit ARM, compiled here",
        python::wheel_aarch64,
    ),
    (
        "sdist",
        "its sources, with all crates it needs",
        python::sdist,
    ),
    (
        "node",
        "the package of Node.js for this machine's processor",
        node::package,
    ),
    (
        "program",
        "the program with its manual pages and completions",
        program,
    ),
    (
        "musl",
        "the program without shared libraries, for any Linux",
        musl,
    ),
    ("man", "manual pages", man),
    (
        "completions",
        "completions of bash, zsh and fish",
        completions,
    ),
    ("deb", "the program as a package of Debian", deb),
    (
        "c",
        "the library for C: shared, static, header, pkg-config",
        c_library,
    ),
];

/// What is asked for.
pub(crate) struct Release {
    out: PathBuf,
    profile: String,
}

/// Makes the parts that are asked for, and the checksums of all that is in the folder.
///
/// # Errors
/// Wrong arguments; the parts that failed, with why.
pub(crate) fn release(args: &[String]) -> Result<(), String> {
    let (release, parts) = parsed(args)?;
    fs::create_dir_all(&release.out).map_err(|e| format!("{}: {e}", release.out.display()))?;
    let mut failed = Vec::new();
    for (name, _, make) in parts {
        eprintln!("== {name}");
        if let Err(error) = make(&release) {
            eprintln!("{name}: {error}");
            failed.push(format!("{name}: {error}"));
        }
    }
    if let Err(error) = checksums(&release.out) {
        failed.push(format!("checksums: {error}"));
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("these parts failed:\n  {}", failed.join("\n  "))),
    }
}

fn usage() -> String {
    let parts = PARTS.iter();
    let parts = parts.map(|(name, what, _)| format!("\n  {name:<15} {what}"));
    format!(
        "cargo xtask release --out DIR [--only PART,PART] [--profile NAME]\nParts:{}",
        parts.collect::<String>()
    )
}

fn parsed(args: &[String]) -> Result<(Release, Vec<Part>), String> {
    let (mut out, mut only, mut profile) = (None, None, "release".to_owned());
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || {
            let value = args.next().cloned();
            value.ok_or_else(|| format!("{arg} needs a value\n{}", usage()))
        };
        match arg.as_str() {
            "--out" => out = Some(PathBuf::from(value()?)),
            "--only" => only = Some(value()?),
            "--profile" => profile = value()?,
            _ => return Err(format!("`{arg}` is not known\n{}", usage())),
        }
    }
    let out = out.ok_or_else(|| format!("--out DIR is missing\n{}", usage()))?;
    let out = std::path::absolute(&out).map_err(|e| format!("{}: {e}", out.display()))?;
    let parts = match only {
        None => PARTS.to_vec(),
        Some(names) => {
            let known = |name: &str| PARTS.iter().find(|(known, ..)| *known == name).copied();
            let parts = names.split(',').map(|name| {
                known(name).ok_or_else(|| format!("there is no part `{name}`\n{}", usage()))
            });
            parts.collect::<Result<_, _>>()?
        }
    };
    Ok((Release { out, profile }, parts))
}

impl Release {
    /// Where cargo puts what this profile makes, below the folder of a target if one is named.
    fn built(&self, target_name: Option<&str>) -> PathBuf {
        let folder = match self.profile.as_str() {
            "dev" => "debug",
            other => other,
        };
        let base = target_name.map_or_else(target, |name| target().join(name));
        base.join(folder)
    }

    /// Builds the program and says where it is.
    fn built_program(&self) -> Result<PathBuf, String> {
        run(&mut cargo(&[
            "build",
            "--locked",
            "--profile",
            &self.profile,
            "--package",
            "graven-cli",
        ]))?;
        Ok(self.built(None).join("graven"))
    }

    /// The manual pages, in a folder of their own.
    fn pages(&self, folder: &Path) -> Result<(), String> {
        run(Command::new(self.built_program()?).arg("man").arg(folder))
    }

    /// The completions, named as the shells look for them.
    fn completions(&self, folder: &Path) -> Result<(), String> {
        let program = self.built_program()?;
        for (shell, file) in [
            ("bash", "bash-completion/completions/graven"),
            ("zsh", "zsh/site-functions/_graven"),
            ("fish", "fish/vendor_completions.d/graven.fish"),
        ] {
            let path = folder.join(file);
            let text = crate::run::output(Command::new(&program).args(["completions", shell]))?;
            archive::write(&path, text.as_bytes())?;
        }
        Ok(())
    }
}

fn program(release: &Release) -> Result<(), String> {
    let program = release.built_program()?;
    let archive = Archive::new(&format!(
        "graven-{VERSION}-{}-linux",
        std::env::consts::ARCH
    ))?;
    archive.copy(&program, "bin/graven")?;
    tools::strip(&archive.path("bin/graven"))?;
    release.pages(&archive.path("share/man/man1"))?;
    release.completions(&archive.path("share"))?;
    for name in ["LICENSE", "NOTICE", "README.md"] {
        archive.copy(&root().join(name), name)?;
    }
    archive.pack(&release.out)
}

fn musl(release: &Release) -> Result<(), String> {
    let name = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    tools::need_target(&name)?;
    tools::zigbuild(&release.profile, &name, "graven-cli")?;
    let program = release.built(Some(&name)).join("graven");
    let file = format!("graven-{VERSION}-{}-linux-static", std::env::consts::ARCH);
    let file = release.out.join(file);
    archive::copy(&program, &file)?;
    tools::strip(&file)
}

fn man(release: &Release) -> Result<(), String> {
    let archive = Archive::new(&format!("graven-{VERSION}-man"))?;
    release.pages(&archive.path("man1"))?;
    archive.pack(&release.out)
}

fn completions(release: &Release) -> Result<(), String> {
    let archive = Archive::new(&format!("graven-{VERSION}-completions"))?;
    release.completions(&archive.path(""))?;
    archive.pack(&release.out)
}

fn deb(release: &Release) -> Result<(), String> {
    tools::need("cargo-deb", "cargo install --locked cargo-deb")?;
    // Where the package's description looks for them.
    let share = root().join("target/package");
    release.pages(&share.join("man/man1"))?;
    release.completions(&share)?;
    run(cargo(&[
        "deb",
        "--locked",
        "--no-build",
        "--strip",
        "--profile",
        &release.profile,
        "--package",
        "graven-cli",
        "--output",
    ])
    .arg(&release.out))
}

fn c_library(release: &Release) -> Result<(), String> {
    let package = [
        "--locked",
        "--profile",
        &release.profile,
        "--package",
        "graven-c",
    ];
    let mut build = cargo(&["rustc", "--crate-type", "cdylib,staticlib"]);
    run(build.args(package))?;
    let built = release.built(None);
    let archive = Archive::new(&format!(
        "libgraven-{VERSION}-{}-linux",
        std::env::consts::ARCH
    ))?;
    let shared = format!("lib/libgraven.so.{VERSION}");
    archive.copy(&built.join("libgraven_c.so"), &shared)?;
    archive.link(&format!("libgraven.so.{VERSION}"), "lib/libgraven.so.0")?;
    archive.link("libgraven.so.0", "lib/libgraven.so")?;
    archive.copy(&built.join("libgraven_c.a"), "lib/libgraven.a")?;
    tools::strip(&archive.path(&shared))?;
    tools::strip(&archive.path("lib/libgraven.a"))?;
    let own = root().join("crates/graven-c");
    archive.copy(&own.join("include/graven.h"), "include/graven.h")?;
    archive.copy(&own.join("examples/hello.c"), "share/graven/hello.c")?;
    let described = own.join("graven.pc.in");
    let text =
        fs::read_to_string(&described).map_err(|e| format!("{}: {e}", described.display()))?;
    let text = text.replace("@VERSION@", VERSION);
    archive::write(&archive.path("lib/pkgconfig/graven.pc"), text.as_bytes())?;
    for name in ["LICENSE", "NOTICE"] {
        archive.copy(&root().join(name), name)?;
    }
    archive.pack(&release.out)
}

/// Writes the checksums of all files of the folder.
fn checksums(out: &Path) -> Result<(), String> {
    let listed = fs::read_dir(out).map_err(|e| format!("{}: {e}", out.display()))?;
    let names = listed.filter_map(|file| file.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name != "SHA256SUMS").collect();
    names.sort();
    if names.is_empty() {
        return Ok(());
    }
    let sums = crate::run::output(Command::new("sha256sum").current_dir(out).args(&names))?;
    archive::write(&out.join("SHA256SUMS"), sums.as_bytes())?;
    print!("{sums}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(args: &[&str]) -> Result<Vec<&'static str>, String> {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let (_, parts) = parsed(&args)?;
        Ok(parts.iter().map(|(name, ..)| *name).collect())
    }

    /// Goal: parts are chosen by name, and what is wrong is told with what there is.
    #[test]
    fn parts_are_chosen_by_name() {
        assert_eq!(
            of(&["--out", "x"]).map(|parts| parts.len()),
            Ok(PARTS.len())
        );
        assert_eq!(of(&["--only", "man,c", "--out", "x"]), Ok(vec!["man", "c"]));
        let said = of(&["--out", "x", "--only", "mann"]).expect_err("no such part");
        assert!(
            said.contains("`mann`") && said.contains("completions"),
            "{said}"
        );
        assert!(of(&["--only", "man"]).is_err_and(|said| said.contains("--out DIR")));
        assert!(of(&["--out"]).is_err_and(|said| said.contains("needs a value")));
    }
}
