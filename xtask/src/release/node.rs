//! The package of Node.js: the files of `crates/graven-node/package` and the compiled part, packed
//! by npm.
//!
//! # How it works
//! The archive is for one processor: `os`, `cpu` and `libc` in its `package.json` say so, and npm
//! refuses to install it elsewhere. Nothing is compiled where it is installed.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::archive::{self, Archive};
use super::{GLIBC, Release, VERSION, tools};
use crate::run::{root, run};

/// The processor as Node.js calls it.
fn processor() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// The description of the package, for one machine.
fn described(text: &str) -> Result<String, String> {
    let mut described: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let fields = described.as_object_mut().ok_or("not an object")?;
    fields.insert("version".to_owned(), json!(VERSION));
    fields.insert("os".to_owned(), json!(["linux"]));
    fields.insert("cpu".to_owned(), json!([processor()]));
    fields.insert("libc".to_owned(), json!(["glibc"]));
    serde_json::to_string_pretty(&described).map_err(|e| e.to_string())
}

/// The archive that `npm install` takes.
pub(super) fn package(release: &Release) -> Result<(), String> {
    tools::need("npm", "apt install npm")?;
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    tools::need_target(&target)?;
    tools::zigbuild(
        &release.profile,
        &format!("{target}.{GLIBC}"),
        "graven-node",
    )?;
    let name = format!("graven-node-{VERSION}-linux-{}", processor());
    let archive = Archive::new(&name)?;
    let own = root().join("crates/graven-node/package");
    let files = fs::read_dir(&own).map_err(|e| format!("{}: {e}", own.display()))?;
    for file in files.flatten() {
        archive.copy(&file.path(), &file.file_name().to_string_lossy())?;
    }
    for name in ["LICENSE", "NOTICE"] {
        archive.copy(&root().join(name), name)?;
    }
    let path = archive.path("package.json");
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let text = described(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    archive::write(&path, text.as_bytes())?;
    let addon = archive.path("graven.node");
    let built = release.built(Some(&target)).join("libgraven_node.so");
    archive::copy(&built, &addon)?;
    tools::strip(&addon)?;
    packed(&archive.path(""), &release.out, &name)
}

/// Packs the folder; npm names the archive by the package alone, which every processor has.
fn packed(folder: &Path, out: &Path, name: &str) -> Result<(), String> {
    run(Command::new("npm")
        .args(["pack", "--ignore-scripts", "--loglevel", "error"])
        .arg("--pack-destination")
        .arg(out)
        .env("NO_UPDATE_NOTIFIER", "1")
        .current_dir(folder))?;
    let made = out.join(format!("graven-{VERSION}.tgz"));
    fs::rename(&made, out.join(format!("{name}.tgz")))
        .map_err(|e| format!("{}: {e}", made.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: the archive names the machine that it is for, and keeps all else; the package has the
    /// version of the crates.
    #[test]
    fn the_description_names_the_machine() {
        let path = root().join("crates/graven-node/package/package.json");
        let text = fs::read_to_string(path).expect("the description");
        let plain: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(plain["version"], VERSION);
        let made = described(&text).expect("described");
        let made: Value = serde_json::from_str(&made).expect("JSON");
        assert_eq!(made["cpu"], json!([processor()]));
        assert_eq!(
            (&made["name"], &made["exports"]),
            (&plain["name"], &plain["exports"])
        );
        assert!(described("[]").is_err());
    }
}
