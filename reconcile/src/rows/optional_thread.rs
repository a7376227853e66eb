//! Threads that may be unknown. Records of temporary files contain them.

use std::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes};

/// The id of a thread or none, of the size of an id. None is before every thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, FromBytes, IntoBytes, Immutable)]
#[repr(transparent)]
pub(crate) struct OptionalThread(i32);

const _: () = assert!(size_of::<OptionalThread>() == size_of::<i32>());

impl OptionalThread {
    /// No thread.
    pub(crate) const NONE: OptionalThread = OptionalThread(i32::MIN);

    /// Creates a thread that is known.
    #[inline]
    pub(crate) const fn some(tid: i32) -> OptionalThread {
        OptionalThread(tid)
    }

    /// Returns the thread, if it is known.
    #[inline]
    pub(crate) fn get(self) -> Option<i32> {
        Some(self.0).filter(|_| self != OptionalThread::NONE)
    }
}

impl From<Option<i32>> for OptionalThread {
    #[inline]
    fn from(tid: Option<i32>) -> OptionalThread {
        tid.map_or(OptionalThread::NONE, OptionalThread::some)
    }
}

impl fmt::Debug for OptionalThread {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(formatter)
    }
}
