//! Goroutine that the calling thread runs, where the library was injected into a program of Go: what
//! runs in sequence there. A thread takes up whichever can go on.

/// Goroutine that records are of, until another is told of.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Goroutine {
    /// Number of the goroutine; 0 where records are of the thread itself.
    pub(crate) number: u64,
    /// Number of the goroutine that started it; 0 for none.
    pub(crate) creator: u64,
}

#[cfg(feature = "injected")]
mod of_slot {
    use core::sync::atomic::Ordering::Relaxed;

    use super::Goroutine;
    use crate::state::slot;

    /// Goroutine of the records to come, if the thread's chunk does not say so yet.
    #[inline(always)]
    pub(crate) fn untold() -> Option<Goroutine> {
        let slot = slot::current();
        let number = slot.goroutine.load(Relaxed);
        if number == slot.told.load(Relaxed) {
            return None;
        }
        Some(Goroutine { number, creator: slot.creator.load(Relaxed) })
    }

    /// Notes that the thread's chunk says of which goroutine records are. A new chunk says nothing:
    /// 0.
    pub(crate) fn note_told(number: u64) {
        slot::current().told.store(number, Relaxed);
    }
}

#[cfg(not(feature = "injected"))]
mod of_slot {
    use super::Goroutine;

    /// None: only Go has goroutines.
    #[inline(always)]
    pub(crate) fn untold() -> Option<Goroutine> {
        None
    }

    /// Nothing is told of them.
    #[inline(always)]
    pub(crate) fn note_told(_: u64) {}
}

pub(crate) use of_slot::{note_told, untold};
