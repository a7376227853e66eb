//! Number of a virtual thread: the one that Java itself gives to it (`Thread.threadId`), which no
//! other thread of the process ever has.

use core::ptr;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;

use super::interfaces::{Interface, Reference};
use super::native;

/// Place of the number in a thread.
static FIELD: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());
/// Lowest bits of a context's number, which are all that readers use.
const MASK: i64 = (1 << 30) - 1;

/// Finds the place of the number in all threads. Returns whether threads have one.
///
/// # Safety
/// The environment is the calling thread's.
pub(super) unsafe fn find(environment: Interface) -> bool {
    // SAFETY: as the caller guarantees.
    let field = unsafe {
        let class = native::find_class(environment, c"java/lang/Thread");
        if class.is_null() {
            return false;
        }
        let field = native::long_field(environment, class, c"tid");
        native::release(environment, class);
        field
    };
    FIELD.store(field.cast_mut().cast(), Relaxed);
    !field.is_null()
}

/// Number of the context of `thread`.
///
/// # Safety
/// The environment is the calling thread's, [`find`] has returned true, and this is a thread.
#[inline]
pub(super) unsafe fn context_number(environment: Interface, thread: Reference) -> u32 {
    // SAFETY: as the caller guarantees.
    let number = unsafe { native::long_value(environment, thread, FIELD.load(Relaxed).cast()) };
    (number & MASK) as u32
}
