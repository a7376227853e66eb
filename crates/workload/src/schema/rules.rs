//! Statements of a schema, as they are read.

use std::path::PathBuf;

/// A schema: its EVENT parts in the order of the file, and what holds for all of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventSchema {
    /// Where it was read, as errors call it.
    pub file: PathBuf,
    /// Whether two sets that each have a seed event are never joined (APART).
    pub apart: bool,
    /// Its EVENT parts.
    pub parts: Vec<EventRule>,
    /// Its SYNC statements.
    pub syncs: Vec<SyncRule>,
    /// Kinds that block, with the line that says so (WAIT).
    pub waits: Vec<(u32, String)>,
}

/// An EVENT with the lines below it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventRule {
    /// Its line, from 1.
    pub line: u32,
    /// Kinds of the events that it is about.
    pub kinds: Vec<String>,
    /// What joined events are called instead of their kind (AS). Parts of one kind that have
    /// different names make an event each.
    pub renamed: Option<String>,
    /// Kind whose attributes the thread kept for an event of this one, for each of `kinds` (AFTER).
    pub after: Vec<String>,
    /// Attribute that has the thread whose event it is, where it is not the thread that posts it.
    pub thread: Option<String>,
    /// Conditions that must all hold (WHERE).
    pub conditions: Vec<EventCondition>,
    /// Join attributes (ATTRIBUTE), the strongest first.
    pub bindings: Vec<AttributeBinding>,
    /// Attributes of the request whose intervals it stops or starts (AFFECT).
    pub affects: Vec<IntervalEffect>,
    /// What is remembered of values (MARK) or forgotten (UNMARK).
    pub marks: Vec<ValueMark>,
    /// What is used (RESOURCE).
    pub resources: Vec<ResourceUse>,
    /// What it means for who runs on a processor (PROCESSOR).
    pub processor: Option<ProcessorUse>,
    /// What the thread waits for if it blocks from here on (INSIDE).
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

/// A name with the attributes of the event whose values make it: `connection(process, fd)`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttributeValues {
    /// The name of the join attribute or of the mark.
    pub name: String,
    /// Attributes of the event, or built-in ones.
    pub of: Vec<String>,
}

/// How an event and the valid-interval of a value belong together (Magpie, section 3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BindMode {
    /// It joins the interval, which it opens where there is none.
    #[default]
    Basic,
    /// It is the first event of a new interval.
    Start,
    /// It is the last event of the interval.
    Stop,
    /// It joins the interval where there is one.
    Live,
    /// It opens an interval where there is none, and leaves one of another request alone.
    Claim,
    /// It does nothing to it; the value is noted for synchronisation only.
    Note,
}

/// A join attribute of an event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttributeBinding {
    /// The attribute and where its values are.
    pub values: AttributeValues,
    /// What the event does to its interval.
    pub mode: BindMode,
}

/// What an event does to intervals of its request that are not its own.
#[derive(Clone, Debug, PartialEq)]
pub struct IntervalEffect {
    /// The join attribute.
    pub attribute: String,
    /// Whether they go on as intervals of the event's new request. Else they end.
    pub starts: bool,
}

/// A condition on an event.
#[derive(Clone, Debug, PartialEq)]
pub enum EventCondition {
    /// An attribute has a value that compares so with one of the alternatives.
    Compare {
        /// The attribute.
        attribute: String,
        /// How they are compared.
        by: ValueComparison,
        /// The alternatives: whole numbers, or texts.
        with: Vec<String>,
    },
    /// A mark is on values, or is not.
    Marked {
        /// The mark and where its values are.
        values: AttributeValues,
        /// Whether it must not be there.
        not: bool,
    },
}

/// How values are compared.
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

/// A mark that is put on values or taken away.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueMark {
    /// The mark and where its values are.
    pub values: AttributeValues,
    /// Whether it is put there.
    pub on: bool,
}

/// What an event uses.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceUse {
    /// What it is.
    pub kind: ResourceKind,
    /// Attribute that has the amount.
    pub attribute: String,
    /// Bytes of one.
    pub times: i64,
}

/// What can be used besides processors.
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

/// What an event means for who runs on a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessorUse {
    /// The thread runs from here on.
    In,
    /// It does not run from here on: for that reason, or for what it is inside of.
    Out(Option<WaitReason>),
    /// It could run from here on.
    Ready,
    /// An interrupt takes the processor.
    Interrupt,
    /// An interrupt gives the processor back.
    Return,
}

/// Why a thread does not run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WaitReason {
    /// It could, but has no processor.
    Runnable,
    /// It waits for a disk.
    Disk,
    /// It waits for a lock or for another thread.
    Lock,
    /// It waits for a socket.
    Peer,
    /// It sleeps.
    Asleep,
    /// Nobody can tell.
    #[default]
    Unknown,
}

/// Synthetic event at the begin of one that is posted at its end.
#[derive(Clone, Debug, PartialEq)]
pub struct SyntheticBegin {
    /// Attribute that says when.
    pub attribute: String,
    /// How it says so.
    pub by: BeginBy,
    /// Kind of the synthetic event.
    pub kind: String,
}

/// How an attribute says when something began.
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
    /// Kind of the event with which the other thread goes on.
    pub destination: String,
}
