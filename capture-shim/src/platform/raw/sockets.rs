//! Facts from the kernel about a socket.

use core::ffi::{c_int, c_long};
use core::ptr;

use super::call::system_call;

/// Queries the current events of each of these descriptors. Returns false if the kernel refuses.
pub(crate) fn poll_descriptors(descriptors: &mut [libc::pollfd]) -> bool {
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
    // SAFETY: of the given length; does not block.
    unsafe { system_call(libc::SYS_ppoll, arguments) >= 0 }
}

/// Value of a numeric option that all sockets have.
pub(crate) fn socket_option<T: Copy + Default>(fd: c_int, name: c_int) -> Result<T, isize> {
    protocol_option(fd, libc::SOL_SOCKET, name)
}

/// Value of a socket's numeric option of the protocol `level`.
pub(crate) fn protocol_option<T: Copy + Default>(
    fd: c_int,
    level: c_int,
    name: c_int,
) -> Result<T, isize> {
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
    // SAFETY: the kernel writes at most the given length.
    let result = unsafe { system_call(libc::SYS_getsockopt, arguments) };
    if result < 0 { Err(result) } else { Ok(value) }
}

/// Calls `getsockname` or `getpeername`, by the system call's number; returns the name's full
/// length.
pub(crate) fn socket_name(number: c_long, fd: c_int, buffer: &mut [u8]) -> Option<usize> {
    let mut length = buffer.len() as u32;
    let arguments =
        [fd as usize, buffer.as_mut_ptr() as usize, ptr::from_mut(&mut length) as usize, 0, 0, 0];
    // SAFETY: the kernel writes at most the given length.
    let result = unsafe { system_call(number, arguments) };
    (result == 0).then_some(length as usize)
}
