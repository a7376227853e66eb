//! HTTP/1 (RFC 9112): requests by method and route, responses by status code.

use registry::About;

use crate::http2;
use crate::names;
use crate::opening::Guess;
use crate::operation::{Operation, Out, Role};
use crate::parser::{Next, Parser};
use crate::piece::Class;
use crate::protocol::Protocol;
use crate::streams::{Heard, Messages, Step, Streams};
use crate::trace_context;
use crate::tuning::HTTP1_HEAD_BYTES;
use crate::websocket;

/// The entry of HTTP/1.
pub(crate) static HTTP: Protocol = Protocol {
    about: About {
        name: "http",
        summary: "HTTP/1.0 and 1.1: method and route, status code",
        ..About::NOTHING
    },
    class: Class::Http1,
    recognised: "A first line with a known method and HTTP/1, or with HTTP/1 and a status code.",
    recognise: |_| Guess::No,
    open,
    #[cfg(test)]
    samples: tests::samples,
};

const NAME: &str = "http";

/// A parser of HTTP/1.
pub(crate) fn open() -> Box<dyn Parser> {
    Box::new(Streams::new(Http::default()))
}

/// Methods of RFC 9110, RFC 5789 and of WebDAV. A first line with another is not taken for HTTP.
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

/// What the latest request asked for, where the answer can turn the flow into something else.
#[derive(Debug, Default, PartialEq, Eq)]
enum Asked {
    #[default]
    Plain,
    WebSocket,
    Http2,
    Tunnel,
}

#[derive(Debug, Default)]
struct Http {
    asked: Asked,
}

impl Messages for Http {
    const NAME: &'static str = NAME;
    const BOUND: usize = HTTP1_HEAD_BYTES;
    const PIECES_BEGIN: bool = true;

    fn message(&mut self, heard: &Heard<'_>, out: &mut Out<'_>) -> Step {
        let blank = heard.bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        if blank > 0 {
            return Step::Skip(blank as u64);
        }
        let end = end_of_head(heard.bytes);
        if end.is_none() && !heard.ended {
            return Step::More;
        }
        let length = end.unwrap_or(heard.bytes.len());
        let head = heard.bytes.get(..length).unwrap_or_default();
        let next = if head.starts_with(b"HTTP/1.") {
            self.response(head, heard, out)
        } else {
            self.request(head, end.is_some(), heard, out);
            Some(Next::Same)
        };
        match next {
            Some(Next::Same) => Step::Skip(length as u64),
            Some(next) => Step::Leave(next),
            None => Step::Lost,
        }
    }
}

impl Http {
    fn request(&mut self, head: &[u8], whole: bool, heard: &Heard<'_>, out: &mut Out<'_>) {
        let mut headers = [httparse::EMPTY_HEADER; 32];
        let mut request = httparse::Request::new(&mut headers);
        // What is there of a head that is cut off or odd is told by the fields.
        let _ = request.parse(head);
        let Some(method) = request.method.filter(|method| is_method(method)) else {
            // It asks, whatever for.
            if whole && request.version.is_some() {
                self.asked = Asked::Plain;
                out.push(Operation::new(heard.place(0), Role::Request, NAME));
            }
            return;
        };
        let path = request.path.filter(|_| request.version.is_some());
        if path.is_none() && (whole || !method.starts_with(|of: char| of.is_ascii_uppercase())) {
            return;
        }
        let mut trace = trace_context::Headers::default();
        self.asked = if method == "CONNECT" { Asked::Tunnel } else { Asked::Plain };
        for header in request.headers.iter().filter(|header| !header.name.is_empty()) {
            trace.take(header.name.as_bytes(), header.value);
            if header.name.eq_ignore_ascii_case("upgrade") {
                self.asked = match header.value.trim_ascii() {
                    value if value.eq_ignore_ascii_case(b"websocket") => Asked::WebSocket,
                    value if value.eq_ignore_ascii_case(b"h2c") => Asked::Http2,
                    _ => Asked::Plain,
                };
            }
        }
        let mut operation = Operation::new(heard.place(0), Role::Request, self.protocol());
        operation.trace = trace.context();
        // The request that asks for HTTP/2 is its first stream (RFC 7540, 3.2).
        operation.call = (self.asked == Asked::Http2).then_some(1);
        out.push(operation.named(names::route(method, path)));
    }

    /// Of a response, what the flow is behind it; `None` where it is none.
    fn response(&mut self, head: &[u8], heard: &Heard<'_>, out: &mut Out<'_>) -> Option<Next> {
        let mut headers = [httparse::EMPTY_HEADER; 32];
        let mut response = httparse::Response::new(&mut headers);
        let _ = response.parse(head);
        let code = response.code?;
        let next = match (code, &self.asked) {
            (101, Asked::WebSocket) => Next::Become(websocket::open(), Class::Other),
            // The answer itself comes in HTTP/2.
            (101, Asked::Http2) => return Some(Next::Become(http2::open(), Class::Http2)),
            (200..=299, Asked::Tunnel) => Next::Unknown,
            // The answer is still to come.
            (100..=199, _) => return Some(Next::Same),
            _ => Next::Same,
        };
        let mut operation = Operation::new(heard.place(0), Role::Response, self.protocol());
        operation.call = (self.asked == Asked::Http2).then_some(1);
        out.push(operation.ended(code.to_string(), code >= 500));
        self.asked = Asked::Plain;
        Some(next)
    }

    fn protocol(&self) -> &'static str {
        if self.asked == Asked::WebSocket { "websocket" } else { NAME }
    }
}

/// Length of a head with the empty line behind it.
fn end_of_head(bytes: &[u8]) -> Option<usize> {
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
