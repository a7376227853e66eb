//! Program: a schema with the numbers of its names, so that an event needs no text.

use out_of_core::NameId;

use crate::join::seed_counts::SeedRequirements;
use crate::schema::{BeginBy, BindMode, ProcessorUse, ResourceKind, ValueComparison, WaitReason};
use crate::synchronization::SyncStatement;

/// A schema with the numbers of its names.
#[derive(Debug, Default)]
pub(crate) struct JoinProgram {
    /// For each name, its kind's place in `kinds` plus 1; 0 if no event of the schema has it.
    pub by_name: Vec<u16>,
    /// Kinds of events.
    pub kinds: Vec<CompiledKind>,
    /// Whether two sets that each have a seed are never joined.
    pub apart: bool,
    /// Synchronisations.
    pub syncs: Vec<SyncStatement>,
    /// For each join attribute, whether a synchronisation is by it.
    pub synchronizes: Vec<bool>,
    /// The join attribute `thread`.
    pub thread: u16,
    /// Whether events say who runs on a processor.
    pub has_processors: bool,
    /// Kind of the event that ends a thread's work for a request where no event of its own does.
    pub leave: NameId,
    /// What the events that begin requests have to be.
    pub asked: SeedRequirements,
}

/// A kind of events.
#[derive(Debug, Default)]
pub(crate) struct CompiledKind {
    /// Its name.
    pub name: NameId,
    /// Attributes that are used.
    pub slots: Vec<AttributeSlot>,
    /// Actions, by what the joined event is called.
    pub groups: Vec<RuleGroup>,
    /// Whether its events can begin a request.
    pub begins_requests: bool,
    /// Whether the thread keeps its attributes for an event of another kind.
    pub keeps: bool,
    /// Kind whose attributes the thread kept.
    pub after: Option<u16>,
    /// For each slot, the one of the kept event.
    pub from_kept: Vec<Option<u8>>,
    /// Synthetic events before it.
    pub begins: Vec<CompiledBegin>,
}

/// An attribute that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AttributeSlot {
    /// Its name.
    pub name: NameId,
    /// Whether its text is used as a name.
    pub is_name: bool,
}

/// Parts of a kind that make one joined event.
#[derive(Debug, Default)]
pub(crate) struct RuleGroup {
    /// What it is called.
    pub kind: NameId,
    /// Where its thread is, if it is not the one that posts it.
    pub thread: Option<u8>,
    /// The parts.
    pub parts: Vec<CompiledRule>,
}

/// A part with the numbers of its names.
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

/// Where a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueSource {
    Slot(u8),
    Thread,
    Process,
    Processor,
    Host,
    Interrupt,
    /// The thread that posts the event, where the schema says that it is another's.
    Poster,
}

/// A join attribute or a mark, and where its values are.
#[derive(Clone, Debug, Default)]
pub(crate) struct CompiledValues {
    /// Number of the attribute or mark.
    pub of: u16,
    pub sources: Vec<ValueSource>,
}

/// A join attribute and how it binds.
#[derive(Clone, Debug)]
pub(crate) struct CompiledBinding {
    pub values: CompiledValues,
    pub mode: BindMode,
}

/// A condition.
#[derive(Debug)]
pub(crate) enum CompiledCondition {
    Compare(ValueSource, ValueComparison, Vec<u64>),
    Marked(CompiledValues, bool),
    Sibling(ValueSource, bool),
    Interrupted(bool),
}

/// Synthetic event at the begin of one that is posted at its end.
#[derive(Debug)]
pub(crate) struct CompiledBegin {
    pub slot: u8,
    pub by: BeginBy,
    pub kind: u16,
    /// For each slot of the synthetic event, the one of the event.
    pub slots: Vec<Option<u8>>,
}

impl JoinProgram {
    /// Place of a kind in `kinds`.
    pub(crate) fn kind_of(&self, name: NameId) -> Option<u16> {
        self.by_name.get(name as usize).copied().unwrap_or(0).checked_sub(1)
    }
}
