//! The errors of exporters.

use std::io;
use std::path::{Path, PathBuf};

/// The errors of exporters.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The output cannot be written.
    #[error(transparent)]
    Output(#[from] io::Error),
    /// A table cannot be read, or not be written to the output.
    #[error(transparent)]
    Table(#[from] message_trace::PathError),
    /// There is no pattern of this number.
    #[error("{}: there is no pattern {pattern}; they are 0 to {last}", data.display())]
    NoPattern {
        /// The data directory.
        data: PathBuf,
        /// The number that was asked for.
        pattern: i64,
        /// The largest number that there is.
        last: u64,
    },
    /// There is no pattern at all.
    #[error("{}: there is no pattern, as no message was seen", .0.display())]
    NoPatterns(PathBuf),
    /// There are no events.
    #[error(
        "{}: there are no events; record with --resources, or import some: sockcap import perf", .0.display()
    )]
    NoEvents(PathBuf),
    /// It is not known what messages do.
    #[error("{}: it is not known what messages do; record with --protocols", .0.display())]
    NoOperations(PathBuf),
    /// A collector did not take the spans.
    #[error(transparent)]
    Send(#[from] SendError),
    /// A collector took the requests, but did not want all of their spans.
    #[error("{url}: of the spans sent, {spans} were rejected{said}; the others are there")]
    Rejected {
        /// The address of the collector.
        url: String,
        /// The number of spans that were not wanted.
        spans: i64,
        /// The text of the answer with a colon before it; empty if there was none.
        said: String,
    },
}

/// The error for a pattern that is not there: `data` has no pattern of the number `pattern`, as
/// there are only `all` patterns.
pub(crate) fn no_pattern(data: &Path, pattern: i64, all: u64) -> Error {
    let data = data.to_owned();
    match all.checked_sub(1) {
        Some(last) => Error::NoPattern { data, pattern, last },
        None => Error::NoPatterns(data),
    }
}

/// The reason why a collector did not take spans.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The address is not that of a collector.
    #[error("{0}: this is no address of a collector; give one such as http://localhost:4318")]
    Address(String),
    /// A header is not of the form `KEY=VALUE`.
    #[error("'{0}' is no header; give one such as 'authorization=Bearer TOKEN'")]
    Header(String),
    /// No try was answered, or the collector stayed busy.
    #[error(
        "{url}: {why}, after {tries} tries; is a collector listening there for OTLP over HTTP (port 4318, not 4317 of gRPC)?"
    )]
    Unreachable {
        /// The address that the request was sent to.
        url: String,
        /// The cause of the last failure.
        why: String,
        /// The number of tries.
        tries: u32,
    },
    /// The collector refused the request for good.
    #[error("{url}: the collector answered {status}{said}; {hint}")]
    Refused {
        /// The address that the request was sent to.
        url: String,
        /// The status of the answer.
        status: u16,
        /// The text of the answer with a colon before it; empty if there was none.
        said: String,
        /// A hint what the user can do.
        hint: &'static str,
    },
}
