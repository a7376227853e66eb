//! The caller's buffers and addresses.

use libc::{iovec, msghdr, sockaddr};

/// The caller's buffers, which are read for a datagram's checksum and for nothing else.
#[derive(Clone, Copy)]
pub(crate) struct Buffers {
    /// The first.
    pub(crate) first: *const iovec,
    /// Their number.
    pub(crate) count: usize,
}

impl Buffers {
    /// None at all.
    pub(crate) const NONE: Buffers = Buffers { first: core::ptr::null(), count: 0 };

    /// A message's buffers.
    ///
    /// # Safety
    /// The header is readable.
    pub(crate) unsafe fn of_message(message: *const msghdr) -> Buffers {
        // SAFETY: as the caller says.
        unsafe { Buffers { first: (*message).msg_iov, count: (*message).msg_iovlen } }
    }

    /// How many bytes they have room for.
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

/// An address that the caller gave or got: null, or as long as told.
#[derive(Clone, Copy)]
pub(crate) struct Address {
    /// Where it is.
    pub(crate) start: *const sockaddr,
    /// Its length.
    pub(crate) length: usize,
}

impl Address {
    /// None given.
    pub(crate) const NONE: Address = Address { start: core::ptr::null(), length: 0 };

    /// Its bytes, as many as an address has at most.
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
