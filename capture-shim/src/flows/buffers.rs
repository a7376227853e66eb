//! Buffers and addresses of the caller.

use libc::{iovec, msghdr, sockaddr};

/// Buffers of the caller, which are read for checksums, for heads where these are wanted, and for
/// nothing else.
#[derive(Clone, Copy)]
pub(crate) struct Buffers {
    /// First of the buffers.
    pub(crate) first: *const iovec,
    /// Number of buffers.
    pub(crate) count: usize,
}

impl Buffers {
    /// No buffers.
    pub(crate) const NONE: Buffers = Buffers { first: core::ptr::null(), count: 0 };

    /// Buffers of a message.
    ///
    /// # Safety
    /// The header is readable.
    pub(crate) unsafe fn of_message(message: *const msghdr) -> Buffers {
        // SAFETY: as the caller says.
        unsafe { Buffers { first: (*message).msg_iov, count: (*message).msg_iovlen } }
    }

    /// The first `bytes` bytes in the buffers, or as many as they hold, buffer by buffer.
    ///
    /// # Safety
    /// They are readable for as long as they are used.
    pub(super) unsafe fn filled<'call>(self, bytes: usize) -> impl Iterator<Item = &'call [u8]> {
        let mut rest = bytes;
        let count = if bytes == 0 { 0 } else { self.count };
        (0..count).map_while(move |index| {
            if rest == 0 {
                return None;
            }
            // SAFETY: within the caller's array.
            let buffer = unsafe { *self.first.add(index) };
            let length = buffer.iov_len.min(rest);
            rest -= length;
            if length == 0 {
                return Some(&[][..]);
            }
            // SAFETY: the kernel has just read or written this many bytes here.
            Some(unsafe { core::slice::from_raw_parts(buffer.iov_base.cast(), length) })
        })
    }

    /// Beginning of the first `bytes` bytes, as far as it lies in the first buffer.
    ///
    /// # Safety
    /// They are readable for as long as they are used.
    #[inline(always)]
    pub(super) unsafe fn first<'call>(self, bytes: usize) -> &'call [u8] {
        if self.count == 0 || bytes == 0 {
            return &[];
        }
        // SAFETY: the caller's array has one.
        let buffer = unsafe { *self.first };
        let length = buffer.iov_len.min(bytes);
        if length == 0 {
            return &[];
        }
        // SAFETY: the kernel has just read or written this many bytes here.
        unsafe { core::slice::from_raw_parts(buffer.iov_base.cast(), length) }
    }

    /// Number of bytes that the buffers have room for.
    ///
    /// # Safety
    /// The buffers' descriptions are readable.
    pub(crate) unsafe fn capacity(self) -> usize {
        let mut capacity = 0usize;
        for index in 0..self.count {
            // SAFETY: within the caller's array.
            capacity = capacity.saturating_add(unsafe { (*self.first.add(index)).iov_len });
        }
        capacity
    }
}

/// Address that the caller gave or got: null, or as long as told.
#[derive(Clone, Copy)]
pub(crate) struct Address {
    /// Where the address is.
    pub(crate) start: *const sockaddr,
    /// Length of the address, in bytes.
    pub(crate) length: usize,
}

impl Address {
    /// No address.
    pub(crate) const NONE: Address = Address { start: core::ptr::null(), length: 0 };

    /// Bytes of the address, up to the maximum length of an address.
    ///
    /// # Safety
    /// It is readable for as long as the bytes are used.
    #[inline(always)]
    pub(super) unsafe fn as_bytes<'call>(self) -> &'call [u8] {
        if self.start.is_null() {
            return &[];
        }
        // SAFETY: as the caller says.
        unsafe { core::slice::from_raw_parts(self.start.cast(), self.length.min(128)) }
    }
}
