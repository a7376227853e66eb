//! Number of bytes that a program has moved over a TCP connection, as the kernel counts them.

use core::ffi::c_int;
use core::mem::offset_of;
use core::ptr;

use super::call::system_call;

/// Beginning of the kernel's `tcp_info`, as of Linux 4.19.
#[repr(C)]
#[derive(Clone, Copy)]
struct TcpInfo {
    state: u8,
    other: [u8; 119],
    bytes_acknowledged: u64,
    bytes_received: u64,
    segments: [u32; 2],
    bytes_not_sent: u32,
    timing: [u32; 13],
    bytes_sent: u64,
    bytes_sent_again: u64,
}
const _: () = assert!(offset_of!(TcpInfo, bytes_acknowledged) == 120);
const _: () = assert!(offset_of!(TcpInfo, bytes_not_sent) == 144);
const _: () = assert!(offset_of!(TcpInfo, bytes_sent) == 200);

/// States of a connection (`tcp_states.h`): open on both sides, and closed by the other side.
const ESTABLISHED: u8 = 1;
const CLOSE_WAIT: u8 = 8;

/// Maximum number of times that the kernel is asked while bytes arrive or are acknowledged. Each
/// time takes about a microsecond, and packets of a fast network mostly arrive more rarely.
const MAX_ATTEMPTS: usize = 16;

impl TcpInfo {
    /// Facts about the connection `fd`; `None` for other sockets, and for a kernel that knows less
    /// than the first `known` bytes of the facts.
    fn from_socket(fd: c_int, known: usize) -> Option<TcpInfo> {
        // SAFETY: a struct of numbers may be all zeros.
        let mut info: TcpInfo = unsafe { core::mem::zeroed() };
        let mut length = size_of::<TcpInfo>() as u32;
        let arguments = [
            fd as usize,
            libc::IPPROTO_TCP as usize,
            libc::TCP_INFO as usize,
            ptr::from_mut(&mut info) as usize,
            ptr::from_mut(&mut length) as usize,
            0,
        ];
        // SAFETY: the kernel writes at most the given length.
        let succeeded = unsafe { system_call(libc::SYS_getsockopt, arguments) } == 0;
        (succeeded && length as usize >= known).then_some(info)
    }

    /// Whether bytes may still be sent and counted.
    fn is_open(&self) -> bool {
        matches!(self.state, ESTABLISHED | CLOSE_WAIT)
    }

    /// Received bytes, without the other side's last packet, which the kernel counts as a byte.
    fn received_bytes(&self) -> u64 {
        self.bytes_received.saturating_sub(u64::from(self.state == CLOSE_WAIT))
    }
}

/// Number of bytes in a queue of the socket: that of received bytes (`FIONREAD`) or of sent ones
/// (`TIOCOUTQ`). `None` if the kernel refuses the `request`.
fn queued_bytes(fd: c_int, request: u64) -> Option<u64> {
    let mut count = 0u32;
    // The third argument of `ioctl` is the address of the number.
    let arguments = [fd as usize, request as usize, ptr::from_mut(&mut count) as usize, 0, 0, 0];
    // SAFETY: the kernel writes one number.
    (unsafe { system_call(libc::SYS_ioctl, arguments) } == 0).then_some(u64::from(count))
}

/// Number of bytes in the receive queue of the unix stream `fd`.
pub(crate) fn bytes_unread(fd: c_int) -> Option<u32> {
    queued_bytes(fd, libc::FIONREAD).and_then(|bytes| u32::try_from(bytes).ok())
}

/// Whether nothing was sent yet on a stream, and whether no program received anything from it; both
/// false if the kernel does not report it, as it does for TCP since Linux 4.1.
pub(crate) fn is_fresh_stream(fd: c_int) -> (bool, bool) {
    let info = TcpInfo::from_socket(fd, offset_of!(TcpInfo, segments));
    let queues = [libc::FIONREAD, libc::TIOCOUTQ].map(|request| queued_bytes(fd, request));
    let (Some(info), [Some(unread), Some(unsent)]) = (info, queues) else { return (false, false) };
    // The kernel counts the connecting side's first packet as a byte.
    (info.bytes_acknowledged <= 1 && unsent == 0, info.bytes_received == unread)
}

/// Number of bytes that programs have received from the open TCP connection `fd`; `None` if the
/// kernel does not report it.
pub(crate) fn bytes_received(fd: c_int) -> Option<u64> {
    read_consistently(fd, libc::FIONREAD, TcpInfo::received_bytes)
        .and_then(|(info, unread)| info.received_bytes().checked_sub(unread))
}

/// Number of bytes that programs have passed to the open TCP connection `fd`. The kernel reports it
/// in two ways. The two numbers differ by the first packet of the connecting side, which counts as
/// a byte in one of them; if they differ by more, neither is trusted (`None`).
pub(crate) fn bytes_sent(fd: c_int) -> Option<u64> {
    let (info, queued) = read_consistently(fd, libc::TIOCOUTQ, |info| info.bytes_acknowledged)?;
    let sent = info.bytes_sent.checked_sub(info.bytes_sent_again)?;
    let sent = sent.checked_add(u64::from(info.bytes_not_sent))?;
    let acknowledged = info.bytes_acknowledged.checked_add(queued)?;
    matches!(acknowledged.checked_sub(sent), Some(0 | 1)).then_some(sent)
}

/// Facts about the connection, and the bytes in the queue of `request`. Between the two queries
/// neither the connection's state nor the number that `count` returns of its facts has changed;
/// `None` if they change at each attempt, or the connection is no longer open.
fn read_consistently(
    fd: c_int,
    request: u64,
    count: impl Fn(&TcpInfo) -> u64,
) -> Option<(TcpInfo, u64)> {
    let facts = || TcpInfo::from_socket(fd, size_of::<TcpInfo>());
    let mut before = facts()?;
    for _ in 0..MAX_ATTEMPTS {
        let queued = queued_bytes(fd, request)?;
        let after = facts()?;
        if !after.is_open() {
            return None;
        }
        if count(&before) == count(&after) && before.state == after.state {
            return Some((after, queued));
        }
        before = after;
    }
    None
}
