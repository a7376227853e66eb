//! Buffers, addresses and control data of the caller.

use core::ptr;

use libc::{cmsghdr, iovec, msghdr, sockaddr};

/// Buffers of the caller, which are read only for checksums and for the optional data of messages.
#[derive(Clone, Copy)]
pub(crate) struct CallBuffers {
    /// First of the buffers.
    pub(crate) first: *const iovec,
    /// Number of buffers.
    pub(crate) count: usize,
}

impl CallBuffers {
    /// No buffers.
    pub(crate) const NONE: CallBuffers = CallBuffers { first: ptr::null(), count: 0 };

    /// Buffers of a message.
    ///
    /// # Safety
    /// The header is readable.
    pub(crate) unsafe fn from_message(message: *const msghdr) -> CallBuffers {
        // SAFETY: as the caller guarantees.
        unsafe { CallBuffers { first: (*message).msg_iov, count: (*message).msg_iovlen } }
    }

    /// The first `bytes` bytes in the buffers, or as many as they hold, buffer by buffer.
    ///
    /// # Safety
    /// The buffers are readable for as long as the result is used.
    pub(super) unsafe fn filled_slices<'call>(
        self,
        bytes: usize,
    ) -> impl Iterator<Item = &'call [u8]> {
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

    /// Beginning of the first `bytes` bytes, up to the end of the first buffer.
    ///
    /// # Safety
    /// The buffers are readable for as long as the result is used.
    #[inline(always)]
    pub(super) unsafe fn first_slice<'call>(self, bytes: usize) -> &'call [u8] {
        if self.count == 0 || bytes == 0 {
            return &[];
        }
        // SAFETY: the caller's array is not empty.
        let buffer = unsafe { *self.first };
        let length = buffer.iov_len.min(bytes);
        if length == 0 {
            return &[];
        }
        // SAFETY: the kernel has just read or written this many bytes here.
        unsafe { core::slice::from_raw_parts(buffer.iov_base.cast(), length) }
    }

    /// The part of a buffer that begins after the first `skipped` bytes of all buffers; null if
    /// there are no further bytes.
    ///
    /// # Safety
    /// The buffers' descriptions are readable.
    pub(super) unsafe fn slice_after(self, skipped: usize) -> iovec {
        let mut rest = skipped;
        for index in 0..self.count {
            // SAFETY: within the caller's array.
            let buffer = unsafe { *self.first.add(index) };
            if rest < buffer.iov_len {
                let start = buffer.iov_base.cast::<u8>().wrapping_add(rest);
                return iovec { iov_base: start.cast(), iov_len: buffer.iov_len - rest };
            }
            rest -= buffer.iov_len;
        }
        iovec { iov_base: ptr::null_mut(), iov_len: 0 }
    }

    /// Total size of the buffers, in bytes.
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

/// Outgoing bytes of a call, and their destination.
#[derive(Clone, Copy)]
pub(crate) struct OutgoingMessage {
    /// Bytes that are sent.
    pub(crate) buffers: CallBuffers,
    /// Destination, if the call names one.
    pub(crate) to: CallerAddress,
    /// Control data of the message.
    pub(crate) control: ControlData,
}

impl OutgoingMessage {
    /// Outgoing bytes of a call without control data.
    #[inline(always)]
    pub(crate) fn new(buffers: CallBuffers, to: CallerAddress) -> OutgoingMessage {
        OutgoingMessage { buffers, to, control: ControlData::NONE }
    }

    /// Outgoing bytes of a message.
    ///
    /// # Safety
    /// The header is readable.
    #[inline(always)]
    pub(crate) unsafe fn from_message(message: *const msghdr) -> OutgoingMessage {
        // SAFETY: as the caller guarantees.
        unsafe {
            OutgoingMessage {
                buffers: CallBuffers::from_message(message),
                to: CallerAddress {
                    start: (*message).msg_name.cast(),
                    length: (*message).msg_namelen as usize,
                },
                control: ControlData::from_message(message),
            }
        }
    }
}

/// Control data of a message: null, or of the given length.
#[derive(Clone, Copy)]
pub(crate) struct ControlData {
    start: *const u8,
    length: usize,
}

impl ControlData {
    /// No control data.
    pub(crate) const NONE: ControlData = ControlData { start: ptr::null(), length: 0 };

    /// Control data of a message.
    ///
    /// # Safety
    /// The header is readable.
    #[inline(always)]
    pub(crate) unsafe fn from_message(message: *const msghdr) -> ControlData {
        // SAFETY: as the caller guarantees.
        unsafe {
            ControlData { start: (*message).msg_control.cast(), length: (*message).msg_controllen }
        }
    }

    /// Whether there is no item.
    #[inline(always)]
    pub(crate) fn is_empty(self) -> bool {
        self.length < size_of::<cmsghdr>() || self.start.is_null()
    }

    /// Calls `look` with the header and the contents of each item.
    ///
    /// # Safety
    /// The data are readable.
    pub(crate) unsafe fn for_each_item(self, mut look: impl FnMut(&cmsghdr, &[u8])) {
        const HEADER: usize = size_of::<cmsghdr>();
        let mut offset = 0;
        while !self.is_empty() && offset + HEADER <= self.length {
            // SAFETY: the header lies within the control data.
            let header = unsafe { ptr::read_unaligned(self.start.add(offset).cast::<cmsghdr>()) };
            let size = (header.cmsg_len as usize).min(self.length - offset);
            if size < HEADER {
                return;
            }
            // SAFETY: within the control data as well.
            let contents = unsafe {
                core::slice::from_raw_parts(self.start.add(offset + HEADER), size - HEADER)
            };
            look(&header, contents);
            offset += size.next_multiple_of(size_of::<usize>());
        }
    }
}

/// Address that the caller passed or received: null, or of the stated length.
#[derive(Clone, Copy)]
pub(crate) struct CallerAddress {
    /// Where the address is.
    pub(crate) start: *const sockaddr,
    /// Length of the address, in bytes.
    pub(crate) length: usize,
}

impl CallerAddress {
    /// No address.
    pub(crate) const NONE: CallerAddress = CallerAddress { start: ptr::null(), length: 0 };

    /// Bytes of the address, up to the maximum length of an address.
    ///
    /// # Safety
    /// The address is readable for as long as the bytes are used.
    #[inline(always)]
    pub(super) unsafe fn as_bytes<'call>(self) -> &'call [u8] {
        if self.start.is_null() {
            return &[];
        }
        // SAFETY: as the caller guarantees.
        unsafe { core::slice::from_raw_parts(self.start.cast(), self.length.min(128)) }
    }
}
