//! `--help` of every command on narrow and wide terminals: no line is too long, and no line breaks
//! within a group of words: text in brackets or quotes, or a flag with its value.

use std::fs;
use std::process::{Command, Stdio};

/// A group of more characters than this may be broken: no line next to the flags has room for it.
const LONGEST: usize = 48;

/// What `sockcap` prints on a terminal of `columns` columns.
fn run_sockcap(arguments: &[&str], columns: usize) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sockcap"));
    command.args(arguments).env("COLUMNS", columns.to_string()).stdin(Stdio::null());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// All commands, as `import pcap`: each has a manual page.
fn all_commands() -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    run_sockcap(&["man", directory.path().to_str().unwrap()], 100);
    let names = fs::read_dir(directory.path())
        .unwrap()
        .map(|page| page.unwrap().file_name().into_string().unwrap());
    let command =
        |name: String| name.trim_end_matches(".1").trim_start_matches("sockcap").replace('-', " ");
    let mut commands: Vec<String> = names.map(command).collect();
    commands.sort();
    assert!(commands.len() > 20, "{commands:?}");
    commands
}

/// The groups that a line begins and does not end, although they are short enough. `rest` is the
/// text after it.
fn broken_groups(line: &str, rest: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (open, close) in [('[', ']'), ('(', ')')] {
        let Some(begin) = line.rfind(open).filter(|begin| !line[*begin..].contains(close)) else {
            continue;
        };
        let following: String = rest.split_whitespace().collect::<Vec<_>>().join(" ");
        let Some(end) = following.find(close) else { continue };
        let group = format!("{} {}", &line[begin..], &following[..=end]);
        if group.chars().count() <= LONGEST {
            found.push(group);
        }
    }
    // A flag with its value on the next line.
    let words: Vec<&str> = line.split_whitespace().collect();
    let next =
        rest.split_whitespace().next().unwrap_or_default().trim_end_matches(['.', ',', ';', ')']);
    let is_value =
        next.len() > 1 && next.chars().all(|one| one.is_ascii_uppercase() || ":=".contains(one));
    if let [_, .., last] = words[..]
        && last.starts_with("--")
        && last[2..].chars().all(|one| one.is_ascii_lowercase() || one == '-')
        && is_value
    {
        found.push(format!("{last} {next}"));
    }
    found
}

#[test]
fn no_line_is_too_long_or_broken_within_a_group() {
    let mut wrong = Vec::new();
    for command in all_commands() {
        let words: Vec<&str> = command.split_whitespace().collect();
        for form in ["--help", "-h"] {
            for columns in [80, 100] {
                let help = run_sockcap(&[&words[..], &[form]].concat(), columns);
                let lines: Vec<&str> = help.lines().collect();
                for (number, line) in lines.iter().enumerate() {
                    let place = format!("sockcap {command} {form} at {columns}: {line:?}");
                    if line.chars().count() > columns {
                        wrong.push(format!("{place} is too long"));
                    }
                    let rest =
                        lines[number + 1..].iter().take_while(|line| !line.trim().is_empty());
                    let rest = rest.copied().collect::<Vec<_>>().join("\n");
                    for group in broken_groups(line, &rest) {
                        wrong.push(format!("{place} breaks {group:?}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The text after the flags is written for narrow terminals: it is the same on all.
#[test]
fn examples_are_as_they_were_written() {
    for command in all_commands() {
        let words: Vec<&str> = command.split_whitespace().collect();
        let examples = |columns: usize| {
            let help = run_sockcap(&[&words[..], &["--help"]].concat(), columns);
            let (_, examples) = help.split_once("\nExamples:\n").unwrap_or_default();
            examples.to_owned()
        };
        assert!(!examples(80).is_empty(), "{command}");
        assert_eq!(examples(80), examples(200), "{command}");
    }
}

#[test]
fn blanks_are_blanks() {
    for command in all_commands() {
        let words: Vec<&str> = command.split_whitespace().collect();
        let help = run_sockcap(&[&words[..], &["--help"]].concat(), 80);
        assert!(!help.contains('\u{a0}'), "{command}: {help}");
    }
}
