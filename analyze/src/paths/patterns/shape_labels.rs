//! Labels of a message within a path. With its depth they are its place in the shape. By names they
//! are those of its hop. By roles (WAP5 section 2.5.1, Figure 3) they are those of the roles of its
//! two ends. As a path may pass several servers of one role, they also have the number of either
//! end within its role in this path. So two servers are told from one that is passed twice, but not
//! which ones they are.

use rustc_hash::FxHashMap;

use crate::naming::{ByRole, Naming};

/// The labels of a message within a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ShapeLabels {
    /// The labels of its hop, as an index for `Naming::hop_name` or, by roles, `ByRole::hop_name`.
    pub(crate) hop: u32,
    /// Number of other nodes of the sender's role before it in the path; 0 by names.
    pub(crate) src: u16,
    /// The same for the receiver.
    pub(crate) dst: u16,
}

impl ShapeLabels {
    /// The labels as a number, small where they are.
    #[inline]
    pub(crate) fn number(self) -> u64 {
        u64::from(self.hop) | u64::from(self.src) << 32 | u64::from(self.dst) << 48
    }

    /// The labels that are that number.
    #[inline]
    pub(crate) fn of(number: u64) -> ShapeLabels {
        ShapeLabels { hop: number as u32, src: (number >> 32) as u16, dst: (number >> 48) as u16 }
    }
}

/// Labels the messages of one path after the other.
pub(crate) struct Labeler<'trace> {
    naming: &'trace Naming,
    by_role: Option<&'trace ByRole>,
    /// Numbers of the nodes of this path within their roles, by name, and number of nodes by role.
    numbers: FxHashMap<u32, u16>,
    of_role: FxHashMap<u32, u16>,
}

impl<'trace> Labeler<'trace> {
    pub(crate) fn new(naming: &'trace Naming) -> Labeler<'trace> {
        let (numbers, of_role) = (FxHashMap::default(), FxHashMap::default());
        Labeler { naming, by_role: naming.by_role(), numbers, of_role }
    }

    /// A path begins.
    #[inline]
    pub(crate) fn begin(&mut self) {
        if self.by_role.is_some() {
            self.numbers.clear();
            self.of_role.clear();
        }
    }

    /// The labels of the next message of the path, in depth-first order.
    #[inline]
    pub(crate) fn label(&mut self, message: usize) -> ShapeLabels {
        let hop = self.naming.hop(message);
        match self.by_role {
            None => ShapeLabels { hop, src: 0, dst: 0 },
            Some(by_role) => self.by_role(by_role, hop),
        }
    }

    fn by_role(&mut self, by_role: &ByRole, hop: u32) -> ShapeLabels {
        let names = self.naming.hop_name(hop);
        let hop = by_role.hop(hop);
        let roles = by_role.hop_name(hop);
        let src = self.number(names.src, roles.src);
        ShapeLabels { hop, src, dst: self.number(names.dst, roles.dst) }
    }

    /// The number of the node of that name among those of its role.
    fn number(&mut self, name: u32, role: u32) -> u16 {
        *self.numbers.entry(name).or_insert_with(|| {
            let next = self.of_role.entry(role).or_default();
            let number = *next;
            // A path has no more messages than this by far.
            *next = next.saturating_add(1);
            number
        })
    }
}

#[cfg(test)]
#[path = "shape_labels_tests.rs"]
mod tests;
