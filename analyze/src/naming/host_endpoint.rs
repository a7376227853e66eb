//! An endpoint of one host.

use message_trace::EndpointId;

/// The number of a host, and an endpoint there. Loopback addresses and unix sockets have the same
/// names on many hosts.
pub(super) type HostEndpoint = (u32, EndpointId);
