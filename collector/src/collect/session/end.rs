//! End of a connection: its kinds, and the mapping of errors to them.

use std::io::{self, ErrorKind};

use crate::collect::event::RefusalCause;
use crate::link::is_stop;
use crate::wire;

/// End of a connection.
pub(super) enum SessionEnd {
    /// Regular end: the shipper announced it, or the collector is to stop.
    Over,
    /// The network or the shipper is gone.
    Lost(String),
    /// Refused: the shipper gets the reason, if it is still listening.
    Refused(RefusalCause, String),
}

impl From<wire::FrameError> for SessionEnd {
    fn from(error: wire::FrameError) -> SessionEnd {
        match error {
            wire::FrameError::Closed => SessionEnd::Lost("the shipper closed it".into()),
            wire::FrameError::CutOff => SessionEnd::Lost(error.to_string()),
            wire::FrameError::TooLong(_) | wire::FrameError::Malformed => {
                SessionEnd::Refused(RefusalCause::Protocol, error.to_string())
            }
            wire::FrameError::Io(error) => error.into(),
        }
    }
}

impl From<io::Error> for SessionEnd {
    fn from(error: io::Error) -> SessionEnd {
        match error.kind() {
            _ if is_stop(&error) => SessionEnd::Over,
            ErrorKind::TimedOut => SessionEnd::Refused(
                RefusalCause::Slow,
                "it was too slow, or silent for too long".into(),
            ),
            // rustls reports bytes that are not TLS in this way.
            ErrorKind::InvalidData => {
                SessionEnd::Refused(RefusalCause::Protocol, error.to_string())
            }
            _ => SessionEnd::Lost(error.to_string()),
        }
    }
}
