//! What wins over what, and what is said of a file that is wrong.

use std::any::Any;
use std::fs;

use tempfile::TempDir;

use super::file::Setting;
use super::*;
use crate::commands::{Analyze, Record, Report, Ship, Skew};

/// A directory with a user's file (`user.toml`) and a data directory (`data`) with another.
struct Place(TempDir);

impl Place {
    fn with(user: &str, data: &str) -> Place {
        let place = Place(tempfile::tempdir().unwrap());
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

    /// What becomes of a command line; `DATA` stands for the data directory.
    fn parse(&self, line: &str) -> Result<Box<dyn Run>, Failed> {
        let data = self.path("data").display().to_string();
        let arguments: Vec<OsString> =
            line.split(' ').map(|word| word.replace("DATA", &data).into()).collect();
        parse_from(&arguments, Some(self.path("user.toml")))
    }

    /// A report's sort key, limit and whether it is JSON.
    fn report(&self, line: &str) -> (String, usize, bool) {
        let report: Box<Report> = given(self.parse(line));
        (report.sort.to_string(), report.limit, report.json)
    }

    /// What is said of a command line that must fail.
    fn fails(&self, line: &str) -> String {
        match self.parse(line).unwrap_err() {
            Failed::Config(error) => error.to_string(),
            Failed::Usage(error, used) => format!("{error} {used:?}"),
        }
    }
}

/// The arguments of the command that was given, which must be an `A`.
fn given<A: Run>(parsed: Result<Box<dyn Run>, Failed>) -> Box<A> {
    let command: Box<dyn Any> = parsed.unwrap();
    command.downcast().unwrap()
}

#[test]
fn the_command_line_wins_over_the_trace_and_that_over_the_user() {
    let place = Place::with("[report]\nsort = 'p99'\nlimit = 3", "[report]\nlimit = 4");
    assert_eq!(
        place.report("sockcap report"),
        ("p99".into(), 3, false),
        "there is no ./sockcap.data"
    );
    assert_eq!(place.report("sockcap report -d DATA"), ("p99".into(), 4, false));
    assert_eq!(place.report("sockcap report -d DATA --limit 5"), ("p99".into(), 5, false));
    assert_eq!(place.report("sockcap report --sort=mean --data=DATA"), ("mean".into(), 4, false));
    for line in ["sockcap --no-config report -d DATA", "sockcap report --no-config -d DATA"] {
        assert_eq!(place.report(line), ("total".into(), 10, false), "{line}");
    }
    // A table is for one command only.
    let _: Box<Analyze> = given(place.parse("sockcap analyze -d DATA"));
}

#[test]
fn the_environment_wins_over_files() {
    // No flag of sockcap's has a variable yet; every process has this one.
    let flags =
        [Arg::new("one").long("one").env("PATH"), Arg::new("two").long("two").default_value("2")];
    let mut command = Command::new("x").subcommand(Command::new("y").args(flags));
    command.build();
    let setting = || Setting { values: vec!["file".into()], path: "f".into(), line: 1 };
    let settings = ["one", "two"].map(|name| ((vec!["y".to_owned()], name.to_owned()), setting()));
    let arguments = ["x", "y"].map(OsString::from);
    let given = command.clone().try_get_matches_from(&arguments).unwrap();
    let all = with_settings(&arguments, &command, &given, &Settings::from(settings)).0;
    assert_eq!(all, ["x", "y", "--two=file"], "and a default is nothing that was given");
}

#[test]
fn what_a_file_turns_on_can_be_turned_off() {
    let place = Place::with("[report]\njson = true", "");
    assert!(place.report("sockcap report").2);
    assert!(!place.report("sockcap report --json=false").2);
    assert!(place.report("sockcap report --json").2);
    let over = Place::with("[report]\njson = true", "[report]\njson = false");
    assert!(over.report("sockcap report").2 && !over.report("sockcap report -d DATA").2);
}

#[test]
fn what_is_required_may_be_in_a_file() {
    let place = Place::with("[ship]\nto = 'collector:1'\nkey = 'web.pem'", "");
    let ship: Box<Ship> = given(place.parse("sockcap ship"));
    assert_eq!((ship.to.as_str(), ship.trust.key), ("collector:1", Some("web.pem".into())));
    // With --plain there is no key: what is given wins over all that it cannot be together with.
    let ship: Box<Ship> = given(place.parse("sockcap ship --plain"));
    assert_eq!((ship.trust.key, ship.trust.plain), (None, true));
    let place = Place::with("[reconcile]\nno-translation = true", "");
    assert!(place.parse("sockcap reconcile --translation 0.9").is_ok());
}

#[test]
fn the_user_can_name_the_data_directory() {
    let place = Place::with("", "[report]\nlimit = 4");
    let user = format!("[report]\ndata = '{}'", place.path("data").display());
    fs::write(place.path("user.toml"), user).unwrap();
    assert_eq!(place.report("sockcap report").1, 4);
    assert_eq!(place.report("sockcap report -d elsewhere").1, 10);
}

#[test]
fn lists_and_commands_below_commands() {
    let user = "[import.calls]\nunit = 'ms'\n[report]\nwithout = ['delays', 'turns']\nroles = true\n\
                window = \"100ms\"\nspontaneous-delay = 2.5\n[skew]\nhost = ['a=1ms', 'b=-2s,50']";
    let place = Place::with(user, "");
    assert!(place.parse("sockcap report").is_ok());
    let parsed = format!("{:?}", place.parse("sockcap import calls x.csv").unwrap());
    assert!(parsed.contains(r#"["ms"]"#), "{parsed}");
    let parsed = format!("{:?}", place.parse("sockcap import project5 x.txt").unwrap());
    assert!(!parsed.contains(r#"["ms"]"#), "{parsed}");
    let skew: Box<Skew> = given(place.parse("sockcap skew --to x"));
    assert_eq!(skew.clocks.len(), 2);
    let skew: Box<Skew> = given(place.parse("sockcap skew --to x --host c=1s"));
    assert_eq!(skew.clocks.len(), 1, "a list that is given takes the place of the file's");
}

#[test]
fn what_is_recorded_is_not_searched_for_flags() {
    let place = Place::with("[record]\nhost = 'web'", "");
    let record: Box<Record> = given(place.parse("sockcap record -- report --host record"));
    assert_eq!((record.host.as_deref(), record.command.len()), (Some("web"), 3));
}

#[test]
fn what_is_wrong_is_told_with_file_line_and_key() {
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
        let place = Place::with(text, "");
        let said = place.fails("sockcap report");
        assert!(words.iter().all(|word| said.contains(word)), "{text}: {said}");
        // All of a file is checked, whichever command is run; help needs none of it, and so do
        // commands without flags.
        assert_eq!(place.fails("sockcap info"), said);
        assert!(place.parse("sockcap --no-config info").is_ok());
        assert!(place.parse("sockcap completions bash").is_ok());
        assert!(matches!(place.parse("sockcap report --help"), Err(Failed::Usage(..))));
    }
    for key in ["help = true", "no-config = true", "d = 'x'"] {
        let said = Place::with(&format!("[report]\n{key}"), "").fails("sockcap report");
        assert!(said.contains("there is no flag"), "{said}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_told() {
    let place = Place::with("", "");
    fs::create_dir(place.path("user.toml")).unwrap();
    assert!(place.fails("sockcap report").contains("user.toml: Is a directory"));
    let place = Place::with("", "");
    fs::write(place.path("data/sockcap.toml"), b"[report]\nsort = '\xff'").unwrap();
    assert!(
        place
            .fails("sockcap report -d DATA")
            .contains("sockcap.toml: stream did not contain valid UTF-8")
    );
    assert!(place.parse("sockcap report").is_ok(), "another data directory");
}

#[test]
fn a_trace_of_others_decides_nothing_but_how_it_is_shown() {
    for (text, words) in [
        ("[report]\nhtml = '/etc/passwd'", "name no files"),
        ("[report]\ndata = '/etc'", "name no files"),
        ("[export]\noutput = 'x'", "name no files"),
        ("[skew]\nto = 'x'", "name no files"),
        ("[ship]\nlimit = '1M'", "[ship] cannot be"),
        ("[collect]\nevery = '1m'", "[collect] cannot be"),
        ("[keys.new]\ndays = 1", "[keys] cannot be"),
    ] {
        let place = Place::with("", text);
        let said = place.fails("sockcap report -d DATA");
        assert!(said.contains(words) && said.contains("sockcap.toml:"), "{said}");
        assert!(Place::with(text, "").parse("sockcap info").is_ok(), "{text}");
    }
}

#[test]
fn an_error_of_a_combination_names_what_came_from_files() {
    let place = Place::with("[record]\nkeep = 'newest'", "");
    let said = place.fails("sockcap record -- true");
    assert!(said.contains("--max-size") && said.contains("user.toml:2"), "{said}");
}

/// Values that a data directory's file may give: they choose how a trace is analysed and shown.
const HARMLESS: [&str; 38] = [
    "BINS",
    "BOOL",
    "CONDITION",
    "CONFIDENCE",
    "COUNT",
    "DISTANCE",
    "FACTOR",
    "FORMAT",
    "FROM..TO",
    "GRAPH",
    "GRAIN",
    "K",
    "LIST",
    "KEY",
    "KEY=VALUE",
    "KIND",
    "MESSAGES",
    "N",
    "NAME",
    "NAME=ADDRESS",
    "NAME=OFFSET[,PPM]",
    "NODE",
    "NS",
    "OPERATION",
    "P",
    "PARAMETER",
    "PORT",
    "S",
    "SHARE",
    "SIZE",
    "SOURCE",
    "STEP",
    "TIME",
    "UNIT",
    "WHAT",
    "WHEN",
    "WHICH",
    "Y",
];

#[test]
fn for_every_flag_it_is_decided_whether_a_trace_of_others_may_give_it() {
    fn flags(command: &Command, all: &mut Vec<(String, String)>) {
        for argument in command.get_arguments().filter(|argument| file::is_key(argument)) {
            let names = argument.get_value_names().unwrap_or_default().iter();
            all.extend(
                names.map(|name| (argument.get_long().unwrap().to_owned(), name.to_string())),
            );
        }
        let below = command
            .get_subcommands()
            .filter(|below| !file::NOT_IN_DATA.contains(&below.get_name()));
        below.for_each(|below| flags(below, all));
    }
    let (mut all, mut command) = (Vec::new(), with_switches(command_line::definitions()));
    command.build();
    flags(&command, &mut all);
    for (flag, name) in all {
        let known = file::PLACES.contains(&name.as_str())
            || HARMLESS.contains(&name.as_str())
            || name == "X,Y,Z";
        assert!(
            known,
            "--{flag} <{name}>: if it can name a file, an address or a program, {name} belongs to PLACES"
        );
    }
}
