//! What an import of strace's output found and could not use, in the words of the user; and how
//! to run strace.

use std::path::{Path, PathBuf};

use super::line::LineProblem;
use crate::error::Error;
use crate::summary::{FilePlace, FilePosition, ImportSummary, SkipCounts, SkippedItem};
use crate::tuning::LINE_SHOWN;
use crate::unfinished::nothing_imported;

/// The options by which strace says all that an import needs, but for the calls.
const OPTIONS: [&str; 6] = ["-f", "-ttt", "-T", "-yy", "-s", "65535"];

/// The calls that an import needs, in two parts that fit a line each.
const CALLS: [&str; 2] = [
    "%network,%process,read,readv,write,writev,sendfile,splice,close",
    "close_range,dup,dup2,dup3,fcntl,ioctl",
];

/// All options for strace, in front of `-o`, the file and the command.
pub fn strace_options() -> Vec<String> {
    let calls = format!("trace={}", CALLS.join(","));
    OPTIONS.iter().map(|option| (*option).to_owned()).chain(["-e".to_owned(), calls]).collect()
}

/// What a user types to trace `command` into `file`: lines that fit a terminal and can be pasted
/// into a shell, each but the first behind two blanks.
pub fn how_to_run(file: &str, command: &str) -> String {
    let [first, second] = CALLS;
    let options = OPTIONS.join(" ");
    format!(
        "CALLS={first}\n  CALLS=$CALLS,{second}\n  strace {options} -e trace=$CALLS -o {file} {command}"
    )
}

/// The lines of what a user types.
fn command_lines() -> Vec<String> {
    how_to_run("FILE", "CMD").lines().map(|line| line.trim().to_owned()).collect()
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StraceOutcome {
    /// Lines read.
    pub(super) lines: u64,
    /// Sockets in the logs; one that is in several counts in each.
    pub(super) sockets: u64,
    /// Calls that moved bytes of a stream.
    pub(super) transfers: u64,
    /// Datagrams sent, received or looked at.
    pub(super) datagrams: u64,
    /// Datagrams whose payload is not whole in the file, so that they have no checksum.
    pub(super) without_checksum: u64,
    /// Messages that a call moved in a batch and that are not in the file.
    pub(super) cut_off: u64,
    /// Calls on sockets whose kind the file does not tell.
    pub(super) unknown_sockets: u64,
    /// Receives without a known time of return.
    pub(super) without_end: u64,
    /// Threads whose beginning is not in the file, though others are; each is taken for a process.
    pub(super) found_threads: u64,
    /// Calls that set up `io_uring`, which moves bytes without calls.
    pub(super) io_uring: u64,
    /// Connections whose own name at the end that connected is not known.
    pub(super) unnamed: u64,
    /// Lines whose times are of whole seconds or little better.
    pub(super) coarse: u64,
    /// Lines that were not understood.
    pub(super) skipped: SkipCounts,
    /// Whether there was a log of the same name before.
    pub(super) replaced: bool,
}

impl StraceOutcome {
    /// A line was not understood.
    pub(super) fn add_unparsed(&mut self, file: &Path, number: u64, text: &[u8]) {
        let place = FilePlace::new(file, FilePosition::Line(number));
        self.skipped.add("line not understood", || SkippedItem { place, why: shorten_line(text) });
    }

    /// For the user, all but what the caller knows of the files.
    pub(super) fn into_summary(self) -> ImportSummary {
        let mut notes = Vec::new();
        let mut note = |count: u64, what: &str| {
            if count > 0 {
                notes.push(format!("{count} {what}"));
            }
        };
        note(
            self.without_checksum,
            "datagrams are not whole in the file and go without checksum: run strace with -s 65535",
        );
        note(self.cut_off, "messages of batches are not in the file: run strace with a larger -s");
        note(
            self.without_end,
            "receives have no time of return and got that of the next line: run strace with -T",
        );
        note(
            self.unknown_sockets,
            "calls are on sockets that the file does not describe: run strace with -yy",
        );
        note(
            self.found_threads,
            "threads are taken for processes, as their beginning is not in the file: trace the calls of %process, too",
        );
        note(
            self.unnamed,
            "connections have no name of their own at the end that connected, so that their other \
             ends may not be found: run strace with -yy",
        );
        note(
            self.coarse,
            "lines have times of whole seconds or milliseconds, so that only the order within \
             their file is known, and delays are not: run strace with -ttt",
        );
        if self.unnamed + self.coarse + self.unknown_sockets + self.found_threads > 0 {
            notes.push("all of it is told by".to_owned());
            notes.extend(command_lines());
        }
        let io_uring = "uses of io_uring: what moves by it is not seen";
        if self.io_uring > 0 {
            notes.push(format!("{} {io_uring}", self.io_uring));
        }
        ImportSummary {
            read: self.lines,
            made: self.transfers + self.datagrams,
            skipped: self.skipped,
            replaced: self.replaced,
            notes,
            ..ImportSummary::default()
        }
    }
}

/// The beginning of a line, for people.
pub(super) fn shorten_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text.get(..4 * LINE_SHOWN).unwrap_or(text));
    let mut shown: String = text.chars().take(LINE_SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().count() > LINE_SHOWN {
        shown.push_str("...");
    }
    shown
}

/// A file is something else than strace's output.
pub(super) fn not_strace_error(file: &Path, number: u64, text: &str) -> Error {
    let why = format!("no output of strace: '{text}'; make it with");
    Error::malformed_at(file, FilePosition::Line(number), why).with_lines(command_lines())
}

/// There is nothing in a file.
pub(super) fn empty_file_error(file: &Path) -> Error {
    Error::malformed_at(file, FilePosition::File, "no call is in it; make it with")
        .with_lines(command_lines())
}

/// There is no process in the files that did anything with a socket.
pub(super) fn no_sockets_error(files: &[PathBuf], summary: ImportSummary) -> Error {
    nothing_imported(files, "there is no call on a socket", &summary)
}

/// The times of a file do not tell the date.
pub(super) fn time_error(file: &Path, number: u64, problem: LineProblem) -> Option<Error> {
    let what = match problem {
        LineProblem::NoTime => "the lines have no times",
        LineProblem::TimeOfDay => "the times are without date (-t or -tt)",
        LineProblem::Relative => "the times are those since the line before (-r)",
        LineProblem::NotUnderstood => return None,
    };
    let why = format!("{what}; whole times come with -ttt, as in");
    Some(Error::malformed_at(file, FilePosition::Line(number), why).with_lines(command_lines()))
}
