//! Packages of Python, by maturin.

use super::{GLIBC, Release, tools};
use crate::run::{root, run};

fn maturin() -> Result<std::process::Command, String> {
    let mut maturin = tools::of_python("maturin", &["maturin[zig]>=1.7,<2"])?;
    maturin.current_dir(root().join("crates/graven-python"));
    Ok(maturin)
}

fn wheel_for(release: &Release, target: &str) -> Result<(), String> {
    tools::need_target(target)?;
    run(maturin()?
        .args([
            "build",
            "--locked",
            "--zig",
            "--strip",
            "--compatibility",
            &format!("manylinux_{}", GLIBC.replace('.', "_")),
        ])
        .args(["--profile", &release.profile, "--target", target, "--out"])
        .arg(&release.out))
}

/// The wheel for this machine.
pub(super) fn wheel(release: &Release) -> Result<(), String> {
    wheel_for(
        release,
        &format!("{}-unknown-linux-gnu", std::env::consts::ARCH),
    )
}

/// The wheel for 64-bit ARM.
pub(super) fn wheel_aarch64(release: &Release) -> Result<(), String> {
    wheel_for(release, "aarch64-unknown-linux-gnu")
}

/// The source package.
pub(super) fn sdist(release: &Release) -> Result<(), String> {
    run(maturin()?.args(["sdist", "--out"]).arg(&release.out))
}
