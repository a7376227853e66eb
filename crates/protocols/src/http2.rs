//! HTTP/2 (RFC 9113): requests by method and route, responses by status code, paired by stream.

mod frames;
mod grpc_words;
mod hpack;
mod streams;

pub use grpc_words::GRPC_STATUSES;

use registry::{EntryHelp, Spec};

use crate::flow_snippet::SnippetRule;
use crate::opening::OpeningVerdict;
use crate::parser::ProtocolParser;
use crate::protocol::{ProtocolEntry, ProtocolSpec};
use crate::streams::MessageStreams;

/// Registry entry of HTTP/2.
pub(crate) static HTTP2: ProtocolSpec = Spec {
    about: EntryHelp {
        name: "http2",
        summary: "HTTP/2: method and route, status code, by streams",
        ..EntryHelp::NOTHING
    },
    flags: registry::no_flags,
    entry: ProtocolEntry {
        class: SnippetRule::Http2,
        recognised: "The client's preface, or an upgrade of HTTP/1 that the server agrees to.",
        recognise: |_| OpeningVerdict::No,
        open: open_parser,
        #[cfg(test)]
        samples: tests::sample_conversations,
    },
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
