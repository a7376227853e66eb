//! Streams of an HTTP/2 connection: which headers are a request, a response or trailers, and when a
//! response is emitted.
//!
//! A response is emitted once. An HTTP response has its status at its beginning. A gRPC response
//! has its status in the trailers and is emitted when these arrive, with the place of its
//! beginning.

use std::collections::BTreeMap;

use super::grpc_words;
use super::hpack::{HeaderField, HeaderValue};
use crate::flow_snippet::{FlowSpeaker, LogPosition};
use crate::names;
use crate::operation::{MessageRole, OperationSink, ProtocolOperation};
use crate::trace_context;
use crate::tuning::OPEN_STREAMS;

/// Content of a header block.
#[derive(Debug, Default)]
pub(super) struct HeaderFields {
    /// Whether further fields may be missing.
    pub(super) is_partial: bool,
    method: Option<String>,
    /// Path of the request; the inner value is `None` if the path is too long.
    path: Option<Option<String>>,
    is_websocket: bool,
    status: Option<u16>,
    is_grpc: Option<bool>,
    grpc_status: Option<String>,
    trace: trace_context::TraceHeaders,
}

impl HeaderFields {
    /// Adds a header field.
    pub(super) fn add_field(&mut self, field: HeaderField, value: &HeaderValue) {
        let text = || String::from_utf8_lossy(&value.bytes).into_owned();
        match field {
            HeaderField::Method => self.method = Some(text()),
            HeaderField::Path => {
                let whole = value.whole_value().and_then(|path| std::str::from_utf8(path).ok());
                self.path = Some(whole.map(str::to_owned));
            }
            HeaderField::Protocol => self.is_websocket = value.bytes == b"websocket",
            HeaderField::Status => self.status = text().parse().ok(),
            HeaderField::ContentType => {
                self.is_grpc = Some(grpc_words::is_grpc(&value.bytes));
            }
            HeaderField::GrpcStatus => {
                self.grpc_status = Some(grpc_words::status_name(&value.bytes))
            }
            HeaderField::Trace(_) => {
                if let (Some(name), Some(value)) = (field.trace_name(), value.whole_value()) {
                    self.trace.take_header(name.as_bytes(), value);
                }
            }
            HeaderField::Other => {}
        }
    }
}

/// Streams of one connection.
#[derive(Debug, Default)]
pub(super) struct Http2Streams {
    open: BTreeMap<u32, Http2Stream>,
    /// Highest stream number that the client opened.
    latest: u32,
}

#[derive(Debug)]
struct Http2Stream {
    protocol: &'static str,
    /// Role of the server's messages on the stream: responses, or one-way messages if the server
    /// opened it.
    role: MessageRole,
    answer: ResponseState,
}

#[derive(Debug)]
enum ResponseState {
    /// The response has not begun.
    Awaited,
    /// The response began at this position, and its status is still to come.
    Begun(LogPosition),
    /// The response was emitted.
    Emitted,
}

impl Http2Streams {
    /// Processes a header block of a stream.
    pub(super) fn process_headers(
        &mut self,
        speaker: FlowSpeaker,
        number: u32,
        place: LogPosition,
        fields: &HeaderFields,
        out: &mut OperationSink<'_>,
    ) {
        match speaker {
            FlowSpeaker::Client => self.begin_request(number, place, fields, out),
            FlowSpeaker::Server => self.process_response(number, place, fields, out),
        }
    }

    fn begin_request(
        &mut self,
        number: u32,
        place: LogPosition,
        fields: &HeaderFields,
        out: &mut OperationSink<'_>,
    ) {
        // Numbers of new streams increase (RFC 9113, 5.1.1); other blocks are trailers.
        if number <= self.latest || number.is_multiple_of(2) {
            return;
        }
        self.latest = number;
        let protocol = protocol_of_request(fields);
        self.open_stream(number, protocol, MessageRole::Response, out);
        let mut request =
            ProtocolOperation::new(place, MessageRole::Request, protocol).with_call(number.into());
        request.trace = fields.trace.find_context();
        out.push(request.with_name(request_name(fields, protocol)));
    }

    fn process_response(
        &mut self,
        number: u32,
        place: LogPosition,
        fields: &HeaderFields,
        out: &mut OperationSink<'_>,
    ) {
        // The final response is still to come.
        if matches!(fields.status, Some(100..=199)) {
            return;
        }
        if fields.is_partial && fields.status.is_none() && fields.grpc_status.is_none() {
            return;
        }
        if !self.open.contains_key(&number) {
            // The request of the stream was not seen.
            let protocol = if fields.is_grpc == Some(true) || fields.grpc_status.is_some() {
                "grpc"
            } else {
                "http2"
            };
            self.open_stream(number, protocol, role_of_stream(number), out);
        }
        let Some(stream) = self.open.get_mut(&number) else { return };
        if fields.is_grpc == Some(true) {
            stream.protocol = "grpc";
        }
        let begun = match stream.answer {
            ResponseState::Awaited => place,
            ResponseState::Begun(place) => place,
            ResponseState::Emitted => return,
        };
        let response =
            ProtocolOperation::new(begun, stream.role, stream.protocol).with_call(number.into());
        if stream.protocol != "grpc" {
            let code = fields.status;
            let status = code.map_or(String::new(), |code| code.to_string());
            out.push(response.with_status(status, code.is_some_and(|code| code >= 500)));
        } else if let Some(status) = &fields.grpc_status {
            let is_error = grpc_words::is_error(status);
            out.push(response.with_status(status.clone(), is_error));
        } else if let (Some(false), Some(code)) = (fields.is_grpc, fields.status) {
            // The response came from a proxy, not from the service.
            let status = grpc_words::status_of_http(code);
            out.push(response.with_status(status, grpc_words::is_error(status)));
        } else {
            stream.answer = ResponseState::Begun(begun);
            return;
        }
        stream.answer = ResponseState::Emitted;
    }

