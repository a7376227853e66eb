//! Labels of messages: nodes at a grain, and hops by their names and ports.

use message_trace::TransportProtocol;

/// The one name of all clients without a known program.
pub const CLIENT: &str = "CLIENT";
/// The one label of all ephemeral ports.
pub(super) const EPHEMERAL: &str = "*";

/// A node at the chosen grain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GrainNode {
    /// The name of the node, as an index into the texts.
    pub(crate) name: u32,
    /// Whether the node's side of the communication was captured.
    pub(crate) traced: bool,
    /// Whether the node uses ephemeral ports only (WAP5 section 2.5.1).
    pub(crate) client: bool,
}

/// The labels of a message: two messages with equal labels are the same hop of a path pattern. Each
/// text is an index for `Naming::label_text`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct HopName {
    /// The sender's name.
    pub(crate) src: u32,
    /// The receiver's name.
    pub(crate) dst: u32,
    /// The sender's port.
    pub(crate) src_port: u32,
    /// The receiver's port.
    pub(crate) dst_port: u32,
    /// Transport protocol of the message.
    pub(crate) protocol: TransportProtocol,
}
