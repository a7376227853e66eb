//! An event of our own on its way into the table, as a row that sorts in temporary files; and the
//! names of its kind and attributes.

use out_of_core::Keyed;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::absent::NIL;

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct OwnEvent {
    /// On the common clock.
    pub(crate) time: i64,
    /// Values of the attributes that [`Kind::attributes`] names; [`NIL`] where there is none.
    pub(crate) values: [i64; 4],
    /// A [`Kind`], by its number.
    pub(crate) kind: u32,
    /// The host, by its place.
    pub(crate) host: u32,
    /// Ids as the kernel has them.
    pub(crate) process: i32,
    pub(crate) thread: i32,
    /// Number of the processor; -1 where it is not known.
    pub(crate) processor: i32,
    /// Of a connection, the socket; of locks and hand-offs, the number of a
    /// [`Handoff`](socket_log::encode::Handoff).
    pub(crate) word: u32,
}

impl Keyed for OwnEvent {
    type Key = i64;

    fn key(&self) -> i64 {
        self.time
    }
}

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Kind {
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
    Unheard,
    Wake,
    In,
    Out,
    Start,
    Exit,
    Name,
    Unknown,
}

impl Kind {
    /// All kinds, each at the place of its number.
    pub(crate) const ALL: [Kind; 19] = [
        Kind::Connection,
        Kind::Send,
        Kind::Receive,
        Kind::Close,
        Kind::FileRead,
        Kind::FileWrite,
        Kind::FileSync,
        Kind::Poll,
        Kind::Sleep,
        Kind::Lock,
        Kind::Signal,
        Kind::Unheard,
        Kind::Wake,
        Kind::In,
        Kind::Out,
        Kind::Start,
        Kind::Exit,
        Kind::Name,
        Kind::Unknown,
    ];

    /// The kind as the table has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Connection => "sockcap/Connection",
            Kind::Send => "sockcap/Send",
            Kind::Receive => "sockcap/Receive",
            Kind::Close => "sockcap/Close",
            Kind::FileRead => "sockcap/FileRead",
            Kind::FileWrite => "sockcap/FileWrite",
            Kind::FileSync => "sockcap/FileSync",
            Kind::Poll => "sockcap/Poll",
            Kind::Sleep => "sockcap/Sleep",
            Kind::Lock => "sockcap/Lock",
            Kind::Signal => "sockcap/Signal",
            Kind::Unheard => "sockcap/Unheard",
            Kind::Wake => "sockcap/Wake",
            Kind::In => "sched/In",
            Kind::Out => "sched/Out",
            Kind::Start => "sched/Start",
            Kind::Exit => "sched/Exit",
            Kind::Name => "sched/Name",
            Kind::Unknown => "sched/Unknown",
        }
    }

    /// Names of its attributes that are whole numbers, in the order of [`OwnEvent::values`].
    pub(crate) fn attributes(self) -> &'static [&'static str] {
        match self {
            Kind::Connection | Kind::Close => &["connection"],
            Kind::Send | Kind::Receive => &["connection", "bytes", "duration"],
            Kind::FileRead | Kind::FileWrite | Kind::FileSync => &["bytes", "duration", "cached"],
            Kind::Poll => &["duration", "result"],
            Kind::Sleep => &["duration"],
            Kind::Lock => &["object", "duration"],
            Kind::Signal => &["object", "all"],
            Kind::Unheard => &["object", "waiter"],
            Kind::Wake => &["object", "duration", "by", "signalled"],
            Kind::Out => &["preempted"],
            Kind::Start => &["parent"],
            Kind::In | Kind::Exit | Kind::Name | Kind::Unknown => &[],
        }
    }
}

impl OwnEvent {
    /// An event without attributes.
    pub(crate) fn new(kind: Kind, time: i64, host: u32, process: u32, thread: i32) -> OwnEvent {
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

    /// The same with the first attributes.
    pub(crate) fn with<const COUNT: usize>(mut self, values: [i64; COUNT]) -> OwnEvent {
        self.values.iter_mut().zip(values).for_each(|(to, value)| *to = value);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_at_its_place() {
        for (place, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, place);
            assert!(kind.attributes().len() <= 4);
        }
    }
}
