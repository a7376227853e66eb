//! Descriptors as strace prints them with `-y` and `-yy`: `4<TCP:[10.0.0.1:80->10.0.0.2:5000]>`,
//! `3</etc/hosts>`.
//!
//! The text in the brackets comes from strace's own look-up in the kernel's tables. Only there does
//! the trace show the name of a socket that `connect` has bound, and which socket a descriptor
//! refers to if its creation was not traced. strace caches what it has found for a socket, so it
//! can be older than the socket's last change.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::arguments::ArgumentCursor;
use super::{address, decoration};

/// A descriptor with its decoration, which is empty if strace prints none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DecoratedDescriptor<'a> {
    pub(super) number: i32,
    pub(super) decoration: &'a [u8],
}

/// A socket, as far as a decoration shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DecoratedSocket {
    /// `AF_INET` and similar; 0 if the decoration has the inode only.
    pub(super) domain: u8,
    /// `SOCK_STREAM` and similar; 0 if it is not shown: for a unix socket of an older kernel.
    pub(super) kind: u8,
    pub(super) protocol: u16,
    /// Raw `sockaddr`s, or empty.
    pub(super) local: Vec<u8>,
    pub(super) peer: Vec<u8>,
    pub(super) inode: Option<u64>,
    pub(super) peer_inode: Option<u64>,
}

impl<'a> ArgumentCursor<'a> {
    /// Reads a descriptor.
    pub(super) fn read_descriptor(&mut self) -> Option<DecoratedDescriptor<'a>> {
        let number = i32::try_from(self.read_number()?).ok()?;
        if self.peek() != Some(b'<') {
            return Some(DecoratedDescriptor { number, decoration: b"" });
        }
        let begin = *self;
        self.skip_bytes(decoration::decoration_length(self.rest())?);
        let decoration = self.text_since(&begin);
        // "3</tmp/x>(deleted)"
        self.eat_token(b"(deleted)");
        Some(DecoratedDescriptor { number, decoration: decoration.get(1..decoration.len() - 1)? })
    }
}

/// Parses the socket in a decoration; `None` for anything else, and for sockets of families that
/// are not captured.
pub(super) fn parse_socket(decoration: &[u8]) -> Option<DecoratedSocket> {
    let colon = decoration.iter().position(|byte| *byte == b':')?;
    let (name, inside) = decoration.split_at_checked(colon)?;
    let inside = inside.strip_prefix(b":[")?.strip_suffix(b"]")?;
    let (domain, kind, protocol) = parse_protocol(name)?;
    let mut seen = DecoratedSocket { domain, kind, protocol, ..DecoratedSocket::default() };
    match domain {
        address::UNIX | 0 => parse_unix(inside, &mut seen)?,
        _ => parse_inet(inside, domain, &mut seen)?,
    }
    Some(seen)
}

/// Family, type and protocol of a socket, by the kernel's name of its protocol.
fn parse_protocol(name: &[u8]) -> Option<(u8, u8, u16)> {
    const STREAM: u8 = 1;
    const DATAGRAM: u8 = 2;
    Some(match name {
        b"TCP" => (address::INET, STREAM, 6),
        b"TCPv6" => (address::INET6, STREAM, 6),
        b"MPTCP" => (address::INET, STREAM, 262),
        b"MPTCPv6" => (address::INET6, STREAM, 262),
        b"UDP" => (address::INET, DATAGRAM, 17),
        b"UDPv6" => (address::INET6, DATAGRAM, 17),
        b"UDP-Lite" | b"UDPLITE" => (address::INET, DATAGRAM, 136),
        b"UDPLITEv6" | b"UDPLite6" => (address::INET6, DATAGRAM, 136),
        b"UNIX-STREAM" => (address::UNIX, STREAM, 0),
        b"UNIX" => (address::UNIX, 0, 0),
        b"socket" => (0, 0, 0),
        _ => return None,
    })
}

/// Parses `123`, `123->456`, `123,"/path"`, `123->456,@"name"`.
fn parse_unix(inside: &[u8], seen: &mut DecoratedSocket) -> Option<()> {
    let mut cursor = ArgumentCursor::new(inside);
    seen.inode = Some(u64::try_from(cursor.read_number()?).ok()?);
    if cursor.eat_token(b"->") {
        seen.peer_inode = Some(u64::try_from(cursor.read_number()?).ok()?);
    }
    if cursor.eat_token(b",") {
        seen.local = address::parse_unix_name(&mut cursor)?;
    }
    Some(())
}

/// Parses `123`, `10.0.0.1:80`, `10.0.0.1:80->10.0.0.2:5000`, `[::1]:80->[::1]:5000`.
fn parse_inet(inside: &[u8], domain: u8, seen: &mut DecoratedSocket) -> Option<()> {
    if inside.iter().all(u8::is_ascii_digit) {
        seen.inode = Some(std::str::from_utf8(inside).ok()?.parse().ok()?);
        return Some(());
    }
    let inside = std::str::from_utf8(inside).ok()?;
    let (local, peer) = inside.split_once("->").unwrap_or((inside, ""));
    seen.local = encode_name(local, domain)?;
    if !peer.is_empty() {
        seen.peer = encode_name(peer, domain)?;
    }
    Some(())
}

