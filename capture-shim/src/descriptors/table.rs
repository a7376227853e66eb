//! Table of descriptors: kind and flow of each, in one word that is read without a lock.
//!
//! "Uncaptured" (not a socket, or one of another family) is an entry like any other, so a plain
//! file costs one load and one compare. Zero means not identified yet: the table begins as zeros,
//! is zeroed again in a child, and the word of a closed descriptor is zeroed before the kernel can
//! reuse its number.

use core::ffi::c_int;
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicPtr, AtomicU64};

use socket_log::encode::Direction;

use crate::state::options::RESOURCES;
use crate::state::{self, ProcessState};

/// Number of descriptors with an entry: the kernel's own default limit (`fs.nr_open`).
pub(crate) const MAX_DESCRIPTORS: usize = 1 << 20;

/// Kind of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum DescriptorKind {
    /// Not identified yet.
    Unknown = 0,
    /// Not a socket, or one of a family that is not captured.
    Uncaptured = 1,
    /// A stream socket.
    Stream = 2,
    /// A socket that preserves message boundaries: datagrams and `SOCK_SEQPACKET`.
    Datagram = 3,
}

/// Kind of a descriptor that is not captured, if resources are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NonSocketKind {
    /// Something else, whose use is not recorded.
    Plain,
    /// A regular file or a block device.
    File,
    /// A pipe.
    Pipe,
    /// An eventfd.
    Eventfd,
}

/// Address families that are captured.
const DOMAINS: [c_int; 4] = [libc::AF_INET, libc::AF_INET6, libc::AF_UNIX, libc::AF_VSOCK];

/// Whether sockets of the family `domain` are captured.
pub(crate) fn is_captured(domain: c_int) -> bool {
    DOMAINS.contains(&domain)
}

/// Entry of a descriptor: kind in the low 8 bits, flags in the next 8, a part of the kernel's id of
/// the socket in the next 14, two more flags, flow in the high 32. The kinds from 4 on are not
/// captured, and have the kernel's number of the object in place of a flow.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct DescriptorWord(u64);

/// Word of a descriptor that is not captured, for assembly code that reads the table by itself.
#[cfg(feature = "injected")]
pub(crate) const UNCAPTURED: u64 = DescriptorWord::UNCAPTURED.0;

/// Bits by which a plain stream is recognised: its entry is certain. In the word of a plain stream
/// the bits are [`PLAIN_STREAM`].
#[cfg(feature = "injected")]
pub(crate) const PLAIN_STREAM_BITS: u64 = 0xff
    | DescriptorWord::ENDED
    | DescriptorWord::UNCOUNTED_SEND
    | DescriptorWord::UNCOUNTED_RECEIVE;

/// Value of the [`PLAIN_STREAM_BITS`] for a plain stream.
#[cfg(feature = "injected")]
pub(crate) const PLAIN_STREAM: u64 = DescriptorKind::Stream as u64;

impl DescriptorWord {
    /// Entry that has this word.
    #[cfg(feature = "injected")]
    pub(crate) const fn from_word(word: u64) -> DescriptorWord {
        DescriptorWord(word)
    }

