//! Kinds of events that tell what a thread did, and the attributes that are read of them.

use out_of_core::{NameId, Names};
use rustc_hash::FxHashMap;

use super::entry::Call;

/// What an event tells of its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is on a processor from now on.
    In,
    /// It is on none from now on.
    Out,
    /// From now on nobody knows whether it is on one.
    Lost,
    /// It begins.
    Start,
    /// It ends.
    Exit,
    /// It was in a call until now.
    Call(Call),
    /// It waited until now for another thread.
    Wake,
}

/// Numbers of the names of kinds and attributes.
pub(super) struct Kinds {
    kinds: FxHashMap<NameId, Kind>,
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

const KINDS: [(&str, Kind); 14] = [
    ("sched/In", Kind::In),
    ("sched/Out", Kind::Out),
    ("sched/Unknown", Kind::Lost),
    ("sched/Start", Kind::Start),
    ("sched/Exit", Kind::Exit),
    ("sockcap/Send", Kind::Call(Call::Socket)),
    ("sockcap/Receive", Kind::Call(Call::Socket)),
    ("sockcap/FileRead", Kind::Call(Call::File)),
    ("sockcap/FileWrite", Kind::Call(Call::File)),
    ("sockcap/FileSync", Kind::Call(Call::File)),
    ("sockcap/Poll", Kind::Call(Call::Poll)),
    ("sockcap/Sleep", Kind::Call(Call::Sleep)),
    ("sockcap/Lock", Kind::Call(Call::Lock)),
    ("sockcap/Wake", Kind::Wake),
];

impl Kinds {
    /// Their numbers in `names`.
    pub(super) fn of(names: &Names) -> Kinds {
        let kinds = KINDS.iter().filter_map(|(text, kind)| Some((names.find(text)?, *kind)));
        Kinds {
            kinds: kinds.collect(),
            duration: names.find("duration"),
            bytes: names.find("bytes"),
            result: names.find("result"),
            preempted: names.find("preempted"),
            parent: names.find("parent"),
            object: names.find("object"),
            by: names.find("by"),
            signalled: names.find("signalled"),
            what: names.find("what"),
        }
    }

    /// What events of that kind tell; `None` where it is not of a thread's timeline.
    pub(super) fn kind(&self, kind: NameId) -> Option<Kind> {
        self.kinds.get(&kind).copied()
    }
}
