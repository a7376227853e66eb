//! Returns of `connect`: whether and when they show that a connection was established.

use std::fmt;

/// Return of the call to `connect` with which a socket was connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectReturn {
    /// The time of the call is unknown, or the socket did not connect.
    Unknown,
    /// The call did not wait for the connection, so that its return carries no information.
    UnderWay,
    /// The call waited for the connection and returned at that time, in nanoseconds.
    At(i64),
}

/// A [`ConnectReturn`] of the size of a time, because there is one for each socket.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct PackedConnectReturn(i64);

const _: () = assert!(size_of::<PackedConnectReturn>() == size_of::<i64>());

impl PackedConnectReturn {
    /// [`ConnectReturn::Unknown`].
    pub(crate) const UNKNOWN: PackedConnectReturn = PackedConnectReturn(i64::MIN);
    /// [`ConnectReturn::UnderWay`].
    const UNDER_WAY: PackedConnectReturn = PackedConnectReturn(i64::MAX);

    /// Returns the value.
    #[inline]
    pub(crate) fn unpack(self) -> ConnectReturn {
        match self {
            PackedConnectReturn::UNKNOWN => ConnectReturn::Unknown,
            PackedConnectReturn::UNDER_WAY => ConnectReturn::UnderWay,
            PackedConnectReturn(time) => ConnectReturn::At(time),
        }
    }
}

impl From<ConnectReturn> for PackedConnectReturn {
    #[inline]
    fn from(value: ConnectReturn) -> PackedConnectReturn {
        match value {
            ConnectReturn::Unknown => PackedConnectReturn::UNKNOWN,
            ConnectReturn::UnderWay => PackedConnectReturn::UNDER_WAY,
            ConnectReturn::At(time) => PackedConnectReturn(time),
        }
    }
}

impl fmt::Debug for PackedConnectReturn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.unpack().fmt(formatter)
    }
}
