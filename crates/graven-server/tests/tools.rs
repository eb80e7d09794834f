//! Goal: tools that stand on Neo4j's drivers start, read the schema, write and ask. `tools.py` and
//! `tools.cjs` say what each does; a tool without its package is left out. `PYTHON` names an
//! interpreter that has the packages, `JAVASCRIPT` a folder.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use program::{play, serve};

mod program;

/// Runs what a script does with one tool, if what `asked` asks for is there.
fn ask(tool: &str, mut asked: Command, mut run: Command) {
    if !asked.output().is_ok_and(|asked| asked.status.success()) {
        let program = Path::new(asked.get_program()).display();
        eprintln!("SKIPPED: `{program}` is not there, or finds no package for {tool}");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let server = serve(folder.path(), 32, false);
    play(run.arg(tool), &server);
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name)
}

fn python(tool: &str, package: &str) {
    let python = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    let (mut asked, mut run) = (Command::new(&python), Command::new(&python));
    asked.args(["-c", &format!("import {package}")]);
    run.arg("-B").arg(script("tools.py"));
    ask(tool, asked, run);
}

fn javascript(package: &str) {
    let folder: OsString = std::env::var_os("JAVASCRIPT").unwrap_or_else(|| ".".into());
    let (mut asked, mut run) = (Command::new("node"), Command::new("node"));
    let found = format!("require.resolve('{package}', {{paths: [process.cwd()]}})");
    asked.args(["-e", &found]).current_dir(&folder);
    run.arg(script("tools.cjs")).current_dir(&folder);
    ask(package, asked, run);
}

#[test]
fn neomodel_is_content() {
    python("Neomodel", "neomodel");
}

#[test]
fn langchain_is_content() {
    python("LangChain", "langchain_neo4j");
}

#[test]
fn llama_index_is_content() {
    python("LlamaIndex", "llama_index.graph_stores.neo4j");
}

#[test]
fn graphrag_is_content() {
    python("GraphRag", "neo4j_graphrag");
}

#[test]
fn graphql_is_content() {
    javascript("@neo4j/graphql");
}

#[test]
fn neode_is_content() {
    javascript("neode");
}
