//! Development commands, run as `cargo xtask COMMAND`: everything that continuous integration or a
//! contributor runs on the whole repository.

mod answers;
mod flips;
mod format;
mod fuzz;
mod graphs;
mod memory;
mod release;
mod run;
mod slowest;
mod tck;
mod test;
mod three_hop;
mod tidy;
mod torture;
mod updates;

use std::process::ExitCode;

const HELP: &str = "\
Usage: cargo xtask COMMAND

  test         formatting, lints, tidy rules, then every test (what .ci/run calls)
  tidy         the repository's own rules alone: headers, layers, links, sizes, invariants
  invariants   every numbered invariant and the file that states it
  answers      every known answer to LDBC Interactive, LDBC BI and LSQB questions, and the memory
               each takes (--memory SIZE, 16MiB by default; --program FILE, built for release if \
               not given)
  release      packages that one can install, with checksums (--out DIR --only PART,PART --profile \
NAME);
               --help lists the parts
  torture      the crash simulation (--minutes N --seed S --points N), or with --mutants whether
               it finds faults put into the code
  flips        every byte of a small database flipped: found or harmless (minutes)
  format       writes the small databases of this build's file format into \
  crates/graven/tests/formats, where
               there are none: a release that brings a format keeps them
  fuzz         generated queries and transactions against a naive interpreter, function calls in \
  several
               forms, damaged statements (--queries N --statements N --seed S --threads N); with
               --coverage the tables of what was exercised; with --mutants whether it finds rules of
               the planner that lack a side condition
  memory       generated statements with large values at 1, 16 and 64 MiB: none takes more than \
  the budget and
               40 MiB, or ends its process (--statements N --seed S --program FILE --process N \
               --light;
               one seed a day)
  three-hop    the long matrix: every expected three-hop answer at every cache size,
               thread count, policy and I/O mode (--quick for a slice, --out FILE, --program FILE)
  tck          the openCypher scenarios: passed and failed per feature
               (--features DIR, --filter TEXT, --failures, --reopen, --memory SIZE)
  updates      LDBC update streams by four writers beside readers, then everything compared with a
               bulk load of the end state (GRAPH, ldbc-snb-sf0.1 by default)
";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let command = args.next().unwrap_or_default();
    let rest: Vec<String> = args.collect();
    let outcome = match command.as_str() {
        "test" => test::all(),
        "tidy" => tidy::check_and_print(),
        "invariants" => tidy::print_invariants(),
        "answers" => answers::compare(&rest),
        "torture" => torture::torture(&rest),
        "release" => release::release(&rest),
        "flips" => flips::sweep(),
        "format" => format::keep(),
        "fuzz" => fuzz::fuzz(&rest),
        "memory" => memory::memory(&rest),
        "three-hop" => three_hop::matrix(&rest),
        "tck" => tck::scenarios(&rest),
        "updates" => updates::updates(&rest),
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprint!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask {command}: {message}");
            ExitCode::FAILURE
        }
    }
}
