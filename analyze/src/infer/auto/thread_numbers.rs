//! Numbers of the threads of all nodes.

use message_trace::{Message, NodeId};
use rustc_hash::FxHashMap;

use super::service::UNKNOWN_THREAD;

/// Numbers for threads. A pair of process and thread id has one number, whichever name the process
/// has.
#[derive(Default)]
pub(super) struct ThreadNumbers(FxHashMap<(NodeId, i32), u32>);

impl ThreadNumbers {
    /// The thread that sent a message.
    pub(super) fn sender(&mut self, message: &Message) -> u32 {
        self.number(message.src, message.src_tid)
    }

    /// The thread that received a message.
    pub(super) fn receiver(&mut self, message: &Message) -> u32 {
        self.number(message.dst, message.dst_tid)
    }

    /// The number of a thread of a node.
    pub(super) fn number(&mut self, node: NodeId, thread: Option<i32>) -> u32 {
        let next = self.0.len() as u32;
        thread.map_or(UNKNOWN_THREAD, |thread| *self.0.entry((node, thread)).or_insert(next))
    }
}
