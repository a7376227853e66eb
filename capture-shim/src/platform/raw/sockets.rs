//! Facts that the kernel knows of a socket.

use core::ffi::{c_int, c_long};
use core::ptr;

use super::call::call;

/// Whether nothing was sent yet on a stream, and whether no program received anything from it. Only
/// TCP can tell.
pub(crate) fn is_fresh_stream(fd: c_int) -> (bool, bool) {
    /// Beginning of the kernel's `tcp_info`, as far as the last of these two fields.
    #[repr(C)]
    #[derive(Default)]
    struct TcpInfo {
        other: [u64; 15],
        bytes_acknowledged: u64,
        bytes_received: u64,
    }
    let (mut info, mut unread, mut unsent) = (TcpInfo::default(), 0u32, 0u32);
    let mut length = size_of::<TcpInfo>() as u32;
    let arguments = [
        fd as usize,
        libc::IPPROTO_TCP as usize,
        libc::TCP_INFO as usize,
        ptr::from_mut(&mut info) as usize,
        ptr::from_mut(&mut length) as usize,
        0,
    ];
    // SAFETY: the kernel writes at most the length told.
    let asked = unsafe { call(libc::SYS_getsockopt, arguments) } == 0;
    // The third argument of `ioctl` is the address of the number.
    let count = |request: u64, to: *mut u32| {
        // SAFETY: the kernel writes one number.
        unsafe { call(libc::SYS_ioctl, [fd as usize, request as usize, to as usize, 0, 0, 0]) == 0 }
    };
    if !asked
        || length < size_of::<TcpInfo>() as u32
        || !count(libc::FIONREAD, &mut unread)
        || !count(libc::TIOCOUTQ, &mut unsent)
    {
        return (false, false);
    }
    // The kernel counts the connecting side's first packet as a byte.
    (info.bytes_acknowledged <= 1 && unsent == 0, info.bytes_received == u64::from(unread))
}

/// Asks for the events of each of these descriptors at present. False where the kernel refuses.
pub(crate) fn poll(descriptors: &mut [libc::pollfd]) -> bool {
    const AT_ONCE: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let mut timeout = AT_ONCE;
    let arguments = [
        descriptors.as_mut_ptr() as usize,
        descriptors.len(),
        ptr::from_mut(&mut timeout) as usize,
        0,
        0,
        0,
    ];
    // SAFETY: as long as told; no time passes.
    unsafe { call(libc::SYS_ppoll, arguments) >= 0 }
}

/// Value of an option that all sockets have, and that is a number.
pub(crate) fn socket_option<T: Copy + Default>(fd: c_int, name: c_int) -> Result<T, isize> {
    option(fd, libc::SOL_SOCKET, name)
}

/// Value of a socket's option that is a number, of the protocol `level`.
pub(crate) fn option<T: Copy + Default>(fd: c_int, level: c_int, name: c_int) -> Result<T, isize> {
    let mut value = T::default();
    let mut length = size_of::<T>() as u32;
    let arguments = [
        fd as usize,
        level as usize,
        name as usize,
        ptr::from_mut(&mut value) as usize,
        ptr::from_mut(&mut length) as usize,
        0,
    ];
    // SAFETY: the kernel writes at most the length told.
    let result = unsafe { call(libc::SYS_getsockopt, arguments) };
    if result < 0 { Err(result) } else { Ok(value) }
}

/// Calls `getsockname` or `getpeername`, by the system call's number; returns the name's full
/// length.
pub(crate) fn socket_name(number: c_long, fd: c_int, buffer: &mut [u8]) -> Option<usize> {
    let mut length = buffer.len() as u32;
    let arguments =
        [fd as usize, buffer.as_mut_ptr() as usize, ptr::from_mut(&mut length) as usize, 0, 0, 0];
    // SAFETY: the kernel writes at most the length told.
    let result = unsafe { call(number, arguments) };
    (result == 0).then_some(length as usize)
}
