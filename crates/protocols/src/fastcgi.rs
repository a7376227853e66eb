//! FastCGI: requests by method and route from their parameters, responses by CGI status, paired by
//! the request's id.

use registry::{EntryHelp, Spec};

use crate::bounded_map::BoundedMap;
use crate::cursor::ByteCursor;
use crate::flow_snippet::{FlowSpeaker, LogPosition, SnippetRule};
use crate::http;
use crate::names;
use crate::opening::{FlowOpening, yes_if};
use crate::operation::{MessageRole, OperationSink, ProtocolOperation};
use crate::parser::ProtocolParser;
use crate::protocol::{ProtocolEntry, ProtocolSpec};
use crate::streams::{MessageParser, MessageStreams, ParseStep, UnparsedBytes};
use crate::trace_context;
use crate::tuning::OTHER_MESSAGE_BYTES;

/// Registry entry of FastCGI.
pub(crate) static FASTCGI: ProtocolSpec = Spec {
    about: EntryHelp {
        name: "fastcgi",
        summary: "FastCGI: method and route, CGI status, by request ids",
        ..EntryHelp::NOTHING
    },
    flags: registry::no_flags,
    entry: ProtocolEntry {
        class: SnippetRule::Other,
        recognised: "A record that begins a request, with a known role.",
        recognise: |opening: &FlowOpening| yes_if(is_begin(opening.client_bytes())),
        open: open_parser,
        #[cfg(test)]
        samples: tests::sample_conversations,
    },
};

fn open_parser() -> Box<dyn ProtocolParser> {
    let requests = BoundedMap::new(MAX_REQUESTS);
    Box::new(MessageStreams::new(FastCgi { requests, answered: BoundedMap::new(MAX_REQUESTS) }))
}

const NAME: &str = "fastcgi";

/// Maximum number of concurrent requests of a connection that are remembered. Servers use one.
const MAX_REQUESTS: usize = 8;

const BEGIN_REQUEST: u8 = 1;
const ABORT_REQUEST: u8 = 2;
const END_REQUEST: u8 = 3;
const PARAMS: u8 = 4;
const STDIN: u8 = 5;
const STDOUT: u8 = 6;

/// Whether the bytes are the record that begins a request.
fn is_begin(client: &[u8]) -> bool {
    matches!(client, [1, BEGIN_REQUEST, high, low, 0, 8, _, _, 0, 1..=3, 0 | 1, 0, 0, 0, 0, 0, ..]
        if *high != 0 || *low != 0)
}

#[derive(Debug)]
struct FastCgi {
    /// Requests that have not been emitted yet.
    requests: BoundedMap<u16, FastCgiRequest>,
    /// Requests with an emitted response.
    answered: BoundedMap<u16, ()>,
}

#[derive(Debug)]
struct FastCgiRequest {
    place: LogPosition,
    params: Vec<u8>,
}

impl MessageParser for FastCgi {
    const NAME: &'static str = NAME;
    const MAX_EXAMINED_BYTES: usize = OTHER_MESSAGE_BYTES;

    fn parse_message(
        &mut self,
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) -> ParseStep {
        let mut cursor = ByteCursor(unparsed.bytes);
        let head = (cursor.u8(), cursor.u8(), cursor.be_u16(), cursor.be_u16());
        let (Some(version), Some(kind), Some(id), Some(length)) = head else {
            return unparsed.wait_or_give_up();
        };
        let (Some(padding), Some(_)) = (cursor.u8(), cursor.u8()) else {
            return unparsed.wait_or_give_up();
        };
        if version != 1 || !(1..=11).contains(&kind) {
            return ParseStep::Lost;
        }
        let available = cursor.0.len().min(usize::from(length));
        let whole = available == usize::from(length);
        if matches!(kind, BEGIN_REQUEST | PARAMS | STDOUT | END_REQUEST)
            && !whole
            && !unparsed.ended
        {
            return ParseStep::More;
        }
        let body = cursor.0.get(..available).unwrap_or_default();
        match unparsed.speaker {
            FlowSpeaker::Client => self.parse_request(kind, id, body, whole, unparsed, out),
            FlowSpeaker::Server => self.parse_response(kind, id, body, unparsed, out),
        }
        ParseStep::Skip(8 + u64::from(length) + u64::from(padding))
    }

    /// The server responds, so the parameters of the client's requests are complete.
    fn on_turn(&mut self, speaker: FlowSpeaker, out: &mut OperationSink<'_>) {
        if speaker == FlowSpeaker::Server {
            self.emit_all_requests(out);
        }
    }

    fn lose_track(&mut self, speaker: FlowSpeaker, out: &mut OperationSink<'_>) {
        self.on_gap(speaker, out);
    }

    fn on_gap(&mut self, speaker: FlowSpeaker, out: &mut OperationSink<'_>) {
        if speaker == FlowSpeaker::Client {
            self.emit_all_requests(out);
            // The beginning of another request may be missing.
            self.answered.drain_entries().for_each(drop);
        }
    }

