//! Statements of a schema, as they are read.

use std::path::PathBuf;

/// A schema: its EVENT parts in the order of the file, and its global statements.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventSchema {
    /// Its origin, for errors.
    pub file: PathBuf,
    /// Whether two sets with a seed event each are never joined (APART).
    pub apart: bool,
    /// Its EVENT parts.
    pub parts: Vec<EventRule>,
    /// Its SYNC statements.
    pub syncs: Vec<SyncRule>,
    /// Kinds that block, with the line of the statement (WAIT).
    pub waits: Vec<(u32, String)>,
}

/// An EVENT with the lines below it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventRule {
    /// Its line, from 1.
    pub line: u32,
    /// Kinds of the events to which it applies.
    pub kinds: Vec<String>,
    /// Name of joined events instead of their kind (AS). Parts of one kind with different names
    /// make an event each.
    pub renamed: Option<String>,
    /// Kind of the kept event with the attributes for an event of this kind, for each of `kinds`
    /// (AFTER).
    pub after: Vec<String>,
    /// Attribute with the thread to which the event belongs, if it is not the one that posts it.
    pub thread: Option<String>,
    /// Conditions that must all hold (WHERE).
    pub conditions: Vec<EventCondition>,
    /// Join attributes (ATTRIBUTE), the strongest first.
    pub bindings: Vec<AttributeBinding>,
    /// Attributes of the request with intervals that it stops or starts (AFFECT).
    pub affects: Vec<IntervalEffect>,
    /// Marks that are set on values (MARK) or cleared (UNMARK).
    pub marks: Vec<ValueMark>,
    /// Used resources (RESOURCE).
    pub resources: Vec<ResourceUse>,
    /// Its meaning for the processor (PROCESSOR).
    pub processor: Option<ProcessorUse>,
    /// The reason of the thread's wait if it blocks from here on (INSIDE).
    pub inside: Option<WaitReason>,
    /// Synthetic events before it (BEGIN).
    pub begins: Vec<SyntheticBegin>,
    /// Attribute that names the request (NAME).
    pub name: Option<String>,
    /// Whether it occurs only and always in a request (SEED).
    pub seed: bool,
    /// Whether it blocks (WAIT).
    pub wait: bool,
    /// Whether it may be the last event of its request (COMPLETE).
    pub complete: bool,
}

/// A name with the attributes of the event from which its values are taken:
/// `connection(process, fd)`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttributeValues {
    /// The name of the join attribute or of the mark.
    pub name: String,
    /// Attributes of the event, or built-in ones.
    pub of: Vec<String>,
}

/// Relation of an event to the valid-interval of a value (Magpie, section 3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BindMode {
    /// It joins the interval, and opens one if there is none.
    #[default]
    Basic,
    /// It is the first event of a new interval.
    Start,
    /// It is the last event of the interval.
    Stop,
    /// It joins the interval if there is one.
    Live,
    /// It opens an interval if there is none, and leaves one of another request unchanged.
    Claim,
    /// It does not affect the interval; the value is noted for synchronisation only.
    Note,
}

/// A join attribute of an event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttributeBinding {
    /// The attribute and the location of its values.
    pub values: AttributeValues,
    /// The effect of the event on its interval.
    pub mode: BindMode,
}

/// Effect of an event on other intervals of its request.
#[derive(Clone, Debug, PartialEq)]
pub struct IntervalEffect {
    /// The join attribute.
    pub attribute: String,
    /// Whether they continue as intervals of the event's new request. Otherwise they end.
    pub starts: bool,
}

/// A condition on an event.
#[derive(Clone, Debug, PartialEq)]
pub enum EventCondition {
    /// A comparison of an attribute's value with one of the alternatives.
    Compare {
        /// The attribute.
        attribute: String,
        /// The comparison.
        by: ValueComparison,
        /// The alternatives: whole numbers, or texts.
        with: Vec<String>,
    },
    /// A mark that must be set on values, or must not be.
    Marked {
        /// The mark and the location of its values.
        values: AttributeValues,
        /// Whether it must not be set.
        not: bool,
    },
}

/// Comparison of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueComparison {
    /// It is one of them.
    Equal,
    /// It is none of them.
    NotEqual,
    /// It is smaller.
    Less,
    /// It is smaller or equal.
    AtMost,
    /// It is greater.
    Greater,
    /// It is greater or equal.
    AtLeast,
    /// It has one of these bits.
    HasBits,
}

/// A mark that is set on values or cleared.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueMark {
    /// The mark and the location of its values.
    pub values: AttributeValues,
    /// Whether it is set.
    pub on: bool,
}

/// Resource usage of an event.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceUse {
    /// The resource.
    pub kind: ResourceKind,
    /// Attribute with the amount.
    pub attribute: String,
    /// Bytes per unit of the amount.
    pub times: i64,
}

/// Resources other than processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceKind {
    /// Bytes read from a disk or file.
    DiskRead,
    /// Bytes written to a disk or file.
    DiskWrite,
    /// Bytes sent.
    Sent,
    /// Bytes received.
    Received,
}

/// Meaning of an event for the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessorUse {
    /// The thread runs from here on.
    In,
    /// It does not run from here on: for that reason, or for the reason of INSIDE.
    Out(Option<WaitReason>),
    /// It is runnable from here on.
    Ready,
    /// An interrupt takes the processor.
    Interrupt,
    /// An interrupt gives the processor back.
    Return,
}

/// Reason why a thread does not run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitReason {
    /// It is runnable, but has no processor.
    Runnable,
    /// It waits for a disk.
    Disk,
    /// It waits for a lock or for another thread.
    Lock,
    /// It waits for a socket.
    Peer,
    /// It sleeps.
    Asleep,
    /// Unknown.
    #[default]
    Unknown,
}

/// Synthetic event at the begin of an event that is posted at its end.
#[derive(Clone, Debug, PartialEq)]
pub struct SyntheticBegin {
    /// Attribute with the time of the begin.
    pub attribute: String,
    /// Format of that time.
    pub by: BeginBy,
    /// Kind of the synthetic event.
    pub kind: String,
}

/// Format in which an attribute gives a begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeginBy {
    /// Nanoseconds before the event.
    Before,
    /// Nanoseconds since the Unix epoch.
    At,
}

/// A synchronisation (Magpie, section 3.5).
#[derive(Clone, Debug, PartialEq)]
pub struct SyncRule {
    /// Its line, from 1.
    pub line: u32,
    /// Kind of the event that signals.
    pub source: String,
    /// Join attribute that both share.
    pub attribute: String,
    /// Kind of the event with which the other thread continues.
    pub destination: String,
}
