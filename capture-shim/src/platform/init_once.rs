//! A value that the library's constructor writes, before the program has a second thread.

use core::cell::UnsafeCell;

/// A value that is written once, before others read it.
pub(crate) struct InitOnce<T>(UnsafeCell<T>);

// SAFETY: only the constructor writes it, before the program has a second thread.
unsafe impl<T: Sync> Sync for InitOnce<T> {}

impl<T> InitOnce<T> {
    /// A cell with its initial value.
    pub(crate) const fn new(value: T) -> InitOnce<T> {
        InitOnce(UnsafeCell::new(value))
    }

    /// The value.
    #[inline(always)]
    pub(crate) fn get(&self) -> &T {
        // SAFETY: nothing writes any more once the constructor has run, and it takes no reference
        // while it writes.
        unsafe { &*self.0.get() }
    }

    /// Writes the value.
    ///
    /// # Safety
    /// Only the constructor calls this, before the program has a second thread, and it keeps no
    /// reference to the value.
    pub(crate) unsafe fn set(&self, value: T) {
        // SAFETY: the program has one thread, and no reference to the value exists.
        unsafe { self.0.get().write(value) };
    }
}
