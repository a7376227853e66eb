//! Names of sockets (addresses, or paths), as the kernel wrote them.

use core::ffi::c_int;

use crate::platform::raw;

/// Name of a socket, as the kernel wrote it.
#[derive(Clone)]
pub(crate) struct RawSocketName {
    bytes: [u8; 128],
    length: usize,
}

impl RawSocketName {
    /// Absence of a name.
    pub(crate) const NONE: RawSocketName = RawSocketName { bytes: [0; 128], length: 0 };

    /// Name of a unix socket that is not bound.
    pub(crate) fn unbound_unix() -> RawSocketName {
        let mut name = RawSocketName::NONE;
        let [low, high] = (libc::AF_UNIX as u16).to_ne_bytes();
        (name.bytes[0], name.bytes[1], name.length) = (low, high, 2);
        name
    }

    /// Sets the name to the bytes that `fill` writes. `fill` returns their number.
    pub(crate) fn fill_with(&mut self, fill: impl FnOnce(&mut [u8]) -> usize) {
        self.length = fill(&mut self.bytes).min(self.bytes.len());
    }

    /// Sets the name to that of this end of the socket `fd`, from the kernel.
    pub(crate) fn ask_local(&mut self, fd: c_int) {
        self.ask_kernel(libc::SYS_getsockname, fd);
    }

    /// Name of this end of the socket `fd`, from the kernel.
    pub(crate) fn local_name(fd: c_int) -> RawSocketName {
        let mut name = RawSocketName::NONE;
        name.ask_local(fd);
        name
    }

    /// Name of the other end of the socket `fd`, from the kernel, if the socket is connected.
    pub(crate) fn peer_name(fd: c_int) -> RawSocketName {
        let mut name = RawSocketName::NONE;
        name.ask_peer(fd);
        name
    }

    /// Sets the name to that of the other end of the socket `fd`, from the kernel.
    pub(crate) fn ask_peer(&mut self, fd: c_int) {
        self.ask_kernel(libc::SYS_getpeername, fd);
    }

    /// Sets the name by the system call `number`: `getsockname` or `getpeername`.
    // The name is written in place: a name returned through several functions would be on the stack
    // several times.
    #[inline(never)]
    fn ask_kernel(&mut self, number: core::ffi::c_long, fd: c_int) {
        let length = raw::socket_name(number, fd, &mut self.bytes).unwrap_or(0);
        self.length = length.min(self.bytes.len());
    }

    /// Copy of a name that the program passed or received.
    ///
    /// # Safety
    /// `address` is null or points to `length` bytes.
    pub(crate) unsafe fn copy_from(address: *const libc::sockaddr, length: usize) -> RawSocketName {
        let mut name = RawSocketName::NONE;
        // SAFETY: as the caller guarantees.
        unsafe { name.set_from(address, length) };
        name
    }

    /// Copies a name that the program passed or received; keeps the old one if `address` is null.
    ///
    /// # Safety
    /// As for [`RawSocketName::copy_from`].
    pub(crate) unsafe fn set_from(&mut self, address: *const libc::sockaddr, length: usize) {
        if !address.is_null() {
            self.length = length.min(self.bytes.len());
            // SAFETY: the length is within both.
            unsafe {
                self.bytes.as_mut_ptr().copy_from_nonoverlapping(address.cast(), self.length)
            };
        }
    }

    /// Bytes of the name; empty without a name.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&[])
    }

    /// Whether there is a name.
    pub(crate) fn is_known(&self) -> bool {
        self.length >= 2
    }

    /// Whether the name is `AF_UNSPEC`, by which a program asks `connect` to end an association.
    pub(crate) fn is_unspecified(&self) -> bool {
        self.family() == libc::AF_UNSPEC
    }

    /// Address family of the name; 0 without a name.
    pub(crate) fn family(&self) -> c_int {
        let [low, high, ..] = self.bytes;
        if self.is_known() { c_int::from(u16::from_ne_bytes([low, high])) } else { 0 }
    }

    /// Port of an internet address; `None` for other names.
    pub(crate) fn port(&self) -> Option<u16> {
        let [_, _, high, low, ..] = self.bytes;
        matches!(self.family(), libc::AF_INET | libc::AF_INET6)
            .then_some(u16::from_be_bytes([high, low]))
    }

    /// Whether a socket with this own name is bound: an internet address has a port then.
    pub(crate) fn is_bound(&self) -> bool {
        let [_, _, high, low, ..] = self.bytes;
        match self.family() {
            libc::AF_INET | libc::AF_INET6 => high != 0 || low != 0,
            _ => self.length > 2,
        }
    }
}
