//! Sessions of TLS libraries: the flow of each, and the origin of its plain text.
//!
//! A session is identified by the address of the library's object. The flow is determined by the
//! socket calls that the library makes within its own functions, so it does not matter how the
//! library got the socket. A session without such calls has no flow: the library reads and writes
//! memory only, and the program moves the bytes.

use core::cell::UnsafeCell;
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};

use super::records::TlsRecords;
use crate::state;
use crate::state::options::recording_options;
use crate::tuning::TLS_SESSIONS;

/// State of a session.
#[repr(C)]
pub(super) struct SessionState {
    /// Number of the session's flow; 0 for none.
    pub(super) flow: u32,
    /// Records that the session received.
    pub(super) received: TlsRecords,
    /// Records that the session sent.
    pub(super) sent: TlsRecords,
}

/// Place of a session in the table. All fields may be zeros.
#[repr(C, align(64))]
struct TlsSession {
    /// Address of the library's object; 0 for none.
    key: AtomicUsize,
    /// Whether a thread uses the state.
    is_taken: AtomicBool,
    known: UnsafeCell<SessionState>,
}

// SAFETY: the state is used only by the thread that has locked it.
unsafe impl Sync for TlsSession {}

/// All sessions; null if snippets are not kept.
static SESSIONS: AtomicPtr<TlsSession> = AtomicPtr::new(ptr::null_mut());

/// Maps the table, if it is needed. Returns false if memory is lacking.
pub(super) fn create_table() -> bool {
    if recording_options().keeps_any_snippets() {
        let Some(memory) = state::private_to_process(TLS_SESSIONS * size_of::<TlsSession>()) else {
            return false;
        };
        SESSIONS.store(memory.cast(), Relaxed);
    }
    true
}

/// Place of the session `key` in the table, which another session may have; `None` if snippets are
/// not kept.
fn session_place(key: usize) -> Option<&'static TlsSession> {
    let all = SESSIONS.load(Relaxed);
    // The distance between objects depends on the allocator.
    let number = key.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as usize) >> 32;
    // SAFETY: null, or [`TLS_SESSIONS`] places, which stay mapped and in which zeros are valid.
    (!all.is_null()).then(|| unsafe { &*all.add(number % TLS_SESSIONS) })
}

impl TlsSession {
    /// Calls `then` with the state, and returns its result; `None` if another thread uses the
    /// state.
    fn with_state<R>(&self, then: impl FnOnce(&mut SessionState) -> R) -> Option<R> {
        if self.is_taken.swap(true, Acquire) {
            return None;
        }
        // SAFETY: locked, so nothing else uses it.
        let result = then(unsafe { &mut *self.known.get() });
        self.is_taken.store(false, Release);
        Some(result)
    }
}

/// Gives the session `key` its place in the table, if it does not have it, in place of an earlier
/// session. Returns false if the earlier session is used at this moment, or snippets are not kept.
pub(super) fn begin_session(key: usize) -> bool {
    let Some(session) = session_place(key) else { return false };
    let begun = || {
        session.with_state(|known| {
            *known =
                SessionState { flow: 0, received: TlsRecords::NOTHING, sent: TlsRecords::NOTHING };
            session.key.store(key, Relaxed);
        })
    };
    session.key.load(Relaxed) == key || begun().is_some()
}

/// Calls `then` with the state of the session `key`, and returns its result; `None` if the session
/// has no state, or another thread uses the state.
pub(super) fn with_session<R>(key: usize, then: impl FnOnce(&mut SessionState) -> R) -> Option<R> {
    let session = session_place(key)?;
    session.with_state(|known| (session.key.load(Relaxed) == key).then(|| then(known))).flatten()
}

/// Removes the session `key` when its object is freed.
pub(super) fn forget_session(key: usize) {
    if let Some(session) = session_place(key)
        && session.key.load(Relaxed) == key
    {
        session.key.store(0, Relaxed);
    }
}
