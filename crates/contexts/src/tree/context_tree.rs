//! The tree while operators are applied to it. A node never changes its number.

use super::similarity::TimeSpread;
use crate::equivalence::ContextLevel;
use crate::result::{ContextProfile, ContextSummary, Profile};

/// Number of a node: the number of its operation or context in the profile; 0 for the root.
pub(super) type NodeId = u32;

/// State of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeState {
    /// The node is in the tree.
    Present,
    /// The node is replaced by its parent.
    Removed,
    /// The node is merged into a sibling, which stands for both.
    Merged(NodeId),
    /// The node is linked to an ancestor; the ancestor's response times are used.
    Linked(NodeId),
}

/// A node of the tree.
#[derive(Clone, Debug)]
pub(super) struct TreeNode {
    pub(super) parent: NodeId,
    /// `None` for the root.
    pub(super) level: Option<ContextLevel>,
    /// Expected number of executions with a response time.
    pub(super) calls: f64,
    /// Distribution of the response times, if there are any.
    pub(super) spread: Option<TimeSpread>,
    pub(super) state: NodeState,
    /// The children that are in the tree.
    pub(super) children: Vec<NodeId>,
    /// The siblings that were merged into the node.
    pub(super) merged: Vec<NodeId>,
}

/// Calling-context tree while operators are applied to it.
#[derive(Clone, Debug)]
pub(super) struct ContextTree {
    pub(super) nodes: Vec<TreeNode>,
}

impl ContextTree {
    /// The whole tree of a profile (section 4.2).
    pub(super) fn from_profile(profile: &Profile) -> ContextTree {
        let root = TreeNode {
            parent: 0,
            level: None,
            calls: f64::INFINITY,
            spread: None,
            state: NodeState::Present,
            children: Vec::new(),
            merged: Vec::new(),
        };
        let mut tree = ContextTree { nodes: vec![root] };
        for operation in &profile.operations {
            let id = tree.add_node(0, ContextLevel::Operation, &operation.summary);
            operation.contexts.iter().for_each(|context| tree.add_context(id, context));
        }
        tree
    }

    fn add_context(&mut self, parent: NodeId, context: &ContextProfile) {
        let id = self.add_node(parent, context.level, &context.summary);
        context.contexts.iter().for_each(|inner| self.add_context(id, inner));
    }

    fn add_node(
        &mut self,
        parent: NodeId,
        level: ContextLevel,
        summary: &ContextSummary,
    ) -> NodeId {
        let id = self.nodes.len() as NodeId;
        self.nodes.push(TreeNode {
            parent,
            level: Some(level),
            calls: summary.moments().weight,
            spread: summary.times.as_ref().map(TimeSpread::from_times),
            state: NodeState::Present,
            children: Vec::new(),
            merged: Vec::new(),
        });
        if let Some(above) = self.nodes.get_mut(parent as usize) {
            above.children.push(id);
        }
        id
    }

    pub(super) fn get(&self, id: NodeId) -> &TreeNode {
        &self.nodes[id as usize]
    }

    /// Whether a node is a leaf of the tree.
    pub(super) fn is_leaf(&self, id: NodeId) -> bool {
        let node = self.get(id);
        node.state == NodeState::Present && node.children.is_empty() && node.level.is_some()
    }

    /// Whether operators may remove a node from the tree: a leaf below an operation.
    pub(super) fn is_context_leaf(&self, id: NodeId) -> bool {
        self.is_leaf(id) && self.get(id).level != Some(ContextLevel::Operation)
    }

    /// Removes a leaf from its parent's children, and gives it the state `state`.
    pub(super) fn remove_leaf(&mut self, id: NodeId, state: NodeState) {
        let parent = self.get(id).parent as usize;
        self.nodes[parent].children.retain(|child| *child != id);
        self.nodes[id as usize].state = state;
    }

    /// The node whose response times stand for those of the node `id`: a leaf, or an inner node to
    /// which `id` was linked.
    pub(super) fn stands_for(&self, mut id: NodeId) -> NodeId {
        loop {
            id = match self.get(id).state {
                NodeState::Present => return id,
                NodeState::Removed => self.get(id).parent,
                NodeState::Merged(other) | NodeState::Linked(other) => other,
            };
        }
    }

    /// Whether nodes were linked to this inner node and use its response times: then it is part of
    /// the model in addition to its children.
    pub(super) fn has_links(&self, id: NodeId) -> bool {
        let node = self.get(id);
        if node.state != NodeState::Present || node.children.is_empty() || node.level.is_none() {
            return false;
        }
        let below = node
            .children
            .iter()
            .flat_map(|child| std::iter::once(child).chain(&self.get(*child).merged));
        let of_children: f64 = below.map(|child| self.get(*child).calls).sum();
        node.calls - of_children > 1e-9 * node.calls
    }

    /// Number of parts of the model: leaves, and inner nodes to which other nodes are linked.
    pub(super) fn part_count(&self) -> usize {
        let all = 0..self.nodes.len() as NodeId;
        all.filter(|id| self.is_leaf(*id) || self.has_links(*id)).count()
    }
}
