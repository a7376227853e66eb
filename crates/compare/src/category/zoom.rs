//! Zoom: which steps of a request are told apart (Spectroscope, 4.1).

use request_flow::{NameId, NameInterner, Step};
use rustc_hash::FxHashSet;

/// Level of detail of categories. By default all steps are told apart, each for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZoomLevel {
    /// Whether steps that a node calls within itself are hidden.
    pub components: bool,
    /// Nodes that are shown whole nevertheless.
    pub opened: Vec<String>,
    /// Whether repeated runs of one call are one ("call x N"), however many they are.
    pub loops: bool,
    /// Whether calls that run at once are told apart by which came first, as if they did not.
    pub races: bool,
}

/// A zoom with the numbers that names have.
#[derive(Clone, Debug)]
pub(super) struct ShownSteps {
    components: bool,
    opened: FxHashSet<NameId>,
}

impl ShownSteps {
    pub(super) fn from_zoom(zoom: &ZoomLevel, names: &NameInterner) -> ShownSteps {
        let opened = zoom.opened.iter().filter_map(|node| names.find_id(node)).collect();
        ShownSteps { components: zoom.components, opened }
    }

    /// Whether a step is shown whose parent is `parent`.
    pub(super) fn shows_step(&self, step: &Step, parent: Option<&Step>) -> bool {
        let is_within = parent.is_some_and(|parent| parent.node == step.node);
        !(self.components && is_within) || self.opened.contains(&step.node)
    }
}
