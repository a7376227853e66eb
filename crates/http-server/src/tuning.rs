//! Tuned figures of this crate: times, sizes and numbers of connections. All were chosen, not
//! measured.

use std::time::Duration;

/// Maximum length of the head of a request, in bytes. Browsers send the cookies of all servers of
/// this machine.
pub(crate) const MAX_HEAD_BYTES: usize = 64 << 10;

/// Maximum number of bytes that one call reads from a connection.
pub(crate) const MAX_READ_BYTES: usize = 16 << 10;

/// Default of the maximum time for a client to receive an answer.
pub(crate) const DEADLINE: Duration = Duration::from_secs(5);

/// Maximum time until a request has arrived: browsers open connections that they do not use. The
/// time also limits the wait for the end of an answered connection.
pub(crate) const HEAD_DEADLINE: Duration = Duration::from_secs(2);

/// Number of threads that compute answers.
pub(crate) const ANSWER_THREADS: usize = 8;

/// Maximum number of connections that have no request yet or are answered: of all, and of one
/// network. A further one evicts another. A browser opens at most six.
pub(crate) const MAX_IDLE: usize = 128;
pub(crate) const MAX_IDLE_OF_NETWORK: usize = 64;

/// Maximum number of connections that have a request and are not answered yet: of all, and of one
/// network.
pub(crate) const MAX_ANSWERED: usize = 64;
pub(crate) const MAX_ANSWERED_OF_NETWORK: usize = 32;

/// Maximum number of connections that are accepted before other events are handled.
pub(crate) const MAX_ACCEPTED_AT_ONCE: usize = 32;

/// Interval at which the stop flag is read.
pub(crate) const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Time until the next attempt to accept if no descriptors were left.
pub(crate) const NO_DESCRIPTORS_PAUSE: Duration = Duration::from_millis(20);
