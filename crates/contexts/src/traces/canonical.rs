//! Canonical form of a call tree, either with all its operations or with the instrumented ones
//! (trace-context profiling, section 5): its shape, which identifies equal trees, and the place of
//! each node in the shape, in depth-first order. Trees of one shape are trace-equivalent, and nodes
//! of one shape and place are trace-context equivalent (section 3.2).
//!
//! A tree is folded from its last node to its first, so each node's calls are known when it is
//! reached: they are at the top of a stack, the first call topmost. A node that is not instrumented
//! vanishes: its calls stay on the stack and become its caller's. If such a node was concurrent
//! with others, its calls join their group.

use super::call_tree::CallNode;
use super::shapes::{ShapeId, ShapeInterner};
use crate::identity::OperationId;

/// First word of the shape of a whole trace. The shape of a subtree begins with its operation.
const TRACE: u32 = u32::MAX;

/// Reusable computation of canonical forms, with all shapes so far.
#[derive(Clone, Debug, Default)]
pub struct TreeCanonicalizer {
    shapes: ShapeInterner,
    stack: Vec<PendingCall>,
    /// For each node that was not reached yet, the number of its calls on the stack.
    waiting: Vec<u32>,
    /// Place of each node in its caller's shape; the caller is at 0.
    offsets: Vec<u32>,
    /// For each node the number of equal concurrent calls to which it belongs.
    times: Vec<u32>,
    /// Place of each node in the shape of the trace.
    places: Vec<u32>,
    /// Words of the shape that is being made.
    words: Vec<u32>,
}

/// A call whose caller was not reached yet.
#[derive(Clone, Copy, Debug)]
struct PendingCall {
    node: u32,
    shape: ShapeId,
    group: u32,
    times: u32,
}

impl TreeCanonicalizer {
    /// Removes all shapes, and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.shapes.clear();
    }

    /// The shape of a trace that `caller` began. `is_monitored` returns whether an operation is
    /// instrumented.
    pub fn fold_tree(
        &mut self,
        tree: &[CallNode],
        caller: OperationId,
        is_monitored: impl Fn(OperationId) -> bool,
    ) -> ShapeId {
        self.stack.clear();
        for list in [&mut self.waiting, &mut self.offsets, &mut self.times] {
            list.clear();
            list.resize(tree.len(), 0);
        }
        for (place, node) in tree.iter().enumerate().rev() {
            let calls = self.waiting.get(place).map_or(0, |calls| *calls as usize);
            let is_monitored = is_monitored(node.operation);
            let mut below = self.stack.len() - calls;
            if is_monitored {
                let shape = match calls {
                    0 => self.shapes.intern_leaf(node.operation),
                    _ => {
                        self.words.clear();
                        self.words.push(node.operation.word());
                        self.close_shape(below, 1)
                    }
                };
                self.stack.truncate(below);
                let group = place as u32;
                self.stack.push(PendingCall { node: place as u32, shape, group, times: 1 });
                below = self.stack.len() - 1;
            }
            if node.is_concurrent {
                for call in self.stack.iter_mut().skip(below) {
                    (call.group, call.times) = (node.group, call.times * node.times);
                }
            }
            let above = (self.stack.len() - below) as u32;
            let parent = node.parent.and_then(|parent| self.waiting.get_mut(parent.index()));
            if let Some(waiting) = parent {
                *waiting += above;
            }
        }
        self.words.clear();
        self.words.extend([TRACE, caller.word()]);
        let shape = self.close_shape(0, 0);
        self.set_places(tree, is_monitored);
        shape
    }

    /// The shape with the words so far and the calls on the stack from `below` on. The first place
    /// of the shape belongs to the first call if `first` is 0, otherwise to its root.
    fn close_shape(&mut self, below: usize, first: u32) -> ShapeId {
        let TreeCanonicalizer { stack, words, shapes, offsets, times, .. } = self;
        let calls = stack.get_mut(below..).unwrap_or_default();
        // The topmost call is the first.
        calls.reverse();
        let mut next = first;
        for group in calls.chunk_by_mut(|a, b| a.group == b.group) {
            if group.len() > 1 {
                group.sort_unstable_by_key(|call| call.shape);
            }
            let mut begins = 1;
            for equal in group.chunk_by(|a, b| a.shape == b.shape) {
                let total_times: u32 = equal.iter().map(|call| call.times).sum();
                let Some(PendingCall { shape, .. }) = equal.first() else { continue };
                words.extend([shape.word(), total_times << 1 | begins]);
                begins = 0;
                for call in equal {
                    let node = call.node as usize;
                    if let (Some(offset), Some(times)) =
                        (offsets.get_mut(node), times.get_mut(node))
                    {
                        (*offset, *times) = (next, total_times);
                    }
                }
                next += shapes.shape_size(*shape);
            }
        }
        shapes.intern_words(words, next)
    }

    /// Sets the place of each node in the shape of the trace: the sum of the offsets from the root
    /// down.
    fn set_places(&mut self, tree: &[CallNode], is_monitored: impl Fn(OperationId) -> bool) {
        let TreeCanonicalizer { places, offsets, .. } = self;
        places.clear();
        for (node, offset) in tree.iter().zip(offsets) {
            let above = node.parent.and_then(|parent| places.get(parent.index()));
            let above = above.copied().unwrap_or(0);
            places.push(if is_monitored(node.operation) { above + *offset } else { above });
        }
    }

    /// The place of each node of the last tree in its shape, in canonical order; meaningless for
    /// nodes that are not instrumented.
    pub fn places_of_nodes(&self) -> &[u32] {
        &self.places
    }

    /// For each node of the last tree the number of equal concurrent calls to which it belongs.
    pub fn repetitions(&self) -> &[u32] {
        &self.times
    }

    /// Number of places in traces of a shape.
    pub fn shape_size(&self, shape: ShapeId) -> u32 {
        self.shapes.shape_size(shape)
    }
}

#[cfg(test)]
#[path = "canonical_tests.rs"]
mod tests;
