//! A command of the program: its definition, and the code that runs it.

use std::any::Any;
use std::fmt::Debug;
use std::process::ExitCode;

use clap::{ArgMatches, Command, CommandFactory, FromArgMatches};
use registry::EntryHelp;

use crate::error::CommandError;

/// Parses the arguments given to a command; `program` is the definition of the whole command line.
type ReadArguments =
    fn(given: &ArgMatches, program: &Command) -> Result<Box<dyn RunnableCommand>, clap::Error>;

/// A subcommand. Each has a file in `commands/` and a line in `commands.rs`.
pub(crate) struct Subcommand {
    /// Returns the name, help and arguments of the subcommand.
    pub(crate) define: fn() -> Command,
    /// Parses the arguments of the subcommand.
    pub(crate) read: ReadArguments,
}

impl Subcommand {
    /// The subcommand with the arguments `A`.
    pub(crate) const fn with_arguments<A: CommandFactory + FromArgMatches + RunnableCommand>()
    -> Subcommand {
        Subcommand {
            define: A::command,
            read: |given, _| Ok(Box::new(A::from_arg_matches(given)?)),
        }
    }
}

/// The arguments of a command, ready to be run.
pub(crate) trait RunnableCommand: Any + Debug {
    /// Runs the command.
    fn run(&self) -> Result<ExitCode, CommandError>;

    /// The exit status if sockcap itself fails.
    fn failure_status(&self) -> u8 {
        1
    }
}

/// Adds the help of an entry of a registry to its subcommand. The arguments must be added before: a
/// type that declares some of them sets its own doc comment as the help.
pub(crate) fn describe_subcommand(command: Command, about: &EntryHelp) -> Command {
    let command = command.about(about.summary).after_help(about.below_flags());
    match about.details {
        "" => command,
        details => command.long_about(format!("{}\n\n{details}", about.summary)),
    }
}
