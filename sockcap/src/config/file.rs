//! One configuration file: TOML, a table for each command, a key for each long flag. The whole file
//! is checked against the definitions of the command line, whichever command is run, so a mistake
//! is reported immediately, with its line.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, Command};
use data_files::DataPath;
use message_trace::PathError;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The flag that names the data directory.
pub(super) const DATA_FLAG: &str = "data";

/// The keys that a data directory's file may set, by command: how commands that read display their
/// results. A data directory may come from another person, so all other keys are refused: what is
/// recorded, how it is analysed, which files are read and written, which servers are contacted,
/// what is left out, and how much memory is used.
pub(super) const DATA_FILE_KEYS: [(&str, &[&str]); 7] = [
    ("report", &["color", "hops", "hosts", "json", "limit", "node", "roles", "sort", "source"]),
    ("view", &["node", "roles", "sort", "source"]),
    ("info", &["json", "processes", "source"]),
    ("requests", &["json", "limit", "source"]),
    ("contexts", &["by", "json", "limit", "source", "spent"]),
    ("diff", &["categories", "components", "json", "limit", "source"]),
    ("export", &["source"]),
];

/// Maximum size of a data directory's file, in bytes. All permitted settings fit into a hundredth
/// of it.
const MAX_BYTES: u64 = 64 << 10;

/// The settings of files, by the command (`["import", "pcap"]`) and the flag.
pub(super) type FileSettings = BTreeMap<(Vec<String>, String), FlagSetting>;

/// The owner of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FileOwner {
    /// The file is the user's own.
    User,
    /// The file lies in a data directory.
    Data,
}

/// The setting of a flag in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FlagSetting {
    /// Values of the flag; without values, the flag is treated as not given.
    pub(super) values: Vec<String>,
    /// Path of the file.
    pub(super) path: PathBuf,
    /// The line, from 1.
    pub(super) line: usize,
}

/// A mistake in a file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error(transparent)]
    Unreadable(#[from] PathError),
    #[error("{}:{line}: {why}", path.display())]
    Wrong { path: PathBuf, line: usize, why: String },
}

/// Whether a flag can be in a file.
pub(super) fn is_key(argument: &Arg) -> bool {
    let name = argument.get_long();
    name.is_some_and(|name| !["help", "version", "no-config", "verbose"].contains(&name))
        && !argument.is_hide_set()
}

/// The text of a user's own file, with links followed.
fn own_text(path: &Path) -> io::Result<String> {
    fs::read_to_string(path)
}

/// The text of the file `name` in a data directory: it must be a regular file and no link, which
/// never blocks, and not larger than necessary.
fn text_in(data: &Path, name: &str) -> io::Result<String> {
    let file = DataPath::trusted(data).join(name).open()?;
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than 64 KiB"));
    }
    Ok(text)
}

/// Whether a data directory's file may set this key of the command with these names.
pub(super) fn may_be_in_data(names: &[String], key: &str) -> bool {
    let [command] = names else { return false };
    DATA_FILE_KEYS.iter().any(|(name, keys)| name == command && keys.contains(&key))
}

/// Reads a file. A file that does not exist has no settings.
pub(super) fn read_file(
    path: &Path,
    command: &Command,
    owner: FileOwner,
) -> Result<FileSettings, ConfigError> {
    let text = match (owner, path.parent(), path.file_name().and_then(|name| name.to_str())) {
        (FileOwner::Data, Some(data), Some(name)) => text_in(data, name),
        _ => own_text(path),
    };
    let text = match text {
        Ok(text) => text,
        // A path below something that is not a directory does not exist either. A command that
        // needs the directory reports that.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(FileSettings::new());
        }
        Err(source) => return Err(PathError::io(path, source).into()),
    };
    let file = SettingsFile { path, text: &text, owner };
    let table = DeTable::parse(&text).map_err(|error| {
        file.error_at(error.span().unwrap_or_default().start, error.message().to_owned())
    })?;
    let mut settings = FileSettings::new();
    file.read_command_table(command, table.get_ref(), &mut Vec::new(), &mut settings)?;
    Ok(settings)
}

/// The file that is being read.
struct SettingsFile<'a> {
    path: &'a Path,
    text: &'a str,
    owner: FileOwner,
}

