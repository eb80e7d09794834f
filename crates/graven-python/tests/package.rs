//! Goal: the package does what its users see, from Python. The tests are those beside this file;
//! this one puts the compiled part and the files of Python side by side, as an installed package
//! has them, and runs them with the interpreter that is there.
//!
//! `PYTHON` names another interpreter. What needs another package (pandas, say) is left out where
//! that is missing.

use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

/// The files of Python in a folder and those within it.
fn copy_sources(from: &Path, to: &Path) {
    fs::create_dir(to).expect("a folder");
    for file in fs::read_dir(from).expect("the package") {
        let path = file.expect("a file").path();
        let copy = to.join(path.file_name().expect("a name"));
        if path.is_dir() && !path.ends_with("__pycache__") {
            copy_sources(&path, &copy);
        } else if path.extension().is_some_and(|it| it == "py") {
            fs::copy(&path, copy).expect("copied");
        }
    }
}

#[test]
fn tests_in_python_pass() {
    let python = env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    let new_enough = Command::new(&python)
        .args(["-c", "import sys; sys.exit(sys.version_info < (3, 9))"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !new_enough {
        let python = Path::new(&python).display();
        eprintln!("SKIPPED: `{python}` is no Python 3.9 or later");
        return;
    }
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let built = env::current_exe().expect("the path of this test");
    let library = built.with_file_name("libgraven_python.so");
    let folder = tempfile::tempdir().expect("a folder");
    let package = folder.path().join("graven");
    copy_sources(&own.join("python/graven"), &package);
    fs::copy(&library, package.join("_graven.abi3.so")).expect("the compiled part");
    let run = Command::new(&python)
        .args(["-B", "-m", "unittest", "discover", "--start-directory"])
        .arg(own.join("tests"))
        .env("PYTHONPATH", folder.path())
        .output()
        .expect("the interpreter was there before");
    let said = String::from_utf8_lossy(&run.stderr);
    eprintln!("{said}");
    assert!(
        run.status.success() && !said.contains("Ran 0 tests"),
        "{said}"
    );
}
