//! Zoom: which steps of a request are distinguished (Spectroscope, 4.1).

use request_flow::{NameId, NameInterner, Step};
use rustc_hash::FxHashSet;

/// Level of detail of categories. By default every step is distinguished.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZoomLevel {
    /// Whether steps that a node calls within itself are hidden.
    pub components: bool,
    /// Nodes whose components are shown although `components` is set.
    pub opened: Vec<String>,
    /// Whether all iterations of a repeated call count as one ("call x N"), however many there are.
    pub loops: bool,
    /// Whether the order of concurrent calls distinguishes categories, as if the calls were
    /// sequential.
    pub races: bool,
}

/// A zoom level, with the numbers of the names in it.
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

    /// Whether a step with the parent `parent` is shown.
    pub(super) fn shows_step(&self, step: &Step, parent: Option<&Step>) -> bool {
        let is_within = parent.is_some_and(|parent| parent.node == step.node);
        !(self.components && is_within) || self.opened.contains(&step.node)
    }
}
