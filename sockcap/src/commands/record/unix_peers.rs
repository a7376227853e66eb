//! The other ends of a running process's unix sockets. Only the kernel's socket diagnostics show
//! which two sockets are connected, so they are queried from outside: nothing has to be opened in
//! the process, and it needs no rights.
//!
//! Connections without an answer are left out: a kernel without diagnostics of unix sockets, a
//! network namespace that this recorder may not enter, an end in another namespace. Such
//! connections stay without their other end.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::thread;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};
use rustix::net::{recv, send, socket_with};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Name of the library's variable: pairs of ids in hexadecimal digits, in the order of the first.
pub(super) const VARIABLE: &str = "SOCKCAP_UNIX_PEERS";

/// Maximum number of sockets that are passed to the library. Further sockets stay without their
/// other ends. This many sockets take 512 KiB. Chosen, not measured.
const MAX_SOCKETS: usize = 1 << 14;

/// Bytes of a netlink message's header, of the response after it, and of an attribute's header.
const HEADER_BYTES: usize = 16;
const RESPONSE_BYTES: usize = 16;
const ATTRIBUTE_BYTES: usize = 4;

/// A unix socket, as the kernel describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct UnixSocket {
    inode: u32,
    /// The kernel's id (`SO_COOKIE`).
    cookie: u64,
    /// Inode of the socket at the other end.
    peer: u32,
}

/// Value of the variable [`VARIABLE`] for a process; `None` if no unix socket of the process has a
/// known other end, or the kernel gives no answer.
pub(super) fn peers_variable(process: u32) -> Option<String> {
    let own = socket_inodes(process).ok().filter(|own| !own.is_empty())?;
    let all = query_sockets(process).ok()?;
    Some(encode_pairs(&own, &all)).filter(|text| !text.is_empty())
}

/// Pairs of the ids of the sockets in `own` and of their other ends, as the library parses them.
fn encode_pairs(own: &[u32], all: &[UnixSocket]) -> String {
    let by_inode: HashMap<u32, UnixSocket> =
        all.iter().map(|socket| (socket.inode, *socket)).collect();
    let pair = |inode: &u32| {
        let socket = by_inode.get(inode)?;
        let peer = by_inode.get(&socket.peer)?;
        // A datagram socket may send to one that sends elsewhere.
        (peer.peer == socket.inode).then_some((socket.cookie, peer.cookie))
    };
    let mut pairs: Vec<(u64, u64)> = own.iter().filter_map(pair).collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs.iter().take(MAX_SOCKETS).map(|(own, peer)| format!("{own:016x}{peer:016x}")).collect()
}

/// Inodes of the sockets of a process.
fn socket_inodes(process: u32) -> io::Result<Vec<u32>> {
    let inode = |entry: io::Result<fs::DirEntry>| {
        let target = fs::read_link(entry.ok()?.path()).ok()?;
        target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    };
    Ok(fs::read_dir(format!("/proc/{process}/fd"))?.filter_map(inode).collect())
}

/// All unix sockets of a process's network namespace.
fn query_sockets(process: u32) -> io::Result<Vec<UnixSocket>> {
    let path = format!("/proc/{process}/ns/net");
    let is_own = fs::read_link(&path)? == fs::read_link("/proc/self/ns/net")?;
    let socket = if is_own {
        netlink_socket()?
    } else {
        // The thread that enters the namespace ends afterwards: this thread stays in its own.
        let namespace = File::open(path)?;
        let moved = move || {
            let network = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(std::os::fd::AsFd::as_fd(&namespace), network)?;
            netlink_socket()
        };
        thread::spawn(moved).join().map_err(|_| io::Error::other("a thread has failed"))??
    };
    receive_sockets(&socket)
}

fn netlink_socket() -> io::Result<OwnedFd> {
    let (family, kind) = (AddressFamily::NETLINK, SocketType::RAW);
    Ok(socket_with(family, kind, SocketFlags::CLOEXEC, Some(netlink::SOCK_DIAG))?)
}

