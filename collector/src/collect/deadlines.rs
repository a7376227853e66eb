//! Deadlines: how long a collector waits for the other side.

use std::time::Duration;

/// Maximum times to wait on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// Maximum time until the peer has identified itself.
    pub handshake: Duration,
    /// Maximum time between two frames. Shippers send a frame every ten seconds.
    pub silence: Duration,
    /// Maximum time from the first byte of a frame to its last, extended once for every 16 KiB
    /// received; also the maximum time for an answer to be received.
    pub frame: Duration,
}

impl Default for Deadlines {
    fn default() -> Deadlines {
        let [handshake, silence, frame] = [10, 60, 30].map(Duration::from_secs);
        Deadlines { handshake, silence, frame }
    }
}
