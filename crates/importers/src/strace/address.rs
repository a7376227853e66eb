//! Addresses in arguments:
//! `{sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("10.0.0.1")}` and similar, converted
//! to the raw `sockaddr` that a log contains.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::arguments::ArgumentCursor;

/// Address families (`AF_UNIX`, `AF_INET`, `AF_INET6`).
pub(super) const UNIX: u8 = 1;
pub(super) const INET: u8 = 2;
pub(super) const INET6: u8 = 10;

/// Longest path in the `sockaddr` of a unix socket, in bytes.
const MAX_PATH_BYTES: usize = 108;

/// Parses an address family, given by name or number.
pub(super) fn parse_family(word: &[u8]) -> Option<u8> {
    Some(match word {
        b"AF_UNSPEC" | b"PF_UNSPEC" => 0,
        b"AF_UNIX" | b"PF_UNIX" | b"AF_LOCAL" | b"PF_LOCAL" => UNIX,
        b"AF_INET" | b"PF_INET" => INET,
        b"AF_INET6" | b"PF_INET6" => INET6,
        _ => {
            ArgumentCursor::new(word).read_number().and_then(|number| u8::try_from(number).ok())?
        }
    })
}

/// Parses a raw `sockaddr` from its printed form. `None` if there is none (a pointer, `NULL`), or
/// it is of another family.
pub(super) fn parse_sockaddr(mut cursor: ArgumentCursor) -> Option<Vec<u8>> {
    if cursor.peek() != Some(b'{') {
        return None;
    }
    let (mut of, mut port, mut ip, mut name) = (None, None, None, None);
    cursor.for_each_field(|field, mut value| match field {
        b"sa_family" => of = parse_family(value.read_word()),
        b"sin_port" | b"sin6_port" => port = parse_port(value),
        b"sin_addr" | b"sin6_addr" => ip = ip.or_else(|| parse_ip(value)),
        b"sun_path" => name = parse_unix_name(&mut value),
        // inet_pton(AF_INET6, "::1", &sin6_addr) has no field name.
        b"" => ip = ip.or_else(|| parse_ip(value)),
        _ => {}
    })?;
    match of? {
        0 => Some(vec![0, 0]),
        UNIX => Some(name.unwrap_or_else(|| vec![UNIX, 0])),
        family @ (INET | INET6) => {
            let ip = ip?;
            if ip.is_ipv4() != (family == INET) {
                return None;
            }
            Some(socket_log::write::inet_address(SocketAddr::new(ip, port?)))
        }
        _ => None,
    }
}

/// Parses `htons(80)`, a number, or its two bytes (`-X raw`).
fn parse_port(mut value: ArgumentCursor) -> Option<u16> {
    if value.peek() == Some(b'"') {
        let mut bytes = Vec::new();
        value.read_text(&mut bytes)?;
        return Some(u16::from_be_bytes(bytes.try_into().ok()?));
    }
    value.eat_token(b"htons(");
    value.read_number().and_then(|port| u16::try_from(port).ok())
}

/// Parses `inet_addr("10.0.0.1")`, `inet_pton(AF_INET6, "::1", &sin6_addr)`, or the quoted address,
/// as text or as its bytes (`-X raw`).
fn parse_ip(mut value: ArgumentCursor) -> Option<IpAddr> {
    let begin = value;
    if value.eat_token(b"inet_addr(") {
    } else if value.eat_token(b"inet_pton(") {
        value.next_argument()?;
    } else {
        value = begin;
    }
    let mut text = Vec::new();
    value.read_text(&mut text)?;
    let of_text = std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok());
    let v4 = || <[u8; 4]>::try_from(text.as_slice()).map(|raw| Ipv4Addr::from(raw).into());
    let v6 = |_| <[u8; 16]>::try_from(text.as_slice()).map(|raw| Ipv6Addr::from(raw).into());
    of_text.or_else(|| v4().or_else(v6).ok())
}

/// Parses the raw `sockaddr` of a unix socket's printed name: `"/path"`, or `@"name"` in the
/// abstract namespace.
pub(super) fn parse_unix_name(cursor: &mut ArgumentCursor) -> Option<Vec<u8>> {
    let mut raw = vec![UNIX, 0];
    let is_abstract = cursor.eat_token(b"@");
    if is_abstract {
        raw.push(0);
    }
    cursor.read_text(&mut raw)?;
    raw.truncate(2 + MAX_PATH_BYTES);
    if !is_abstract && raw.len() > 2 {
        raw.push(0);
    }
    Some(raw)
}

