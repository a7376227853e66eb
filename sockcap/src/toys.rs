//! A toy of each kind, for the test that a file and a line in a registry are enough: each appears
//! in help, completions, the manual page and the configuration keys, and runs.

pub(crate) mod algorithm;
pub(crate) mod command;
pub(crate) mod exporter;
pub(crate) mod importer;

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use analyze::infer::Links;
use clap_complete::engine;
use message_trace::DataDir;

use crate::{command_line, config, kinds, manual};

/// For each kind, the command that its toy is part of, a flag of the toy, and a setting for it in a
/// file.
const TOYS: [(&[&str], &str, &str); 4] = [
    (&["import", "toy"], "--late-by", "[import.toy]\nlate-by = '3ms'"),
    (&["analyze"], "--grown-up", "[analyze]\nalgorithm = 'toy'\ngrown-up = '3s'"),
    (&["export"], "--colour", "[export]\ncolour = 'green'"),
    (&["toy"], "--times", "[toy]\ntimes = 3"),
];

/// Runs a command line on the data directory `dir`.
fn run_line(line: &str, dir: &Path) -> Result<(), String> {
    let words = line.replace("DIR", &dir.display().to_string());
    let arguments: Vec<OsString> = words.split(' ').map(OsString::from).collect();
    let command =
        config::parse_from(&arguments, Some(dir.join("user.toml"))).map_err(|_| "wrong usage")?;
    let code = command.run().map_err(|error| error.to_string())?;
    if code == ExitCode::SUCCESS { Ok(()) } else { Err("failed".into()) }
}

/// The help of a command.
fn help_of(command: &[&str]) -> String {
    let words = [&["sockcap"], command, &["--help"]].concat();
    command_line::define_commands().try_get_matches_from(words).unwrap_err().to_string()
}

/// A text with single blanks, however it is laid out.
fn collapse_blanks(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What TAB offers at the end of a line.
fn completions_of(line: &[&str]) -> Vec<String> {
    let words: Vec<OsString> = [&["sockcap"], line].concat().iter().map(OsString::from).collect();
    let last = words.len() - 1;
    let found = engine::complete(&mut command_line::define_commands(), words, last, None).unwrap();
    found.into_iter().map(|one| one.get_value().to_string_lossy().into_owned()).collect()
}

/// The manual page of a command.
fn manual_page(command: &[&str]) -> String {
    let mut program = command_line::define_commands();
    program.build();
    let mut page = Vec::new();
    let found = command.iter().fold(&program, |at, name| at.find_subcommand(name).unwrap());
    manual::write_page(found.clone(), &mut page).unwrap();
    String::from_utf8(page).unwrap().replace('\\', "")
}

#[test]
fn toys_are_in_help_completions_and_manual() {
    for (command, flag, _) in TOYS {
        assert!(help_of(command).contains(flag), "{command:?}");
        assert!(manual_page(command).contains(flag), "{command:?}");
        let begun = [command, &[&flag[..5]]].concat();
        assert!(completions_of(&begun).contains(&flag.to_owned()), "{command:?}");
    }
    assert!(collapse_blanks(&help_of(&[])).contains("toy Write a word a few times"));
    assert!(collapse_blanks(&help_of(&["import"])).contains("toy Pairs of names"));
    assert!(help_of(&["import", "toy"]).contains("sockcap import toy pairs.txt"));
    assert!(collapse_blanks(&help_of(&["analyze"])).contains("or toy (nothing causes anything)"));
    assert!(collapse_blanks(&help_of(&["export"])).contains("toy Crayons"), "what opens what");
    assert!(completions_of(&["to"]).contains(&"toy".to_owned()));
    assert!(completions_of(&["import", "to"]).contains(&"toy".to_owned()));
    assert!(completions_of(&["export", "to"]).contains(&"toy".to_owned()));
    assert!(completions_of(&["analyze", "--algorithm", "to"]).contains(&"toy".to_owned()));
}

#[test]
fn toys_run_and_are_configured_by_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let dir = directory.path();
    let keys = TOYS.map(|(_, _, text)| text).join("\n");
    fs::write(dir.join("user.toml"), keys).unwrap();
    fs::write(dir.join("pairs.txt"), "a b\nb c\n").unwrap();

    run_line("sockcap import toy DIR/pairs.txt -d DIR", dir).unwrap();
    run_line("sockcap analyze -d DIR", dir).unwrap();
    let data = DataDir::new(dir);
    let links = Links::read(data.links_path()).unwrap();
    assert_eq!((links.message_count(), links.len()), (2, 0), "nothing causes anything");
    let analysis = fs::read_to_string(data.analysis_path()).unwrap();
    assert!(analysis.contains(r#""algorithm": "toy""#) && analysis.contains("3000000000"));

    run_line("sockcap export toy -d DIR -o DIR/drawn", dir).unwrap();
    assert_eq!(fs::read_to_string(dir.join("drawn")).unwrap(), "2 messages in green\n");
    run_line("sockcap export toy -d DIR -o DIR/drawn --colour red", dir).unwrap();
    assert_eq!(fs::read_to_string(dir.join("drawn")).unwrap(), "2 messages in red\n");
    let refused =
        run_line("sockcap --no-config export nodes -d DIR --colour red", dir).unwrap_err();
    assert!(refused.starts_with("--colour is for toys only"), "{refused}");

    run_line("sockcap toy hop -d DIR", dir).unwrap();
    assert_eq!(fs::read_to_string(dir.join("toy")).unwrap(), "hop hop hop");
    run_line("sockcap toy hop -d DIR --times 1", dir).unwrap();
    assert_eq!(fs::read_to_string(dir.join("toy")).unwrap(), "hop");
    assert_eq!(
        run_line("sockcap import toy DIR/pairs.txt --late-by soon", dir).unwrap_err(),
        "wrong usage"
    );
}

#[test]
fn a_toy_importer_can_be_fuzzed() {
    let kind = registry::find_entry(&kinds::importers(), "toy").unwrap();
    (kind.fuzz)(b"a b\n\xff");
}
