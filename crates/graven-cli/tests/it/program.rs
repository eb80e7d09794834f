//! Runs the program and keeps what it said; a small network that all tests share.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// What a run of the program left.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    /// Panics with everything unless the exit code is 0.
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }
}

/// Runs it without input.
pub(crate) fn graven<S: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = S>) -> Said {
    graven_reading(args, "")
}

/// Runs it with `input` on standard input.
pub(crate) fn graven_reading<S: AsRef<std::ffi::OsStr>>(
    args: impl IntoIterator<Item = S>,
    input: &str,
) -> Said {
    let mut child = Command::new(env!("CARGO_BIN_EXE_graven"))
        .args(args)
        .env_remove("RUST_BACKTRACE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("piped");
    let text = input.to_owned();
    // Whether the program reads its input to the end is its own affair.
    let writer = std::thread::spawn(move || drop(stdin.write_all(text.as_bytes())));
    let output = child.wait_with_output().expect("the program ends");
    writer.join().expect("no panic");
    Said {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// Tables and database of a generated network.
pub(crate) struct Network {
    pub(crate) tables: PathBuf,
    pub(crate) db: String,
}

/// The network, made by the program itself once for all tests.
pub(crate) fn network() -> &'static Network {
    static NETWORK: OnceLock<Network> = OnceLock::new();
    NETWORK.get_or_init(|| {
        let folder =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cli-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let tables = folder.join("tables");
        let db = folder.join("social.graven").display().to_string();
        let out = tables.display().to_string();
        graven(["generate", "social", &out, "--scale", "0.05", "--seed", "7"]).ok();
        graven(["import", &db, "--ldbc", &out]).ok();
        Network { tables, db }
    })
}

/// The first start of the three-hop question in the network.
pub(crate) fn first_start() -> i64 {
    let text =
        std::fs::read_to_string(network().tables.join("three-hop-params.csv")).expect("made");
    let line = text.lines().nth(1).expect("a start");
    line.rsplit([',', '|'])
        .next()
        .and_then(|id| id.trim().parse().ok())
        .expect("an id")
}

/// A new folder for one test, beside what is built.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    // Left by an earlier run of the same number, if at all.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}
