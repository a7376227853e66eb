//! Configuration files: arguments that a user would otherwise write with every command. A key is
//! the long name of a flag, in a table named like the command, and the settings of a file are put
//! in front of the command line's own arguments. The definitions of the command line are therefore
//! those of the files, too: there is no second list of keys, and values are parsed and refused by
//! the same code.
//!
//! The command line takes precedence over the environment, the environment over the data
//! directory's `sockcap.toml`, and that file over the user's `config.toml`. A key with lower
//! precedence is left out, as is a key that conflicts with a given flag.

mod file;
#[cfg(test)]
mod tests;

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command};
use registry::is_given;
use socket_log::names;

use crate::command::RunnableCommand;
use crate::command_line;
use crate::decisions;
use crate::help;
use crate::output::tell;
use crate::places;
use file::{ConfigError, FileOwner, FileSettings};

/// The name of the file in a data directory.
const DATA_FILE: &str = "sockcap.toml";

/// The commands with a `--host` that defaults to this host's name, the value of `SOCKCAP_HOST`.
const HAVE_OWN_HOST: [&[&str]; 2] = [&["record"], &["import", "strace"]];

/// Parses the command from the process's arguments and the configuration files. An error is printed
/// here and returned as the exit status.
pub(crate) fn parse_command() -> Result<Box<dyn RunnableCommand>, ExitCode> {
    let arguments: Vec<OsString> = env::args_os().collect();
    parse_from(&arguments, user_file()).map_err(|failed| match failed {
        CommandFailure::Usage(error, from_files) => {
            help::print_clap_error(&error);
            if error.use_stderr() && !from_files.is_empty() {
                tell!("");
                tell!(
                    "These are from configuration files: {}; --no-config leaves them out",
                    from_files.join(", ")
                );
            }
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
        }
        CommandFailure::Config(error) => {
            tell!("sockcap: {error} (--no-config leaves configuration files out)");
            ExitCode::from(2)
        }
    })
}

/// The reason why there is no command to run.
#[derive(Debug)]
pub(crate) enum CommandFailure {
    /// The command line is wrong or asks for help; with the settings that files added to it.
    Usage(clap::Error, Vec<String>),
    /// A file is wrong.
    Config(ConfigError),
}

/// The user's own file, if there is a place for it: `$XDG_CONFIG_HOME/sockcap/config.toml`, by
/// default in `~/.config`.
fn user_file() -> Option<PathBuf> {
    Some(places::user_folder("XDG_CONFIG_HOME", ".config")?.join("sockcap/config.toml"))
}

/// Does what [`parse_command`] does, with the given arguments and configuration file of the user.
/// The first argument is the program.
pub(crate) fn parse_from(
    arguments: &[OsString],
    user: Option<PathBuf>,
) -> Result<Box<dyn RunnableCommand>, CommandFailure> {
    let usage = |error| CommandFailure::Usage(error, Vec::new());
    // The arguments, as far as they can be parsed: missing ones may be in a file.
    let mut command = with_switches(command_line::define_commands());
    command.build();
    let given = match command.clone().ignore_errors(true).try_get_matches_from(arguments) {
        Ok(given) => given,
        // Help, from the unmodified definitions.
        Err(_) => return parse_without_files(arguments).map_err(usage),
    };
    // After an unknown flag, flags that were not given have no default in the matches.
    let settings = match given.get_one("no_config").copied().unwrap_or(false) {
        true => FileSettings::new(),
        false => {
            read_settings(&command, &given, user.as_deref()).map_err(CommandFailure::Config)?
        }
    };
    let (arguments_and_files, used) = with_settings(arguments, &command, &given, &settings);
    let parsed = command.try_get_matches_from_mut(arguments_and_files).and_then(|matches| {
        decisions::begin(matches.get_count("verbose"));
        command_line::read_command(&matches).map_err(|error| error.format(&mut command))
    });
    match parsed {
        // The error from the unmodified definitions, if it is of the same kind.
        Err(error) if used.is_empty() => match parse_without_files(arguments) {
            Err(plain) if plain.kind() == error.kind() => Err(usage(plain)),
            _ => Err(usage(error)),
        },
        parsed => parsed.map_err(|error| CommandFailure::Usage(error, used)),
    }
}

/// Parses the command in the arguments without configuration files; help is laid out.
fn parse_without_files(arguments: &[OsString]) -> Result<Box<dyn RunnableCommand>, clap::Error> {
    let matches =
        help::lay_out(command_line::define_commands(), arguments.iter().any(|one| one == "-h"))
            .try_get_matches_from(arguments)?;
    command_line::read_command(&matches)
}

