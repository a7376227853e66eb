//! Outcome of an import of strace's output in the user's words, including unusable parts; and how
//! to run strace.

use std::path::{Path, PathBuf};

use super::line::LineProblem;
use crate::error::Error;
use crate::summary::{FilePlace, FilePosition, ImportSummary, SkipCounts, SkippedItem};
use crate::tuning::LINE_SHOWN;
use crate::unfinished::nothing_imported;

/// Options with which strace prints all that an import needs, without the choice of calls.
const OPTIONS: [&str; 6] = ["-f", "-ttt", "-T", "-yy", "-s", "65535"];

/// Calls that an import needs, in two parts that fit on one line each.
const CALLS: [&str; 2] = [
    "%network,%process,read,readv,write,writev,sendfile,splice,close",
    "close_range,dup,dup2,dup3,fcntl,ioctl",
];

/// All options for strace, before `-o`, the file and the command.
pub fn strace_options() -> Vec<String> {
    let calls = format!("trace={}", CALLS.join(","));
    OPTIONS.iter().map(|option| (*option).to_owned()).chain(["-e".to_owned(), calls]).collect()
}

/// Command line that traces `command` into `file`: lines that fit a terminal and can be pasted into
/// a shell, each except the first indented by two blanks.
pub fn how_to_run(file: &str, command: &str) -> String {
    let [first, second] = CALLS;
    let options = OPTIONS.join(" ");
    format!(
        "CALLS={first}\n  CALLS=$CALLS,{second}\n  strace {options} -e trace=$CALLS -o {file} {command}"
    )
}

/// Lines of the command.
fn command_lines() -> Vec<String> {
    how_to_run("FILE", "CMD").lines().map(|line| line.trim().to_owned()).collect()
}

/// Counts of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StraceOutcome {
    /// Number of lines read.
    pub(super) lines: u64,
    /// Number of sockets in the logs; a socket in several logs counts in each.
    pub(super) sockets: u64,
    /// Number of calls that transferred bytes of a stream.
    pub(super) transfers: u64,
    /// Number of datagrams that were sent, received or peeked at.
    pub(super) datagrams: u64,
    /// Number of datagrams without a checksum, as their payload is not complete in the file.
    pub(super) without_checksum: u64,
    /// Number of messages of batch calls that are not in the file.
    pub(super) cut_off: u64,
    /// Number of calls on sockets of an unknown kind.
    pub(super) unknown_sockets: u64,
    /// Number of receives without a known time of return.
    pub(super) without_end: u64,
    /// Number of threads with their creation not in the file, although other creations are; each is
    /// treated as a process.
    pub(super) found_threads: u64,
    /// Number of calls that set up `io_uring`, which transfers bytes without calls.
    pub(super) io_uring: u64,
    /// Number of connections with an unknown own name at the connecting end.
    pub(super) unnamed: u64,
    /// Number of lines with times of a resolution coarser than microseconds.
    pub(super) coarse: u64,
    /// Lines that were not understood.
    pub(super) skipped: SkipCounts,
    /// Whether a log of the same name existed before.
    pub(super) replaced: bool,
}

impl StraceOutcome {
    /// Counts a line that was not understood.
    pub(super) fn add_unparsed(&mut self, file: &Path, number: u64, text: &[u8]) {
        let place = FilePlace::new(file, FilePosition::Line(number));
        self.skipped.add("line not understood", || SkippedItem { place, why: shorten_line(text) });
    }

    /// Summary for the user, without the facts on the files that the caller has.
    pub(super) fn into_summary(self) -> ImportSummary {
        let mut notes = Vec::new();
        let mut note = |count: u64, what: &str| {
            if count > 0 {
                notes.push(format!("{count} {what}"));
            }
        };
        note(
            self.without_checksum,
            "datagrams are incomplete in the file and have no checksum: run strace with -s 65535",
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
            "threads are treated as processes, as their beginning is not in the file: trace the \
             calls of %process, too",
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
            notes.push("this command records all of it:".to_owned());
            notes.extend(command_lines());
        }
        let io_uring = "uses of io_uring, which hides its transfers";
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

/// Beginning of a line, for display.
pub(super) fn shorten_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text.get(..4 * LINE_SHOWN).unwrap_or(text));
    let mut shown: String = text.chars().take(LINE_SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().count() > LINE_SHOWN {
        shown.push_str("...");
    }
    shown
}

/// Error for a file that is not strace's output.
pub(super) fn not_strace_error(file: &Path, number: u64, text: &str) -> Error {
    let why = format!("this is not strace's output: '{text}'; make it with");
    Error::malformed_at(file, FilePosition::Line(number), why).with_lines(command_lines())
}

/// Error for an empty file.
pub(super) fn empty_file_error(file: &Path) -> Error {
    Error::malformed_at(file, FilePosition::File, "it contains no call; make it with")
        .with_lines(command_lines())
}

/// Error for files without a process that used a socket.
pub(super) fn no_sockets_error(files: &[PathBuf], summary: ImportSummary) -> Error {
    nothing_imported(files, "there is no call on a socket", &summary)
}

/// Error for a file with times that do not include the date.
pub(super) fn time_error(file: &Path, number: u64, problem: LineProblem) -> Option<Error> {
    let what = match problem {
        LineProblem::NoTime => "the lines have no times",
        LineProblem::TimeOfDay => "the times are without date (-t or -tt)",
        LineProblem::Relative => "the times are relative to the previous line (-r)",
        LineProblem::NotUnderstood => return None,
    };
    let why = format!("{what}; -ttt prints absolute times, as in");
    Some(Error::malformed_at(file, FilePosition::Line(number), why).with_lines(command_lines()))
}
