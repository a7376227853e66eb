//! What is waited for: how the matching takes each kind of object.

use socket_log::encode::HandoffObject;

/// The name of the kind with that number.
pub(crate) fn handoff_name(number: u32) -> &'static str {
    let of = u16::try_from(number).ok().and_then(HandoffObject::from_number);
    of.map_or("", HandoffObject::display_name)
}

/// Whether a wait for it is no hand-off: nobody means whoever comes next.
pub(crate) fn is_lock(what: HandoffObject) -> bool {
    use HandoffObject::{Barrier, Goroutine, Mutex, ReadWriteLock, Thread};
    matches!(what, Mutex | ReadWriteLock | Thread | Barrier | Goroutine)
}

/// Whether it keeps amounts in their order. It is of the kernel then, and so of all processes of
/// the host.
pub(crate) fn keeps_amounts(what: HandoffObject) -> bool {
    matches!(what, HandoffObject::Pipe | HandoffObject::Eventfd)
}

/// How many a signal reaches, or how much it gives or a wait takes, by the record's amount.
pub(crate) fn signal_amount(what: HandoffObject, recorded: u32) -> u64 {
    match what {
        // Of a futex the kernel says how many it woke.
        HandoffObject::Futex | HandoffObject::Pipe | HandoffObject::Eventfd => u64::from(recorded),
        _ => 1,
    }
}

/// Whether signals of that kind are told that woke nobody. Of a futex that is what most do, and
/// nobody looked for anything there.
pub(crate) fn reports_unreceived(number: u32) -> bool {
    number != HandoffObject::Futex as u32
}