    /// Ends one side's part of a stream.
    pub(super) fn end_stream(
        &mut self,
        speaker: FlowSpeaker,
        number: u32,
        out: &mut OperationSink<'_>,
    ) {
        if speaker == FlowSpeaker::Server
            && let Some(stream) = self.open.remove(&number)
        {
            stream.emit_response(number, "", out);
        }
    }

    /// Records a stream that the server promises.
    pub(super) fn promise_stream(
        &mut self,
        number: u32,
        place: LogPosition,
        fields: &HeaderFields,
        out: &mut OperationSink<'_>,
    ) {
        self.open_stream(number, "http2", MessageRole::OneWay, out);
        let promise =
            ProtocolOperation::new(place, MessageRole::OneWay, "http2").with_call(number.into());
        out.push(promise.with_name(request_name(fields, "http2")));
    }

    /// Ends a stream that was reset.
    pub(super) fn reset_stream(
        &mut self,
        speaker: FlowSpeaker,
        number: u32,
        place: LogPosition,
        code: u32,
        out: &mut OperationSink<'_>,
    ) {
        let stream = self.open.remove(&number);
        let protocol = stream.as_ref().map_or("http2", |stream| stream.protocol);
        let status = error_code(code);
        match (speaker, stream) {
            (FlowSpeaker::Client, stream) => {
                if let Some(stream) = stream {
                    stream.emit_response(number, "", out);
                }
                let reset = ProtocolOperation::new(place, MessageRole::OneWay, protocol)
                    .with_call(number.into());
                out.push(reset.with_name("RST_STREAM").with_status(status, !matches!(code, 0 | 8)));
            }
            (
                FlowSpeaker::Server,
                Some(Http2Stream { answer: ResponseState::Emitted, .. }) | None,
            ) => {}
            (FlowSpeaker::Server, Some(Http2Stream { answer, role, .. })) => {
                let place = if let ResponseState::Begun(begun) = answer { begun } else { place };
                let response =
                    ProtocolOperation::new(place, role, protocol).with_call(number.into());
                out.push(response.with_status(status, code != 0));
            }
        }
    }

    /// Handles a GOAWAY frame: the sender opens no more streams.
    pub(super) fn go_away(&self, place: LogPosition, code: u32, out: &mut OperationSink<'_>) {
        let goes = ProtocolOperation::new(place, MessageRole::OneWay, "http2").with_name("GOAWAY");
        out.push(goes.with_status(error_code(code), code != 0));
    }

    /// Emits the responses without a status at the end of the flow.
    pub(super) fn finish_streams(&mut self, out: &mut OperationSink<'_>) {
        for (number, stream) in std::mem::take(&mut self.open) {
            stream.emit_response(number, "", out);
        }
    }

    fn open_stream(
        &mut self,
        number: u32,
        protocol: &'static str,
        role: MessageRole,
        out: &mut OperationSink<'_>,
    ) {
        if self.open.len() >= OPEN_STREAMS
            && let Some((oldest, stream)) = self.open.pop_first()
        {
            stream.emit_response(oldest, "", out);
        }
        self.open.insert(number, Http2Stream { protocol, role, answer: ResponseState::Awaited });
    }
}

impl Http2Stream {
    /// Emits a response that began and has no status.
    fn emit_response(self, number: u32, status: &str, out: &mut OperationSink<'_>) {
        if let ResponseState::Begun(place) = self.answer {
            let response = ProtocolOperation::new(place, self.role, self.protocol);
            let response = response.with_call(number.into()).with_status(status, false);
            out.for_speaker(FlowSpeaker::Server).push(response);
        }
    }
}

/// Role of the messages of a stream; even numbers are the server's own streams.
fn role_of_stream(number: u32) -> MessageRole {
    if number.is_multiple_of(2) { MessageRole::OneWay } else { MessageRole::Response }
}

fn protocol_of_request(fields: &HeaderFields) -> &'static str {
    match fields {
        HeaderFields { is_grpc: Some(true), .. } => "grpc",
        HeaderFields { is_websocket: true, .. } => "websocket",
        _ => "http2",
    }
}

fn request_name(fields: &HeaderFields, protocol: &str) -> String {
    let path = fields.path.as_ref().and_then(Option::as_deref);
    if protocol == "grpc" {
        return path.map_or(String::new(), grpc_words::method_name);
    }
    let method = fields.method.as_deref().filter(|method| names::looks_like_method(method));
    if fields.is_partial && fields.is_grpc.is_none() && method == Some("POST") {
        // The stream may be a gRPC call, which is named differently.
        return String::new();
    }
    method.map_or(String::new(), |method| names::request_route(method, path))
}

/// Name of an error code (RFC 9113, 7).
fn error_code(code: u32) -> String {
    const NAMES: [&str; 14] = [
        "NO_ERROR",
        "PROTOCOL_ERROR",
        "INTERNAL_ERROR",
        "FLOW_CONTROL_ERROR",
        "SETTINGS_TIMEOUT",
        "STREAM_CLOSED",
        "FRAME_SIZE_ERROR",
        "REFUSED_STREAM",
        "CANCEL",
        "COMPRESSION_ERROR",
        "CONNECT_ERROR",
        "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY",
        "HTTP_1_1_REQUIRED",
    ];
    NAMES.get(code as usize).map_or_else(|| code.to_string(), |name| (*name).to_owned())
}
