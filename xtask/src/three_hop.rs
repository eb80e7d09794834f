//! `cargo xtask three-hop`: every expected three-hop answer under every cache size, thread count, policy and
//! I/O mode, through the released program as a user would run it.
//!
//! # How it works
//! Builds the program, imports each graph below into the target folder once, and leaves the loops to
//! `graven bench three-hop`, which fails when an answer is wrong. The graphs are read from the folder
//! `shared` beside the repository (or `GRAVEN_SHARED`).

use std::path::Path;
use std::process::Command;

use crate::graphs::{imported, released_program, shared, target};
use crate::run::run;

/// Graphs with expected answers.
const GRAPHS: &[&str] = &[
    "ldbc-snb-sf10-knows",
    "ldbc-snb-sf1-core",
    "ldbc-snb-sf0.1-official-partial",
];

/// One matrix: values of the bench command's lists.
struct Matrix {
    caches: &'static str,
    threads: &'static str,
    policies: &'static str,
    io: &'static str,
}

const FULL: Matrix = Matrix {
    caches: "1MiB,2MiB,4MiB,8MiB,16MiB,1GiB",
    threads: "1,2,3,4,5,6,7,8",
    policies: "all",
    io: "direct,buffered",
};

const QUICK: Matrix = Matrix {
    caches: "1MiB,16MiB",
    threads: "1,3",
    policies: "all",
    io: "direct",
};

/// Runs the matrix on every graph.
///
/// # Errors
/// A wrong option, data that is missing, a run that fails or gives a wrong answer.
pub(crate) fn matrix(args: &[String]) -> Result<(), String> {
    let matrix = match args {
        [] => FULL,
        [quick] if quick == "--quick" => QUICK,
        _ => return Err("the only option is --quick".into()),
    };
    let program = released_program()?;
    let folder = target().join("three-hop");
    for graph in GRAPHS {
        let data = shared().join("data").join(graph);
        let db = imported(&program, &folder, graph)?;
        run(&mut bench(&program, &db, &data, &matrix))?;
    }
    Ok(())
}

fn bench(program: &Path, db: &Path, data: &Path, matrix: &Matrix) -> Command {
    let mut command = Command::new(program);
    command.args(["bench", "three-hop"]).arg(db);
    command
        .arg("--params")
        .arg(data.join("three-hop-params.csv"));
    command
        .arg("--expected")
        .arg(data.join("three-hop-expected.csv"));
    command.args(["--cache", matrix.caches, "--threads", matrix.threads]);
    command.args(["--policy", matrix.policies, "--io", matrix.io]);
    command
}
