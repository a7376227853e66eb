//! Connections of the library to a process of the same host, by the path of its socket, or as one
//! end of a passed pair: short-lived, and with bounded waits.

use core::ffi::c_int;
use core::ptr;

use super::call::system_call;
use super::files::OwnDescriptor;
use super::sockets::socket_option;

/// Connects to the socket at `path`. Sends and receives on the connection wait for at most
/// `seconds`.
pub(crate) fn connect_unix(path: &[u8], seconds: i64) -> Option<OwnDescriptor> {
    connect_as(libc::SOCK_STREAM, path, b"", seconds)
}

/// Connects to the datagram socket at `path` followed by `suffix`. Sends on it wait for at most
/// `seconds`.
pub(crate) fn connect_datagrams(path: &[u8], suffix: &[u8], seconds: i64) -> Option<OwnDescriptor> {
    connect_as(libc::SOCK_DGRAM, path, suffix, seconds)
}

/// Connects a socket of the type `kind` to the path made of `path` and `suffix`; `None` if that
/// fails. Sends and receives wait for at most `seconds`.
#[inline(never)]
fn connect_as(kind: c_int, path: &[u8], suffix: &[u8], seconds: i64) -> Option<OwnDescriptor> {
    // SAFETY: a struct of numbers may be all zeros.
    let mut address: libc::sockaddr_un = unsafe { core::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as u16;
    // A zero byte terminates the path.
    let length = path.len() + suffix.len();
    let room = address.sun_path.get_mut(..length).filter(|_| length < 108)?;
    room.iter_mut().zip(path.iter().chain(suffix)).for_each(|(place, byte)| *place = *byte as _);
    let kind = kind | libc::SOCK_CLOEXEC;
    // SAFETY: takes only numbers.
    let result = unsafe {
        system_call(libc::SYS_socket, [libc::AF_UNIX as usize, kind as usize, 0, 0, 0, 0])
    };
    let socket = OwnDescriptor::owned(c_int::try_from(result).ok().filter(|result| *result >= 0)?);
    socket.wait_at_most(seconds);
    let place = [socket.word(), ptr::from_ref(&address) as usize, size_of_val(&address), 0, 0, 0];
    // SAFETY: the kernel reads the struct.
    (unsafe { system_call(libc::SYS_connect, place) } == 0).then_some(socket)
}

/// Makes a stream, passes its other end to the process that receives the datagrams of `to`, and
/// returns this end. Sends and receives on this end wait for at most `seconds`.
#[inline(never)]
pub(crate) fn hand_stream(to: &OwnDescriptor, seconds: i64) -> Option<OwnDescriptor> {
    let mut pair: [c_int; 2] = [0; 2];
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    let arguments =
        [libc::AF_UNIX as usize, kind as usize, 0, ptr::from_mut(&mut pair) as usize, 0, 0];
    // SAFETY: room for two numbers.
    if unsafe { system_call(libc::SYS_socketpair, arguments) } != 0 {
        return None;
    }
    let [ours, theirs] = pair.map(OwnDescriptor::owned);
    ours.wait_at_most(seconds);
    to.send_descriptor(&theirs).then_some(ours)
}

/// Control data of a message with one descriptor.
#[repr(C)]
struct OneDescriptor {
    head: libc::cmsghdr,
    number: c_int,
    padding: c_int,
}

impl OwnDescriptor {
    /// Sets the maximum time that sends and receives wait.
    fn wait_at_most(&self, seconds: i64) {
        let limit = libc::timeval { tv_sec: seconds, tv_usec: 0 };
        for option in [libc::SO_SNDTIMEO, libc::SO_RCVTIMEO] {
            let arguments = [
                self.word(),
                libc::SOL_SOCKET as usize,
                option as usize,
                ptr::from_ref(&limit) as usize,
                size_of_val(&limit),
                0,
            ];
            // SAFETY: the kernel reads the struct.
            unsafe { system_call(libc::SYS_setsockopt, arguments) };
        }
    }

    /// Sends a datagram of one byte that passes the descriptor `given`. Returns false on failure.
    fn send_descriptor(&self, given: &OwnDescriptor) -> bool {
        let byte = 0u8;
        let mut bytes =
            libc::iovec { iov_base: ptr::from_ref(&byte).cast_mut().cast(), iov_len: 1 };
        let mut control = OneDescriptor {
            head: libc::cmsghdr {
                cmsg_len: size_of::<libc::cmsghdr>() + size_of::<c_int>(),
                cmsg_level: libc::SOL_SOCKET,
                cmsg_type: libc::SCM_RIGHTS,
            },
            number: given.word() as c_int,
            padding: 0,
        };
        // SAFETY: a struct of numbers and pointers may be all zeros.
        let mut message: libc::msghdr = unsafe { core::mem::zeroed() };
        message.msg_iov = &mut bytes;
        message.msg_iovlen = 1;
        message.msg_control = ptr::from_mut(&mut control).cast();
        message.msg_controllen = size_of_val(&control) as _;
        let place = ptr::from_ref(&message) as usize;
        let arguments = [self.word(), place, libc::MSG_NOSIGNAL as usize, 0, 0, 0];
        // SAFETY: the structs and the memory that they point to live until the call has ended.
        unsafe { system_call(libc::SYS_sendmsg, arguments) == 1 }
    }

    /// Sends all of `bytes` by one call. Returns false on failure, which raises no signal.
    pub(crate) fn send_all(&self, bytes: &[u8]) -> bool {
        let arguments =
            [self.word(), bytes.as_ptr() as usize, bytes.len(), libc::MSG_NOSIGNAL as usize, 0, 0];
        // SAFETY: of the given length.
        unsafe { system_call(libc::SYS_sendto, arguments) == bytes.len() as isize }
    }

    /// Receives one byte, and waits again if a signal interrupted; `None` if none arrives.
    pub(crate) fn receive_byte(&self) -> Option<u8> {
        const MAX_INTERRUPTIONS: usize = 100;
        let mut byte = 0u8;
        let arguments = [self.word(), ptr::from_mut(&mut byte) as usize, 1, 0, 0, 0];
        for _ in 0..MAX_INTERRUPTIONS {
            // SAFETY: room for one byte.
            match unsafe { system_call(libc::SYS_read, arguments) } {
                1 => return Some(byte),
                interrupted if interrupted == -libc::EINTR as isize => {}
                _ => return None,
            }
        }
        None
    }

    /// Lets the process at the other end trace this one, if the kernel requires permission (Yama).
    pub(crate) fn allow_tracing(&self) {
        let Ok([process, _, _]) =
            socket_option::<[u32; 3]>(self.word() as c_int, libc::SO_PEERCRED)
        else {
            return;
        };
        let arguments = [libc::PR_SET_PTRACER as usize, process as usize, 0, 0, 0, 0];
        // SAFETY: takes only numbers; a kernel without Yama refuses.
        unsafe { system_call(libc::SYS_prctl, arguments) };
    }
}