/// Encodes an address and port as a raw `sockaddr`.
fn encode_name(text: &str, domain: u8) -> Option<Vec<u8>> {
    let (ip, port) = text.rsplit_once(':')?;
    let ip = ip.strip_prefix('[').and_then(|ip| ip.strip_suffix(']')).unwrap_or(ip);
    let ip: IpAddr = match domain {
        address::INET => ip.parse::<Ipv4Addr>().ok()?.into(),
        _ => ip.parse::<Ipv6Addr>().ok()?.into(),
    };
    Some(socket_log::write::inet_address(SocketAddr::new(ip, port.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Option<(i32, Option<DecoratedSocket>)> {
        let descriptor = ArgumentCursor::new(text.as_bytes()).read_descriptor()?;
        Some((descriptor.number, parse_socket(descriptor.decoration)))
    }

    fn inet(text: &str) -> Vec<u8> {
        socket_log::write::inet_address(text.parse().unwrap())
    }

    #[test]
    fn sockets_of_all_kinds() {
        let seen = |text: &str| read(text).and_then(|(_, seen)| seen).unwrap();
        let tcp = seen("4<TCP:[10.0.0.1:80->10.0.0.2:5000]>, ");
        assert_eq!((tcp.domain, tcp.kind, tcp.protocol), (2, 1, 6));
        assert_eq!((tcp.local, tcp.peer), (inet("10.0.0.1:80"), inet("10.0.0.2:5000")));
        let listening = seen("3<TCPv6:[[::]:40901]>");
        assert_eq!(
            (listening.domain, listening.local, listening.peer),
            (10, inet("[::]:40901"), vec![])
        );
        let mapped = seen("3<TCPv6:[[::ffff:127.0.0.1]:1->[::ffff:127.0.0.1]:2]>");
        assert_eq!(mapped.local, socket_log::write::mapped_address("127.0.0.1:1".parse().unwrap()));
        assert_eq!(seen("3<UDP:[3232272]>").inode, Some(3232272));
        let unix = seen(r#"15<UNIX-STREAM:[3233711->3233710,"sock\"e]>t"]>"#);
        assert_eq!((unix.domain, unix.kind), (1, 1));
        assert_eq!((unix.inode, unix.peer_inode), (Some(3233711), Some(3233710)));
        assert_eq!(unix.local, b"\x01\0sock\"e]>t\0");
        assert_eq!(seen(r#"16<UNIX:[12,@"abs"]>"#).local, b"\x01\0\0abs");
        assert_eq!(seen("5<socket:[77]>").inode, Some(77));
    }

    #[test]
    fn other_decorations_are_not_sockets() {
        for text in [
            "3</etc/hosts>",
            "0</dev/null<char 1:3>>",
            "5<pipe:[123]>",
            "6<NETLINK:[ROUTE:1]>",
            "7",
            "8</x>(deleted)",
        ] {
            let (_, seen) = read(text).unwrap();
            assert_eq!(seen, None, "{text}");
        }
        assert_eq!(read("3</etc/hosts"), None);
        assert_eq!(read("AT_FDCWD</x>"), None);
    }

    #[test]
    fn decorations_end_at_their_closing_bracket() {
        for (text, expected) in
            [("<a>b>", "<a>"), ("<UNIX:[1,\"]>\"]>x", "<UNIX:[1,\"]>\"]>"), ("<a<b>c>d", "<a<b>c>")]
        {
            assert_eq!(
                decoration::decoration_length(text.as_bytes()),
                Some(expected.len()),
                "{text}"
            );
        }
        assert_eq!(decoration::decoration_length(b"<TCP:[1"), None);
    }

    proptest! {
        /// Any address and port comes back.
        #[test]
        fn addresses_round_trip(local: (u32, u16), peer: (u128, u16)) {
            let v4 = SocketAddr::from((Ipv4Addr::from_bits(local.0), local.1));
            let v6 = SocketAddr::from((Ipv6Addr::from_bits(peer.0), peer.1));
            let (_, seen) = read(&format!("1<TCP:[{v4}->{v4}]>")).unwrap();
            let raw = socket_log::write::inet_address(v4);
            prop_assert_eq!(seen.map(|seen| (seen.local, seen.peer)), Some((raw.clone(), raw)));
            let (_, seen) = read(&format!("1<UDPv6:[[{}]:{}]>", v6.ip(), v6.port())).unwrap();
            prop_assert_eq!(seen.map(|seen| seen.local), Some(socket_log::write::inet_address(v6)));
        }

        /// Arbitrary bytes are accepted.
        #[test]
        fn arbitrary_input_does_not_panic(bytes in prop::collection::vec(prop::sample::select(b"<>[]\":-1aUNIX,@\\TCP.".to_vec()), 0..40)) {
            let _ = decoration::decoration_length(&bytes);
            let _ = parse_socket(&bytes);
            let _ = ArgumentCursor::new(&bytes).read_descriptor();
        }
    }
}
