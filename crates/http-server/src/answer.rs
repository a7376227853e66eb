//! Answer: a status, and a body that browsers neither store nor take for another media type.

use std::sync::Arc;

/// Answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpAnswer {
    status: u16,
    kind: &'static str,
    body: Arc<[u8]>,
    /// Further header fields, each with its line end.
    fields: String,
}

impl HttpAnswer {
    /// Answer with a body of a media type.
    pub fn with_body(kind: &'static str, body: impl Into<Arc<[u8]>>) -> HttpAnswer {
        HttpAnswer { status: 200, kind, body: body.into(), fields: String::new() }
    }

    /// An answer that describes an error. The status is 400, 403, 404, 405, 408, 421, 431, 500 or
    /// 503.
    pub fn refusal(status: u16, why: &str) -> HttpAnswer {
        HttpAnswer {
            status,
            kind: "text/plain; charset=utf-8",
            body: format!("{why}\n").into_bytes().into(),
            fields: String::new(),
        }
    }

    /// Redirect to `path` with a cookie that scripts cannot read and that is sent to this server
    /// only. `name` and `value` consist of letters, digits, `-` and `_`.
    pub fn redirect_with_cookie(path: &'static str, name: &str, value: &str) -> HttpAnswer {
        // `Lax` instead of `Strict`: a link in another program may lead here.
        let fields = format!(
            "Location: {path}\r\nSet-Cookie: {name}={value}; Path=/; HttpOnly; SameSite=Lax\r\n"
        );
        HttpAnswer { status: 303, fields, ..HttpAnswer::refusal(303, "the page is elsewhere") }
    }

    /// The head as it is sent, and the body.
    pub(crate) fn into_parts(self) -> (Vec<u8>, Arc<[u8]>) {
        let (reason, more) = match self.status {
            200 => ("OK", ""),
            303 => ("See Other", ""),
            403 => ("Forbidden", ""),
            404 => ("Not Found", ""),
            405 => ("Method Not Allowed", "Allow: GET\r\n"),
            408 => ("Request Timeout", ""),
            421 => ("Misdirected Request", ""),
            431 => ("Request Header Fields Too Large", ""),
            500 => ("Internal Server Error", ""),
            503 => ("Service Unavailable", ""),
            _ => ("Bad Request", ""),
        };
        let HttpAnswer { status, kind, body, fields } = self;
        // The answer must not be cached, framed or sniffed for another media type; and no other
        // server may learn its address, which may contain a secret.
        let head = format!(
            "HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
             {more}{fields}Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\nReferrer-Policy: no-referrer\r\n\
             X-Frame-Options: DENY\r\nConnection: close\r\n\r\n",
            body.len()
        );
        (head.into_bytes(), body)
    }
}