    /// Entry of a descriptor that is not identified yet.
    pub(crate) const UNKNOWN: DescriptorWord = DescriptorWord(DescriptorKind::Unknown as u64);
    /// Entry of a descriptor that is not captured.
    pub(crate) const UNCAPTURED: DescriptorWord = DescriptorWord(DescriptorKind::Uncaptured as u64);
    /// Entry of a file, if resources are recorded.
    pub(crate) const FILE: DescriptorWord = DescriptorWord(4);
    /// Kind of a pipe, if resources are recorded.
    const PIPE: u64 = 5;
    /// Kind of an eventfd, if resources are recorded.
    const EVENTFD: u64 = 6;
    /// Flag: the socket's own name is in the log, or not needed there.
    const NAMED: u64 = 1 << 8;
    /// Flag: more is recorded of the socket than its messages.
    const WATCHED: u64 = 1 << 9;
    /// Flag: the stream has ended, so further bytes from this descriptor number mean that it now
    /// names another socket.
    const ENDED: u64 = 1 << 10;
    /// Flag: an empty receive is the end of the connection (`SOCK_SEQPACKET`), not an empty
    /// datagram.
    const ENDS: u64 = 1 << 11;
    /// Flags: the stream was found already in use, and the library has not seen a send or a receive
    /// on it yet.
    const UNCOUNTED_SEND: u64 = 1 << 30;
    const UNCOUNTED_RECEIVE: u64 = 1 << 15;
    /// Shift of two bits: the index of the socket's family in [`DOMAINS`].
    const DOMAIN: u32 = 12;
    /// Flag: the kernel splits sent data into datagrams of a size that is a socket option.
    const SPLITS_SENDS: u64 = 1 << 14;
    /// Shift of the low 14 bits of the kernel's id of the socket.
    const COOKIE: u32 = 16;
    /// Mask of the bits at [`Self::COOKIE`], shifted down.
    const COOKIES: u16 = (1 << 14) - 1;
    /// Flag: the stream was found already in use.
    const FOUND: u64 = 1 << 31;

    /// Entry of a captured socket.
    pub(crate) fn for_socket(kind: DescriptorKind, flow: u32) -> DescriptorWord {
        DescriptorWord(kind as u64 | u64::from(flow) << 32)
    }

    /// Entry of the pipe `object`.
    pub(crate) fn for_pipe(object: u32) -> DescriptorWord {
        DescriptorWord(DescriptorWord::PIPE | u64::from(object) << 32)
    }

    /// Entry of the eventfd `object`.
    pub(crate) fn for_eventfd(object: u32) -> DescriptorWord {
        DescriptorWord(DescriptorWord::EVENTFD | u64::from(object) << 32)
    }

    /// Kind of an uncaptured descriptor.
    #[inline(always)]
    pub(crate) fn non_socket_kind(self) -> NonSocketKind {
        match self.0 & 0xff {
            4 => NonSocketKind::File,
            DescriptorWord::PIPE => NonSocketKind::Pipe,
            DescriptorWord::EVENTFD => NonSocketKind::Eventfd,
            _ => NonSocketKind::Plain,
        }
    }