/// Queries all unix sockets.
fn receive_sockets(socket: &OwnedFd) -> io::Result<Vec<UnixSocket>> {
    /// Type of the request (`SOCK_DIAG_BY_FAMILY`), its flags (`NLM_F_REQUEST | NLM_F_DUMP`), the
    /// requested data (`UDIAG_SHOW_PEER`), and the family.
    const BY_FAMILY: u16 = 20;
    const DUMP: u16 = 0x301;
    const PEER: u32 = 4;
    const UNIX: u32 = 1;
    const LENGTH: u32 = 40;
    let mut question = Vec::new();
    question.extend(LENGTH.to_ne_bytes());
    question.extend([BY_FAMILY.to_ne_bytes(), DUMP.to_ne_bytes()].concat());
    // Number and sender; family and protocol; all states; any inode; requested data; any cookie.
    for word in [1, 0, UNIX.to_le(), u32::MAX, 0, PEER, u32::MAX, u32::MAX] {
        question.extend(word.to_ne_bytes());
    }
    send(socket, &question, SendFlags::empty())?;
    let mut sockets = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let (received, _) = recv(socket, &mut buffer[..], RecvFlags::empty())?;
        if received == 0
            || !parse_messages(buffer.get(..received).unwrap_or_default(), &mut sockets)?
        {
            return Ok(sockets);
        }
    }
}

/// Reads messages of a response. Returns false after the last one.
fn parse_messages(mut messages: &[u8], sockets: &mut Vec<UnixSocket>) -> io::Result<bool> {
    /// Types of messages: an error, and the end.
    const ERROR: u16 = 2;
    const DONE: u16 = 3;
    while let Some(length) = word(messages, 0) {
        let kind = half_word(messages, 4).unwrap_or(DONE);
        let Some(message) =
            messages.get(..length as usize).filter(|bytes| bytes.len() >= HEADER_BYTES)
        else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        match kind {
            ERROR => return Err(io::ErrorKind::Unsupported.into()),
            DONE => return Ok(false),
            _ => sockets.extend(message.get(HEADER_BYTES..).and_then(unix_socket)),
        }
        messages = messages.get(align_to_word(message.len())..).unwrap_or_default();
    }
    Ok(true)
}

/// The socket that a response (`struct unix_diag_msg` and attributes) describes; `None` for one
/// without another end.
fn unix_socket(answer: &[u8]) -> Option<UnixSocket> {
    /// Attribute with the inode of the other end (`UNIX_DIAG_PEER`).
    const PEER: u16 = 2;
    let inode = word(answer, 4)?;
    let cookie = u64::from(word(answer, 8)?) | u64::from(word(answer, 12)?) << 32;
    let mut attributes = answer.get(RESPONSE_BYTES..)?;
    while let (Some(length), Some(kind)) = (half_word(attributes, 0), half_word(attributes, 2)) {
        if usize::from(length) < ATTRIBUTE_BYTES {
            return None;
        }
        if kind == PEER {
            let peer = word(attributes, ATTRIBUTE_BYTES).filter(|peer| *peer != 0)?;
            return Some(UnixSocket { inode, cookie, peer });
        }
        attributes = attributes.get(align_to_word(usize::from(length))..)?;
    }
    None
}

/// Length rounded up to whole words.
fn align_to_word(length: usize) -> usize {
    length.next_multiple_of(4)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*bytes))
}

fn half_word(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn the_ends_of_a_pair_are_matched() {
        let (one, other) = UnixStream::pair().unwrap();
        let cookie = |stream: &UnixStream| rustix::net::sockopt::socket_cookie(stream).unwrap();
        let (one_cookie, other_cookie) = (cookie(&one), cookie(&other));
        let text = peers_variable(std::process::id()).unwrap();
        let pairs: Vec<&[u8]> = text.as_bytes().chunks(32).collect();
        assert!(pairs.is_sorted() && text.len().is_multiple_of(32));
        for (one, other) in [(one_cookie, other_cookie), (other_cookie, one_cookie)] {
            let pair = format!("{one:016x}{other:016x}");
            assert!(pairs.contains(&pair.as_bytes()), "{pair} {text}");
        }
        assert!(one.as_raw_fd() != other.as_raw_fd());
    }

    #[test]
    fn a_socket_with_an_unknown_other_end_is_left_out() {
        let socket = |inode, peer| UnixSocket { inode, cookie: u64::from(inode) + 100, peer };
        let all = [socket(1, 2), socket(2, 1), socket(3, 9), socket(4, 1)];
        let expected = format!("{:016x}{:016x}", 101, 102);
        assert_eq!(encode_pairs(&[1, 3, 4, 5], &all), expected);
    }

    #[test]
    fn damaged_answers_are_errors_or_nothing() {
        let mut sockets = Vec::new();
        assert!(parse_messages(&[200, 0, 0, 0, 20, 0, 0, 0], &mut sockets).is_err());
        assert!(parse_messages(&[0; 8], &mut sockets).is_err());
        assert!(parse_messages(&[], &mut sockets).unwrap());
        let answer = [[0; 16].as_slice(), &[0, 0, 2, 0, 1, 0, 0, 0]].concat();
        assert_eq!(unix_socket(&answer), None);
        assert!(sockets.is_empty());
    }
}
