//! Waits: why the threads that worked for a step could not continue.

use serde::{Deserialize, Serialize};

/// Times in nanoseconds in which a thread that worked for a step or a request could not continue.
/// No moment is in two of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitTimes {
    /// The thread could have run, but had no processor.
    pub runnable_ns: i64,
    /// The thread waited for a file or a disk.
    pub disk_ns: i64,
    /// The thread waited for a lock, or for another thread of its process.
    pub lock_ns: i64,
    /// The thread waited for another program: for a socket.
    pub peer_ns: i64,
    /// The thread slept by its own choice.
    pub asleep_ns: i64,
    /// The reason is unknown.
    pub unknown_ns: i64,
}

impl WaitTimes {
    /// Returns the sum of the times, in nanoseconds.
    pub fn sum(&self) -> i64 {
        self.runnable_ns
            + self.disk_ns
            + self.lock_ns
            + self.peer_ns
            + self.asleep_ns
            + self.unknown_ns
    }
}

impl std::ops::AddAssign for WaitTimes {
    fn add_assign(&mut self, other: WaitTimes) {
        self.runnable_ns += other.runnable_ns;
        self.disk_ns += other.disk_ns;
        self.lock_ns += other.lock_ns;
        self.peer_ns += other.peer_ns;
        self.asleep_ns += other.asleep_ns;
        self.unknown_ns += other.unknown_ns;
    }
}
