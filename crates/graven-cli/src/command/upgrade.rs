//! `graven upgrade`: a copy of a database of the format before, in this one.

use clap::Args;
use graven::Database;

use super::copying::Copying;
use crate::failure::Failure;

/// Copy a database of an older file format to a new file that this build reads.
#[derive(Args, Debug)]
pub(crate) struct Upgrade {
    #[command(flatten)]
    copying: Copying,
}

impl Upgrade {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let copying = &self.copying;
        let report = Database::upgrade(&copying.db, &copying.out, copying.config())?;
        let mut out = std::io::stdout().lock();
        Ok(copying.tell(&report, &mut out)?)
    }
}
