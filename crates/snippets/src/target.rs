//! Target of a request of HTTP/1: its query is left out, and so is the authority in front of a
//! path, which may have a user's name and password.

/// Place in a first line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Target {
    /// In front of the target.
    #[default]
    Method = 0,
    /// The same where the line is not whole, and may be something else.
    MaybeMethod,
    /// In front of a path, or of what is none.
    MaybePath,
    /// In what may be the scheme of HTTP: the number of its bytes so far.
    MaybeScheme(u8),
    /// Where a scheme may be.
    Scheme,
    /// In what is behind a scheme, up to the path.
    Authority,
    /// In the slashes in front of it.
    Slashes,
    /// In a path.
    Path,
    /// In a query.
    Query,
    /// Behind a query, in what may be the version: the number of its bytes so far.
    Behind(u8),
    /// Behind the target.
    Version,
}

impl Target {
    /// Goes on with a byte of the line. Whether it is kept.
    #[inline]
    pub fn keeps(&mut self, byte: u8) -> bool {
        use Target::{Authority, Behind, MaybeMethod, MaybePath, MaybeScheme, Method, Path};
        use Target::{Query, Scheme, Slashes, Version};
        const VERSION: &[u8] = b"HTTP/1.";
        const SCHEME: &[u8] = b"https";
        let (next, is_kept) = match (*self, byte) {
            (Version, _) | (_, b'\n') => (Version, true),
            (Behind(count), byte) if VERSION.get(usize::from(count)) == Some(&byte) => {
                (Behind(count + 1), true)
            }
            (Behind(7), b'0'..=b'9') => (Behind(8), true),
            (Behind(8), b'\r') => (Behind(8), true),
            // A query with a space, by mistake.
            (Query | Behind(_), b' ') => (Behind(0), true),
            (Query | Behind(_), _) => (Query, false),
            (Method, b' ') => (Scheme, true),
            (Method, _) => (Method, true),
            (MaybeMethod, b' ') => (MaybePath, true),
            (MaybeMethod, _) => (MaybeMethod, true),
            (MaybePath, b'/') => (Path, true),
            (MaybePath, b'h') => (MaybeScheme(1), true),
            (MaybePath, _) => (Query, false),
            (MaybeScheme(4 | 5), b':') => (Slashes, true),
            (MaybeScheme(count), byte) if SCHEME.get(usize::from(count)) == Some(&byte) => {
                (MaybeScheme(count + 1), true)
            }
            (MaybeScheme(_), _) => (Query, false),
            (_, b' ' | b'\r') => (Version, true),
            (_, b'?') => (Query, true),
            // What is in no path.
            (Path, b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}') => (Query, false),
            (Path, _) => (Path, true),
            (Scheme, b':') => (Slashes, true),
            (Scheme, byte) if byte.is_ascii_alphabetic() => (Scheme, true),
            (Scheme, _) => (Path, true),
            (Slashes, b'/') => (Slashes, true),
            // The port behind a host's name (CONNECT).
            (Slashes, b'0'..=b'9') => (Path, true),
            (Slashes, _) => (Authority, false),
            (Authority, b'/') => (Path, true),
            (Authority, _) => (Authority, false),
        };
        *self = next;
        is_kept
    }
}