    fn finish_messages(&mut self, out: &mut OperationSink<'_>) {
        self.emit_all_requests(out);
    }
}

impl FastCgi {
    fn parse_request(
        &mut self,
        kind: u8,
        id: u16,
        body: &[u8],
        whole: bool,
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) {
        match kind {
            BEGIN_REQUEST => {
                self.answered.remove(&id);
                self.requests.insert(
                    id,
                    FastCgiRequest { place: unparsed.position_at(0), params: Vec::new() },
                );
            }
            PARAMS if !body.is_empty() => {
                if let Some(asked) = self.requests.get_mut(&id) {
                    let room = OTHER_MESSAGE_BYTES.saturating_sub(asked.params.len());
                    asked.params.extend(body.iter().take(room));
                }
                if !whole {
                    self.emit_request(id, false, out);
                }
            }
            PARAMS | STDIN => self.emit_request(id, true, out),
            ABORT_REQUEST => {
                let abort =
                    ProtocolOperation::new(unparsed.position_at(0), MessageRole::OneWay, NAME)
                        .with_name("ABORT");
                out.push(abort.with_call(id.into()));
            }
            _ => {}
        }
    }

    fn parse_response(
        &mut self,
        kind: u8,
        id: u16,
        body: &[u8],
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) {
        let is_answered = self.answered.get(&id).is_some();
        let response = ProtocolOperation::new(unparsed.position_at(0), MessageRole::Response, NAME)
            .with_call(id.into());
        match kind {
            STDOUT if !is_answered && !body.is_empty() => {
                self.answered.insert(id, ());
                let status = cgi_status(body).unwrap_or_default();
                let is_error = status.starts_with('5');
                out.push(response.with_status(status, is_error));
            }
            END_REQUEST if !is_answered => {
                self.answered.insert(id, ());
                let status = match body.get(4) {
                    Some(1) => "CANT_MPX_CONN",
                    Some(2) => "OVERLOADED",
                    Some(3) => "UNKNOWN_ROLE",
                    _ => "",
                };
                out.push(response.with_status(status, !status.is_empty()));
            }
            _ => {}
        }
    }

    /// Emits a request; `whole` means that its parameters are complete.
    fn emit_request(&mut self, id: u16, whole: bool, out: &mut OperationSink<'_>) {
        let Some(asked) = self.requests.remove(&id) else { return };
        let mut trace = trace_context::TraceHeaders::default();
        let (mut method, mut uri, mut script) = (None, None, None);
        for (name, value) in whole_params(&asked.params) {
            match name {
                b"REQUEST_METHOD" => method = std::str::from_utf8(value).ok(),
                b"REQUEST_URI" => uri = std::str::from_utf8(value).ok(),
                b"SCRIPT_NAME" => script = std::str::from_utf8(value).ok(),
                b"HTTP_TRACEPARENT" => trace.take_header(b"traceparent", value),
                b"HTTP_B3" => trace.take_header(b"b3", value),
                b"HTTP_X_B3_TRACEID" => trace.take_header(b"x-b3-traceid", value),
                b"HTTP_X_B3_SPANID" => trace.take_header(b"x-b3-spanid", value),
                b"HTTP_X_B3_SAMPLED" => trace.take_header(b"x-b3-sampled", value),
                _ => {}
            }
        }
        // The script name differs from the request's URI, which may still follow.
        let path = uri.or(script.filter(|_| whole));
        let method = method.filter(|method| http::is_method(method));
        let name = method.map_or(String::new(), |method| names::request_route(method, path));
        let request =
            ProtocolOperation::new(asked.place, MessageRole::Request, NAME).with_call(id.into());
        let request = ProtocolOperation { trace: trace.find_context(), ..request.with_name(name) };
        out.for_speaker(FlowSpeaker::Client).push(request);
    }

    fn emit_all_requests(&mut self, out: &mut OperationSink<'_>) {
        let asked: Vec<(u16, FastCgiRequest)> = self.requests.drain_entries().collect();
        for (id, of) in asked {
            self.requests.insert(id, of);
            self.emit_request(id, false, out);
        }
    }
}

/// Names and values of parameters, up to the first incomplete parameter.
fn whole_params(bytes: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut cursor = ByteCursor(bytes);
    std::iter::from_fn(move || {
        let (name, value) = (param_length(&mut cursor)?, param_length(&mut cursor)?);
        Some((cursor.take_bytes(name)?, cursor.take_bytes(value)?))
    })
}

/// Reads a length that is encoded in one byte or in four bytes.
fn param_length(cursor: &mut ByteCursor<'_>) -> Option<usize> {
    match cursor.0.first()? {
        0..=127 => cursor.u8().map(usize::from),
        _ => cursor.be_u32().map(|length| (length & 0x7fff_ffff) as usize),
    }
}

