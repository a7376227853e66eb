//! Names of sockets, as the kernel wrote them.

use core::ffi::c_int;

use crate::platform::raw;

/// A socket's name, as the kernel wrote it.
#[derive(Clone)]
pub(crate) struct Name {
    bytes: [u8; 128],
    length: usize,
}

impl Name {
    /// No name.
    pub(crate) const NONE: Name = Name { bytes: [0; 128], length: 0 };

    /// This end's name.
    pub(crate) fn local(fd: c_int) -> Name {
        let mut name = Name::NONE;
        name.ask(libc::SYS_getsockname, fd);
        name
    }

    /// The other end's name, where the socket is connected.
    pub(crate) fn peer(fd: c_int) -> Name {
        let mut name = Name::NONE;
        name.ask(libc::SYS_getpeername, fd);
        name
    }

    // In its place, since names returned through several functions would lie on the stack as often.
    #[inline(never)]
    fn ask(&mut self, number: core::ffi::c_long, fd: c_int) {
        let length = raw::socket_name(number, fd, &mut self.bytes).unwrap_or(0);
        self.length = length.min(self.bytes.len());
    }

    /// A copy of the name that a caller gave or got.
    ///
    /// # Safety
    /// `address` is null or points to `length` bytes.
    pub(crate) unsafe fn copy(address: *const libc::sockaddr, length: usize) -> Name {
        let mut name = Name::NONE;
        // SAFETY: as the caller says.
        unsafe { name.set(address, length) };
        name
    }

    /// Makes it a copy of the name that a caller gave or got; as it is, where that is null.
    ///
    /// # Safety
    /// As [`Name::copy`].
    pub(crate) unsafe fn set(&mut self, address: *const libc::sockaddr, length: usize) {
        if !address.is_null() {
            self.length = length.min(self.bytes.len());
            // SAFETY: the length is within both.
            unsafe {
                self.bytes.as_mut_ptr().copy_from_nonoverlapping(address.cast(), self.length)
            };
        }
    }

    /// The bytes; empty without a name.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&[])
    }

    /// Whether there is one.
    pub(crate) fn is_known(&self) -> bool {
        self.length >= 2
    }

    /// Whether it is `AF_UNSPEC`: no name, but the wish to have none.
    pub(crate) fn is_unspecified(&self) -> bool {
        self.family() == libc::AF_UNSPEC
    }

    pub(crate) fn family(&self) -> c_int {
        let [low, high, ..] = self.bytes;
        if self.is_known() { c_int::from(u16::from_ne_bytes([low, high])) } else { 0 }
    }

    /// The port of an internet address.
    pub(crate) fn port(&self) -> Option<u16> {
        let [_, _, high, low, ..] = self.bytes;
        matches!(self.family(), libc::AF_INET | libc::AF_INET6)
            .then_some(u16::from_be_bytes([high, low]))
    }

    /// Whether it is the name of a socket that is bound: an internet address without a port is not.
    pub(crate) fn is_bound(&self) -> bool {
        let [_, _, high, low, ..] = self.bytes;
        match self.family() {
            libc::AF_INET | libc::AF_INET6 => high != 0 || low != 0,
            _ => self.length > 2,
        }
    }
}
