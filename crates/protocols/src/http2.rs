//! HTTP/2 (RFC 9113): requests by method and route, responses by status code, calls by streams.

mod frames;
mod grpc_words;
mod hpack;
mod streams;

use registry::About;

use crate::opening::Guess;
use crate::parser::Parser;
use crate::piece::Class;
use crate::protocol::Protocol;
use crate::streams::Streams;

/// The entry of HTTP/2.
pub(crate) static HTTP2: Protocol = Protocol {
    about: About {
        name: "http2",
        summary: "HTTP/2: method and route, status code, by streams",
        ..About::NOTHING
    },
    class: Class::Http2,
    recognised: "The client's preface, or an upgrade of HTTP/1 that the server agrees to.",
    recognise: |_| Guess::No,
    open,
    #[cfg(test)]
    samples: tests::samples,
};

/// A parser of HTTP/2, gRPC within it.
pub(crate) fn open() -> Box<dyn Parser> {
    Box::new(Streams::new(frames::Http2::default()))
}

#[cfg(test)]
pub(crate) use tests::{Fields, data_end, headers, settings, talk};

#[cfg(test)]
#[path = "http2_tests.rs"]
mod tests;
