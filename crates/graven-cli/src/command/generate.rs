//! `graven generate`: test data that is the same on every machine.

use std::io::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use graven_import::generate::{self, Compression, SocialOptions};

use crate::argument;

use crate::failure::Failure;
use crate::progress::ProgressReporter;

/// Generate test data, the same for the same options on every machine.
#[derive(Args, Debug)]
pub(crate) struct Generate {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    Social(Social),
}

/// A social network: persons and their friendships, in the shape of LDBC SNB.
#[derive(Args, Debug)]
#[command(
    after_help = "Scale 1 gives 9,892 persons with about 181,000 friendships, scale 10 gives \
65,645 with about 1.94 million. Import the folder with `graven import DB.graven --ldbc OUT`, or make no \
files at all: `graven import DB.graven --generate social --scale 10`."
)]
struct Social {
    /// Folder to write person.csv, knows.csv and three-hop-params.csv to
    out: PathBuf,
    /// Size, any positive number
    #[arg(long, default_value_t = 1.0)]
    scale: f64,
    /// Seed of everything random
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Compress the tables with zstd
    #[arg(long)]
    zstd: bool,
    /// Memory for friendships; what does not fit waits in scratch files beside the tables
    #[arg(long, value_parser = argument::bytes)]
    memory: Option<u64>,
}

impl Generate {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let What::Social(social) = self.what;
        let options = SocialOptions {
            network: generate::Social {
                scale: social.scale,
                seed: social.seed,
            },
            out: social.out,
            memory: social.memory.unwrap_or_else(graven::default_memory),
            compress: if social.zstd {
                Compression::Zstd
            } else {
                Compression::None
            },
        };
        let mut phases = ProgressReporter::new();
        let outcome = generate::social(&options, &mut |p| phases.show(p));
        phases.finish();
        let report = outcome?;
        let mut out = std::io::stdout().lock();
        writeln!(
            out,
            "{} persons, {} friendships, {} starts for the three-hop question",
            report.persons, report.knows, report.starts
        )?;
        for file in report.files {
            writeln!(out, "{}", file.display())?;
        }
        Ok(())
    }
}
