//! Why an export ended early.

use std::io;
use std::path::{Path, PathBuf};

/// Why an export ended early.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The output cannot be written.
    #[error(transparent)]
    Output(#[from] io::Error),
    /// A table cannot be read, or not be written to the output.
    #[error(transparent)]
    Table(#[from] message_trace::Error),
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
    /// A collector did not take the spans.
    #[error(transparent)]
    Send(#[from] SendError),
    /// A collector took the requests, but did not want all of their spans.
    #[error("{url}: of the spans sent, {spans} were rejected{said}; the others are there")]
    Rejected {
        /// The address of the collector.
        url: String,
        /// The number of spans.
        spans: i64,
        /// What the collector said, with a colon before it; empty if it said nothing.
        said: String,
    },
}

/// The error that `data` has no pattern of the number `pattern`, of `all` patterns.
pub(crate) fn no_pattern(data: &Path, pattern: i64, all: u64) -> Error {
    let data = data.to_owned();
    match all.checked_sub(1) {
        Some(last) => Error::NoPattern { data, pattern, last },
        None => Error::NoPatterns(data),
    }
}

/// Why a collector did not take spans.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The address is none of a collector.
    #[error("{0}: this is no address of a collector; give one such as http://localhost:4318")]
    Address(String),
    /// A header is none.
    #[error("'{0}' is no header; give one such as 'authorization=Bearer TOKEN'")]
    Header(String),
    /// Nobody took the request.
    #[error(
        "{url}: {why}, after {tries} tries; is a collector listening there for OTLP over HTTP (port 4318, not 4317 of gRPC)?"
    )]
    Unreachable {
        /// Where it was sent.
        url: String,
        /// What went wrong last.
        why: String,
        /// How often it was tried.
        tries: u32,
    },
    /// It was refused for good.
    #[error("{url}: the collector answered {status}{said}; {hint}")]
    Refused {
        /// Where it was sent.
        url: String,
        /// The status.
        status: u16,
        /// What it said, after a colon.
        said: String,
        /// What to do.
        hint: &'static str,
    },
}