/// The definitions, with a way to turn off a flag that a file turns on: `--flag=false`.
fn with_switches(command: Command) -> Command {
    let switch = |argument: Arg| match argument.get_action() {
        ArgAction::SetTrue => argument
            .action(ArgAction::Set)
            .num_args(0..=1)
            .require_equals(true)
            .value_name("BOOL")
            .value_parser(clap::value_parser!(bool))
            .default_missing_value("true")
            .default_value("false"),
        _ => argument,
    };
    command.mut_args(switch).mut_subcommands(with_switches)
}

/// The commands that the command line names, the outermost first, each with its matches.
fn command_levels<'a>(
    command: &'a Command,
    given: &'a ArgMatches,
) -> Vec<(&'a Command, &'a ArgMatches)> {
    let mut levels = Vec::new();
    let (mut command, mut given) = (command, given);
    while let Some((name, below)) = given.subcommand() {
        let Some(found) = command.find_subcommand(name) else { break };
        (command, given) = (found, below);
        levels.push((command, given));
    }
    levels
}

/// The settings for this command: the user's file, overridden by the one of the data directory. For
/// a command without flags no file is read.
fn read_settings(
    command: &Command,
    given: &ArgMatches,
    user: Option<&Path>,
) -> Result<FileSettings, ConfigError> {
    let levels = command_levels(command, given);
    if !levels.iter().any(|(command, _)| command.get_arguments().any(file::is_key)) {
        return Ok(FileSettings::new());
    }
    let mut settings = match user {
        Some(path) => file::read_file(path, command, FileOwner::User)?,
        None => FileSettings::new(),
    };
    if let Some(data) = data_directory(&levels, &settings) {
        settings.extend(file::read_file(&data.join(DATA_FILE), command, FileOwner::Data)?);
    }
    Ok(settings)
}

/// The data directory of the command, if it has one.
fn data_directory(levels: &[(&Command, &ArgMatches)], settings: &FileSettings) -> Option<PathBuf> {
    let (command, given) = levels.last()?;
    let data =
        command.get_arguments().find(|argument| argument.get_long() == Some(file::DATA_FLAG))?;
    let path: Vec<String> =
        levels.iter().map(|(command, _)| command.get_name().to_owned()).collect();
    match settings.get(&(path, file::DATA_FLAG.to_owned())) {
        Some(setting) if !is_given(given, data) => setting.values.first().map(PathBuf::from),
        _ => given.get_raw(data.get_id().as_str())?.next().map(PathBuf::from),
    }
}

/// Whether a variable of the library sets the same value as this flag of that command. Such a
/// variable belongs to no flag, as manual recordings use it, too.
fn is_in_environment((command, flag): &(Vec<String>, String)) -> bool {
    let is_of_host = HAVE_OWN_HOST.iter().any(|of| command.as_slice() == *of) && flag == "host";
    is_of_host && env::var_os(names::HOST_VARIABLE).is_some_and(|name| !name.is_empty())
}

/// Whether a command line can have only one of the two.
fn exclude_each_other(command: &Command, one: &Arg, other: &Arg) -> bool {
    let by_name = |one: &Arg, other: &Arg| {
        command
            .get_arg_conflicts_with(one)
            .iter()
            .any(|argument| argument.get_id() == other.get_id())
    };
    let in_group = command.get_groups().any(|group| {
        let has = |argument: &Arg| group.get_args().any(|id| id == argument.get_id());
        has(one) && has(other) && !group.clone().is_multiple()
    });
    by_name(one, other) || by_name(other, one) || in_group
}

/// The arguments with the settings of files inserted after the name of each command, so that a
/// required flag may come from a file; and a description of each setting that was used.
fn with_settings(
    arguments: &[OsString],
    command: &Command,
    given: &ArgMatches,
    settings: &FileSettings,
) -> (Vec<OsString>, Vec<String>) {
    let (mut all, mut used) = (arguments.to_vec(), Vec::new());
    let (mut path, mut at) = (Vec::new(), 1);
    for (command, given) in command_levels(command, given) {
        path.push(command.get_name().to_owned());
        let name = OsStr::new(command.get_name());
        let Some(found) = all.iter().skip(at).position(|argument| argument == name) else { break };
        at += found + 1;
        let given: Vec<&Arg> =
            command.get_arguments().filter(|argument| is_given(given, argument)).collect();
        for argument in command.get_arguments() {
            let key = (path.clone(), argument.get_long().unwrap_or_default().to_owned());
            let Some(setting) = settings.get(&key) else { continue };
            if is_in_environment(&key) {
                continue;
            }
            let wins = |given: &&Arg| {
                given.get_id() == argument.get_id() || exclude_each_other(command, given, argument)
            };
            if given.iter().any(wins) {
                continue;
            }
            for value in &setting.values {
                all.insert(at, format!("--{}={value}", key.1).into());
                at += 1;
            }
            if !setting.values.is_empty() {
                used.push(format!("{} ({}:{})", key.1, setting.path.display(), setting.line));
            }
        }
    }
    (all, used)
}
