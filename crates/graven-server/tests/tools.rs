//! Goal: tools that stand on Neo4j's drivers start, read the schema, write and ask. `tools.py` and
//! `tools.cjs` say what each does; a tool without its package is left out. `PYTHON` names an
//! interpreter that has the packages, `JAVASCRIPT` a folder.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use graven::{Config, Database};
use graven_server::{Options, Server};

/// Runs what a script does with one tool, if what `asked` asks for is there.
fn play(tool: &str, mut asked: Command, mut run: Command) {
    if !asked.output().is_ok_and(|asked| asked.status.success()) {
        let program = Path::new(asked.get_program()).display();
        eprintln!("SKIPPED: `{program}` is not there, or finds no package for {tool}");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = Config::default();
    config.memory = 32 << 20;
    config.create = true;
    let database = Database::open(folder.path().join("tools.graven"), config).expect("a database");
    let mut options = Options::default();
    options.address = "127.0.0.1:0".to_owned();
    options.open_to_all = true;
    let server = Server::start(database, options).expect("a server");
    let ran = run
        .arg(tool)
        .env("GRAVEN_BOLT", server.address().to_string())
        .output()
        .expect("the program was there before");
    let said = [ran.stdout, ran.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(
        ran.status.success() && !said.contains("Ran 0 tests"),
        "{said}"
    );
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
    play(tool, asked, run);
}

fn javascript(package: &str) {
    let folder: OsString = std::env::var_os("JAVASCRIPT").unwrap_or_else(|| ".".into());
    let (mut asked, mut run) = (Command::new("node"), Command::new("node"));
    let found = format!("require.resolve('{package}', {{paths: [process.cwd()]}})");
    asked.args(["-e", &found]).current_dir(&folder);
    run.arg(script("tools.cjs")).current_dir(&folder);
    play(package, asked, run);
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
