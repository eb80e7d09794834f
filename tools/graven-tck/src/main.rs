//! `graven-tck`: plays the scenarios under a folder and prints what passes.

use std::path::PathBuf;
use std::process::ExitCode;

use graven_tck::run::Reopen;
use graven_tck::suite::{kit, temporary_folder};
use graven_tck::{Settings, feature, run_all};

const HELP: &str = "\
Usage: cargo xtask tck [OPTIONS]

  --features DIR   folder of feature files (default: the openCypher kit in the shared folder)
  --filter TEXT    only scenarios whose feature or name contains TEXT
  --failures       print each failure with its reason
  --reopen         close and open the database between preparing, statement and checks
  --memory SIZE    memory budget of each database (default: 64MiB)
";

struct Options {
    features: PathBuf,
    filter: String,
    failures: bool,
    settings: Settings,
}

fn main() -> ExitCode {
    match options().and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn options() -> Result<Options, String> {
    let kit = kit();
    let mut options = Options {
        features: kit.join("features"),
        filter: String::new(),
        failures: false,
        settings: Settings {
            memory: 64 << 20,
            reopen: Reopen::Never,
            graphs: kit.join("graphs"),
        },
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value\n{HELP}"));
        match arg.as_str() {
            "--features" => options.features = value()?.into(),
            "--filter" => options.filter = value()?,
            "--failures" => options.failures = true,
            "--reopen" => options.settings.reopen = Reopen::BetweenSteps,
            "--memory" => {
                options.settings.memory =
                    graven::parse_bytes(&value()?).map_err(|e| e.to_string())?;
            }
            _ => return Err(HELP.to_owned()),
        }
    }
    Ok(options)
}

fn run(options: &Options) -> Result<(), String> {
    let mut scenarios = feature::read_folder(&options.features)?;
    let filter = &options.filter;
    scenarios.retain(|s| s.feature.contains(filter) || s.name.contains(filter));
    if scenarios.is_empty() {
        return Err("no scenario was found".to_owned());
    }
    let folder = temporary_folder().map_err(|e| format!("temporary folder: {e}"))?;
    // A panic is reported as the failure of its scenario.
    std::panic::set_hook(Box::new(|_| {}));
    let report = run_all(&scenarios, folder.path(), &options.settings);
    if options.failures {
        for (feature, name, reason) in &report.failures {
            println!("FAIL {feature}: {name}\n  {reason}");
        }
    }
    println!("{report}");
    Ok(())
}
