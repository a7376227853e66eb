//! Why an export ended early.

use std::io;

/// Why an export ended early.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The output cannot be written.
    #[error(transparent)]
    Output(#[from] io::Error),
    /// A collector did not take the spans.
    #[error(transparent)]
    Send(#[from] SendError),
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
