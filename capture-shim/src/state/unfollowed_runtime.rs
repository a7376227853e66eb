//! Name of the program's language runtime, for the log, if the runtime's tasks are not followed.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Release};

use socket_log::layout::runtime::IS_LEFT_OUT;

use crate::platform::InitOnce;
use crate::platform::text::BoundedText;

/// Name and version of the runtime.
static NAME: InitOnce<BoundedText<64>> = InitOnce::new(BoundedText::new());

/// Why the tasks of the runtime are not followed: one of the three constants below.
static REASON: AtomicU32 = AtomicU32::new(FOLLOWED);

/// The tasks are followed, or there is no such runtime.
const FOLLOWED: u32 = 0;

/// The library does not know this version of the runtime.
const UNKNOWN: u32 = 1;

/// The user had the runtime left out.
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

/// Notes that the tasks of the runtime are followed from now on.
#[cfg(not(feature = "injected"))]
pub(crate) fn note_followed() {
    REASON.store(FOLLOWED, Release);
}

/// Notes that the user had the runtime left out.
pub(crate) fn note_left_out() {
    REASON.store(LEFT_OUT, Release);
}

/// Name of the runtime and flags for its record; `None` if the runtime's tasks are followed, or
/// there is no such runtime.
pub(crate) fn name_and_flags() -> Option<(&'static [u8], u32)> {
    let flags = match REASON.load(Acquire) {
        FOLLOWED => return None,
        LEFT_OUT => IS_LEFT_OUT,
        _ => 0,
    };
    Some((NAME.get().as_bytes(), flags))
}