/// Status of a response by its CGI headers. Without a Status header it is 302 if there is a
/// Location header, otherwise 200. This also holds if only the first header is complete, since
/// programs that write a status write it first. `None` if the first header is incomplete.
fn cgi_status(body: &[u8]) -> Option<String> {
    let mut is_redirect = false;
    let mut rest = body;
    while let Some((line, length)) = crate::cursor::first_line(rest) {
        if line.is_empty() {
            return Some(if is_redirect { "302" } else { "200" }.to_owned());
        }
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (name, value) = line.split_at(colon);
        if name.eq_ignore_ascii_case(b"status") {
            let code = value.get(1..).unwrap_or_default().trim_ascii_start().get(..3)?;
            let number = crate::cursor::parse_decimal(code)?;
            return Some(number.to_string());
        }
        is_redirect |= name.eq_ignore_ascii_case(b"location");
        rest = rest.get(length..)?;
    }
    let has_first_header = rest.len() < body.len();
    has_first_header.then(|| if is_redirect { "302" } else { "200" }.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_conversation::TestConversation;

    fn make_record(kind: u8, id: u8, body: &[u8]) -> Vec<u8> {
        let length = (body.len() as u16).to_be_bytes();
        [&[1, kind, 0, id], length.as_slice(), &[0, 0], body].concat()
    }

    fn make_param(name: &str, value: &str) -> Vec<u8> {
        [&[name.len() as u8, value.len() as u8], name.as_bytes(), value.as_bytes()].concat()
    }

    fn make_request(params: &[(&str, &str)]) -> Vec<u8> {
        let params: Vec<u8> =
            params.iter().flat_map(|(name, value)| make_param(name, value)).collect();
        let begin = make_record(BEGIN_REQUEST, 1, &[0, 1, 1, 0, 0, 0, 0, 0]);
        let ends = [make_record(PARAMS, 1, b""), make_record(STDIN, 1, b"")].concat();
        [begin, make_record(PARAMS, 1, &params), ends].concat()
    }

    fn make_response(headers: &str) -> Vec<u8> {
        [make_record(STDOUT, 1, headers.as_bytes()), make_record(END_REQUEST, 1, &[0; 8])].concat()
    }

    const TRACE: &str = "00-0000000000000000000000000000000a-000000000000000b-01";

    pub(crate) fn sample_conversations() -> Vec<TestConversation> {
        let cart = [
            ("QUERY_STRING", "name=alice"),
            ("REQUEST_METHOD", "GET"),
            ("SCRIPT_NAME", "/index.php"),
            ("REQUEST_URI", "/user/12/cart?name=alice"),
            ("HTTP_TRACEPARENT", TRACE),
        ];
        vec![
            TestConversation::other_protocol()
                .client_says(make_request(&cart))
                .server_says(make_response("Content-type: text/html\r\n\r\nalice"))
                .client_says(make_request(&[
                    ("REQUEST_METHOD", "POST"),
                    ("SCRIPT_NAME", "/pay.php"),
                ]))
                .server_says(make_response("Status: 503 Busy\r\n\r\n"))
                .client_says(make_request(&[
                    ("REQUEST_METHOD", "GET"),
                    ("DOCUMENT_ROOT", &"a".repeat(120)),
                    ("SCRIPT_NAME", "/a.php"),
                    ("B", &"b".repeat(120)),
                ]))
                .server_says(make_record(END_REQUEST, 1, &[0, 0, 0, 0, 2, 0, 0, 0])),
        ]
    }

    #[test]
    fn incomplete_headers() {
        let status_of = |begin: &str| cgi_status(format!("{begin}Link: </a").as_bytes());
        assert_eq!(status_of("Content-Type: text/html\r\n").as_deref(), Some("200"));
        assert_eq!(status_of("Status: 404 Not Found\r\n").as_deref(), Some("404"));
        assert_eq!(status_of("Location: /\r\n").as_deref(), Some("302"));
        assert_eq!(status_of(""), None);
    }

    #[test]
    fn requests_by_their_parameters() {
        let expected = [
            "> GET /user/{}/cart #1",
            "< 200 #1",
            "> POST /pay.php #1",
            "< 503! #1",
            "> GET #1",
            "< OVERLOADED! #1",
        ];
        assert_eq!(sample_conversations()[0].operation_lines(), expected);
        assert_eq!(
            sample_conversations()[0].parse_operations()[0].trace.map(|of| of.parent_id),
            Some(11)
        );
    }

    #[test]
    fn statuses_of_cgi() {
        let of = |text: &str| cgi_status(text.as_bytes());
        assert_eq!(of("X-A: b\r\nstatus: 404 Not Found\r\n\r\n").as_deref(), Some("404"));
        assert_eq!(of("Location: /a\n\n").as_deref(), Some("302"));
        assert_eq!(of("Status: alice\r\n\r\n"), None);
    }
}
