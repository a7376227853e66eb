//! Values that TAB offers for an argument: patterns, nodes and hosts of the data directory on the
//! command line, programs, and files.

use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use analyze::paths::{ChosenPatterns, PathPattern};
use clap_complete::PathCompleter;
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, ValueCompleter,
};
use message_trace::units::{is_harmful, to_printable};
use message_trace::{DataDir, DataPath};
use report::SortKey;

use crate::tuning::DEFAULT_DIRECTORY;
use crate::tuning::MAX_PATTERNS_OFFERED;

/// The variable by which a shell's script requests completions.
pub(crate) const COMPLETION_VARIABLE: &str = "SOCKCAP_COMPLETE";

/// The numbers of patterns, as in the report.
pub(crate) fn pattern_candidates() -> ArgValueCandidates {
    let candidate = |pattern: PathPattern| {
        let first = pattern.hops.first();
        let what = first.map_or_else(String::new, |hop| {
            to_printable(&format!("{} → {}, {} seen", hop.src, hop.dst, pattern.count))
        });
        CompletionCandidate::new(pattern.id.to_string()).help(Some(what.into()))
    };
    ArgValueCandidates::new(move || longest_patterns().into_iter().map(candidate).collect())
}

/// The nodes of patterns.
pub(crate) fn node_candidates() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let names = longest_patterns()
            .into_iter()
            .flat_map(|pattern| pattern.hops)
            .flat_map(|hop| [hop.src, hop.dst]);
        name_candidates(names.collect())
    })
}

/// The operations of patterns.
pub(crate) fn operation_candidates() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let hops = longest_patterns().into_iter().flat_map(|pattern| pattern.hops);
        name_candidates(hops.filter_map(|hop| hop.operation).collect())
    })
}

/// The hosts with logs.
pub(crate) fn host_candidates() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let logs = unfinished_data_dir().log_paths().unwrap_or_default();
        let host = |log: DataPath| Some(log.parent().file_name()?.to_str()?.to_owned());
        name_candidates(logs.into_iter().filter_map(host).collect())
    })
}

/// Files, and the configurations included in sockcap.
pub(crate) fn configuration_completer() -> ArgValueCompleter {
    ArgValueCompleter::new(|begun: &OsStr| {
        let shipped = synth::maketrace::SHIPPED.map(|(name, _)| OsString::from(name));
        let mut all = candidates_with_prefix(shipped, begun);
        all.extend(PathCompleter::file().complete(begun));
        all
    })
}

/// A program, and then files, as for any command.
pub(crate) fn program_completer() -> ArgValueCompleter {
    ArgValueCompleter::new(ProgramCompleter)
}

struct ProgramCompleter;

impl ValueCompleter for ProgramCompleter {
    fn complete(&self, begun: &OsStr) -> Vec<CompletionCandidate> {
        self.complete_at(0, begun)
    }

    fn complete_at(&self, place: usize, begun: &OsStr) -> Vec<CompletionCandidate> {
        if place > 0 || begun.to_string_lossy().contains('/') {
            return PathCompleter::any().complete(begun);
        }
        let directories = env::var_os("PATH").unwrap_or_default();
        let files = env::split_paths(&directories)
            .filter_map(|path| fs::read_dir(path).ok())
            .flatten()
            .flatten();
        let is_program = |file: &fs::DirEntry| {
            file.path()
                .metadata()
                .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
        };
        let begins =
            |name: &OsString| name.to_string_lossy().starts_with(&*begun.to_string_lossy());
        let programs = files.filter(|file| begins(&file.file_name())).filter(is_program);
        let mut all: Vec<CompletionCandidate> = programs
            .map(|file| file.file_name())
            .collect::<BTreeSet<OsString>>()
            .into_iter()
            .map(CompletionCandidate::new)
            .collect();
        all.extend(PathCompleter::any().complete(begun));
        all
    }
}

/// The names that begin with the word being written.
fn candidates_with_prefix(
    names: impl IntoIterator<Item = OsString>,
    begun: &OsStr,
) -> Vec<CompletionCandidate> {
    let begun = begun.to_string_lossy();
    let fits = |name: &OsString| name.to_string_lossy().starts_with(&*begun);
    names.into_iter().filter(fits).map(CompletionCandidate::new).collect()
}

/// Names as candidates. Unprintable names are left out: a shell writes candidates to the terminal
/// unchanged, one per line.
fn name_candidates(names: BTreeSet<String>) -> Vec<CompletionCandidate> {
    let is_printable = |name: &String| !name.chars().any(is_harmful);
    names.into_iter().filter(is_printable).map(CompletionCandidate::new).collect()
}

/// The patterns of the data directory with the largest total time; none without an analysis.
fn longest_patterns() -> Vec<PathPattern> {
    let order =
        |one: &PathPattern, other: &PathPattern| SortKey::Total.compare_patterns(one, other);
    ChosenPatterns::read(unfinished_data_dir().patterns_path(), MAX_PATTERNS_OFFERED, order)
        .map_or_else(|_| Vec::new(), |chosen| chosen.patterns)
}

/// The data directory on the unfinished command line.
fn unfinished_data_dir() -> DataDir {
    let words: Vec<OsString> = env::args_os().collect();
    DataDir::new(directory_argument(&words).unwrap_or_else(|| DEFAULT_DIRECTORY.into()))
}

/// The value of the last `-d` or `--data` among the words of a command line.
fn directory_argument(words: &[OsString]) -> Option<PathBuf> {
    let mut named = None;
    for (place, word) in words.iter().enumerate() {
        let Some(word) = word.to_str() else { continue };
        let value = match word {
            "-d" | "--data" => words.get(place + 1).map(PathBuf::from),
            _ => {
                word.strip_prefix("--data=").or_else(|| word.strip_prefix("-d")).map(PathBuf::from)
            }
        };
        named = value.filter(|path| !path.as_os_str().is_empty()).or(named);
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unprintable_names_are_not_offered() {
        let names = ["web", "a\x1b[2J", "b\nc", "d\u{202e}e", "äöü x"].map(str::to_owned);
        let offered = name_candidates(names.into());
        let offered: Vec<_> = offered.iter().map(|one| one.get_value().to_string_lossy()).collect();
        assert_eq!(offered, ["web", "äöü x"]);
    }

    #[test]
    fn the_data_directory_is_taken_from_the_command_line() {
        let of = |line: &str| {
            directory_argument(&line.split(' ').map(OsString::from).collect::<Vec<_>>())
        };
        assert_eq!(of("sockcap report -d one --sort"), Some("one".into()));
        assert_eq!(of("sockcap report --data=two --sort"), Some("two".into()));
        assert_eq!(of("sockcap report -dthree --sort p99"), Some("three".into()));
        assert_eq!(of("sockcap report --data four"), Some("four".into()));
        assert_eq!(of("sockcap report"), None);
    }
}
