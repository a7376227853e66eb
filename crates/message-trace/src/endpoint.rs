//! The ends of flows, as the trace names them.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

/// Number of an endpoint, from 0: its row in the dictionary of one
/// [`MessageTrace`](crate::MessageTrace), or its number in another source of messages while these
/// are written. Ids of different traces are unrelated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct EndpointId(u32);

impl EndpointId {
    /// Creates the id of the endpoint at this index; an index has at most 32 bits.
    #[inline]
    pub const fn from_index(index: usize) -> EndpointId {
        EndpointId(index as u32)
    }

    /// Returns the index of the endpoint.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// An endpoint: the end of a flow, by the name of the socket.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Endpoint {
    /// An IP address and port, written `10.0.0.1:8080` or `[::1]:53`.
    Inet(SocketAddr),
    /// A unix socket, by its path, its abstract name (`@name`) or, if unnamed, by its process and
    /// socket (`#pid/id`); written with the prefix `unix:`.
    Unix(String),
    /// Any other name, written unchanged: for traces with their own naming of ends.
    Other(String),
}

impl Endpoint {
    /// Returns the port, if there is one.
    pub fn port(&self) -> Option<u16> {
        match self {
            Endpoint::Inet(address) => Some(address.port()),
            _ => None,
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Inet(address) => write!(f, "{address}"),
            Endpoint::Unix(name) => write!(f, "unix:{name}"),
            Endpoint::Other(name) => f.write_str(name),
        }
    }
}

impl FromStr for Endpoint {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Endpoint, Self::Err> {
        Ok(match text.strip_prefix("unix:") {
            Some(name) => Endpoint::Unix(name.to_owned()),
            None => text.parse().map_or_else(|_| Endpoint::Other(text.to_owned()), Endpoint::Inet),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_endpoint_survives_its_own_text() {
        for text in [
            "10.0.0.1:8080",
            "[::1]:53",
            "unix:/run/x.sock",
            "unix:@bus",
            "unix:#12/7",
            "front end",
        ] {
            let Ok(endpoint) = text.parse::<Endpoint>();
            assert_eq!(endpoint.to_string(), text);
        }
        let Ok(endpoint) = "[::1]:53".parse::<Endpoint>();
        assert_eq!(endpoint.port(), Some(53));
    }
}
