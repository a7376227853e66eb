//! Kinds of events that describe a thread's activity, and their attributes that are read.

use out_of_core::{NameId, NameInterner};
use rustc_hash::FxHashMap;

use super::timeline_entry::BlockingCall;

/// Meaning of an event for its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimelineEvent {
    /// The thread is on a processor from now on.
    In,
    /// The thread is on no processor from now on.
    Out,
    /// From now on it is not known whether the thread is on a processor.
    Lost,
    /// The thread begins.
    Start,
    /// The thread ends.
    Exit,
    /// The thread was in a call until now.
    Call(BlockingCall),
    /// The thread waited for another thread until now.
    Wake,
}

/// Numbers of the names of kinds and attributes.
pub(super) struct TimelineEventKinds {
    kinds: FxHashMap<NameId, TimelineEvent>,
    pub(super) duration: Option<NameId>,
    pub(super) bytes: Option<NameId>,
    pub(super) result: Option<NameId>,
    pub(super) preempted: Option<NameId>,
    pub(super) parent: Option<NameId>,
    pub(super) object: Option<NameId>,
    pub(super) by: Option<NameId>,
    pub(super) signalled: Option<NameId>,
    pub(super) what: Option<NameId>,
}

/// Meaning of each kind of event, by its name.
const KINDS: [(&str, TimelineEvent); 14] = [
    ("sched/In", TimelineEvent::In),
    ("sched/Out", TimelineEvent::Out),
    ("sched/Unknown", TimelineEvent::Lost),
    ("sched/Start", TimelineEvent::Start),
    ("sched/Exit", TimelineEvent::Exit),
    ("sockcap/Send", TimelineEvent::Call(BlockingCall::Socket)),
    ("sockcap/Receive", TimelineEvent::Call(BlockingCall::Socket)),
    ("sockcap/FileRead", TimelineEvent::Call(BlockingCall::File)),
    ("sockcap/FileWrite", TimelineEvent::Call(BlockingCall::File)),
    ("sockcap/FileSync", TimelineEvent::Call(BlockingCall::File)),
    ("sockcap/Poll", TimelineEvent::Call(BlockingCall::Poll)),
    ("sockcap/Sleep", TimelineEvent::Call(BlockingCall::Sleep)),
    ("sockcap/Lock", TimelineEvent::Call(BlockingCall::Lock)),
    ("sockcap/Wake", TimelineEvent::Wake),
];

impl TimelineEventKinds {
    /// Numbers of the kinds and attributes in `names`.
    pub(super) fn from_names(names: &NameInterner) -> TimelineEventKinds {
        let kinds = KINDS.iter().filter_map(|(text, kind)| Some((names.find_id(text)?, *kind)));
        TimelineEventKinds {
            kinds: kinds.collect(),
            duration: names.find_id("duration"),
            bytes: names.find_id("bytes"),
            result: names.find_id("result"),
            preempted: names.find_id("preempted"),
            parent: names.find_id("parent"),
            object: names.find_id("object"),
            by: names.find_id("by"),
            signalled: names.find_id("signalled"),
            what: names.find_id("what"),
        }
    }

    /// The meaning of events of this kind; `None` if they do not belong to a thread's timeline.
    pub(super) fn timeline_event(&self, kind: NameId) -> Option<TimelineEvent> {
        self.kinds.get(&kind).copied()
    }
}
