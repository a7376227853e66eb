//! Tuned figures of this crate: times, sizes and numbers of connections. All were chosen, not
//! measured.

use std::time::Duration;

/// Maximum length of the head of a request, in bytes. Browsers send the cookies of all servers of
/// this machine.
pub(crate) const MAX_HEAD_BYTES: usize = 64 << 10;

/// Size of what is read of a connection at once, in bytes.
pub(crate) const MAX_READ_BYTES: usize = 16 << 10;

/// Maximum time that a reader has for taking an answer, unless the server was given another.
pub(crate) const DEADLINE: Duration = Duration::from_secs(5);

/// Maximum time until a request has come: browsers open connections that they do not use. As long
/// is waited for the end of a connection whose answer is gone.
pub(crate) const HEAD_DEADLINE: Duration = Duration::from_secs(2);

/// Number of threads that work answers out.
pub(crate) const THREADS: usize = 8;

/// Maximum number of connections whose request is coming or whose answer is gone: of all, and of
/// one network. One more takes the place of another. A browser has six or less.
pub(crate) const MAX_IDLE: usize = 128;
pub(crate) const MAX_IDLE_OF_NETWORK: usize = 64;

/// Maximum number of connections that have asked and whose answer is not gone, likewise.
pub(crate) const MAX_ANSWERED: usize = 64;
pub(crate) const MAX_ANSWERED_OF_NETWORK: usize = 32;

/// Maximum number of connections that are accepted before the others go on.
pub(crate) const MAX_ACCEPTED_AT_ONCE: usize = 32;

/// Interval of looking whether to stop.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// Time until the next try where no connection could be accepted, as there are no descriptors.
pub(crate) const NO_DESCRIPTORS_PAUSE: Duration = Duration::from_millis(20);
