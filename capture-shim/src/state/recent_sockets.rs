//! Facts about sockets that a thread has just learned, so that it need not ask the kernel again.
//!
//! A server or client with short connections asks about each of its sockets what it knows already:
//! the network namespace of the thread, the name of the listener, that a new socket is unbound.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64};

/// Words for the longest name of a unix socket: two bytes of family and 109 of path.
const NAME_WORDS: usize = 14;

/// Size of [`NAME_WORDS`], in bytes.
const NAME_BYTES: usize = NAME_WORDS * size_of::<u64>();

/// Value in place of the listener's flow while its facts are being noted. A signal handler that
/// finds this value notes nothing.
const BUSY: u32 = u32::MAX;

/// Facts that a thread remembers. All fields begin as zeros.
#[repr(C)]
pub(crate) struct RecentSockets {
    /// Descriptor (low half) and flow of the socket that the thread made last, if the thread has
    /// not used it; 0 for none.
    unused: AtomicU64,
    /// The kernel's id of the network namespace in which the thread makes sockets; 0 if unknown.
    namespace: AtomicU64,
    /// Flow of the listener with the facts below, [`BUSY`], or 0 for none.
    listener: AtomicU32,
    /// Length of the listener's name, in bytes; 0 if unknown.
    length: AtomicU32,
    /// The kernel's id of the listener's network namespace; 0 if unknown.
    listener_namespace: AtomicU64,
    /// Bytes of the listener's name.
    name: [AtomicU64; NAME_WORDS],
}

/// Word of [`RecentSockets::unused`] for this socket.
fn word_of_socket(fd: i32, flow: u32) -> u64 {
    u64::from(flow) << 32 | u64::from(fd as u32)
}

impl RecentSockets {
    /// Forgets everything: the thread begins another log, possibly in a child.
    pub(crate) fn forget(&self) {
        self.unused.store(0, Relaxed);
        self.namespace.store(0, Relaxed);
        self.listener.store(0, Relaxed);
    }

    /// Notes that the thread has made the socket `fd` with this flow.
    pub(crate) fn note_made(&self, fd: i32, flow: u32) {
        self.unused.store(word_of_socket(fd, flow), Relaxed);
    }

    /// Notes that the thread uses a socket.
    pub(crate) fn note_used(&self) {
        self.unused.store(0, Relaxed);
    }

    /// Whether `fd` of this flow is the socket that the thread made last and has not used. Notes
    /// that the thread uses it now.
    pub(crate) fn take_unused(&self, fd: i32, flow: u32) -> bool {
        let word = word_of_socket(fd, flow);
        flow != 0 && self.unused.swap(0, Relaxed) == word
    }

    /// The kernel's id of the network namespace in which the thread makes sockets. If it is
    /// unknown, `ask` gets it from the kernel by a socket that the thread has just made.
    #[inline(never)]
    pub(crate) fn own_namespace(&self, ask: impl FnOnce() -> u64) -> u64 {
        match self.namespace.load(Relaxed) {
            0 => {
                let namespace = ask();
                self.namespace.store(namespace, Relaxed);
                namespace
            }
            known => known,
        }
    }

    /// Forgets the thread's network namespace, which may have changed.
    pub(crate) fn forget_namespace(&self) {
        self.namespace.store(0, Relaxed);
    }

    /// The kernel's id of the network namespace of the listener with this flow. If it is unknown,
    /// `ask` gets it from the kernel by an accepted socket, which is in the same namespace.
    #[inline(never)]
    pub(crate) fn listener_namespace(&self, flow: u32, ask: impl FnOnce() -> u64) -> u64 {
        let known = self.listener_namespace.load(Relaxed);
        if flow != 0 && self.listener.load(Acquire) == flow && known != 0 {
            return known;
        }
        let namespace = ask();
        self.note_listener(flow, namespace, &[]);
        namespace
    }

    /// Notes facts about the listener with this flow. Not inlined, like the two functions that use
    /// the facts, so that its buffers are not on the stack of the calls that adopt a socket.
    #[inline(never)]
    fn note_listener(&self, flow: u32, namespace: u64, name: &[u8]) {
        if matches!(flow, 0 | BUSY) || self.listener.load(Acquire) == BUSY {
            return;
        }
        self.listener.store(BUSY, Release);
        self.listener_namespace.store(namespace, Relaxed);
        let length = if name.len() > NAME_BYTES { 0 } else { name.len() };
        self.length.store(length as u32, Relaxed);
        for (word, bytes) in self.name.iter().zip(name.chunks(size_of::<u64>())) {
            let mut padded = [0; size_of::<u64>()];
            padded.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
            word.store(u64::from_ne_bytes(padded), Relaxed);
        }
        self.listener.store(flow, Release);
    }

    /// Notes the name of the listener with this flow, a unix socket.
    pub(crate) fn note_listener_name(&self, flow: u32, name: &[u8]) {
        self.note_listener(flow, 0, name);
    }

    /// Copies the name of the listener with this flow, a unix socket, and returns its length; 0 if
    /// the name is not known.
    #[inline(never)]
    pub(crate) fn copy_listener_name(&self, flow: u32, to: &mut [u8]) -> usize {
        if flow == 0 || self.listener.load(Acquire) != flow {
            return 0;
        }
        let length = self.length.load(Relaxed) as usize;
        let words = self.name.iter().flat_map(|word| word.load(Relaxed).to_ne_bytes());
        to.iter_mut().zip(words.take(length)).for_each(|(to, from)| *to = from);
        // A signal handler may have noted another listener meanwhile.
        if self.listener.load(Acquire) == flow { length.min(to.len()) } else { 0 }
    }
}
