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
    /// Whether two event sets that both have a seed event are never merged (APART).
    pub apart: bool,
    /// Synchronisations.
    pub syncs: Vec<SyncStatement>,
    /// For each join attribute, whether a synchronisation uses it.
    pub synchronizes: Vec<bool>,
    /// The join attribute `thread`.
    pub thread: u16,
    /// Whether events show which thread runs on a processor.
    pub has_processors: bool,
    /// Kind of the event that is added when a thread leaves a request with usage that no event of
    /// its own was charged with.
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
    /// Parts of the kind, by the name of the joined event that they make.
    pub groups: Vec<RuleGroup>,
    /// Whether events of the kind can begin requests.
    pub begins_requests: bool,
    /// Whether the thread keeps the event's attributes for a later event of another kind (AFTER).
    pub keeps: bool,
    /// Kind of the kept event from which an event of this kind takes missing attributes (AFTER).
    pub after: Option<u16>,
    /// For each slot of this kind, the slot of the kept event.
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

/// A part of a schema, which is an EVENT with the lines below it, with numbers in place of names.
/// The fields are those of [`EventRule`](crate::schema::EventRule).
#[derive(Debug, Default)]
pub(crate) struct CompiledRule {
    pub conditions: Vec<CompiledCondition>,
    pub bindings: Vec<CompiledBinding>,
    /// Join attributes, and whether their intervals start; otherwise they stop.
    pub affects: Vec<(u16, bool)>,
    /// Marks, and whether they are set; otherwise they are cleared.
    pub marks: Vec<(CompiledValues, bool)>,
    /// Resources, the location of each amount, and the bytes per unit of the amount.
    pub resources: Vec<(ResourceKind, ValueSource, i64)>,
    pub processor: Option<ProcessorUse>,
    pub inside: Option<WaitReason>,
    pub name: Option<u8>,
    pub seed: bool,
    pub wait: bool,
    pub complete: bool,
}

/// Where an event has a value.
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

/// Condition of a part of the schema, with numbers in place of names. A `bool` says whether the
/// condition is negated.
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
    /// Index of a kind in `kinds`; `None` if the schema does not use it.
    pub(crate) fn kind_of(&self, name: NameId) -> Option<u16> {
        self.by_name.get(name.index()).copied().unwrap_or(0).checked_sub(1)
    }
}