impl SettingsFile<'_> {
    /// Reads the keys of a command's table, and the tables of the commands below it.
    fn read_command_table(
        &self,
        command: &Command,
        table: &DeTable,
        names: &mut Vec<String>,
        settings: &mut FileSettings,
    ) -> Result<(), ConfigError> {
        for (key, value) in table {
            let (name, at) = (key.get_ref().as_ref(), key.span().start);
            if let DeValue::Table(below) = value.get_ref() {
                let known =
                    || -> Vec<&str> { command.get_subcommands().map(Command::get_name).collect() };
                let found = command.find_subcommand(name).ok_or_else(|| {
                    let whole = [&names[..], &[name.to_owned()]].concat().join(".");
                    let known = known().join(", ");
                    let hint = if known.is_empty() {
                        "keys are long flags".into()
                    } else {
                        format!("the commands are {known}")
                    };
                    self.error_at(at, format!("[{whole}]: there is no such command; {hint}"))
                })?;
                names.push(name.to_owned());
                self.read_command_table(found, below, names, settings)?;
                names.pop();
            } else {
                let values = self.setting_values(command, name, at, value, names)?;
                let setting =
                    FlagSetting { values, path: self.path.to_owned(), line: self.line_of(at) };
                settings.insert((names.clone(), name.to_owned()), setting);
            }
        }
        Ok(())
    }

    /// The values of a key.
    fn setting_values(
        &self,
        command: &Command,
        key: &str,
        at: usize,
        value: &Spanned<DeValue>,
        names: &[String],
    ) -> Result<Vec<String>, ConfigError> {
        if names.is_empty() {
            return Err(self.error_at(
                at,
                format!("'{key}' belongs to no command; put it below one, such as [report]"),
            ));
        }
        let wrong = |why: String| self.error_at(at, format!("[{}] {key}: {why}", names.join(".")));
        let Some(argument) = command
            .get_arguments()
            .find(|argument| argument.get_long() == Some(key) && is_key(argument))
        else {
            let hint = match similar_flag(command, key) {
                Some(flag) => format!("did you mean '{flag}'?"),
                None => format!("'sockcap {} --help' lists the flags", names.join(" ")),
            };
            return Err(wrong(format!("there is no flag --{key}; {hint}")));
        };
        if self.owner == FileOwner::Data && !may_be_in_data(names, key) {
            return Err(wrong(
                "a data directory's file may be from another user and may set only \
                              how results are shown; set this in your own file, \
                              ~/.config/sockcap/config.toml, or with the flag"
                    .to_owned(),
            ));
        }
        let one = |value: &DeValue| match value {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Integer(number) if number.radix() == 10 => {
                Ok(number.as_str().replace('_', ""))
            }
            DeValue::Float(number) => Ok(number.as_str().replace('_', "")),
            DeValue::Boolean(value) => Ok(value.to_string()),
            other => Err(wrong(format!(
                "{} is not a value for a flag; write it as on the command line, in quotes",
                with_article(other.type_str())
            ))),
        };
        let values = match value.get_ref() {
            DeValue::Array(values) => {
                values.iter().map(|value| one(value.get_ref())).collect::<Result<_, _>>()?
            }
            value => vec![one(value)?],
        };
        let is_switch = matches!(argument.get_action(), ArgAction::Set)
            && argument.get_default_values().iter().any(|value| value == "false");
        if is_switch && values.iter().any(|value| value != "true" && value != "false") {
            return Err(wrong("give true or false, without quotes".to_owned()));
        }
        check_values(argument, &values).map_err(wrong)?;
        // A flag that is off is compatible with all others.
        Ok(if is_switch && values == ["false"] { Vec::new() } else { values })
    }

    /// The line of a byte, from 1.
    fn line_of(&self, at: usize) -> usize {
        self.text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
    }

    fn error_at(&self, at: usize, why: String) -> ConfigError {
        ConfigError::Wrong { path: self.path.to_owned(), line: self.line_of(at), why }
    }
}

/// Whether the flag accepts the values, regardless of the other flags that it needs or excludes.
fn check_values(argument: &Arg, values: &[String]) -> Result<(), String> {
    let name = argument.get_long().unwrap_or_default().to_owned();
    let mut alone = Arg::new("value")
        .long(name.clone())
        .action(argument.get_action().clone())
        .value_parser(argument.get_value_parser().clone())
        .allow_hyphen_values(true);
    if let Some(names) = argument.get_value_names() {
        alone = alone.value_names(names.to_vec());
    }
    if let Some(delimiter) = argument.get_value_delimiter() {
        alone = alone.value_delimiter(delimiter);
    }
    let arguments = values.iter().map(|value| format!("--{name}={value}"));
    let command = Command::new("sockcap").no_binary_name(true).disable_help_flag(true).arg(alone);
    match command.try_get_matches_from(arguments) {
        Ok(_) => Ok(()),
        Err(error) => {
            let text = error.render().to_string();
            let text = text.split("\n\nFor more information").next().unwrap_or_default();
            let text = text.split("\n\nUsage").next().unwrap_or_default();
            let lines: Vec<&str> =
                text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            Err(lines.join(" ").trim_start_matches("error: ").to_owned())
        }
    }
}

/// The flag that clap would suggest for an unknown one.
fn similar_flag(command: &Command, key: &str) -> Option<String> {
    let arguments = [command.get_name().to_owned(), format!("--{key}")];
    let error = command.clone().ignore_errors(false).try_get_matches_from(arguments).err()?;
    match error.get(ContextKind::SuggestedArg)? {
        ContextValue::String(flag) => Some(flag.trim_start_matches("--").to_owned()),
        _ => None,
    }
}

/// A word with its indefinite article.
fn with_article(word: &str) -> String {
    let vowel = word.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {word}", if vowel { "an" } else { "a" })
}
