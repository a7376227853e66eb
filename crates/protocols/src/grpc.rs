//! gRPC over HTTP/2: requests by service and method, responses by the status in their trailers.
//! `http2/streams.rs` derives it from HTTP/2.

use registry::{EntryHelp, Spec};

use crate::flow_snippet::SnippetRule;
use crate::http2;
use crate::opening::OpeningVerdict;
use crate::protocol::{ProtocolEntry, ProtocolSpec};

/// Registry entry of gRPC.
pub(crate) static GRPC: ProtocolSpec = Spec {
    about: EntryHelp {
        name: "grpc",
        summary: "gRPC over HTTP/2: service and method, status of the trailers, by streams",
        ..EntryHelp::NOTHING
    },
    flags: registry::no_flags,
    entry: ProtocolEntry {
        class: SnippetRule::Http2,
        recognised: "The content type application/grpc of a request of HTTP/2.",
        recognise: |_| OpeningVerdict::No,
        open: http2::open_parser,
        #[cfg(test)]
        samples: tests::sample_conversations,
    },
};

#[cfg(test)]
mod tests {
    use crate::http2::{FieldList, data_end, headers_frame, http2_conversation, settings_frame};
    use crate::test_conversation::TestConversation;

    const CALL: FieldList = &[
        (":method", "POST"),
        (":path", "/shop.Cart/GetCart"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ];
    const BEGIN: FieldList = &[(":status", "200"), ("content-type", "application/grpc")];

    fn make_call(stream: u32) -> Vec<u8> {
        [headers_frame(stream, CALL, false), data_end(stream)].concat()
    }

    pub(crate) fn sample_conversations() -> Vec<TestConversation> {
        vec![
            http2_conversation()
                .client_says([settings_frame(), make_call(1), make_call(3), make_call(5)].concat())
                .server_says(
                    [
                        settings_frame(),
                        headers_frame(3, BEGIN, false),
                        headers_frame(1, BEGIN, false),
                    ]
                    .concat(),
                )
                .server_says(headers_frame(5, &[(":status", "200"), ("grpc-status", "14")], true))
                .server_says(headers_frame(1, &[("grpc-status", "0")], true))
                .server_says(headers_frame(
                    3,
                    &[("grpc-status", "5"), ("grpc-message", "alice")],
                    true,
                )),
        ]
    }

    #[test]
    fn responses_begin_at_their_first_frame_and_end_with_the_trailers_status() {
        let call = "> shop.Cart/GetCart";
        let expected = [
            format!("{call} #1"),
            format!("{call} #3"),
            format!("{call} #5"),
            "< NOT_FOUND #3".to_owned(),
            "< OK #1".to_owned(),
            "< UNAVAILABLE! #5".to_owned(),
        ];
        assert_eq!(sample_conversations()[0].operation_lines(), expected);
    }

    #[test]
    fn a_response_without_trailers_is_emitted_at_its_end() {
        let open = http2_conversation()
            .client_says(make_call(1))
            .server_says(headers_frame(1, BEGIN, false));
        assert_eq!(open.operation_lines()[1..], ["< #1"]);
        assert_eq!(
            open.client_says(b"\0\0\x04\x03\0\0\0\0\x01\0\0\0\x08").operation_lines()[1..],
            ["< #1", "> = RST_STREAM CANCEL #1"]
        );
    }

    #[test]
    fn a_proxys_response_has_the_status_that_a_client_derives() {
        let html: FieldList = &[(":status", "503"), ("content-type", "text/html")];
        let talk = http2_conversation()
            .client_says(make_call(1))
            .server_says(headers_frame(1, html, false));
        assert_eq!(talk.operation_lines()[1..], ["< UNAVAILABLE! #1"]);
    }
}
