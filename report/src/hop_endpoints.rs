//! The two ends of a hop: its nodes, its ports, its protocol, and its operation. Hops of patterns
//! and rows of delays have these ends. Labels, JSON and the page use this type for them.

use analyze::paths::{Hop, HopDelays};
use message_trace::TransportProtocol;
use serde::{Serialize, Serializer};

/// The ends of a hop, with their field names in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct HopEndpoints<'a> {
    /// The name of the sending node.
    pub(crate) src: &'a str,
    /// The name of the receiving node.
    pub(crate) dst: &'a str,
    /// The sender's port, `*` for an ephemeral one, or the name of another kind of endpoint.
    pub(crate) src_port: &'a str,
    /// The receiver's port, `*` for an ephemeral one, or the name of another kind of endpoint.
    pub(crate) dst_port: &'a str,
    /// The protocol of the message.
    #[serde(serialize_with = "name")]
    pub(crate) protocol: TransportProtocol,
    /// Whether the sender was traced.
    pub(crate) src_traced: bool,
    /// Whether the receiver was traced.
    pub(crate) dst_traced: bool,
    /// The operation of the message, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) operation: Option<&'a str>,
}

impl<'a> From<&'a Hop> for HopEndpoints<'a> {
    fn from(hop: &'a Hop) -> HopEndpoints<'a> {
        HopEndpoints {
            src: &hop.src,
            dst: &hop.dst,
            src_port: &hop.src_port,
            dst_port: &hop.dst_port,
            protocol: hop.protocol,
            src_traced: hop.src_traced,
            dst_traced: hop.dst_traced,
            operation: hop.operation.as_deref(),
        }
    }
}

impl<'a> From<&'a HopDelays> for HopEndpoints<'a> {
    fn from(hop: &'a HopDelays) -> HopEndpoints<'a> {
        HopEndpoints {
            src: &hop.src,
            dst: &hop.dst,
            src_port: &hop.src_port,
            dst_port: &hop.dst_port,
            protocol: hop.protocol,
            src_traced: hop.src_traced,
            dst_traced: hop.dst_traced,
            operation: None,
        }
    }
}

fn name<S: Serializer>(protocol: &TransportProtocol, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(protocol.name())
}
