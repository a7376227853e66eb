//! Structure: the steps that all requests of a category have in common.

use request_flow::NameId;

/// Hash that identifies a category: equal structures have equal keys, in any recording.
pub type CategoryKey = u128;

/// The node and the operation of a step, as a category distinguishes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StepSymbol {
    /// Node that executes the step.
    pub node: NameId,
    /// Operation of the step.
    pub operation: NameId,
    /// Whether the step fails.
    pub failed: bool,
    /// Whether the step is called several times in sequence, if loops are collapsed.
    pub repeated: bool,
}

/// A step of all requests of a category.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CategoryPlace {
    /// Place of the calling step; `None` for the root.
    pub parent: Option<u32>,
    /// Node and operation of the steps at the place.
    pub symbol: StepSymbol,
    /// Whether the step runs concurrently with the previous sibling.
    pub with_previous: bool,
    /// Depth in the tree: 0 for the root.
    pub depth: u32,
}

/// The steps of a category, depth first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CategoryStructure {
    /// The node that sends the root's call; `out_of_core::NameInterner::UNKNOWN` if it is not
    /// known.
    pub caller: NameId,
    /// Whether the requests are torn: their roots were lost.
    pub torn: bool,
    /// Places of the steps, depth first.
    pub places: Vec<CategoryPlace>,
}

impl CategoryStructure {
    /// The kind of the requests: caller, node and operation of the root, whether or not the root
    /// fails.
    pub fn request_kind(&self) -> [NameId; 3] {
        let root = self.places.first().map(|place| place.symbol).unwrap_or_default();
        [self.caller, root.node, root.operation]
    }

    /// The string of the depth-first walk, for edit distances: the symbol of a step at its begin,
    /// and `None` at its end, as a trace has a point for both.
    pub fn walk_symbols(&self) -> Vec<Option<StepSymbol>> {
        let mut symbols = Vec::with_capacity(2 * self.places.len());
        let mut depth = 0;
        for place in &self.places {
            symbols.extend((place.depth..depth).map(|_| None));
            symbols.push(Some(place.symbol));
            depth = place.depth + 1;
        }
        symbols.extend((0..depth).map(|_| None));
        symbols
    }

    /// Maps the number of each name with `number`.
    pub fn map_names(&mut self, mut number: impl FnMut(NameId) -> NameId) {
        self.caller = number(self.caller);
        for place in &mut self.places {
            place.symbol.node = number(place.symbol.node);
            place.symbol.operation = number(place.symbol.operation);
        }
    }
}
