//! End of a connection: its kinds, and the kind that each error stands for.

use std::io::{self, ErrorKind};

use crate::collect::event::Cause;
use crate::link::is_stop;
use crate::wire;

/// End of a connection.
pub(super) enum End {
    /// Regular end: the shipper said so, or the collector is to stop.
    Over,
    /// The network or the shipper is gone.
    Lost(String),
    /// Refused: the shipper is told why, if it still listens.
    Refused(Cause, String),
}

impl From<wire::Error> for End {
    fn from(error: wire::Error) -> End {
        match error {
            wire::Error::Closed => End::Lost("the shipper closed it".into()),
            wire::Error::CutOff => End::Lost(error.to_string()),
            wire::Error::TooLong(_) | wire::Error::Malformed => {
                End::Refused(Cause::Protocol, error.to_string())
            }
            wire::Error::Io(error) => error.into(),
        }
    }
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> End {
        match error.kind() {
            _ if is_stop(&error) => End::Over,
            ErrorKind::TimedOut => {
                End::Refused(Cause::Slow, "it was too slow, or silent for too long".into())
            }
            // TLS has its own word for what does not belong there.
            ErrorKind::InvalidData => End::Refused(Cause::Protocol, error.to_string()),
            _ => End::Lost(error.to_string()),
        }
    }
}
