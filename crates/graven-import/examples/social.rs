//! Generates a social network and imports it: `cargo run --example social -- FOLDER SCALE`.

use std::error::Error;
use std::ops::ControlFlow;
use std::path::PathBuf;

use graven_import::generate::{Compression, Social, SocialOptions, social};
use graven_import::{ImportOptions, ImportSource, import};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let out = PathBuf::from(arguments.next().unwrap_or_else(|| "social".into()));
    let scale = arguments.next().map_or(Ok(0.1), |s| s.parse())?;
    let options = SocialOptions {
        network: Social { scale, seed: 1 },
        out,
        compress: Compression::Zstd,
        memory: ImportOptions::default().memory,
    };
    let made = social(&options, &mut |_| ControlFlow::Continue(()))?;
    println!("{} persons, {} friendships", made.persons, made.knows);
    let target = options.out.with_extension("graven");
    let source = ImportSource::Ldbc(options.out);
    let settings = ImportOptions::default();
    let report = import(&target, &source, &settings, &mut |_| {
        ControlFlow::Continue(())
    })?;
    println!("{report:#?}");
    Ok(())
}
