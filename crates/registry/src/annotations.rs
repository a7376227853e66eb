//! Facts about a flag that clap has no place for. A declaration adds them to its flag:
//! `#[arg(long, add = ShownDefault::new(DEFAULT_LIMIT))]`.

use std::fmt::Display;

use clap::builder::ArgExt;
use clap::{Arg, Command};

/// The default of a flag that has no value unless the user gives one, because it depends on
/// something else or because the program must know whether it was given. Help shows it as it shows
/// the defaults of other flags.
#[derive(Clone, Debug)]
pub struct ShownDefault(String);

impl ArgExt for ShownDefault {}

impl ShownDefault {
    /// The default, from the constant that the program uses.
    pub fn new(default: impl Display) -> ShownDefault {
        ShownDefault(default.to_string())
    }
}

/// The error if a user gives the flag to an entry that does not take it, in a command with the
/// flags of several entries.
#[derive(Clone, Copy, Debug)]
pub struct Refusal(pub &'static str);

impl ArgExt for Refusal {}

/// Adds the defaults of [`ShownDefault`] to the help of a command and of all commands below it.
pub fn show_defaults(command: Command) -> Command {
    let show = |flag: Arg| {
        let texts = flag.get_help().zip(flag.get::<ShownDefault>());
        match texts.map(|(help, default)| format!("{help} [default: {}]", default.0)) {
            Some(help) => flag.help(help),
            None => flag,
        }
    };
    command.mut_args(show).mut_subcommands(show_defaults)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_shows_defaults_of_commands_and_of_those_below() {
        let flag = |name: &'static str| Arg::new(name).long(name).help("How many");
        let annotated = |name| flag(name).add(ShownDefault::new(7));
        let below = Command::new("below").arg(annotated("a"));
        let command =
            show_defaults(Command::new("all").arg(flag("b")).arg(annotated("c")).subcommand(below));
        let help_of = |command: &Command| -> Vec<String> {
            command.get_arguments().map(|flag| flag.get_help().unwrap().to_string()).collect()
        };
        assert_eq!(help_of(&command), ["How many", "How many [default: 7]"]);
        let below = command.find_subcommand("below").unwrap();
        assert_eq!(help_of(below), ["How many [default: 7]"]);
    }
}