/// Whether a raw `sockaddr` is not a name, but the request to remove it (`AF_UNSPEC`).
pub(super) fn is_unspecified(raw: &[u8]) -> bool {
    raw.starts_with(&[0, 0])
}

/// Address and port of a raw `sockaddr`.
pub(super) fn inet_address(raw: &[u8]) -> Option<SocketAddr> {
    match socket_log::SocketName::from_sockaddr(raw)? {
        socket_log::SocketName::Inet(address) => Some(address),
        _ => None,
    }
}

/// Whether two names can belong to one end: they are equal, or one is less specific than the other.
pub(super) fn names_agree(one: &[u8], other: &[u8]) -> bool {
    if one.is_empty() || other.is_empty() || one == other {
        return true;
    }
    match (inet_address(one), inet_address(other)) {
        (Some(one), Some(other)) => {
            let any = |ip: IpAddr| ip.is_unspecified();
            (one.port() == other.port() || one.port() == 0 || other.port() == 0)
                && (one.ip() == other.ip() || any(one.ip()) || any(other.ip()))
        }
        (None, None) => is_same_path(one, other),
        _ => false,
    }
}

/// Whether names of unix sockets are equal: strace shows an abstract name only up to a zero byte.
fn is_same_path(one: &[u8], other: &[u8]) -> bool {
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    short.len() <= 2 || (short.starts_with(&[UNIX, 0, 0]) && long.starts_with(short))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Vec<u8>> {
        parse_sockaddr(ArgumentCursor::new(text.as_bytes()))
    }

    fn address(text: &str) -> Option<Vec<u8>> {
        Some(socket_log::write::inet_address(text.parse().unwrap()))
    }

    #[test]
    fn addresses_of_all_families() {
        let v4 =
            r#"{sa_family=AF_INET, sin_port=htons(57415), sin_addr=inet_addr("127.0.0.1")}, 16)"#;
        assert_eq!(read(v4), address("127.0.0.1:57415"));
        let v6 = r#"{sa_family=AF_INET6, sin6_port=htons(53), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, "::1", &sin6_addr), sin6_scope_id=0}"#;
        assert_eq!(read(v6), address("[::1]:53"));
        let bytes = r#"{sa_family=0x2, sin_port="\x4b\xc8", sin_addr="\x7f\x00\x00\x01"}, 16)"#;
        assert_eq!(read(bytes), address("127.0.0.1:19400"));
        let bytes = r#"{sa_family=0xa /* AF_INET6 */, sin6_port="\x00\x63" /* htons(99) */, sin6_flowinfo="\x00\x00\x00\x00", sin6_addr="\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01", sin6_scope_id=0}"#;
        assert_eq!(read(bytes), address("[::1]:99"));
        let raw = r#"{sa_family=0x2, sin_port=htons(7), sin_addr=inet_addr("10.0.0.9")}"#;
        assert_eq!(read(raw), address("10.0.0.9:7"));
        assert_eq!(
            read(r#"{sa_family=AF_UNIX, sun_path="/run/x\"y"}"#).unwrap(),
            b"\x01\0/run/x\"y\0"
        );
        assert_eq!(
            read(r#"{sa_family=AF_UNIX, sun_path=@"abs\0tract"}"#).unwrap(),
            b"\x01\0\0abs\0tract"
        );
        assert_eq!(read("{sa_family=AF_UNIX}").unwrap(), [1, 0]);
        assert_eq!(read(r#"{sa_family=AF_UNSPEC, sa_data="\0\0"}"#).unwrap(), [0, 0]);
    }

    #[test]
    fn other_values_are_not_addresses() {
        for text in [
            "NULL",
            "0x7ffe6a272110",
            "{sa_family=AF_NETLINK, nl_pid=0}",
            "{sa_family=AF_INET}",
            "{sa_family=AF_INET, ",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn names_agree_unless_they_contradict_each_other() {
        let one = |text: &str| address(text).unwrap();
        assert!(
            names_agree(&one("0.0.0.0:80"), &one("127.0.0.1:80"))
                && names_agree(&one("10.0.0.1:0"), &one("10.0.0.1:9"))
        );
        assert!(
            !names_agree(&one("10.0.0.1:80"), &one("10.0.0.2:80"))
                && !names_agree(&one("10.0.0.1:80"), &one("10.0.0.1:81"))
        );
        assert!(
            names_agree(b"\x01\0\0abs", b"\x01\0\0abs\0tract")
                && !names_agree(b"\x01\0/a\0", b"\x01\0/b\0")
        );
    }
}
