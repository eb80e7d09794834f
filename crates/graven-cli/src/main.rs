//! The `graven` program: reads the command line and hands over to one of the commands.

mod allocator;
mod argument;
mod command;
mod control;
mod failure;
mod format;
mod interrupt;
mod open;
#[cfg(feature = "lab")]
mod policy_list;
mod progress;
mod session;
mod shell;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// An embedded graph database that stays fast when the graph does not fit in memory.
#[derive(Parser, Debug)]
#[command(name = "graven", version, max_term_width = 100)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Shell(command::shell::Shell),
    Query(command::query::Query),
    Serve(command::serve::Serve),
    Info(command::info::Info),
    Check(command::check::Check),
    Checkpoint(command::checkpoint::Checkpoint),
    Backup(command::backup::Backup),
    Publish(command::publish::Publish),
    Gc(command::gc::Gc),
    Cache(command::cache::Cache),
    Salvage(command::salvage::Salvage),
    Upgrade(command::upgrade::Upgrade),
    Import(command::import::Import),
    Export(command::export::Export),
    Inspect(command::inspect::Inspect),
    Generate(command::generate::Generate),
    #[cfg(feature = "lab")]
    Bench(command::bench::Bench),
    #[cfg(feature = "lab")]
    Lab(command::lab::Lab),
    #[cfg(feature = "lab")]
    Demo(command::demo::Demo),
    Doctor(command::doctor::Doctor),
    #[cfg(feature = "lab")]
    Torture(command::torture::Torture),
    WriteTest(command::write_test::WriteTestCommand),
    Completions(command::completions::Completions),
    Man(command::completions::Man),
}

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

/// A write beyond the limit for files (`ulimit -f`) is an error of that write, not the end of the
/// program.
fn ignore_file_size_signal() {
    // SAFETY: no thread has been started, and no handler of this signal is lost: it had none.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

fn main() -> ExitCode {
    allocator::keep_freed_memory(allocator::LIMIT_UNKNOWN);
    ignore_file_size_signal();
    let outcome = match Program::parse().command {
        Command::Shell(command) => command.run(),
        Command::Query(command) => command.run(),
        Command::Serve(command) => command.run(),
        Command::Info(command) => command.run(),
        Command::Check(command) => command.run(),
        Command::Checkpoint(command) => command.run(),
        Command::Backup(command) => command.run(),
        Command::Publish(command) => command.run(),
        Command::Gc(command) => command.run(),
        Command::Cache(command) => command.run(),
        Command::Salvage(command) => command.run(),
        Command::Upgrade(command) => command.run(),
        Command::Import(command) => command.run(),
        Command::Export(command) => command.run(),
        Command::Inspect(command) => command.run(),
        Command::Generate(command) => command.run(),
        #[cfg(feature = "lab")]
        Command::Bench(command) => command.run(),
        #[cfg(feature = "lab")]
        Command::Lab(command) => command.run(),
        #[cfg(feature = "lab")]
        Command::Demo(command) => command.run(),
        Command::Doctor(command) => command.run(),
        #[cfg(feature = "lab")]
        Command::Torture(command) => command.run(),
        Command::WriteTest(command) => command.run(),
        Command::Completions(command) => command.run(Program::command()),
        Command::Man(command) => command.run(Program::command()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