    /// The kernel's number of a pipe or an eventfd.
    pub(crate) fn object_id(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Kind of the descriptor.
    #[inline(always)]
    pub(crate) fn kind(self) -> DescriptorKind {
        match self.0 as u8 {
            0 => DescriptorKind::Unknown,
            2 => DescriptorKind::Stream,
            3 => DescriptorKind::Datagram,
            _ => DescriptorKind::Uncaptured,
        }
    }

    /// Whether the descriptor is known not to be captured.
    #[inline(always)]
    pub(crate) fn is_uncaptured(self) -> bool {
        if RESOURCES {
            matches!(self.0 as u8, 1 | 4..)
        } else {
            self.0 == DescriptorWord::UNCAPTURED.0
        }
    }

    /// Flow of a captured socket, else 0.
    #[inline(always)]
    pub(crate) fn flow(self) -> u32 {
        if RESOURCES && self.is_uncaptured() { 0 } else { (self.0 >> 32) as u32 }
    }

    /// Whether the socket's own name is in the log.
    pub(crate) fn is_named(self) -> bool {
        self.0 & DescriptorWord::NAMED != 0
    }

    /// Whether `flows/watch.rs` records more of the socket than its messages.
    #[inline(always)]
    pub(crate) fn is_watched(self) -> bool {
        self.0 & DescriptorWord::WATCHED != 0
    }

    /// The entry, marked as watched.
    pub(crate) fn as_watched(self) -> DescriptorWord {
        DescriptorWord(self.0 | DescriptorWord::WATCHED)
    }

    /// Whether an empty receive ends the socket's connection although it preserves message
    /// boundaries.
    #[inline(always)]
    pub(crate) fn has_end(self) -> bool {
        self.0 & DescriptorWord::ENDS != 0
    }

    /// The entry, marked as having an end.
    pub(crate) fn with_end(self) -> DescriptorWord {
        DescriptorWord(self.0 | DescriptorWord::ENDS)
    }

    /// Whether the kernel splits sent data into datagrams, by a socket option.
    #[inline(always)]
    pub(crate) fn splits_sends(self) -> bool {
        self.0 & DescriptorWord::SPLITS_SENDS != 0
    }

    /// The entry, with the mark that the kernel splits sent data, or without it.
    pub(crate) fn with_split_sends(self, splits_sends: bool) -> DescriptorWord {
        DescriptorWord(
            self.0 & !DescriptorWord::SPLITS_SENDS
                | if splits_sends { DescriptorWord::SPLITS_SENDS } else { 0 },
        )
    }

    /// Whether the kernel should be asked before the entry is trusted: the descriptor was not
    /// identified yet, or its stream has ended.
    #[inline(always)]
    pub(crate) fn is_ambiguous(self) -> bool {
        self.0 == DescriptorWord::UNKNOWN.0 || self.0 & DescriptorWord::ENDED != 0
    }

    /// Whether the entry is ambiguous, or the kernel should be asked for its count of a stream's
    /// bytes before the next transfer.
    #[inline(always)]
    pub(crate) fn is_ambiguous_or_uncounted(self) -> bool {
        const FLAGS: u64 = DescriptorWord::ENDED
            | DescriptorWord::UNCOUNTED_SEND
            | DescriptorWord::UNCOUNTED_RECEIVE;
        self.0 == DescriptorWord::UNKNOWN.0 || self.0 & FLAGS != 0
    }

    /// Whether the entry can belong to the socket with the kernel's id `cookie`.
    pub(crate) fn has_cookie(self, cookie: u64) -> bool {
        (self.0 >> DescriptorWord::COOKIE) as u16 & DescriptorWord::COOKIES
            == cookie as u16 & DescriptorWord::COOKIES
    }

    /// The entry, with a part of the kernel's id of the socket.
    pub(crate) fn with_cookie(self, cookie: u64) -> DescriptorWord {
        DescriptorWord(
            self.0 | u64::from(cookie as u16 & DescriptorWord::COOKIES) << DescriptorWord::COOKIE,
        )
    }

    /// The entry, marked as a stream that was found already in use.
    pub(crate) fn as_found(self) -> DescriptorWord {
        DescriptorWord(
            self.0
                | DescriptorWord::FOUND
                | DescriptorWord::UNCOUNTED_SEND
                | DescriptorWord::UNCOUNTED_RECEIVE,
        )
    }

    /// Whether the stream was found already in use.
    pub(crate) fn is_found(self) -> bool {
        self.0 & DescriptorWord::FOUND != 0
    }

    /// The entry after the kernel's byte count of this direction was read; `None` if it was read
    /// already, or is not needed.
    pub(crate) fn as_counted(self, direction: Direction) -> Option<DescriptorWord> {
        let flag = match direction {
            Direction::Send => DescriptorWord::UNCOUNTED_SEND,
            Direction::Receive => DescriptorWord::UNCOUNTED_RECEIVE,
        };
        (self.0 & flag != 0).then_some(DescriptorWord(self.0 & !flag))
    }

    /// Address family of a captured socket.
    pub(crate) fn domain(self) -> c_int {
        DOMAINS.get(self.0 as usize >> DescriptorWord::DOMAIN & 3).copied().unwrap_or(0)
    }

    /// The entry, with the socket's address family.
    pub(crate) fn in_domain(self, domain: c_int) -> DescriptorWord {
        let index = DOMAINS.iter().position(|other| *other == domain).unwrap_or(0);
        DescriptorWord(self.0 | (index as u64) << DescriptorWord::DOMAIN)
    }

    /// The entry, marked as ended.
    pub(crate) fn as_ended(self) -> DescriptorWord {
        DescriptorWord(self.0 | DescriptorWord::ENDED)
    }

    /// The entry, marked as named.
    pub(crate) fn as_named(self) -> DescriptorWord {
        DescriptorWord(self.0 | DescriptorWord::NAMED)
    }
}

/// Table of entries; null if no descriptor is captured.
#[unsafe(link_section = ".data.often_read")]
pub(crate) static TABLE: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());

