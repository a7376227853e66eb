//! Words on which the kernel is asked to wait (`futex`) by libc's `syscall`, as Rust's standard
//! library and `parking_lot` do. Libc's own locks call the kernel internally.

use core::ffi::{c_int, c_long};

use socket_log::encode::{HandoffObject, SignalRecord};

use super::hand_offs::log_wake;
use crate::c_library::errno;
use crate::log::resources;
use crate::platform::clock;

/// Makes the program's system call `futex` and logs it, if it waits or wakes. `words` are its first
/// arguments: address, operation and value.
#[inline(always)]
pub(crate) fn by_number(words: [c_long; 3], call: impl FnOnce() -> c_long) -> c_long {
    let [address, operation, value] = words;
    match operation as c_int & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME) {
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => {
            let begin = clock::current_ticks();
            let result = call();
            let error = if result < 0 { errno::get_errno() } else { 0 };
            log_wake(HandoffObject::Futex, address as u64, begin, error);
            result
        }
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => {
            let begin = clock::current_ticks();
            let result = call();
            if result >= 0 {
                let signal = SignalRecord {
                    what: HandoffObject::Futex,
                    object: address as u64,
                    all: value as c_int == c_int::MAX,
                    amount: result as u32,
                    duration: 0,
                };
                resources::log_signal(begin, &signal);
            }
            result
        }
        _ => call(),
    }
}
