//! Statements of a schema, as they are read.

use std::path::PathBuf;

/// A schema: its EVENT parts in the order of the file, and its global statements.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventSchema {
    /// Origin of the schema, for errors.
    pub file: PathBuf,
    /// Whether two event sets that both have a seed event are never merged (APART).
    pub apart: bool,
    /// EVENT parts of the schema.
    pub parts: Vec<EventRule>,
    /// SYNC statements of the schema.
    pub syncs: Vec<SyncRule>,
    /// Kinds that block, with the line of the statement (WAIT).
    pub waits: Vec<(u32, String)>,
}

/// An EVENT with the lines below it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventRule {
    /// Line of the part, from 1.
    pub line: u32,
    /// Kinds of the events to which the part applies.
    pub kinds: Vec<String>,
    /// Name of joined events instead of their kind (AS). Parts of one kind with different names
    /// make a joined event each.
    pub renamed: Option<String>,
    /// For each of `kinds`, the kind of the earlier event of the same thread from which an event
    /// takes the attributes that it lacks (AFTER).
    pub after: Vec<String>,
    /// Attribute with the thread to which the event belongs, if another thread posts the event.
    pub thread: Option<String>,
    /// Conditions that must all hold (WHERE).
    pub conditions: Vec<EventCondition>,
    /// Join attributes (ATTRIBUTE), the strongest first.
    pub bindings: Vec<AttributeBinding>,
    /// Effects on intervals of the request that the event does not bind itself (AFFECT).
    pub affects: Vec<IntervalEffect>,
    /// Marks that are set on values (MARK) or cleared (UNMARK).
    pub marks: Vec<ValueMark>,
    /// Used resources (RESOURCE).
    pub resources: Vec<ResourceUse>,
    /// Meaning of the event for the processor (PROCESSOR).
    pub processor: Option<ProcessorUse>,
    /// The reason of the thread's wait if it blocks from here on (INSIDE).
    pub inside: Option<WaitReason>,
    /// Synthetic events before the event (BEGIN).
    pub begins: Vec<SyntheticBegin>,
    /// Attribute that names the request (NAME).
    pub name: Option<String>,
    /// Whether the event occurs only and always in a request (SEED).
    pub seed: bool,
    /// Whether the event blocks (WAIT).
    pub wait: bool,
    /// Whether the event may be the last one of its request (COMPLETE).
    pub complete: bool,
}

/// A name with the attributes of the event from which its values are taken:
/// `connection(process, fd)`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttributeValues {
    /// The name of the join attribute or of the mark.
    pub name: String,
    /// Attributes of the event, or built-in ones such as `thread`.
    pub of: Vec<String>,
}

/// Relation of an event to the valid-interval of a value (Magpie, section 3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BindMode {
    /// The event joins the interval, and opens one if there is none.
    #[default]
    Basic,
    /// The event is the first one of a new interval.
    Start,
    /// The event is the last one of the interval.
    Stop,
    /// The event joins the interval if there is one.
    Live,
    /// The event opens an interval if there is none, and leaves an interval of another request
    /// unchanged.
    Claim,
    /// The event does not affect the interval; the value is noted for synchronisation only.
    Note,
}

/// A join attribute of an event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttributeBinding {
    /// The attribute and the location of its values.
    pub values: AttributeValues,
    /// Effect of the event on the value's interval.
    pub mode: BindMode,
}

/// Effect of an event on other intervals of its request.
#[derive(Clone, Debug, PartialEq)]
pub struct IntervalEffect {
    /// The join attribute.
    pub attribute: String,
    /// Whether the intervals continue as intervals of the event's new request. Otherwise they end.
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
        /// Whether the mark must not be set.
        not: bool,
    },
}

/// Comparison of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueComparison {
    /// The value is one of the given ones.
    Equal,
    /// The value is none of the given ones.
    NotEqual,
    /// The value is smaller.
    Less,
    /// The value is smaller or equal.
    AtMost,
    /// The value is greater.
    Greater,
    /// The value is greater or equal.
    AtLeast,
    /// The value has one of these bits.
    HasBits,
}

/// A mark that is set on values or cleared.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueMark {
    /// The mark and the location of its values.
    pub values: AttributeValues,
    /// Whether the mark is set.
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
    /// The thread does not run from here on. Without a reason here, it is that of the thread's last
    /// INSIDE.
    Out(Option<WaitReason>),
    /// The thread is runnable from here on.
    Ready,
    /// An interrupt takes the processor.
    Interrupt,
    /// An interrupt gives the processor back.
    Return,
}

/// Reason why a thread does not run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitReason {
    /// The thread is runnable, but has no processor.
    Runnable,
    /// The thread waits for a disk.
    Disk,
    /// The thread waits for a lock or for another thread.
    Lock,
    /// The thread waits for a socket.
    Peer,
    /// The thread sleeps.
    Asleep,
    /// The reason is unknown.
    #[default]
    Unknown,
}

/// Synthetic event at the begin of an event that is posted at its end.
#[derive(Clone, Debug, PartialEq)]
pub struct SyntheticBegin {
    /// Attribute with the time of the begin, or with the duration until the event.
    pub attribute: String,
    /// Format of the time of the begin.
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
    /// Line of the statement, from 1.
    pub line: u32,
    /// Kind of the event that signals.
    pub source: String,
    /// Join attribute whose value both threads share.
    pub attribute: String,
    /// Kind of the event with which the other thread continues.
    pub destination: String,
}
