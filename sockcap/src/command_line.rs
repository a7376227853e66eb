//! The whole command line: the program's own help, and the commands of the registry. Help,
//! completions, manual pages and configuration keys are made from these definitions.

use clap::{ArgMatches, Command, CommandFactory, Parser};

use crate::command::RunnableCommand;
use crate::commands::COMMANDS;

const AFTER_HELP: &str = "\
The data directory (-d, default ./sockcap.data) contains the results of each
stage, which the next one reads:
  record -> hosts/HOST/*.sclog    import -> imports/NAME, or hosts/HOST
  reconcile -> messages.parquet, nodes.parquet
  analyze -> links, paths, patterns (.parquet)    report -> report.html
Each stage runs the stages before it if their results are missing or out of
date.

~/.config/sockcap/config.toml can set every flag, and DIR/sockcap.toml the
flags of how results are shown: docs/configuration.md. A flag that is on in a
file is turned off by --FLAG=false. SOCKCAP_LOG=analyze=debug is -vv for one
stage.

Examples:
  sockcap record -- ./run-my-system && sockcap report
  sockcap synth children-0-2 -d made && sockcap report -d made --sort p99

Exit status: 0 done; 1 a stage failed; 2 wrong usage. `sockcap record` exits
with the status of CMD (128 + N if signal N ended it), with 125 if sockcap
itself failed (or --strict refused), 126 if CMD could not be run, 127 if it was
not found.";

/// See where the time goes in a distributed system of unmodified programs.
///
/// sockcap records the socket calls of unmodified programs, infers which message
/// caused which, and shows the paths of requests with the delay of every hop. Two
/// commands are enough:
///
///     sockcap record -- ./run-my-system
///     sockcap report
#[derive(Debug, Parser)]
#[command(name = "sockcap", version, verbatim_doc_comment, after_help = AFTER_HELP)]
struct SockcapProgram {
    /// Ignore configuration files (docs/configuration.md)
    // Listed after the flags of most commands, however many commands there are.
    #[arg(long, global = true, display_order = 18)]
    no_config: bool,

    /// Print what each step finds (-v) and decides (-vv) on standard error
    #[arg(short, long, global = true, action = clap::ArgAction::Count, display_order = 18)]
    verbose: u8,
}

/// Definitions of the program and all its commands.
pub(crate) fn define_commands() -> Command {
    let commands = COMMANDS.iter().map(|command| (command.define)());
    let program = SockcapProgram::command()
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(commands);
    registry::show_defaults(program)
}

/// Parses the given command.
///
/// # Errors
/// When values are incompatible.
pub(crate) fn read_command(given: &ArgMatches) -> Result<Box<dyn RunnableCommand>, clap::Error> {
    let program = define_commands();
    let (name, below) = given.subcommand().unwrap_or(("", given));
    let commands = COMMANDS.iter();
    let mut named = commands.filter(|command| (command.define)().get_name() == name);
    match named.next() {
        Some(command) => (command.read)(below, &program),
        None => Err(clap::Error::new(clap::error::ErrorKind::MissingSubcommand)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_are_consistent() {
        define_commands().debug_assert();
    }
}
