//! Own events, of the table `events/sockcap.parquet`: events that sockcap itself derives from logs
//! with resources and from files of switches. Each is a row that sorts in temporary files, with the
//! names of its kind and attributes.

use out_of_core::KeyedRecord;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::indices::HostIndex;
use crate::sentinels::NIL;

/// An event of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct OwnEvent {
    /// Time on the common clock, in nanoseconds.
    pub(crate) time: i64,
    /// Values of the attributes in [`OwnEventKind::attribute_names`]; [`NIL`] for missing ones.
    pub(crate) values: [i64; 4],
    /// A [`OwnEventKind`], by its number.
    pub(crate) kind: u32,
    pub(crate) host: HostIndex,
    /// Ids of the kernel.
    pub(crate) process: i32,
    pub(crate) thread: i32,
    /// Number of the processor; -1 if unknown.
    pub(crate) processor: i32,
    /// The socket of a connection; for locks and hand-offs, the number of a
    /// `socket_log::encode_batch::HandoffObject`.
    pub(crate) word: u32,
}

impl KeyedRecord for OwnEvent {
    type Key = i64;

    fn key(&self) -> i64 {
        self.time
    }
}

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum OwnEventKind {
    Connection,
    Send,
    Receive,
    Close,
    FileRead,
    FileWrite,
    FileSync,
    Poll,
    Sleep,
    Lock,
    Signal,
    Unreceived,
    Wake,
    In,
    Out,
    Start,
    Exit,
    Name,
    Unknown,
}

impl OwnEventKind {
    /// All kinds, each at the index of its number.
    pub(crate) const ALL: [OwnEventKind; 19] = [
        OwnEventKind::Connection,
        OwnEventKind::Send,
        OwnEventKind::Receive,
        OwnEventKind::Close,
        OwnEventKind::FileRead,
        OwnEventKind::FileWrite,
        OwnEventKind::FileSync,
        OwnEventKind::Poll,
        OwnEventKind::Sleep,
        OwnEventKind::Lock,
        OwnEventKind::Signal,
        OwnEventKind::Unreceived,
        OwnEventKind::Wake,
        OwnEventKind::In,
        OwnEventKind::Out,
        OwnEventKind::Start,
        OwnEventKind::Exit,
        OwnEventKind::Name,
        OwnEventKind::Unknown,
    ];

    /// The name of the kind in the table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            OwnEventKind::Connection => "sockcap/Connection",
            OwnEventKind::Send => "sockcap/Send",
            OwnEventKind::Receive => "sockcap/Receive",
            OwnEventKind::Close => "sockcap/Close",
            OwnEventKind::FileRead => "sockcap/FileRead",
            OwnEventKind::FileWrite => "sockcap/FileWrite",
            OwnEventKind::FileSync => "sockcap/FileSync",
            OwnEventKind::Poll => "sockcap/Poll",
            OwnEventKind::Sleep => "sockcap/Sleep",
            OwnEventKind::Lock => "sockcap/Lock",
            OwnEventKind::Signal => "sockcap/Signal",
            OwnEventKind::Unreceived => "sockcap/Unheard",
            OwnEventKind::Wake => "sockcap/Wake",
            OwnEventKind::In => "sched/In",
            OwnEventKind::Out => "sched/Out",
            OwnEventKind::Start => "sched/Start",
            OwnEventKind::Exit => "sched/Exit",
            OwnEventKind::Name => "sched/Name",
            OwnEventKind::Unknown => "sched/Unknown",
        }
    }

    /// Names of the kind's attributes that are integers, in the order of `OwnEvent::values`.
    pub(crate) fn attribute_names(self) -> &'static [&'static str] {
        match self {
            OwnEventKind::Connection | OwnEventKind::Close => &["connection"],
            OwnEventKind::Send | OwnEventKind::Receive => &["connection", "bytes", "duration"],
            OwnEventKind::FileRead | OwnEventKind::FileWrite | OwnEventKind::FileSync => {
                &["bytes", "duration", "cached"]
            }
            OwnEventKind::Poll => &["duration", "result"],
            OwnEventKind::Sleep => &["duration"],
            OwnEventKind::Lock => &["object", "duration"],
            OwnEventKind::Signal => &["object", "all"],
            OwnEventKind::Unreceived => &["object", "waiter"],
            OwnEventKind::Wake => &["object", "duration", "by", "signalled"],
            OwnEventKind::Out => &["preempted"],
            OwnEventKind::Start => &["parent"],
            OwnEventKind::In | OwnEventKind::Exit | OwnEventKind::Name | OwnEventKind::Unknown => {
                &[]
            }
        }
    }
}

impl OwnEvent {
    /// An event without attributes.
    pub(crate) fn new(
        kind: OwnEventKind,
        time: i64,
        host: HostIndex,
        process: u32,
        thread: i32,
    ) -> OwnEvent {
        OwnEvent {
            time,
            values: [NIL; 4],
            kind: kind as u32,
            host,
            process: process as i32,
            thread,
            processor: -1,
            word: 0,
        }
    }

    /// Sets the values of the first attributes.
    pub(crate) fn with_values<const COUNT: usize>(mut self, values: [i64; COUNT]) -> OwnEvent {
        self.values.iter_mut().zip(values).for_each(|(to, value)| *to = value);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_at_the_index_of_its_number() {
        for (place, kind) in OwnEventKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, place);
            assert!(kind.attribute_names().len() <= 4);
        }
    }
}
