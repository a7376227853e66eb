//! Stream to a process of the same host, by the path of its socket: short, and never waited for
//! longer than told.

use core::ffi::c_int;
use core::ptr;

use super::call::call;
use super::files::Descriptor;
use super::sockets::socket_option;

/// Connects to the socket at `path`. What is sent and received there waits for at most `seconds`.
pub(crate) fn connect(path: &[u8], seconds: i64) -> Option<Descriptor> {
    // SAFETY: a struct of numbers may be all zeros.
    let mut address: libc::sockaddr_un = unsafe { core::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as u16;
    // A zero byte ends the path.
    let room = address.sun_path.get_mut(..path.len()).filter(|_| path.len() < 108)?;
    room.iter_mut().zip(path).for_each(|(place, byte)| *place = *byte as _);
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    // SAFETY: takes numbers only.
    let made =
        unsafe { call(libc::SYS_socket, [libc::AF_UNIX as usize, kind as usize, 0, 0, 0, 0]) };
    let stream = Descriptor::owned(c_int::try_from(made).ok().filter(|made| *made >= 0)?);
    let limit = libc::timeval { tv_sec: seconds, tv_usec: 0 };
    for option in [libc::SO_SNDTIMEO, libc::SO_RCVTIMEO] {
        let arguments = [
            stream.word(),
            libc::SOL_SOCKET as usize,
            option as usize,
            ptr::from_ref(&limit) as usize,
            size_of_val(&limit),
            0,
        ];
        // SAFETY: the kernel reads the struct.
        unsafe { call(libc::SYS_setsockopt, arguments) };
    }
    let place = [stream.word(), ptr::from_ref(&address) as usize, size_of_val(&address), 0, 0, 0];
    // SAFETY: the kernel reads the struct.
    (unsafe { call(libc::SYS_connect, place) } == 0).then_some(stream)
}

impl Descriptor {
    /// Sends all of `bytes`, as one piece. False where that fails; no signal comes of it.
    pub(crate) fn send(&self, bytes: &[u8]) -> bool {
        let arguments =
            [self.word(), bytes.as_ptr() as usize, bytes.len(), libc::MSG_NOSIGNAL as usize, 0, 0];
        // SAFETY: as long as told.
        unsafe { call(libc::SYS_sendto, arguments) == bytes.len() as isize }
    }

    /// Receives one byte, and waits for it again where a signal came in between; `None` where none
    /// comes.
    pub(crate) fn receive(&self) -> Option<u8> {
        const MAX_INTERRUPTIONS: usize = 100;
        let mut byte = 0u8;
        let arguments = [self.word(), ptr::from_mut(&mut byte) as usize, 1, 0, 0, 0];
        for _ in 0..MAX_INTERRUPTIONS {
            // SAFETY: room for one byte.
            match unsafe { call(libc::SYS_read, arguments) } {
                1 => return Some(byte),
                interrupted if interrupted == -libc::EINTR as isize => {}
                _ => return None,
            }
        }
        None
    }

    /// Lets the process at the other end trace this one, where the kernel asks for leave (Yama).
    pub(crate) fn let_it_trace(&self) {
        let Ok([process, _, _]) =
            socket_option::<[u32; 3]>(self.word() as c_int, libc::SO_PEERCRED)
        else {
            return;
        };
        let arguments = [libc::PR_SET_PTRACER as usize, process as usize, 0, 0, 0, 0];
        // SAFETY: takes numbers only; a kernel without Yama refuses.
        unsafe { call(libc::SYS_prctl, arguments) };
    }
}
