//! Runtime of the program whose tasks are not followed: its name, for the log.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Release};

use socket_log::layout::runtime::IS_LEFT_OUT;

use crate::platform::InitOnce;
use crate::platform::text::BoundedText;

/// Name and version of the runtime.
static NAME: InitOnce<BoundedText<64>> = InitOnce::new(BoundedText::new());

/// Whether its tasks are followed, and why not.
static REASON: AtomicU32 = AtomicU32::new(FOLLOWED);

const FOLLOWED: u32 = 0;
const UNKNOWN: u32 = 1;
const LEFT_OUT: u32 = 2;

/// Notes the name of the program's runtime.
///
/// # Safety
/// Only the constructor calls this, before the program has a second thread.
pub(crate) unsafe fn note_name(name: BoundedText<64>) {
    // SAFETY: as the caller guarantees.
    unsafe { NAME.set(name) };
}

/// Notes that the tasks of the runtime are not followed.
pub(crate) fn note_unfollowed() {
    REASON.store(UNKNOWN, Release);
}

/// Notes that the user had the runtime left out.
pub(crate) fn note_left_out() {
    REASON.store(LEFT_OUT, Release);
}

/// Name of the runtime and flags for its record, if its tasks are not followed.
pub(crate) fn unfollowed() -> Option<(&'static [u8], u32)> {
    let flags = match REASON.load(Acquire) {
        FOLLOWED => return None,
        LEFT_OUT => IS_LEFT_OUT,
        _ => 0,
    };
    Some((NAME.get().as_bytes(), flags))
}
