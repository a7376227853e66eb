//! Frames of links: the bytes before IP on an Ethernet, in a cooked capture, on the loopback of
//! BSD.

use super::Packet;

/// A kind of link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    Ethernet,
    /// With a number of tags of virtual networks.
    Vlan(usize),
    Sll,
    Sll2,
    /// An SLL2 capture's loopback interface.
    Sll2Loopback,
    Raw,
    RawBsd,
    /// IPv4 or IPv6 alone.
    Alone,
    Null,
    Loop,
}

impl Link {
    pub fn number(self, v6: bool) -> u32 {
        match self {
            Link::Ethernet | Link::Vlan(_) => 1,
            Link::Sll => 113,
            Link::Sll2 | Link::Sll2Loopback => 276,
            Link::Raw => 101,
            Link::RawBsd => 12,
            Link::Alone => {
                if v6 {
                    229
                } else {
                    228
                }
            }
            Link::Null => 0,
            Link::Loop => 108,
        }
    }

    /// The frame of `packet`; `out` is its direction, for links that have it.
    pub fn frame(self, packet: &Packet, out: bool) -> Vec<u8> {
        let kind = if out { 4 } else { 0 };
        let family: u32 = if packet.is_v6() { 30 } else { 2 };
        let mut frame = match self {
            Link::Ethernet | Link::Vlan(_) => vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2],
            Link::Sll => vec![0, kind, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0],
            Link::Sll2 | Link::Sll2Loopback => Vec::new(),
            Link::Raw | Link::RawBsd | Link::Alone => Vec::new(),
            Link::Null => family.to_le_bytes().to_vec(),
            Link::Loop => family.to_be_bytes().to_vec(),
        };
        if let Link::Vlan(tags) = self {
            for tag in 0..tags {
                frame.extend([[0x88, 0xa8], [0x81, 0x00]][usize::from(tag + 1 == tags)]);
                frame.extend([0, 7]);
            }
        }
        let arphrd = if self == Link::Sll2Loopback { [3, 4] } else { [0, 1] };
        match self {
            Link::Ethernet | Link::Vlan(_) | Link::Sll => frame.extend(packet.ethertype()),
            Link::Sll2 | Link::Sll2Loopback => {
                frame.extend(packet.ethertype());
                frame.extend([0, 0, 0, 0, 0, 2]);
                frame.extend(arphrd);
                frame.extend([kind, 6, 2, 0, 0, 0, 0, 1, 0, 0]);
            }
            _ => {}
        }
        frame.extend(packet.ip());
        // Short frames are padded.
        if matches!(self, Link::Ethernet | Link::Vlan(_)) && frame.len() < 60 {
            frame.resize(60, 0);
        }
        frame
    }
}
