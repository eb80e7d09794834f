//! `graven lab policies`: every policy with its paper, parameters and cost.

use std::io::Write;

use clap::Args;
use graven_lab::policies::{self, Listed, ListedParameter};

use super::options;
use crate::failure::Failure;

/// List the replacement policies: what leaves, parameters, what a hit costs, whether a cache can
/// run them, and the paper of each.
#[derive(Args, Debug)]
pub(crate) struct Policies {
    /// Print JSON instead of a table
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print the table of docs/reference/policies.md
    #[arg(long)]
    markdown: bool,
}

impl Policies {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        if self.markdown {
            write!(out, "{}", policies::markdown())?;
            return Ok(());
        }
        let list = policies::list();
        if self.json {
            let text = serde_json::to_string_pretty(&list).map_err(Failure::failed)?;
            writeln!(out, "{text}")?;
            return Ok(());
        }
        Ok(table(&mut out, &list)?)
    }
}

fn table(out: &mut dyn Write, list: &[Listed]) -> std::io::Result<()> {
    let name = options::width(list.iter().map(|policy| policy.name));
    let hit = options::width(list.iter().map(|policy| policy.hit));
    let state = options::width(list.iter().map(|policy| policy.state));
    writeln!(
        out,
        "{:<name$}  {:<4}  {:<hit$}  {:<state$}  after",
        "policy", "live", "on a hit", "state a frame, a ghost"
    )?;
    for policy in list {
        writeln!(
            out,
            "{:<name$}  {:<4}  {:<hit$}  {:<state$}  {}",
            policy.name,
            if policy.live { "yes" } else { "no" },
            policy.hit,
            policy.state,
            policy.paper
        )?;
        for ListedParameter {
            name: key,
            default,
            accepts,
            help,
        } in &policy.parameters
        {
            writeln!(out, "{:name$}    {key}={default} ({accepts}): {help}", "")?;
        }
        if !policy.short.is_empty() {
            writeln!(out, "{:name$}    short: {}", "", policy.short.join(", "))?;
        }
    }
    writeln!(out, "every policy takes, too:")?;
    for ListedParameter {
        name: key,
        default,
        accepts,
        help,
    } in policies::everywhere()
    {
        writeln!(out, "{:name$}    {key}={default} ({accepts}): {help}", "")?;
    }
    Ok(())
}
