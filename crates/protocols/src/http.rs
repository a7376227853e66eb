//! HTTP/1 (RFC 9112): requests by method and route, responses by status code.

use registry::{EntryHelp, Spec};

use crate::flow_snippet::SnippetRule;
use crate::http2;
use crate::names;
use crate::opening::OpeningVerdict;
use crate::operation::{MessageRole, OperationSink, ProtocolOperation};
use crate::parser::{FlowContinuation, ProtocolParser};
use crate::protocol::{ProtocolEntry, ProtocolSpec};
use crate::streams::{MessageParser, MessageStreams, ParseStep, UnparsedBytes};
use crate::trace_context;
use crate::tuning::HTTP1_HEAD_BYTES;
use crate::websocket;

/// Registry entry of HTTP/1.
pub(crate) static HTTP: ProtocolSpec = Spec {
    about: EntryHelp {
        name: "http",
        summary: "HTTP/1.0 and 1.1: method and route, status code",
        ..EntryHelp::NOTHING
    },
    flags: registry::no_flags,
    entry: ProtocolEntry {
        class: SnippetRule::Http1,
        recognised: "A first line with a known method and HTTP/1, or with HTTP/1 and a status code.",
        recognise: |_| OpeningVerdict::No,
        open: open_parser,
        #[cfg(test)]
        samples: tests::sample_conversations,
    },
};

const NAME: &str = "http";

/// Creates an HTTP/1 parser.
pub(crate) fn open_parser() -> Box<dyn ProtocolParser> {
    Box::new(MessageStreams::new(Http::default()))
}

/// Methods of RFC 9110, RFC 5789 and WebDAV. A first line with another method is not recognised as
/// HTTP.
const METHODS: &[&str] = &[
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "DELETE",
    "CONNECT",
    "OPTIONS",
    "TRACE",
    "PATCH",
    "QUERY",
    "PROPFIND",
    "PROPPATCH",
    "MKCOL",
    "COPY",
    "MOVE",
    "LOCK",
    "UNLOCK",
    "REPORT",
    "SEARCH",
    "ACL",
    "BIND",
    "MKCALENDAR",
    "PURGE",
    "LINK",
    "UNLINK",
];

/// Whether a method is one of the known ones.
pub(crate) fn is_method(method: &str) -> bool {
    METHODS.contains(&method)
}

/// Upgrade that the latest request asked for: its response can change the flow's protocol.
#[derive(Debug, Default, PartialEq, Eq)]
enum UpgradeRequest {
    #[default]
    Plain,
    WebSocket,
    Http2,
    Tunnel,
}

#[derive(Debug, Default)]
struct Http {
    upgrade: UpgradeRequest,
}

impl MessageParser for Http {
    const NAME: &'static str = NAME;
    const MAX_EXAMINED_BYTES: usize = HTTP1_HEAD_BYTES;
    const SNIPPETS_BEGIN_MESSAGES: bool = true;

    fn parse_message(
        &mut self,
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) -> ParseStep {
        let blank = unparsed.bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        if blank > 0 {
            return ParseStep::Skip(blank as u64);
        }
        let end = header_end(unparsed.bytes);
        if end.is_none() && !unparsed.ended {
            return ParseStep::More;
        }
        let length = end.unwrap_or(unparsed.bytes.len());
        let head = unparsed.bytes.get(..length).unwrap_or_default();
        let next = if head.starts_with(b"HTTP/1.") {
            self.parse_response(head, unparsed, out)
        } else {
            self.parse_request(head, end.is_some(), unparsed, out);
            Some(FlowContinuation::Same)
        };
        match next {
            Some(FlowContinuation::Same) => ParseStep::Skip(length as u64),
            Some(next) => ParseStep::Leave(next),
            None => ParseStep::Lost,
        }
    }
}

impl Http {
    fn parse_request(
        &mut self,
        head: &[u8],
        whole: bool,
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) {
        let mut headers = [httparse::EMPTY_HEADER; 32];
        let mut request = httparse::Request::new(&mut headers);
        // The fields have what could be parsed of an incomplete or malformed head.
        let _ = request.parse(head);
        let Some(method) = request.method.filter(|method| is_method(method)) else {
            // The message is certainly a request, whatever it asks for.
            if whole && request.version.is_some() {
                self.upgrade = UpgradeRequest::Plain;
                out.push(ProtocolOperation::new(
                    unparsed.position_at(0),
                    MessageRole::Request,
                    NAME,
                ));
            }
            return;
        };
        let path = request.path.filter(|_| request.version.is_some());
        if path.is_none() && (whole || !method.starts_with(|of: char| of.is_ascii_uppercase())) {
            return;
        }
        let mut trace = trace_context::TraceHeaders::default();
        self.upgrade =
            if method == "CONNECT" { UpgradeRequest::Tunnel } else { UpgradeRequest::Plain };
        for header in request.headers.iter().filter(|header| !header.name.is_empty()) {
            trace.take_header(header.name.as_bytes(), header.value);
            if header.name.eq_ignore_ascii_case("upgrade") {
                self.upgrade = match header.value.trim_ascii() {
                    value if value.eq_ignore_ascii_case(b"websocket") => UpgradeRequest::WebSocket,
                    value if value.eq_ignore_ascii_case(b"h2c") => UpgradeRequest::Http2,
                    _ => UpgradeRequest::Plain,
                };
            }
        }
        let mut operation = ProtocolOperation::new(
            unparsed.position_at(0),
            MessageRole::Request,
            self.protocol_name(),
        );
        operation.trace = trace.find_context();
        // The request that asks for HTTP/2 is stream 1 (RFC 7540, 3.2).
        operation.call = (self.upgrade == UpgradeRequest::Http2).then_some(1);
        out.push(operation.with_name(names::request_route(method, path)));
    }

    /// Parses a response and returns how the flow continues after it; `None` if it is not a
    /// response.
    fn parse_response(
        &mut self,
        head: &[u8],
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) -> Option<FlowContinuation> {
        let mut headers = [httparse::EMPTY_HEADER; 32];
        let mut response = httparse::Response::new(&mut headers);
        let _ = response.parse(head);
        let code = response.code?;
        let next = match (code, &self.upgrade) {
            (101, UpgradeRequest::WebSocket) => {
                FlowContinuation::Become(websocket::open_parser(), SnippetRule::Other)
            }
            // The response itself follows in HTTP/2.
            (101, UpgradeRequest::Http2) => {
                return Some(FlowContinuation::Become(http2::open_parser(), SnippetRule::Http2));
            }
            (200..=299, UpgradeRequest::Tunnel) => FlowContinuation::Unknown,
            // The final response is still to come.
            (100..=199, _) => return Some(FlowContinuation::Same),
            _ => FlowContinuation::Same,
        };
        let mut operation = ProtocolOperation::new(
            unparsed.position_at(0),
            MessageRole::Response,
            self.protocol_name(),
        );
        operation.call = (self.upgrade == UpgradeRequest::Http2).then_some(1);
        out.push(operation.with_status(code.to_string(), code >= 500));
        self.upgrade = UpgradeRequest::Plain;
        Some(next)
    }

    fn protocol_name(&self) -> &'static str {
        if self.upgrade == UpgradeRequest::WebSocket { "websocket" } else { NAME }
    }
}

/// Length of a head, including the empty line after it; `None` if the head is incomplete.
fn header_end(bytes: &[u8]) -> Option<usize> {
    let mut line = 0;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'\n' if line == 0 && at > 0 => return Some(at + 1),
            b'\n' => line = 0,
            b'\r' => {}
            _ => line += 1,
        }
    }
    None
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
