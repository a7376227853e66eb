//! Names of header fields: the ones that name a request, and the static table (RFC 7541, appendix
//! A).

/// A header field that is examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum HeaderField {
    Method,
    Path,
    Protocol,
    Status,
    ContentType,
    GrpcStatus,
    /// A header of a trace context, by its position in [`TRACE`].
    Trace(u8),
    /// Another field; its value is not kept.
    Other,
}

/// Headers that carry trace contexts.
pub(in super::super) const TRACE: [&str; 6] =
    ["traceparent", "b3", "x-b3-traceid", "x-b3-spanid", "x-b3-sampled", "x-b3-flags"];

/// Length of the longest name in use, in bytes.
pub(super) const MAX_NAME_BYTES: usize = 16;

impl HeaderField {
    /// Finds the field of a name.
    pub(super) fn from_name(name: &[u8]) -> HeaderField {
        match name {
            b":method" => HeaderField::Method,
            b":path" => HeaderField::Path,
            b":protocol" => HeaderField::Protocol,
            b":status" => HeaderField::Status,
            b"content-type" => HeaderField::ContentType,
            b"grpc-status" => HeaderField::GrpcStatus,
            _ => {
                let position = TRACE.iter().position(|trace| trace.as_bytes() == name);
                position.map_or(HeaderField::Other, |position| HeaderField::Trace(position as u8))
            }
        }
    }

    /// Name of a trace context's header.
    pub(in super::super) fn trace_name(self) -> Option<&'static str> {
        match self {
            HeaderField::Trace(position) => TRACE.get(usize::from(position)).copied(),
            _ => None,
        }
    }
}

/// Static table; its first entry has index 1.
pub(super) const STATIC: [(&str, &str); 61] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];
