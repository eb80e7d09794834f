//! Goal: the package does what its users see, from JavaScript. The tests are those of `test/`;
//! this one puts the compiled part and the files of the package side by side, as an installed
//! package has them. It runs the tests, and the programs of the guide, with the Node.js there is.
//!
//! `NODE` names another one. Without Node.js 18 or later the tests say so and pass.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

/// The program, if it is new enough.
fn node() -> Option<OsString> {
    let node = env::var_os("NODE").unwrap_or_else(|| "node".into());
    let check = "process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)";
    let new_enough = Command::new(&node)
        .args(["-e", check])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !new_enough {
        let shown = Path::new(&node).display();
        eprintln!("SKIPPED: `{shown}` is no Node.js 18 or later");
    }
    new_enough.then_some(node)
}

/// A folder that has the package in `node_modules`, as `npm install` leaves it.
fn installed() -> tempfile::TempDir {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let package = folder.path().join("node_modules/graven");
    fs::create_dir_all(&package).expect("a folder");
    for file in fs::read_dir(own.join("package")).expect("the package") {
        let path = file.expect("a file").path();
        fs::copy(&path, package.join(path.file_name().expect("a name"))).expect("copied");
    }
    let built = env::current_exe().expect("the path of this test");
    let library = built.with_file_name("libgraven_node.so");
    let addon = package.join("graven.node");
    // The library is large, and on the same disk as a rule.
    fs::hard_link(&library, &addon)
        .or_else(|_| fs::copy(&library, &addon).map(drop))
        .expect("the compiled part");
    folder
}

#[test]
fn tests_in_javascript_pass() {
    let Some(node) = node() else { return };
    let folder = installed();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("test");
    let files = fs::read_dir(tests).expect("the tests");
    let files = files.map(|file| file.expect("a file").path());
    let mut files: Vec<PathBuf> = files
        .filter(|path| path.to_string_lossy().ends_with(".test.js"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    let run = Command::new(node)
        .arg("--test")
        .args(&files)
        .env("NODE_PATH", folder.path().join("node_modules"))
        .output()
        .expect("it was there before");
    let said = String::from_utf8_lossy(&run.stdout);
    eprintln!("{said}");
    assert!(run.status.success(), "{said}");
    assert!(!said.contains("# pass 0"), "{said}");
}

/// Goal: the programs of the guide, one after another as one module, run and print what the guide
/// says behind `//=>`.
#[test]
fn the_guide_does_what_it_says() {
    let Some(node) = node() else { return };
    let folder = installed();
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/node.md");
    let guide = fs::read_to_string(guide).expect("the guide");
    let blocks = guide.split("\n```js\n").skip(1);
    let program: Vec<&str> = blocks
        .map(|block| block.split("\n```").next().expect("a block"))
        .collect();
    assert!(program.len() > 3, "the guide has programs");
    let program = program.join("\n");
    let path = folder.path().join("guide.mjs");
    fs::write(&path, &program).expect("written");
    let run = Command::new(node)
        .arg(&path)
        .current_dir(folder.path())
        .output()
        .expect("it was there before");
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{errors}\n{program}");
    let expected = program.lines().filter_map(|line| line.split_once("//=> "));
    let expected: Vec<&str> = expected.map(|(_, said)| said).collect();
    let said = String::from_utf8_lossy(&run.stdout);
    assert_eq!(said.lines().collect::<Vec<_>>(), expected);
}
