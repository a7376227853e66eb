//! Times that may be unknown. Records of temporary files contain them.

use std::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes};

/// A time in nanoseconds or none, of the size of a time. None is before every time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, FromBytes, IntoBytes, Immutable)]
#[repr(transparent)]
pub(crate) struct OptionalTime(i64);

const _: () = assert!(size_of::<OptionalTime>() == size_of::<i64>());

impl OptionalTime {
    /// No time.
    pub(crate) const NONE: OptionalTime = OptionalTime(i64::MIN);

    /// Creates a time that is known.
    #[inline]
    pub(crate) const fn some(time: i64) -> OptionalTime {
        OptionalTime(time)
    }

    /// Returns the time, if it is known.
    #[inline]
    pub(crate) fn get(self) -> Option<i64> {
        Some(self.0).filter(|_| self != OptionalTime::NONE)
    }

    /// Returns the earlier of a time that may be unknown and a known one.
    #[inline]
    pub(crate) fn earliest(self, time: i64) -> OptionalTime {
        OptionalTime(self.get().map_or(time, |first| first.min(time)))
    }

    /// Returns the later of a time that may be unknown and a known one.
    #[inline]
    pub(crate) fn latest(self, time: i64) -> OptionalTime {
        OptionalTime(self.0.max(time))
    }

    /// Returns the time that `change` makes of a known time.
    #[inline]
    pub(crate) fn map(self, change: impl FnOnce(i64) -> i64) -> OptionalTime {
        self.get().map(change).into()
    }

    /// Returns whether the time is known.
    #[inline]
    pub(crate) fn is_some(self) -> bool {
        self != OptionalTime::NONE
    }
}

impl From<Option<i64>> for OptionalTime {
    #[inline]
    fn from(time: Option<i64>) -> OptionalTime {
        time.map_or(OptionalTime::NONE, OptionalTime::some)
    }
}

impl fmt::Debug for OptionalTime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(formatter)
    }
}
