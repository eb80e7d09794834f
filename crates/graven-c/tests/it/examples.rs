//! Goal: programs in C, compiled and linked as a user does it with pkg-config's file, do what they
//! should: the example of the guide, every function, threads; and nothing leaks.
//!
//! `CC` names another compiler. Without a compiler, and for leaks without valgrind, the tests say
//! so and pass.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{env, fs};

/// Whether there is such a program.
fn is_there(program: &str) -> bool {
    let found = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    found.is_ok_and(|status| status.success())
}

/// An installation as a user has it, and programs compiled against it.
struct Installed {
    folder: tempfile::TempDir,
    compiler: String,
}

impl Installed {
    /// None without a compiler.
    fn new() -> Option<Installed> {
        let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        if !is_there(&compiler) {
            eprintln!("SKIPPED: there is no C compiler `{compiler}`");
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let own = Path::new(env!("CARGO_MANIFEST_DIR"));
        for name in ["include", "lib"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        let header = folder.path().join("include/graven.h");
        fs::copy(own.join("include/graven.h"), header).expect("the header");
        let built = env::current_exe().expect("the path of this test");
        let library = built.with_file_name("libgraven_c.so");
        let lib = folder.path().join("lib");
        std::os::unix::fs::symlink(&library, lib.join("libgraven.so.0")).expect("a link");
        std::os::unix::fs::symlink("libgraven.so.0", lib.join("libgraven.so")).expect("a link");
        Some(Installed { folder, compiler })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Compiles a file of the crate with all warnings as errors.
    fn compile(&self, source: &str) -> PathBuf {
        let program = self.path(
            Path::new(source)
                .file_stem()
                .and_then(|it| it.to_str())
                .expect("a name"),
        );
        let done = Command::new(&self.compiler)
            .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-g"])
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(source))
            .arg("-I")
            .arg(self.path("include"))
            .arg("-L")
            .arg(self.path("lib"))
            .args(["-lgraven", "-lpthread", "-o"])
            .arg(&program)
            .output()
            .expect("the compiler was there before");
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{said}");
        program
    }

    fn run(&self, command: &mut Command) -> Output {
        let command = command.current_dir(self.folder.path());
        let output = command.env("LD_LIBRARY_PATH", self.path("lib")).output();
        output.expect("the program starts")
    }
}

fn expect_success(output: &Output) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}: {said}", output.status);
}

#[test]
fn the_example_of_the_guide_runs() {
    let Some(installed) = Installed::new() else {
        return;
    };
    let program = installed.compile("examples/hello.c");
    let output = installed.run(Command::new(&program).arg("people.graven"));
    expect_success(&output);
    let expected = "Ada was born in 1815\nGrace was born in 1906\n";
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    // A file that is no database is an error with a code, not a crash.
    fs::write(
        installed.path("text.graven"),
        "This is not a database.\n".repeat(1000),
    )
    .expect("written");
    let output = installed.run(Command::new(&program).arg("text.graven"));
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.starts_with("Database.NotADatabase\n"), "{said}");
}

#[test]
fn the_guide_shows_the_example_that_runs() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide = fs::read_to_string(own.join("../../docs/guide/c.md")).expect("the guide");
    let example = fs::read_to_string(own.join("examples/hello.c")).expect("the example");
    assert!(
        guide.contains(&example),
        "examples/hello.c is not in docs/guide/c.md"
    );
}

#[test]
fn pkg_config_leads_to_header_and_library() {
    let Some(installed) = Installed::new() else {
        return;
    };
    if !is_there("pkg-config") {
        eprintln!("SKIPPED: there is no pkg-config");
        return;
    }
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let described = fs::read_to_string(own.join("graven.pc.in")).expect("graven.pc.in");
    let folder = installed.path("lib/pkgconfig");
    fs::create_dir(&folder).expect("a folder");
    let version = env!("CARGO_PKG_VERSION");
    let described = described.replace("@VERSION@", version);
    fs::write(folder.join("graven.pc"), described).expect("written");
    let asked = |what: &str| {
        let output = Command::new("pkg-config")
            .args([what, "graven"])
            .env("PKG_CONFIG_PATH", &folder)
            .output()
            .expect("pkg-config was there before");
        expect_success(&output);
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    assert_eq!(asked("--modversion"), version);
    let include = asked("--cflags");
    let include = Path::new(include.strip_prefix("-I").expect("a folder"));
    assert!(include.join("graven.h").is_file(), "{}", include.display());
    let libs = asked("--libs");
    let lib = libs
        .strip_prefix("-L")
        .and_then(|it| it.strip_suffix(" -lgraven"));
    let lib = Path::new(lib.expect("a folder and the library"));
    assert!(lib.join("libgraven.so").exists(), "{}", lib.display());
}

#[test]
fn every_function_does_what_it_says() {
    let Some(installed) = Installed::new() else {
        return;
    };
    let program = installed.compile("tests/c/everything.c");
    expect_success(&installed.run(Command::new(&program).arg("all.graven")));
}

#[test]
fn threads_share_a_database() {
    let Some(installed) = Installed::new() else {
        return;
    };
    let program = installed.compile("tests/c/threads.c");
    expect_success(&installed.run(&mut Command::new(&program)));
}

#[test]
fn nothing_leaks() {
    let Some(installed) = Installed::new() else {
        return;
    };
    if !is_there("valgrind") {
        eprintln!("SKIPPED: there is no valgrind to look for leaks");
        return;
    }
    let program = installed.compile("tests/c/everything.c");
    // Optimised code may compute with bytes that it then does not use: that is not looked for.
    let mut checked = Command::new("valgrind");
    checked
        .args([
            "--quiet",
            "--leak-check=full",
            "--errors-for-leak-kinds=definite",
        ])
        .args([
            "--show-leak-kinds=definite",
            "--error-exitcode=9",
            "--undef-value-errors=no",
        ])
        .arg(&program)
        .arg("leaks.graven");
    expect_success(&installed.run(&mut checked));
}

#[test]
fn the_header_is_one_of_cplusplus() {
    let Some(installed) = Installed::new() else {
        return;
    };
    let source = installed.path("header.cpp");
    fs::write(
        &source,
        "#include <graven.h>\nint main() { return graven_version() == nullptr; }\n",
    )
    .expect("written");
    if !is_there("c++") {
        eprintln!("SKIPPED: there is no C++ compiler `c++`");
        return;
    }
    let done = Command::new("c++")
        .args([
            "-std=c++17",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-fsyntax-only",
            "-I",
        ])
        .arg(installed.path("include"))
        .arg(&source)
        .output()
        .expect("the compiler was there before");
    expect_success(&done);
}
