//! Precedence of settings, and the errors about wrong files.

use std::any::Any;
use std::fs;

use tempfile::TempDir;

use super::file::FlagSetting;
use super::*;
use crate::commands::{AnalyzeCommand, RecordCommand, ReportCommand, ShipCommand, SkewCommand};

/// A directory with a user's file (`user.toml`) and a data directory (`data`) with another
/// configuration file.
struct ConfigPlace(TempDir);

impl ConfigPlace {
    fn with(user: &str, data: &str) -> ConfigPlace {
        let place = ConfigPlace(tempfile::tempdir().unwrap());
        fs::create_dir(place.path("data")).unwrap();
        for (name, text) in [("user.toml", user), ("data/sockcap.toml", data)] {
            if !text.is_empty() {
                fs::write(place.path(name), text).unwrap();
            }
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Parses a command line; `DATA` represents the data directory.
    fn parse_line(&self, line: &str) -> Result<Box<dyn RunnableCommand>, CommandFailure> {
        let data = self.path("data").display().to_string();
        let arguments: Vec<OsString> =
            line.split(' ').map(|word| word.replace("DATA", &data).into()).collect();
        parse_from(&arguments, Some(self.path("user.toml")))
    }

    /// A report's sort key, limit and whether it is JSON.
    fn report_options(&self, line: &str) -> (String, usize, bool) {
        let report: Box<ReportCommand> = given_command(self.parse_line(line));
        (report.sort.to_string(), report.limit, report.json)
    }

    /// The error of a command line that must fail.
    fn failure_words(&self, line: &str) -> String {
        match self.parse_line(line).unwrap_err() {
            CommandFailure::Config(error) => error.to_string(),
            CommandFailure::Usage(error, used) => format!("{error} {used:?}"),
        }
    }
}

/// The arguments of the given command, which must be an `A`.
fn given_command<A: RunnableCommand>(
    parsed: Result<Box<dyn RunnableCommand>, CommandFailure>,
) -> Box<A> {
    let command: Box<dyn Any> = parsed.unwrap();
    command.downcast().unwrap()
}

#[test]
fn the_command_line_wins_over_the_trace_and_that_over_the_user() {
    let place = ConfigPlace::with("[report]\nsort = 'p99'\nlimit = 3", "[report]\nlimit = 4");
    assert_eq!(
        place.report_options("sockcap report"),
        ("p99".into(), 3, false),
        "there is no ./sockcap.data"
    );
    assert_eq!(place.report_options("sockcap report -d DATA"), ("p99".into(), 4, false));
    assert_eq!(place.report_options("sockcap report -d DATA --limit 5"), ("p99".into(), 5, false));
    assert_eq!(
        place.report_options("sockcap report --sort=mean --data=DATA"),
        ("mean".into(), 4, false)
    );
    for line in ["sockcap --no-config report -d DATA", "sockcap report --no-config -d DATA"] {
        assert_eq!(place.report_options(line), ("total".into(), 10, false), "{line}");
    }
    // A table is for one command only.
    let _: Box<AnalyzeCommand> = given_command(place.parse_line("sockcap analyze -d DATA"));
}

#[test]
fn the_environment_wins_over_files() {
    // No flag of sockcap has a variable yet; every process has this one.
    let flags =
        [Arg::new("one").long("one").env("PATH"), Arg::new("two").long("two").default_value("2")];
    let mut command = Command::new("x").subcommand(Command::new("y").args(flags));
    command.build();
    let setting = || FlagSetting { values: vec!["file".into()], path: "f".into(), line: 1 };
    let settings = ["one", "two"].map(|name| ((vec!["y".to_owned()], name.to_owned()), setting()));
    let arguments = ["x", "y"].map(OsString::from);
    let given = command.clone().try_get_matches_from(&arguments).unwrap();
    let all = with_settings(&arguments, &command, &given, &FileSettings::from(settings)).0;
    assert_eq!(all, ["x", "y", "--two=file"], "and a default is nothing that was given");
}

#[test]
fn flags_that_a_file_turns_on_can_be_turned_off() {
    let place = ConfigPlace::with("[report]\njson = true", "");
    assert!(place.report_options("sockcap report").2);
    assert!(!place.report_options("sockcap report --json=false").2);
    assert!(place.report_options("sockcap report --json").2);
    let over = ConfigPlace::with("[report]\njson = true", "[report]\njson = false");
    assert!(
        over.report_options("sockcap report").2 && !over.report_options("sockcap report -d DATA").2
    );
}

#[test]
fn required_flags_may_be_in_a_file() {
    let place = ConfigPlace::with("[ship]\nto = 'collector:1'\nkey = 'web.pem'", "");
    let ship: Box<ShipCommand> = given_command(place.parse_line("sockcap ship"));
    assert_eq!((ship.to.as_str(), ship.trust.key), ("collector:1", Some("web.pem".into())));
    // With --plain there is no key: given flags win over all that they conflict with.
    let ship: Box<ShipCommand> = given_command(place.parse_line("sockcap ship --plain"));
    assert_eq!((ship.trust.key, ship.trust.plain), (None, true));
    let place = ConfigPlace::with("[reconcile]\nno-translation = true", "");
    assert!(place.parse_line("sockcap reconcile --translation 0.9").is_ok());
}

#[test]
fn the_user_can_name_the_data_directory() {
    let place = ConfigPlace::with("", "[report]\nlimit = 4");
    let user = format!("[report]\ndata = '{}'", place.path("data").display());
    fs::write(place.path("user.toml"), user).unwrap();
    assert_eq!(place.report_options("sockcap report").1, 4);
    assert_eq!(place.report_options("sockcap report -d elsewhere").1, 10);
}

#[test]
fn lists_and_commands_below_commands() {
    let user = "[import.calls]\nunit = 'ms'\n[report]\nwithout = ['delays', 'turns']\nroles = true\n\
                window = \"100ms\"\nspontaneous-delay = 2.5\n[skew]\nhost = ['a=1ms', 'b=-2s,50']";
    let place = ConfigPlace::with(user, "");
    assert!(place.parse_line("sockcap report").is_ok());
    let parsed = format!("{:?}", place.parse_line("sockcap import calls x.csv").unwrap());
    assert!(parsed.contains("unit: Milliseconds"), "{parsed}");
    let parsed = format!("{:?}", place.parse_line("sockcap import project5 x.txt").unwrap());
    assert!(!parsed.contains("unit: Milliseconds"), "{parsed}");
    let skew: Box<SkewCommand> = given_command(place.parse_line("sockcap skew --to x"));
    assert_eq!(skew.clocks.len(), 2);
    let skew: Box<SkewCommand> = given_command(place.parse_line("sockcap skew --to x --host c=1s"));
    assert_eq!(skew.clocks.len(), 1, "a list that is given takes the place of the file's");
}

#[test]
fn arguments_of_the_recorded_command_are_not_parsed() {
    let place = ConfigPlace::with("[record]\nhost = 'web'", "");
    let record: Box<RecordCommand> =
        given_command(place.parse_line("sockcap record -- report --host record"));
    assert_eq!((record.host.as_deref(), record.command.len()), (Some("web"), 3));
}

#[test]
fn mistakes_are_reported_with_file_line_and_key() {
    let cases: [(&str, &[&str]); 11] = [
        (
            "[report]\nsorrt = 'p99'",
            &["user.toml:2:", "[report] sorrt", "--sorrt", "did you mean 'sort'?"],
        ),
        ("[report]\nxyzzy = 1", &["user.toml:2:", "xyzzy", "'sockcap report --help'"]),
        (
            "\n[report]\nsort = 'beauty'",
            &["user.toml:3:", "[report] sort: invalid value 'beauty'", "p99"],
        ),
        ("[report]\ncolor = 'no'", &["[report] color", "'no'", "auto, always, never"]),
        ("[report]\nlimit = -1", &["[report] limit", "'-1'"]),
        ("[report]\njson = 'yes'", &["[report] json", "true or false"]),
        ("[report]\nsort = ['p99', 'mean']", &["[report] sort", "multiple times"]),
        ("[report]\nsort = 2020-01-01", &["[report] sort", "a datetime"]),
        ("[repot]\nsort = 'p99'", &["user.toml:1:", "[repot]", "no such command", "report"]),
        ("sort = 'p99'", &["user.toml:1:", "'sort' belongs to no command", "[report]"]),
        ("[report]\nsort = ", &["user.toml:2:"]),
    ];
    for (text, words) in cases {
        let place = ConfigPlace::with(text, "");
        let said = place.failure_words("sockcap report");
        assert!(words.iter().all(|word| said.contains(word)), "{text}: {said}");
        // A file is checked as a whole, whichever command is run; help needs no file, nor do
        // commands without flags.
        assert_eq!(place.failure_words("sockcap info"), said);
        assert!(place.parse_line("sockcap --no-config info").is_ok());
        assert!(place.parse_line("sockcap completions bash").is_ok());
        assert!(matches!(
            place.parse_line("sockcap report --help"),
            Err(CommandFailure::Usage(..))
        ));
    }
    for key in ["help = true", "no-config = true", "d = 'x'"] {
        let said =
            ConfigPlace::with(&format!("[report]\n{key}"), "").failure_words("sockcap report");
        assert!(said.contains("there is no flag"), "{said}");
    }
}

#[test]
fn an_unreadable_file_is_reported() {
    let place = ConfigPlace::with("", "");
    fs::create_dir(place.path("user.toml")).unwrap();
    assert!(place.failure_words("sockcap report").contains("user.toml: Is a directory"));
    let place = ConfigPlace::with("", "");
    fs::write(place.path("data/sockcap.toml"), b"[report]\nsort = '\xff'").unwrap();
    assert!(
        place
            .failure_words("sockcap report -d DATA")
            .contains("sockcap.toml: stream did not contain valid UTF-8")
    );
    assert!(place.parse_line("sockcap report").is_ok(), "another data directory");
}

#[test]
fn a_data_directory_of_others_sets_only_how_it_is_shown() {
    for text in [
        "[report]\nhtml = '/etc/passwd'",
        "[report]\ndata = '/etc'",
        "[report]\nwindow = '1s'",
        "[report]\nthrough = 'x'",
        "[report]\naliases = 'x'",
        "[analyze]\nalgorithm = 'linking'",
        "[analyze]\nmemory = '1T'",
        "[reconcile]\nkeep-internal = true",
        "[record]\nprotocols = 'all'",
        "[record]\nhost = 'x'",
        "[record]\nkeep = 'newest'",
        "[record]\nresources = true",
        "[export]\noutput = 'x'",
        "[export]\nto = 'http://example.com'",
        "[export]\nheader = ['a=b']",
        "[import.calls]\nname = 'x'",
        "[skew]\nto = 'x'",
        "[ship]\nto = 'example.com:1'",
        "[ship]\nlimit = '1M'",
        "[collect]\nevery = '1m'",
        "[keys.new]\ndays = 1",
        "[view]\nport = 80",
        "[diff]\nfail-if = 'x'",
    ] {
        let place = ConfigPlace::with("", text);
        let said = place.failure_words("sockcap report -d DATA");
        assert!(said.contains("sockcap.toml:2:"), "{text}: {said}");
        // Unknown flags are reported as such; the others with the place where they may be set.
        if !said.contains("there is no flag") && !said.contains("there is no such command") {
            assert!(said.contains("may be from another user"), "{text}: {said}");
            assert!(said.contains("config.toml"), "{text}: {said}");
        }
    }
    let shown = "[report]\nsort = 'p99'\nlimit = 3\n[info]\nprocesses = true";
    assert_eq!(
        ConfigPlace::with("", shown).report_options("sockcap report -d DATA"),
        ("p99".into(), 3, false)
    );
}

#[test]
fn irregular_files_in_place_of_a_data_directorys_file_are_not_read() {
    let place = ConfigPlace::with("", "");
    fs::write(place.path("elsewhere"), "[report]\nlimit = 3").unwrap();
    let path = place.path("data/sockcap.toml");
    std::os::unix::fs::symlink(place.path("elsewhere"), &path).unwrap();
    assert!(place.failure_words("sockcap report -d DATA").contains("sockcap.toml"));
    fs::remove_file(&path).unwrap();
    // The pipe has no writer, so opening it to read would block.
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    assert!(place.failure_words("sockcap report -d DATA").contains("sockcap.toml"));
    fs::remove_file(&path).unwrap();
    fs::write(&path, "#".repeat(100_000)).unwrap();
    assert!(place.failure_words("sockcap report -d DATA").contains("larger than 64 KiB"));
    // The data directory itself is the user's choice, as is the user's own file.
    fs::write(&path, "[report]\nlimit = 3").unwrap();
    std::os::unix::fs::symlink(place.path("data"), place.path("link")).unwrap();
    std::os::unix::fs::symlink(place.path("elsewhere"), place.path("user.toml")).unwrap();
    let line = format!("sockcap report -d {}", place.path("link").display());
    assert_eq!((place.report_options(&line).1, place.report_options("sockcap report").1), (3, 3));
}

#[test]
fn an_error_of_a_combination_names_the_settings_from_files() {
    let place = ConfigPlace::with("[record]\nkeep = 'newest'", "");
    let said = place.failure_words("sockcap record -- true");
    assert!(said.contains("--max-size") && said.contains("user.toml:2"), "{said}");
}

#[test]
fn all_permitted_settings_of_a_data_directory_are_keys() {
    let mut command = with_switches(command_line::define_commands());
    command.build();
    for (name, keys) in file::DATA_FILE_KEYS {
        let command = command.find_subcommand(name).unwrap();
        for key in keys {
            let mut flags = command.get_arguments().filter(|argument| file::is_key(argument));
            let found = flags.find(|argument| argument.get_long() == Some(key));
            assert!(found.is_some(), "[{name}] {key}");
            // No key that names a place, whatever the list contains.
            let values = found.unwrap().get_value_names().unwrap_or_default();
            let places = ["ADDR:PORT", "DIR", "FILE", "HOST:PORT", "NAME=FILE", "PID", "URL"];
            assert!(!values.iter().any(|value| places.contains(&value.as_str())), "{name} {key}");
        }
        assert!(file::may_be_in_data(&[name.to_owned()], keys[0]));
    }
    assert!(!file::may_be_in_data(&["import".into(), "report".into()], "limit"));
}
