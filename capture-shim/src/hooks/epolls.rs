//! Eventfds that were added to an `epoll` with `EPOLLET`, which reports writes to them without any
//! later read. Each event loop that other threads wake has such an eventfd.
//!
//! `epoll` reports a descriptor as a number of the program's choice (`epoll_event.data`), so a
//! table maps this number to the eventfd.

use core::ffi::c_int;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, AtomicUsize};

use libc::epoll_event;
use socket_log::encode::{HandoffObject, WakeRecord};

use crate::c_library::types;
use crate::descriptors::table::NonSocketKind;
use crate::flows::resolve;
use crate::log::{self, resources};
use crate::platform::clock;
use crate::tuning::{MAX_EPOLL_EVENTS, MAX_WATCHED_EVENTFDS};

/// Eventfd that was added to an epoll.
struct WatchedEventfd {
    /// Descriptor of the epoll plus one; 0 if the slot is free, -1 if it is about to be filled.
    epoll: AtomicI32,
    fd: AtomicI32,
    /// Number by which the epoll reports the eventfd.
    number: AtomicU64,
    /// Id of the eventfd in the log.
    object: AtomicU32,
}

/// Eventfds that were added to an epoll.
static WATCHED: [WatchedEventfd; MAX_WATCHED_EVENTFDS] = [const {
    WatchedEventfd {
        epoll: AtomicI32::new(0),
        fd: AtomicI32::new(0),
        number: AtomicU64::new(0),
        object: AtomicU32::new(0),
    }
}; MAX_WATCHED_EVENTFDS];

/// Index of the last slot that was ever used, plus one.
static USED: AtomicUsize = AtomicUsize::new(0);

/// Slots that were ever used; some are free again.
fn used_slots() -> impl Iterator<Item = &'static WatchedEventfd> {
    WATCHED.iter().take(USED.load(Acquire))
}

/// Adds, changes or removes a descriptor of an epoll, and keeps the table of watched eventfds
/// right.
///
/// # Safety
/// As for `epoll_ctl`.
pub(crate) unsafe fn control(
    real: types::epoll_ctl,
    epoll: c_int,
    operation: c_int,
    fd: c_int,
    event: *mut epoll_event,
) -> c_int {
    // SAFETY: the program's own call.
    let result = unsafe { real(epoll, operation, fd, event) };
    if result == 0 && log::state_for_table().is_some() {
        forget_matching(|other| other.fd.load(Relaxed) == fd, epoll);
        if matches!(operation, libc::EPOLL_CTL_ADD | libc::EPOLL_CTL_MOD) {
            // SAFETY: the kernel has just read it.
            watch_eventfd(epoll, fd, unsafe { event.read_unaligned() });
        }
    }
    result
}

/// Frees the slots of `epoll` for which `matches` returns true.
fn forget_matching(matches: impl Fn(&WatchedEventfd) -> bool, epoll: c_int) {
    for other in used_slots() {
        if other.epoll.load(Acquire) == epoll + 1 && matches(other) {
            other.epoll.store(0, Release);
        }
    }
}

/// Records that `epoll` reports the eventfd `fd` as the number in `event`; does nothing if `fd` is
/// not an eventfd.
fn watch_eventfd(epoll: c_int, fd: c_int, event: epoll_event) {
    let number = event.u64;
    // If another eventfd was reported as this number, it was closed, which removed it from the
    // epoll.
    forget_matching(|other| other.number.load(Relaxed) == number, epoll);
    let wanted = (libc::EPOLLIN | libc::EPOLLET) as u32;
    let Some(entry) = resolve::identify_non_socket(fd)
        .filter(|entry| entry.non_socket_kind() == NonSocketKind::Eventfd)
    else {
        return;
    };
    let free = |slot: &&WatchedEventfd| slot.epoll.compare_exchange(0, -1, AcqRel, Relaxed).is_ok();
    if event.events & wanted == wanted
        && let Some((index, slot)) = WATCHED.iter().enumerate().find(|(_, slot)| free(slot))
    {
        slot.fd.store(fd, Relaxed);
        slot.number.store(number, Relaxed);
        slot.object.store(entry.object_id(), Relaxed);
        slot.epoll.store(epoll + 1, Release);
        USED.fetch_max(index + 1, AcqRel);
    }
}

/// Logs the eventfds that a wait of `epoll` reported as wakes of no duration: the wait's own record
/// contains its duration.
///
/// # Safety
/// `events` points to the `count` events that the kernel reported.
#[inline]
pub(super) unsafe fn log_ready_eventfds(epoll: c_int, events: *const epoll_event, count: c_int) {
    if USED.load(Relaxed) == 0 {
        return;
    }
    let end = clock::current_ticks();
    for index in 0..(count.max(0) as usize).min(MAX_EPOLL_EVENTS) {
        // SAFETY: within the reported events.
        let event = unsafe { events.add(index).read_unaligned() };
        let number = event.u64;
        let is_registered = |other: &&WatchedEventfd| {
            other.epoll.load(Acquire) == epoll + 1 && other.number.load(Relaxed) == number
        };
        if event.events & libc::EPOLLIN as u32 != 0
            && let Some(eventfd) = used_slots().find(is_registered)
        {
            let wake = WakeRecord {
                what: HandoffObject::Eventfd,
                object: u64::from(eventfd.object.load(Relaxed)),
                timed_out: false,
                interrupted: false,
                amount: u32::MAX,
                duration: 0,
            };
            resources::log_wake(end, &wake);
        }
    }
}