/// Maps the table. Returns false if memory is lacking.
pub(crate) fn create_table() -> bool {
    let Some(memory) = state::private_to_process(MAX_DESCRIPTORS * size_of::<AtomicU64>()) else {
        return false;
    };
    TABLE.store(memory.cast(), Relaxed);
    true
}

/// Marks every descriptor as not captured, for good: the process has no log.
pub(crate) fn disable_table() {
    TABLE.store(ptr::null_mut(), Relaxed);
}

/// Word of `fd` in the table; `None` beyond its end.
#[inline(always)]
fn table_word(fd: c_int) -> Option<&'static AtomicU64> {
    let table = TABLE.load(Relaxed);
    // A negative descriptor is beyond the limit too.
    if table.is_null() || fd as u32 as usize >= MAX_DESCRIPTORS {
        return None;
    }
    // SAFETY: the table has MAX_DESCRIPTORS words, zeros are valid, and it is never removed.
    unsafe { Some(&*table.add(fd as usize)) }
}

/// Entry of `fd`.
#[inline(always)]
pub(crate) fn get_entry(fd: c_int) -> DescriptorWord {
    table_word(fd).map_or(DescriptorWord::UNCAPTURED, |word| DescriptorWord(word.load(Relaxed)))
}

/// Sets the entry of `fd`. Returns false if `fd` is beyond the table.
pub(crate) fn set_entry(state: &ProcessState, fd: c_int, entry: DescriptorWord) -> bool {
    let Some(word) = table_word(fd) else { return false };
    word.store(entry.0, Relaxed);
    state.descriptors.fetch_max(fd as u32 + 1, Relaxed);
    true
}

/// Sets the entry of `fd` to `new` if it still is `old`; otherwise returns the current entry.
pub(crate) fn replace_entry(
    state: &ProcessState,
    fd: c_int,
    old: DescriptorWord,
    new: DescriptorWord,
) -> Result<(), DescriptorWord> {
    let Some(word) = table_word(fd) else { return Err(DescriptorWord::UNCAPTURED) };
    state.descriptors.fetch_max(fd as u32 + 1, Relaxed);
    word.compare_exchange(old.0, new.0, Relaxed, Relaxed).map(drop).map_err(DescriptorWord)
}

/// Clears the entry of `fd`, and returns the previous entry.
pub(crate) fn take_entry(fd: c_int) -> DescriptorWord {
    match table_word(fd) {
        // Most entries are zero already, and a load is cheaper than an exchange.
        Some(word) if word.load(Relaxed) != 0 => DescriptorWord(word.swap(0, Relaxed)),
        _ => DescriptorWord::UNKNOWN,
    }
}

/// Set of the flows that are still open, out of the flows that were passed to [`live_flows`]: a bit
/// for each, by its index.
pub(crate) struct LiveFlows([u64; 8]);

impl LiveFlows {
    /// Whether `flow`, one of the sorted `flows` that were queried, is still open.
    pub(crate) fn contains(&self, flows: &[u32], flow: u32) -> bool {
        let index = flows.partition_point(|other| *other < flow);
        flow != 0
            && flows.get(index) == Some(&flow)
            && self.0.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 != 0)
    }
}

/// Set of the `flows` that have a descriptor. `flows` are sorted; flows after the first 512 are
/// treated as closed.
pub(crate) fn live_flows(flows: &[u32]) -> LiveFlows {
    let mut alive = LiveFlows([0; 8]);
    let (Some(first), Some(last)) = (flows.first(), flows.last()) else { return alive };
    let known = state::current_state().map_or(0, |state| state.descriptors.load(Relaxed));
    for fd in 0..known {
        let flow = get_entry(fd as c_int).flow();
        if flow >= *first && flow <= *last {
            let index = flows.partition_point(|other| *other < flow);
            if flows.get(index) == Some(&flow)
                && let Some(word) = alive.0.get_mut(index / 64)
            {
                *word |= 1 << (index % 64);
            }
        }
    }
    alive
}

/// Clears the entries of the first `count` descriptors, for a child in which the kernel does not
/// wipe memory.
pub(crate) fn forget_all(count: u32) {
    for fd in 0..count {
        take_entry(fd as c_int);
    }
}
