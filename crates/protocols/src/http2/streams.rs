//! Streams of an HTTP/2 connection: which headers are a request, a response or trailers, and when
//! a response is told.
//!
//! A response is told once. That of HTTP has its status at its beginning; that of gRPC has it in
//! the trailers, and is told then, with the place of its beginning.

use std::collections::BTreeMap;

use super::grpc_words;
use super::hpack::{Field, Value};
use crate::names;
use crate::operation::{Operation, Out, Role};
use crate::piece::{Place, Speaker};
use crate::trace_context;
use crate::tuning::OPEN_STREAMS;

/// What a block of headers says.
#[derive(Debug, Default)]
pub(super) struct Fields {
    /// Whether fields behind these may be missing.
    pub(super) is_partial: bool,
    method: Option<String>,
    /// `None` inside where it is too long.
    path: Option<Option<String>>,
    is_websocket: bool,
    status: Option<u16>,
    is_grpc: Option<bool>,
    grpc_status: Option<String>,
    trace: trace_context::Headers,
}

impl Fields {
    /// Takes one field.
    pub(super) fn take(&mut self, field: Field, value: &Value) {
        let text = || String::from_utf8_lossy(&value.bytes).into_owned();
        match field {
            Field::Method => self.method = Some(text()),
            Field::Path => {
                let whole = value.whole().and_then(|path| std::str::from_utf8(path).ok());
                self.path = Some(whole.map(str::to_owned));
            }
            Field::Protocol => self.is_websocket = value.bytes == b"websocket",
            Field::Status => self.status = text().parse().ok(),
            Field::ContentType => {
                self.is_grpc = Some(grpc_words::is_grpc(&value.bytes));
            }
            Field::GrpcStatus => self.grpc_status = Some(grpc_words::status(&value.bytes)),
            Field::Trace(_) => {
                if let (Some(name), Some(value)) = (field.trace_name(), value.whole()) {
                    self.trace.take(name.as_bytes(), value);
                }
            }
            Field::Other => {}
        }
    }
}

/// Streams of one connection.
#[derive(Debug, Default)]
pub(super) struct Streams {
    open: BTreeMap<u32, Stream>,
    /// The greatest number of a stream that the client opened.
    latest: u32,
}

#[derive(Debug)]
struct Stream {
    protocol: &'static str,
    /// What the server says on it: an answer, or of a stream that it opened, a message.
    role: Role,
    answer: Answer,
}

#[derive(Debug)]
enum Answer {
    /// It has not begun.
    Awaited,
    /// It began here, and its status is to come.
    Begun(Place),
    /// It was told.
    Told,
}

impl Streams {
    /// A block of headers on a stream.
    pub(super) fn headers(
        &mut self,
        speaker: Speaker,
        number: u32,
        place: Place,
        fields: &Fields,
        out: &mut Out<'_>,
    ) {
        match speaker {
            Speaker::Client => self.request(number, place, fields, out),
            Speaker::Server => self.response(number, place, fields, out),
        }
    }

    fn request(&mut self, number: u32, place: Place, fields: &Fields, out: &mut Out<'_>) {
        // Numbers of new streams grow (RFC 9113, 5.1.1); others are trailers.
        if number <= self.latest || number.is_multiple_of(2) {
            return;
        }
        self.latest = number;
        let protocol = protocol(fields);
        self.open(number, protocol, Role::Response, out);
        let mut request = Operation::new(place, Role::Request, protocol).of_call(number.into());
        request.trace = fields.trace.context();
        out.push(request.named(name(fields, protocol)));
    }

    fn response(&mut self, number: u32, place: Place, fields: &Fields, out: &mut Out<'_>) {
        // The answer is still to come.
        if matches!(fields.status, Some(100..=199)) {
            return;
        }
        if fields.is_partial && fields.status.is_none() && fields.grpc_status.is_none() {
            return;
        }
        if !self.open.contains_key(&number) {
            // Its request was not seen.
            let protocol = if fields.is_grpc == Some(true) || fields.grpc_status.is_some() {
                "grpc"
            } else {
                "http2"
            };
            self.open(number, protocol, role_of(number), out);
        }
        let Some(stream) = self.open.get_mut(&number) else { return };
        if fields.is_grpc == Some(true) {
            stream.protocol = "grpc";
        }
        let begun = match stream.answer {
            Answer::Awaited => place,
            Answer::Begun(place) => place,
            Answer::Told => return,
        };
        let response = Operation::new(begun, stream.role, stream.protocol).of_call(number.into());
        if stream.protocol != "grpc" {
            let code = fields.status;
            let status = code.map_or(String::new(), |code| code.to_string());
            out.push(response.ended(status, code.is_some_and(|code| code >= 500)));
        } else if let Some(status) = &fields.grpc_status {
            let is_error = grpc_words::is_error(status);
            out.push(response.ended(status.clone(), is_error));
        } else if let (Some(false), Some(code)) = (fields.is_grpc, fields.status) {
            // A proxy answered, not the service.
            let status = grpc_words::of_http(code);
            out.push(response.ended(status, grpc_words::is_error(status)));
        } else {
            stream.answer = Answer::Begun(begun);
            return;
        }
        stream.answer = Answer::Told;
    }

