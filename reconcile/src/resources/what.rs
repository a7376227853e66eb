//! What is waited for: how the matching takes each kind of object.

use socket_log::encode::Handoff;

/// The name of the kind with that number.
pub(crate) fn name(number: u32) -> &'static str {
    let of = u16::try_from(number).ok().and_then(Handoff::from_number);
    of.map_or("", Handoff::name)
}

/// Whether a wait for it is no hand-off: nobody means whoever comes next.
pub(crate) fn is_lock(what: Handoff) -> bool {
    use Handoff::{Barrier, Goroutine, Mutex, ReadWriteLock, Thread};
    matches!(what, Mutex | ReadWriteLock | Thread | Barrier | Goroutine)
}

/// Whether it keeps amounts in their order. It is of the kernel then, and so of all processes of
/// the host.
pub(crate) fn keeps_amounts(what: Handoff) -> bool {
    matches!(what, Handoff::Pipe | Handoff::Eventfd)
}

/// How many a signal reaches, or how much it gives or a wait takes, by the record's amount.
pub(crate) fn amount(what: Handoff, recorded: u32) -> u64 {
    match what {
        // Of a futex the kernel says how many it woke.
        Handoff::Futex | Handoff::Pipe | Handoff::Eventfd => u64::from(recorded),
        _ => 1,
    }
}

/// Whether signals of that kind are told that woke nobody. Of a futex that is what most do, and
/// nobody looked for anything there.
pub(crate) fn is_told_unheard(number: u32) -> bool {
    number != Handoff::Futex as u32
}
