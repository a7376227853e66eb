//! Goroutine of the records in the thread's chunk, as last recorded there.

#[cfg(feature = "injected")]
mod of_slot {
    use core::sync::atomic::Ordering::Relaxed;

    use crate::state::goroutine::Goroutine;
    use crate::state::slot;

    /// Goroutine of the next records, if it is not recorded in the thread's chunk yet.
    #[inline(always)]
    pub(crate) fn unrecorded_goroutine() -> Option<Goroutine> {
        let slot = slot::current_slot();
        let number = slot.goroutine.load(Relaxed);
        if number == slot.recorded_goroutine.load(Relaxed) {
            return None;
        }
        Some(Goroutine { number, creator: slot.creator.load(Relaxed) })
    }

    /// Notes the goroutine that is recorded in the thread's chunk; 0 in a new chunk, for none.
    pub(crate) fn note_recorded(number: u64) {
        slot::current_slot().recorded_goroutine.store(number, Relaxed);
    }
}

#[cfg(all(feature = "resources", not(feature = "injected")))]
mod of_slot {
    use core::sync::atomic::Ordering::Relaxed;

    use crate::state::goroutine::Goroutine;
    use crate::state::thread;

    /// Task of the next records, if it is not recorded in the thread's chunk yet. The task that
    /// started this one has a record of its own.
    #[inline(always)]
    pub(crate) fn unrecorded_goroutine() -> Option<Goroutine> {
        let thread = thread::current_thread();
        let number = thread.task.load(Relaxed);
        (number != thread.recorded_task.load(Relaxed))
            .then_some(Goroutine { number: u64::from(number), creator: 0 })
    }

    /// Notes the task that is recorded in the thread's chunk; 0 in a new chunk, for none.
    pub(crate) fn note_recorded(number: u64) {
        thread::current_thread().recorded_task.store(number as u32, Relaxed);
    }
}

#[cfg(not(any(feature = "injected", feature = "resources")))]
mod of_slot {
    use crate::state::goroutine::Goroutine;

    /// `None`: this build of the library records neither goroutines nor tasks.
    #[inline(always)]
    pub(crate) fn unrecorded_goroutine() -> Option<Goroutine> {
        None
    }

    /// Does nothing, since there are no goroutines or tasks.
    #[inline(always)]
    pub(crate) fn note_recorded(_: u64) {}
}

pub(crate) use of_slot::{note_recorded, unrecorded_goroutine};
