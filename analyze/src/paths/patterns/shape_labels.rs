//! Labels of a message within a path. The depths and labels of all messages are the shape of the
//! path. If paths are grouped by the names of nodes, the labels are those of the message's hop. If
//! they are grouped by roles (WAP5 section 2.5.1, Figure 3), the labels are the roles of its two
//! ends. Since a path may pass several servers with one role, they also contain the number of
//! either end within its role in this path. So the labels distinguish two servers from one that is
//! passed twice, but do not show which servers these are.

use message_trace::MessageId;
use rustc_hash::FxHashMap;

use crate::naming::{Naming, RoleLabels};
use crate::paths::storage::bytes::{PathByteReader, put_number};

/// The labels of a message within a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ShapeLabels {
    /// The labels of the message's hop: an index for `Naming::hop_name` or, by roles,
    /// `RoleLabels::hop_name`.
    pub(crate) hop: u32,
    /// Number of other nodes with the sender's role before it in the path; 0 by names.
    pub(crate) src: u16,
    /// Number of other nodes with the receiver's role before it in the path; 0 by names.
    pub(crate) dst: u16,
    /// The number of the operation's name, for a request or one-way message with a known operation.
    pub(crate) operation: Option<u32>,
}

impl ShapeLabels {
    /// Appends the labels of a message at this depth, as varints, which are short for small labels:
    /// depth << 1 | whether there is an operation; hop | src << 32 | dst << 48; and the operation,
    /// if any.
    #[inline]
    pub(crate) fn write_to(self, depth: u32, out: &mut Vec<u8>) {
        put_number(out, u64::from(depth) << 1 | u64::from(self.operation.is_some()));
        put_number(
            out,
            u64::from(self.hop) | u64::from(self.src) << 32 | u64::from(self.dst) << 48,
        );
        if let Some(operation) = self.operation {
            put_number(out, u64::from(operation));
        }
    }

    /// Reads the next depth and its labels.
    #[inline]
    pub(crate) fn read_from(reader: &mut PathByteReader<'_>) -> (u32, ShapeLabels) {
        let (depth, number) = (reader.read_number(), reader.read_number());
        let operation = (depth & 1 != 0).then(|| reader.read_number() as u32);
        let (src, dst) = ((number >> 32) as u16, (number >> 48) as u16);
        ((depth >> 1) as u32, ShapeLabels { hop: number as u32, src, dst, operation })
    }
}

/// Labels the messages of one path after the other.
pub(crate) struct PathLabeler<'trace> {
    naming: &'trace Naming,
    by_role: Option<&'trace RoleLabels>,
    /// The number of each node of this path within its role, by name.
    numbers: FxHashMap<u32, u16>,
    /// The number of nodes of this path, by role.
    of_role: FxHashMap<u32, u16>,
}

impl<'trace> PathLabeler<'trace> {
    pub(crate) fn new(naming: &'trace Naming) -> PathLabeler<'trace> {
        let (numbers, of_role) = (FxHashMap::default(), FxHashMap::default());
        PathLabeler { naming, by_role: naming.role_labels(), numbers, of_role }
    }

    /// Begins a path.
    #[inline]
    pub(crate) fn begin_path(&mut self) {
        if self.by_role.is_some() {
            self.numbers.clear();
            self.of_role.clear();
        }
    }

    /// Returns the labels of the next message of the path, in depth-first order, without its
    /// operation.
    #[inline]
    pub(crate) fn label_message(&mut self, message: MessageId) -> ShapeLabels {
        let hop = self.naming.hop(message);
        match self.by_role {
            None => ShapeLabels { hop, ..ShapeLabels::default() },
            Some(by_role) => self.label_by_role(by_role, hop),
        }
    }

    fn label_by_role(&mut self, by_role: &RoleLabels, hop: u32) -> ShapeLabels {
        let names = self.naming.hop_name(hop);
        let hop = by_role.hop(hop);
        let roles = by_role.hop_name(hop);
        let src = self.node_number(names.src, roles.src);
        let dst = self.node_number(names.dst, roles.dst);
        ShapeLabels { hop, src, dst, operation: None }
    }

    /// Returns the number of the node with this name among those with its role.
    fn node_number(&mut self, name: u32, role: u32) -> u16 {
        *self.numbers.entry(name).or_insert_with(|| {
            let next = self.of_role.entry(role).or_default();
            let number = *next;
            // A path has far fewer messages than this.
            *next = next.saturating_add(1);
            number
        })
    }
}

#[cfg(test)]
#[path = "shape_labels_tests.rs"]
mod tests;
