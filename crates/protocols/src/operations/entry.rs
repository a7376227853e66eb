//! One operation with its place in a log.

use crate::ProtocolOperation;
use socket_log::encode::Direction;

/// Operation of a message, with the flow and the call that moved its first byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationEntry {
    /// Number of the flow in the log.
    pub flow: u32,
    /// Direction of the message.
    pub direction: Direction,
    /// Operation of the message. The place of the operation is the time of the call, in the log's
    /// ticks, and the number of bytes in that call before the message.
    pub operation: ProtocolOperation,
}
