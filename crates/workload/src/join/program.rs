//! Program: a compiled schema with numbers in place of names, so that events need no texts.

use out_of_core::NameId;

use crate::join::seed_counts::SeedRequirements;
use crate::schema::{BeginBy, BindMode, ProcessorUse, ResourceKind, ValueComparison, WaitReason};
use crate::synchronization::SyncStatement;

/// A schema with numbers in place of names.
#[derive(Debug, Default)]
pub(crate) struct JoinProgram {
    /// For each name, the index of its kind in `kinds` plus 1; 0 if no event of the schema has it.
    pub by_name: Vec<u16>,
    /// Kinds of events.
    pub kinds: Vec<CompiledKind>,
    /// Whether two sets with a seed each are never joined.
    pub apart: bool,
    /// Synchronisations.
    pub syncs: Vec<SyncStatement>,
    /// For each join attribute, whether a synchronisation uses it.
    pub synchronizes: Vec<bool>,
    /// The join attribute `thread`.
    pub thread: u16,
    /// Whether events show which thread runs on a processor.
    pub has_processors: bool,
    /// Kind of the event that ends a thread's work for a request if no event of its own does.
    pub leave: NameId,
    /// Requirements of the events that begin requests.
    pub seed_requirements: SeedRequirements,
}

/// A kind of events.
#[derive(Debug, Default)]
pub(crate) struct CompiledKind {
    /// Name of the kind.
    pub name: NameId,
    /// Attributes of the kind that the schema uses.
    pub slots: Vec<AttributeSlot>,
    /// Actions, by the name of the joined event.
    pub groups: Vec<RuleGroup>,
    /// Whether events of the kind can begin requests.
    pub begins_requests: bool,
    /// Whether the thread keeps the event's attributes for an event of another kind.
    pub keeps: bool,
    /// Kind of the kept event with the attributes.
    pub after: Option<u16>,
    /// For each slot, the slot of the kept event.
    pub from_kept: Vec<Option<u8>>,
    /// Synthetic events before the event.
    pub begins: Vec<CompiledBegin>,
}

/// An attribute that the schema uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AttributeSlot {
    /// Name of the attribute.
    pub name: NameId,
    /// Whether the attribute's text is used as a name.
    pub is_name: bool,
}

/// Parts of a kind that produce one joined event.
#[derive(Debug, Default)]
pub(crate) struct RuleGroup {
    /// The name of the joined event.
    pub kind: NameId,
    /// Slot of the attribute with the event's thread, if another thread posts the event.
    pub thread: Option<u8>,
    /// Parts of the kind that produce the event.
    pub parts: Vec<CompiledRule>,
}

/// A part with numbers in place of names.
#[derive(Debug, Default)]
pub(crate) struct CompiledRule {
    pub conditions: Vec<CompiledCondition>,
    pub bindings: Vec<CompiledBinding>,
    pub affects: Vec<(u16, bool)>,
    pub marks: Vec<(CompiledValues, bool)>,
    pub resources: Vec<(ResourceKind, ValueSource, i64)>,
    pub processor: Option<ProcessorUse>,
    pub inside: Option<WaitReason>,
    pub name: Option<u8>,
    pub seed: bool,
    pub wait: bool,
    pub complete: bool,
}

/// Location of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueSource {
    Slot(u8),
    Thread,
    Process,
    Processor,
    Host,
    Interrupt,
    /// The thread that posts the event, if the schema attributes the event to another one.
    Poster,
}

/// A join attribute or a mark, with the locations of its values.
#[derive(Clone, Debug, Default)]
pub(crate) struct CompiledValues {
    /// Number of the attribute or mark.
    pub of: u16,
    pub sources: Vec<ValueSource>,
}

/// A join attribute and its bind mode.
#[derive(Clone, Debug)]
pub(crate) struct CompiledBinding {
    pub values: CompiledValues,
    pub mode: BindMode,
}

/// Condition of a part of the schema, with numbers in place of names.
#[derive(Debug)]
pub(crate) enum CompiledCondition {
    Compare(ValueSource, ValueComparison, Vec<u64>),
    Marked(CompiledValues, bool),
    Sibling(ValueSource, bool),
    Interrupted(bool),
}

/// Synthetic event at the begin of an event that is posted at its end.
#[derive(Debug)]
pub(crate) struct CompiledBegin {
    pub slot: u8,
    pub by: BeginBy,
    pub kind: u16,
    /// For each slot of the synthetic event, the slot of the original event.
    pub slots: Vec<Option<u8>>,
}

impl JoinProgram {
    /// Index of a kind in `kinds`.
    pub(crate) fn kind_of(&self, name: NameId) -> Option<u16> {
        self.by_name.get(name.index()).copied().unwrap_or(0).checked_sub(1)
    }
}
