//! Goroutine (or other context of a language runtime, such as a task) that the latest record of the
//! thread's chunk names: the following records are attributed to it.

#[cfg(feature = "injected")]
mod source {
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

#[cfg(not(feature = "injected"))]
mod source {
    use core::sync::atomic::Ordering::Relaxed;

    use crate::state::context_source::{self, ASKED};
    use crate::state::goroutine::Goroutine;
    use crate::state::thread;

    /// Context of the next records, if it is not recorded in the thread's chunk yet. The start of a
    /// context has a record of its own.
    #[inline(always)]
    pub(crate) fn unrecorded_goroutine() -> Option<Goroutine> {
        let thread = thread::current_thread();
        let mut number = thread.context.load(Relaxed);
        let recorded = thread.recorded_context.load(Relaxed);
        if number == recorded {
            return None;
        }
        if number == ASKED {
            number = context_source::asked_number();
        }
        (number != recorded).then_some(Goroutine { number: u64::from(number), creator: 0 })
    }

    /// Notes the context that is recorded in the thread's chunk; 0 in a new chunk, for none.
    pub(crate) fn note_recorded(number: u64) {
        thread::current_thread().recorded_context.store(number as u32, Relaxed);
    }
}

pub(crate) use source::{note_recorded, unrecorded_goroutine};
