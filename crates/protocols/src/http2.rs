//! HTTP/2 (RFC 9113): requests by method and route, responses by status code, paired by stream.

mod frames;
mod grpc_words;
mod hpack;
mod streams;

use registry::EntryHelp;

use crate::flow_snippet::SnippetRule;
use crate::opening::OpeningVerdict;
use crate::parser::ProtocolParser;
use crate::protocol::ProtocolSpec;
use crate::streams::MessageStreams;

/// Registry entry of HTTP/2.
pub(crate) static HTTP2: ProtocolSpec = ProtocolSpec {
    about: EntryHelp {
        name: "http2",
        summary: "HTTP/2: method and route, status code, by streams",
        ..EntryHelp::NOTHING
    },
    class: SnippetRule::Http2,
    recognised: "The client's preface, or an upgrade of HTTP/1 that the server agrees to.",
    recognise: |_| OpeningVerdict::No,
    open: open_parser,
    #[cfg(test)]
    samples: tests::sample_conversations,
};

/// Creates an HTTP/2 parser, which also covers gRPC.
pub(crate) fn open_parser() -> Box<dyn ProtocolParser> {
    Box::new(MessageStreams::new(frames::Http2::default()))
}

#[cfg(test)]
pub(crate) use tests::{FieldList, data_end, headers_frame, http2_conversation, settings_frame};

#[cfg(test)]
#[path = "http2_tests.rs"]
mod tests;
