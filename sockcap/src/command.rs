//! A command as the program sees it: its definitions, and the code that runs when it was given.

use std::any::Any;
use std::fmt::Debug;
use std::process::ExitCode;

use clap::{ArgMatches, Command, CommandFactory, FromArgMatches};
use registry::About;

use crate::error::Error;

/// Reads what was given to a command; `program` is the definitions of the whole command line.
type Read = fn(given: &ArgMatches, program: &Command) -> Result<Box<dyn Run>, clap::Error>;

/// One subcommand. Each has a file in `commands/` and a line in `commands.rs`.
pub(crate) struct Subcommand {
    /// Its name, words and arguments.
    pub(crate) define: fn() -> Command,
    /// Reads what was given to it.
    pub(crate) read: Read,
}

impl Subcommand {
    /// The subcommand whose arguments are an `A`.
    pub(crate) const fn of<A: CommandFactory + FromArgMatches + Run>() -> Subcommand {
        Subcommand {
            define: A::command,
            read: |given, _| Ok(Box::new(A::from_arg_matches(given)?)),
        }
    }
}

/// The arguments of a command, ready to be run.
pub(crate) trait Run: Any + Debug {
    /// Does what the command is for.
    fn run(&self) -> Result<ExitCode, Error>;

    /// The exit status when sockcap itself failed.
    fn failed(&self) -> u8 {
        1
    }
}

/// The definitions of a subcommand that an entry of a registry is: its name and words.
pub(crate) fn subcommand(about: &About) -> Command {
    let command = Command::new(about.name).about(about.summary).after_help(about.below_flags());
    match about.details {
        "" => command,
        details => command.long_about(format!("{}\n\n{details}", about.summary)),
    }
}
