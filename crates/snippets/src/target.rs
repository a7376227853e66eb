//! Target of a request of HTTP/1: its query is left out, and so are parameters of a path, and the
//! authority in front of one, which may have a user's name and password.

/// Place in a first line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum RequestTarget {
    /// In front of the target.
    #[default]
    Method = 0,
    /// The same where the line is not whole, and may be something else.
    MaybeMethod,
    /// In what may be the method CONNECT: the number of its bytes so far.
    Connect(u8),
    /// In front of a path, or of what is none.
    MaybePath,
    /// In what may be the scheme of HTTP: the number of its bytes so far.
    MaybeScheme(u8),
    /// Where the target begins.
    Begin,
    /// Where a scheme may be.
    Scheme,
    /// Behind a scheme's colon.
    Colon,
    /// In the slashes behind that.
    Slashes,
    /// In what is behind those, up to the path.
    Authority,
    /// In a host's name, which is the whole target of CONNECT.
    Host,
    /// In the port behind it: the number of its digits so far.
    Port(u8),
    /// In what is neither a path nor in front of one.
    Opaque,
    /// In a path.
    Path,
    /// In parameters of a path's segment.
    Parameters,
    /// In a query.
    Query,
    /// Behind a query, in what may be the version: the number of its bytes so far.
    Behind(u8),
    /// Behind the target.
    Version,
}

impl RequestTarget {
    /// Goes on with a byte of the line. Whether it is kept.
    #[inline]
    pub fn accept_byte(&mut self, byte: u8) -> bool {
        use RequestTarget::{
            Authority, Begin, Behind, Colon, Connect, Host, MaybeMethod, MaybePath,
        };
        use RequestTarget::{
            MaybeScheme, Method, Opaque, Parameters, Path, Port, Query, Scheme, Slashes,
        };
        const CONNECT: &[u8] = b"CONNECT";
        const LONGEST_PORT: u8 = 5;
        const SCHEME: &[u8] = b"https";
        const VERSION: &[u8] = b"HTTP/1.";
        let (next, is_kept) = match (*self, byte) {
            (RequestTarget::Version, _) | (_, b'\n') => (RequestTarget::Version, true),
            (Behind(count), byte) if VERSION.get(usize::from(count)) == Some(&byte) => {
                (Behind(count + 1), true)
            }
            (Behind(7), b'0'..=b'9') => (Behind(8), true),
            (Behind(8), b'\r') => (Behind(8), true),
            // A query with a space, by mistake.
            (Query | Behind(_), b' ') => (Behind(0), true),
            (Query | Behind(_), _) => (Query, false),
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
            // One space more, by mistake.
            (Begin, b' ') => (Begin, true),
            (_, b' ' | b'\r') => (RequestTarget::Version, true),
            // A user's name may have anything, as in SIP.
            (Opaque, _) => (Opaque, false),
            (_, b'?') => (Query, true),
            // What is in no path.
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
            // What has more digits, or others, is a password.
            (Port(count @ 0..LONGEST_PORT), b'0'..=b'9') => (Port(count + 1), true),
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
