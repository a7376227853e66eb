//! What an import of strace's output found and could not use, in the words of the user; and how
//! strace is to be run.

use std::path::Path;

use crate::error::Error;
use crate::summary::{At, Place, Skip, Skipped, Summary};

use super::line::Problem;

/// The options by which strace says all that an import needs, but for the calls.
const OPTIONS: [&str; 6] = ["-f", "-ttt", "-T", "-yy", "-s", "65535"];

/// The calls that an import needs, in two parts that fit a line each.
const CALLS: [&str; 2] = [
    "%network,%process,read,readv,write,writev,sendfile,splice,close",
    "close_range,dup,dup2,dup3,fcntl,ioctl",
];

/// All options for strace, in front of `-o`, the file and the command.
pub fn options() -> Vec<String> {
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

/// As much of a line that is not understood is shown, in characters.
const SHOWN: usize = 100;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Imported {
    /// Lines read.
    pub(super) lines: u64,
    /// Logs written, one for each process and program.
    pub(super) logs: u64,
    /// Calls that moved bytes of a stream.
    pub(super) transfers: u64,
    /// Datagrams sent, received or looked at.
    pub(super) datagrams: u64,
    /// Datagrams whose payload is not whole in the file, so that they have no checksum.
    pub(super) without_checksum: u64,
    /// Messages that a call moved in a batch and that are not in the file.
    pub(super) cut_off: u64,
    /// Calls on sockets of which the file does not tell what they are.
    pub(super) unknown_sockets: u64,
    /// Receives of which is not known when they returned.
    pub(super) without_end: u64,
    /// Threads whose beginning is not in the file, though others are; each is taken for a process.
    pub(super) found_threads: u64,
    /// Calls that set up `io_uring`, which moves bytes without calls.
    pub(super) io_uring: u64,
    /// Lines that were not understood.
    pub(super) skipped: Skipped,
    /// Whether there was a log of the same name before.
    pub(super) replaced: bool,
}

impl Imported {
    /// A line was not understood.
    pub(super) fn did_not_understand(&mut self, file: &Path, number: u64, text: &[u8]) {
        let place = Place::new(file, At::Line(number));
        self.skipped.add("line not understood", || Skip { place, why: beginning(text) });
    }

    /// For the user, all but what the caller knows of the files.
    pub(super) fn summary(self) -> Summary {
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
        note(self.io_uring, "uses of io_uring: what moves by it is not seen");
        Summary {
            read: self.lines,
            made: self.transfers + self.datagrams,
            skipped: self.skipped,
            replaced: self.replaced,
            notes,
            ..Summary::default()
        }
    }
}

/// The beginning of a line, for people.
pub(super) fn beginning(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text.get(..4 * SHOWN).unwrap_or(text));
    let mut shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().count() > SHOWN {
        shown.push_str("...");
    }
    shown
}

/// A file is something else than strace's output.
pub(super) fn not_strace(file: &Path, number: u64, text: &str) -> Error {
    Error::malformed(
        file,
        At::Line(number),
        format!("no output of strace: '{text}'; make it with\n  {}", how_to_run("FILE", "CMD")),
    )
}

/// There is nothing in a file.
pub(super) fn empty(file: &Path) -> Error {
    let why = format!("no call is in it; make it with\n  {}", how_to_run("FILE", "CMD"));
    Error::malformed(file, At::File, why)
}

/// The times of a file do not tell the date.
pub(super) fn times(file: &Path, number: u64, problem: Problem) -> Option<Error> {
    let what = match problem {
        Problem::NoTime => "the lines have no times",
        Problem::TimeOfDay => "the times are without date (-t or -tt)",
        Problem::Relative => "the times are those since the line before (-r)",
        Problem::NotUnderstood => return None,
    };
    let why = format!("{what}; whole times come with -ttt, as in\n  {}", how_to_run("FILE", "CMD"));
    Some(Error::malformed(file, At::Line(number), why))
}
