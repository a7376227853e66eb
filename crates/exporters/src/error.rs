//! The errors of exporters.

use std::io;
use std::path::{Path, PathBuf};

/// The errors of exporters.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The output could not be written.
    #[error(transparent)]
    Output(#[from] io::Error),
    /// A table could not be read or written.
    #[error(transparent)]
    Table(#[from] message_trace::PathError),
    /// The data directory has no pattern with this number.
    #[error("{}: there is no pattern {pattern}; patterns are numbered 0 to {last}", data.display())]
    NoPattern {
        /// The data directory.
        data: PathBuf,
        /// The requested number of a pattern.
        pattern: i64,
        /// The largest existing number.
        last: u64,
    },
    /// The data directory has no patterns.
    #[error("{}: there are no patterns, as no messages were seen", .0.display())]
    NoPatterns(PathBuf),
    /// The data directory has no events.
    #[error(
        "{}: there are no events; record with --resources, or import some: sockcap import perf", .0.display()
    )]
    NoEvents(PathBuf),
    /// The operations of the messages were not recorded.
    #[error("{}: the operations of messages are not known; record with --protocols", .0.display())]
    NoOperations(PathBuf),
    /// A collector did not accept the spans.
    #[error(transparent)]
    Send(#[from] SendError),
    /// A collector accepted the requests but rejected some of the spans.
    #[error("{url}: of the spans sent, {spans} were rejected{reason}; the others were accepted")]
    Rejected {
        /// The address of the collector.
        url: String,
        /// The number of rejected spans.
        spans: i64,
        /// The text of the response after a colon; empty if there was none.
        reason: String,
    },
}

/// The error for a missing pattern: `data` has only `all` patterns, and none with the number
/// `pattern`.
pub(crate) fn no_pattern(data: &Path, pattern: i64, all: u64) -> Error {
    let data = data.to_owned();
    match all.checked_sub(1) {
        Some(last) => Error::NoPattern { data, pattern, last },
        None => Error::NoPatterns(data),
    }
}

/// The reason why a collector did not accept spans.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The address is not a collector address.
    #[error("{0}: not a collector address; give one such as http://localhost:4318")]
    Address(String),
    /// A header is not of the form `KEY=VALUE`.
    #[error("'{0}' is not a header; give one such as 'authorization=Bearer TOKEN'")]
    Header(String),
    /// No attempt was answered, or the collector stayed busy.
    #[error(
        "{url}: {why}, after {tries} tries; is a collector listening there for OTLP over HTTP (port 4318, not 4317 of gRPC)?"
    )]
    Unreachable {
        /// The address that the request was sent to.
        url: String,
        /// The cause of the last failure.
        why: String,
        /// The number of attempts.
        tries: u32,
    },
    /// The collector refused the request permanently.
    #[error("{url}: the collector answered {status}{reason}; {hint}")]
    Refused {
        /// The address that the request was sent to.
        url: String,
        /// The status of the response.
        status: u16,
        /// The text of the response after a colon; empty if there was none.
        reason: String,
        /// A hint about what the user can do.
        hint: &'static str,
    },
}
