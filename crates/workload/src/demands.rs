//! Demands: resources used on behalf of a request, and times in which its threads were blocked.

pub use request_flow::WaitTimes;
use serde::Serialize;

/// Resources used on behalf of a request or of a part of it (Magpie, section 3.3). They do not
/// depend on the machine's other load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Demands {
    /// Processor time in nanoseconds.
    pub processor_ns: i64,
    /// Number of reads from and writes to files or disks.
    pub disk_calls: i64,
    /// Bytes read from files or disks.
    pub disk_read_bytes: i64,
    /// Bytes written to files or disks.
    pub disk_written_bytes: i64,
    /// Bytes sent by network.
    pub sent_bytes: i64,
    /// Bytes received by network.
    pub received_bytes: i64,
}

impl std::ops::AddAssign for Demands {
    fn add_assign(&mut self, other: Demands) {
        self.processor_ns += other.processor_ns;
        self.disk_calls += other.disk_calls;
        self.disk_read_bytes += other.disk_read_bytes;
        self.disk_written_bytes += other.disk_written_bytes;
        self.sent_bytes += other.sent_bytes;
        self.received_bytes += other.received_bytes;
    }
}

impl From<[i64; 6]> for Demands {
    fn from(of: [i64; 6]) -> Demands {
        let [processor_ns, disk_calls, disk_read_bytes, disk_written_bytes, sent, received] = of;
        Demands {
            processor_ns,
            disk_calls,
            disk_read_bytes,
            disk_written_bytes,
            sent_bytes: sent,
            received_bytes: received,
        }
    }
}

impl From<Demands> for [i64; 6] {
    fn from(of: Demands) -> [i64; 6] {
        [
            of.processor_ns,
            of.disk_calls,
            of.disk_read_bytes,
            of.disk_written_bytes,
            of.sent_bytes,
            of.received_bytes,
        ]
    }
}
