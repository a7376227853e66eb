//! Tuned figures of this crate: times and sizes of a connection. All were chosen, not measured.

use std::time::Duration;

use rustix::event::Timespec;

/// Maximum length of the head of a request, in bytes.
pub(crate) const MAX_HEAD_BYTES: usize = 64 << 10;

/// Maximum time of a connection from its first byte to its last, unless the server was given
/// another.
pub(crate) const DEADLINE: Duration = Duration::from_secs(5);

/// Maximum time until a request has come: browsers open connections that they do not use.
pub(crate) const HEAD_DEADLINE: Duration = Duration::from_secs(2);

/// Number of connections that are served at once; more wait in the kernel.
pub(crate) const THREADS: usize = 8;

/// Interval of looking whether to stop.
pub(crate) const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Time until the next try where no connection could be accepted, as there are no descriptors.
pub(crate) const NO_DESCRIPTORS_PAUSE: Duration = Duration::from_millis(20);
