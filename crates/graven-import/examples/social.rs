//! Imports a social network while it is generated, in so many MiB of memory: `cargo run --release
//! --example social -- social.graven 0.1 1024`.

use std::error::Error;
use std::ops::ControlFlow;
use std::path::Path;

use graven_import::generate::Social;
use graven_import::{ImportOptions, ImportSource, import};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let target = arguments.next().unwrap_or_else(|| "social.graven".into());
    let scale = arguments.next().map_or(Ok(0.1), |s| s.parse())?;
    let source = ImportSource::Generated(Social { scale, seed: 1 });
    let mut settings = ImportOptions::default();
    if let Some(mebibytes) = arguments.next() {
        settings.memory = mebibytes.parse::<u64>()? << 20;
    }
    let report = import(Path::new(&target), &source, &settings, &mut |_| {
        ControlFlow::Continue(())
    })?;
    println!("{report:#?}");
    Ok(())
}
