//! Deadlines: times that a collector waits for the other side.

use std::time::Duration;

/// Maximum times that a connection is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// Until it is known who it is.
    pub handshake: Duration,
    /// Between two frames. Shippers say something every ten seconds.
    pub silence: Duration,
    /// From a frame's first byte on, and once more for every 16 KiB that have come; and for an
    /// answer to be taken.
    pub frame: Duration,
}

impl Default for Deadlines {
    fn default() -> Deadlines {
        let [handshake, silence, frame] = [10, 60, 30].map(Duration::from_secs);
        Deadlines { handshake, silence, frame }
    }
}
