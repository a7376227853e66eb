//! Times by resource, as a list.

use workload::demands::WaitTimes;

/// Times in nanoseconds, in the order of `Resource::ALL`.
pub(super) fn times_by_resource(processor_ns: i64, waits: &WaitTimes) -> [i64; 7] {
    [
        processor_ns,
        waits.runnable_ns,
        waits.disk_ns,
        waits.lock_ns,
        waits.peer_ns,
        waits.asleep_ns,
        waits.unknown_ns,
    ]
}
