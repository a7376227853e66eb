//! Kinds of hand-off objects, and how each is matched.

use socket_log::encode::HandoffObject;

/// The name of a kind of objects, by its number.
pub(crate) fn handoff_name(number: u32) -> &'static str {
    let of = u16::try_from(number).ok().and_then(HandoffObject::from_number);
    of.map_or("", HandoffObject::display_name)
}

/// Whether a wait at the object is not a hand-off: the release is not addressed to a particular
/// waiter.
pub(crate) fn is_lock(what: HandoffObject) -> bool {
    use HandoffObject::{Barrier, Goroutine, Mutex, ReadWriteLock, Thread};
    matches!(what, Mutex | ReadWriteLock | Thread | Barrier | Goroutine)
}

/// Whether the object stores amounts in order. The object then belongs to the kernel, and so to all
/// processes of the host.
pub(crate) fn keeps_amounts(what: HandoffObject) -> bool {
    matches!(what, HandoffObject::Pipe | HandoffObject::Eventfd)
}

/// Number of waiters that a signal reaches, or the amount that it gives or a wait takes, from the
/// record's amount.
pub(crate) fn signal_amount(what: HandoffObject, recorded: u32) -> u64 {
    match what {
        // The kernel reports how many waiters a futex call woke.
        HandoffObject::Futex | HandoffObject::Pipe | HandoffObject::Eventfd => u64::from(recorded),
        _ => 1,
    }
}

/// Whether signals that woke no thread are reported for a kind of objects, by its number. Most
/// signals of a futex wake no thread, and none is expected there.
pub(crate) fn reports_unreceived(number: u32) -> bool {
    number != HandoffObject::Futex as u32
}
