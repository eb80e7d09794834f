//! Goal: completions and manual pages are those of the commands there are, and what cannot be
//! written is an error that names it.

use crate::program::{folder, graven};

#[test]
fn shells_complete_the_commands() {
    for (shell, mark) in [
        ("bash", "complete -F _graven"),
        ("zsh", "#compdef graven"),
        ("fish", "complete -c graven"),
    ] {
        let said = graven(["completions", shell]).ok();
        assert!(said.out.contains(mark), "{shell}: {}", &said.out[..200]);
        assert!(
            said.out.contains("write-test") && said.out.contains("read-only"),
            "{shell}"
        );
    }
    let said = graven(["completions", "csh"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("possible values"), "{}", said.err);
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = folder("man").join("man1");
    let said = graven(["man", &folder.display().to_string()]).ok();
    assert!(said.out.contains("manual pages in"), "{}", said.out);
    for page in ["graven.1", "graven-query.1", "graven-bench-commit.1"] {
        let text = std::fs::read_to_string(folder.join(page)).expect(page);
        assert!(text.contains(".SH SYNOPSIS"), "{page}");
    }
    let file = folder.join("graven.1/below").display().to_string();
    let said = graven(["man", &file]);
    assert_eq!(said.code, 1);
    assert!(
        said.err.contains("cannot write manual pages there"),
        "{}",
        said.err
    );
}