    /// One side has said all it had to say on a stream.
    pub(super) fn end(&mut self, speaker: Speaker, number: u32, out: &mut Out<'_>) {
        if speaker == Speaker::Server
            && let Some(stream) = self.open.remove(&number)
        {
            stream.tell(number, "", out);
        }
    }

    /// The server promises a stream.
    pub(super) fn promise(
        &mut self,
        number: u32,
        place: Place,
        fields: &Fields,
        out: &mut Out<'_>,
    ) {
        self.open(number, "http2", Role::OneWay, out);
        let promise = Operation::new(place, Role::OneWay, "http2").of_call(number.into());
        out.push(promise.named(name(fields, "http2")));
    }

    /// A stream is given up.
    pub(super) fn reset(
        &mut self,
        speaker: Speaker,
        number: u32,
        place: Place,
        code: u32,
        out: &mut Out<'_>,
    ) {
        let stream = self.open.remove(&number);
        let protocol = stream.as_ref().map_or("http2", |stream| stream.protocol);
        let status = error_code(code);
        match (speaker, stream) {
            (Speaker::Client, stream) => {
                if let Some(stream) = stream {
                    stream.tell(number, "", out);
                }
                let reset = Operation::new(place, Role::OneWay, protocol).of_call(number.into());
                out.push(reset.named("RST_STREAM").ended(status, !matches!(code, 0 | 8)));
            }
            (Speaker::Server, Some(Stream { answer: Answer::Told, .. }) | None) => {}
            (Speaker::Server, Some(Stream { answer, role, .. })) => {
                let place = if let Answer::Begun(begun) = answer { begun } else { place };
                let response = Operation::new(place, role, protocol).of_call(number.into());
                out.push(response.ended(status, code != 0));
            }
        }
    }

    /// One side opens no more streams.
    pub(super) fn go_away(&self, place: Place, code: u32, out: &mut Out<'_>) {
        let goes = Operation::new(place, Role::OneWay, "http2").named("GOAWAY");
        out.push(goes.ended(error_code(code), code != 0));
    }

    /// Nothing more comes.
    pub(super) fn finish(&mut self, out: &mut Out<'_>) {
        for (number, stream) in std::mem::take(&mut self.open) {
            stream.tell(number, "", out);
        }
    }

    fn open(&mut self, number: u32, protocol: &'static str, role: Role, out: &mut Out<'_>) {
        if self.open.len() >= OPEN_STREAMS
            && let Some((oldest, stream)) = self.open.pop_first()
        {
            stream.tell(oldest, "", out);
        }
        self.open.insert(number, Stream { protocol, role, answer: Answer::Awaited });
    }
}

impl Stream {
    /// Tells of an answer that began and has no status.
    fn tell(self, number: u32, status: &str, out: &mut Out<'_>) {
        if let Answer::Begun(place) = self.answer {
            let response = Operation::new(place, self.role, self.protocol);
            let response = response.of_call(number.into()).ended(status, false);
            out.of(Speaker::Server).push(response);
        }
    }
}

/// Streams of even numbers are the server's own.
fn role_of(number: u32) -> Role {
    if number.is_multiple_of(2) { Role::OneWay } else { Role::Response }
}

fn protocol(fields: &Fields) -> &'static str {
    match fields {
        Fields { is_grpc: Some(true), .. } => "grpc",
        Fields { is_websocket: true, .. } => "websocket",
        _ => "http2",
    }
}

fn name(fields: &Fields, protocol: &str) -> String {
    let path = fields.path.as_ref().and_then(Option::as_deref);
    if protocol == "grpc" {
        return path.map_or(String::new(), grpc_words::method);
    }
    let method = fields.method.as_deref().filter(|method| names::is_token(method));
    if fields.is_partial && fields.is_grpc.is_none() && method == Some("POST") {
        // It may be a call of gRPC, which has another name.
        return String::new();
    }
    method.map_or(String::new(), |method| names::route(method, path))
}

/// Names of error codes (RFC 9113, 7).
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
