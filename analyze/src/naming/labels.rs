//! What messages are labelled with: nodes at a grain, and hops by their names and ports.

use message_trace::Protocol;

/// The one name of all clients of which no program is known.
pub const CLIENT: &str = "CLIENT";
/// The one label of all ephemeral ports.
pub(super) const EPHEMERAL: &str = "*";

/// A node at the chosen grain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrainNode {
    /// Its name, as an index of the texts.
    pub name: u32,
    /// Whether its side of the communication was captured.
    pub traced: bool,
    /// Whether it uses ephemeral ports only (WAP5 section 2.5.1).
    pub client: bool,
}

/// The labels of a message: two messages with the same ones are the same hop of a path pattern.
/// Each text is an index for [`Naming::text`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HopName {
    /// The sender's name.
    pub src: u32,
    /// The receiver's name.
    pub dst: u32,
    /// The sender's port.
    pub src_port: u32,
    /// The receiver's port.
    pub dst_port: u32,
    /// What the message went over.
    pub protocol: Protocol,
}
