//! Target of an HTTP/1 request: its query is left out, and so are the parameters of a path and the
//! authority before one, which may contain a user name and password.

/// Parser state in a request line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum RequestTarget {
    /// Before the target.
    #[default]
    Method = 0,
    /// Before the target, in a line that is incomplete and may be something else.
    MaybeMethod,
    /// In a prefix of the method CONNECT: the number of its bytes so far.
    Connect(u8),
    /// Before a path, or before something else.
    MaybePath,
    /// In a prefix of the scheme of HTTP: the number of its bytes so far.
    MaybeScheme(u8),
    /// At the beginning of the target.
    Begin,
    /// At a position where a scheme may begin.
    Scheme,
    /// After the colon of a scheme.
    Colon,
    /// In the slashes after the colon.
    Slashes,
    /// In the authority, up to the path.
    Authority,
    /// In a host name, which is the whole target of CONNECT.
    Host,
    /// In the port after the host: the number of its digits so far.
    Port(u8),
    /// In a target that is neither a path nor precedes one.
    Opaque,
    /// In a path.
    Path,
    /// In the parameters of a path segment.
    Parameters,
    /// In a query.
    Query,
    /// After a query, in a prefix of the version: the number of its bytes so far.
    AfterQuery(u8),
    /// After the target.
    Version,
}

impl RequestTarget {
    /// Advances by one byte of the line. Returns whether the byte is kept.
    #[inline]
    pub fn accept_byte(&mut self, byte: u8) -> bool {
        use RequestTarget::{
            AfterQuery, Authority, Begin, Colon, Connect, Host, MaybeMethod, MaybePath,
        };
        use RequestTarget::{
            MaybeScheme, Method, Opaque, Parameters, Path, Port, Query, Scheme, Slashes,
        };
        const CONNECT: &[u8] = b"CONNECT";
        const MAX_PORT_DIGITS: u8 = 5;
        const SCHEME: &[u8] = b"https";
        const VERSION: &[u8] = b"HTTP/1.";
        let (next, is_kept) = match (*self, byte) {
            (RequestTarget::Version, _) | (_, b'\n') => (RequestTarget::Version, true),
            (AfterQuery(count), byte) if VERSION.get(usize::from(count)) == Some(&byte) => {
                (AfterQuery(count + 1), true)
            }
            (AfterQuery(7), b'0'..=b'9') => (AfterQuery(8), true),
            (AfterQuery(8), b'\r') => (AfterQuery(8), true),
            // A query that contains a space, by mistake.
            (Query | AfterQuery(_), b' ') => (AfterQuery(0), true),
            (Query | AfterQuery(_), _) => (Query, false),
            (Connect(7), b' ') => (Host, true),
            (Method | Connect(_), b' ') => (Begin, true),
            (Connect(count), byte) if CONNECT.get(usize::from(count)) == Some(&byte) => {
                (Connect(count + 1), true)
            }
            (Method, b'C') => (Connect(1), true),
            (Method | Connect(_), _) => (Method, true),
            (MaybeMethod, b' ') => (MaybePath, true),
            (MaybeMethod, _) => (MaybeMethod, true),
            (MaybePath, b'/') => (Path, true),
            (MaybePath, b'h') => (MaybeScheme(1), true),
            (MaybePath, _) => (Query, false),
            (MaybeScheme(4 | 5), b':') => (Colon, true),
            (MaybeScheme(count), byte) if SCHEME.get(usize::from(count)) == Some(&byte) => {
                (MaybeScheme(count + 1), true)
            }
            (MaybeScheme(_), _) => (Query, false),
            // One space too many, by mistake.
            (Begin, b' ') => (Begin, true),
            (_, b' ' | b'\r') => (RequestTarget::Version, true),
            // A user name may contain anything, as in SIP.
            (Opaque, _) => (Opaque, false),
            (_, b'?') => (Query, true),
            // Characters that occur in no path.
            (Path, b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}') => (Query, false),
            (Path, b';') => (Parameters, true),
            (Path, _) => (Path, true),
            (Parameters, b'/') => (Path, true),
            (Parameters, _) => (Parameters, false),
            (Begin, b'/' | b'*') => (Path, true),
            (Begin | Scheme, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'+' | b'-' | b'.') => {
                (Scheme, true)
            }
            (Scheme, b':') => (Colon, true),
            (Host, b':') => (Port(0), true),
            (Host, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b'.') => (Host, true),
            // More digits, or other characters, belong to a password.
            (Port(count @ 0..MAX_PORT_DIGITS), b'0'..=b'9') => (Port(count + 1), true),
            (Colon | Port(0) | Slashes, b'/') => (Slashes, true),
            (Slashes, _) => (Authority, false),
            (Begin | Scheme | Host | Port(_) | Colon, _) => (Opaque, false),
            (Authority, b'/') => (Path, true),
            (Authority, _) => (Authority, false),
        };
        *self = next;
        is_kept
    }
}
