//! Update streams of an LDBC data set, applied and compared:
//! `ldbc_updates FOLDER WORK [MEMORY IN MIB]`; what `cargo xtask updates` runs.

use std::path::Path;
use std::process::ExitCode;

use graven::TransactionOptions;
use graven_lab::updates::{Settings, run};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (data, work, memory) = match &args[..] {
        [data, work] => (data, work, 64),
        [data, work, memory] => (data, work, memory.parse().unwrap_or(64)),
        _ => {
            eprintln!("usage: ldbc_updates FOLDER WORK [MEMORY IN MIB]");
            return ExitCode::from(2);
        }
    };
    let settings = Settings {
        writers: 4,
        readers: 2,
        memory: memory << 20,
        options: TransactionOptions::default(),
    };
    match run(Path::new(data), Path::new(work), &settings) {
        Ok(report) => {
            let seconds = report.took.as_secs_f64();
            println!(
                "{} operations by {} writers in {seconds:.1} s ({:.0}/s, durable), {} reads beside \
                    them; {} nodes and relationships compared",
                report.operations,
                settings.writers,
                report.operations as f64 / seconds,
                report.reads,
                report.compared
            );
            for difference in &report.differences {
                println!("DIFFERENT {difference}");
            }
            if !report.differences.is_empty() {
                return ExitCode::FAILURE;
            }
            println!("equal to a bulk load of the end state");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
