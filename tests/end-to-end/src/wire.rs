//! Traffic on the wire, by the kernel's own account: the bytes of each TCP connection by its
//! sequence numbers, as `tcpdump` shows them, and the datagrams of each host by nftables' counters.
//! The oracle for what was recorded.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use crate::capture::{program_path, run_successfully};
use crate::lab::LabHost;

/// Filter for the packets that begin and end connections, of IPv4 and IPv6: their sequence numbers
/// give the bytes of a connection. For [`LabHost::capture_filtered`].
pub const CONNECTION_ENDS: &str =
    "(tcp[tcpflags] & (tcp-syn|tcp-fin|tcp-rst) != 0) or (ip6[6] = 6 and ip6[53] & 7 != 0)";

/// Bytes from one end to the other, over all connections between them.
pub type ConnectionBytes = BTreeMap<(SocketAddr, SocketAddr), u64>;

/// One direction of a connection, from its packets.
#[derive(Clone, Copy, Default)]
struct WireDirection {
    /// The sequence number of the direction's first packet, which counts as one byte.
    first: u32,
    /// The sequence number of the direction's end, from a packet that ends it.
    last: Option<u32>,
    /// Bytes that the other end had received when it ended its own direction.
    acknowledged: Option<u32>,
}

/// The bytes of each direction of all TCP connections that began and ended in these captures. A
/// connection without its end counts up to the other end's last acknowledgement.
pub fn tcp_bytes<'path>(captures: impl IntoIterator<Item = &'path Path>) -> ConnectionBytes {
    let mut directions = BTreeMap::<(SocketAddr, SocketAddr), Vec<WireDirection>>::new();
    for capture in captures {
        let mut command = Command::new(program_path("tcpdump"));
        let text = run_successfully(command.args(["-n", "-S", "-tt", "tcp", "-r"]).arg(capture));
        text.lines().filter_map(parse_packet).for_each(|packet| packet.add_to(&mut directions));
    }
    let bytes = |direction: &WireDirection| {
        let last = direction.last.or(direction.acknowledged);
        last.map_or(0, |last| u64::from(last.wrapping_sub(direction.first).wrapping_sub(1)))
    };
    let sums = directions.into_iter().map(|(ends, all)| (ends, all.iter().map(bytes).sum::<u64>()));
    sums.filter(|(_, bytes)| *bytes > 0).collect()
}

/// A packet with flags such as SYN or FIN.
struct FlaggedPacket {
    from: SocketAddr,
    to: SocketAddr,
    flags: String,
    /// The sequence number after its data.
    end: u32,
    acknowledged: Option<u32>,
}

/// Reads `1.5 IP 10.1.0.1.5000 > 10.1.0.2.80: Flags [F.], seq 7:9, ack 5, win 501, length 2`.
fn parse_packet(line: &str) -> Option<FlaggedPacket> {
    let (ends, rest) = line.split_once(": Flags [")?;
    let mut words = ends.split(' ').skip(2);
    let (from, to) = (parse_address(words.next()?)?, parse_address(words.nth(1)?)?);
    let (flags, rest) = rest.split_once(']')?;
    let field = |name: &str| {
        let (_, value) = rest.split_once(&format!(", {name} "))?;
        Some(value.split(',').next()?.rsplit(':').next()?.parse::<u32>().expect("a number"))
    };
    Some(FlaggedPacket {
        from,
        to,
        flags: flags.to_owned(),
        end: field("seq")?,
        acknowledged: field("ack"),
    })
}

/// Reads `10.1.0.1.5000` or `fd00:1::1.5000`.
fn parse_address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.rsplit_once('.')?;
    Some(SocketAddr::new(ip.parse().ok()?, port.parse().ok()?))
}

impl FlaggedPacket {
    fn add_to(self, directions: &mut BTreeMap<(SocketAddr, SocketAddr), Vec<WireDirection>>) {
        let all = directions.entry((self.from, self.to)).or_default();
        if self.flags.contains('S') {
            // Each packet is seen at both ends, and some are retransmitted.
            if !all.iter().any(|direction| direction.first == self.end) {
                all.push(WireDirection { first: self.end, ..WireDirection::default() });
            }
            return;
        }
        if let Some(direction) = all.last_mut() {
            // A reset after an end adds nothing.
            if self.flags.contains('F') || direction.last.is_none() {
                direction.last = Some(self.end);
            }
        }
        let other = directions.get_mut(&(self.to, self.from)).and_then(|all| all.last_mut());
        if let (Some(direction), Some(acknowledged)) = (other, self.acknowledged) {
            direction.acknowledged = Some(direction.acknowledged.map_or(acknowledged, |before| {
                // The later one, in the arithmetic of sequence numbers.
                if (acknowledged.wrapping_sub(before) as i32) > 0 { acknowledged } else { before }
            }));
        }
    }
}

/// Datagrams and their payloads' bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramTotals {
    /// Number of packets.
    pub datagrams: u64,
    /// Number of bytes.
    pub bytes: u64,
}

/// Begins to count a host's UDP datagrams, except on its loopback interface.
pub fn count_datagrams(host: &LabHost) {
    let rule = |chain: &str, interface: &str, family: &str| {
        format!(
            "add rule inet count {chain} {interface} != lo meta nfproto {family} meta l4proto udp counter;"
        )
    };
    host.run_nft(&format!(
        "add table inet count; \
         add chain inet count in {{ type filter hook input priority 0; }}; \
         add chain inet count out {{ type filter hook output priority 0; }}; {} {} {} {}",
        rule("in", "iifname", "ipv4"),
        rule("in", "iifname", "ipv6"),
        rule("out", "oifname", "ipv4"),
        rule("out", "oifname", "ipv6"),
    ));
}

/// Received and sent datagrams of a host since [`count_datagrams`].
pub fn datagram_totals(host: &LabHost) -> [DatagramTotals; 2] {
    let text = host.run_nft("list table inet count");
    let field = |text: &str, name: &str| -> u64 {
        let (_, value) = text.split_once(&format!("\"{name}\": ")).expect(name);
        value
            .split(|c: char| !c.is_ascii_digit())
            .next()
            .and_then(|digits| digits.parse().ok())
            .expect(name)
    };
    let counters: Vec<(u64, u64)> = text
        .split("\"counter\": ")
        .skip(1)
        .map(|counter| (field(counter, "packets"), field(counter, "bytes")))
        .collect();
    assert_eq!(counters.len(), 4, "{text}");
    // The headers of IP and UDP; no datagram is fragmented here.
    let payload = |v4: (u64, u64), v6: (u64, u64)| DatagramTotals {
        datagrams: v4.0 + v6.0,
        bytes: v4.1 - 28 * v4.0 + v6.1 - 48 * v6.0,
    };
    [payload(counters[0], counters[1]), payload(counters[2], counters[3])]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(lines: &[&str]) -> Vec<u64> {
        let mut directions = BTreeMap::new();
        lines
            .iter()
            .filter_map(|line| parse_packet(line))
            .for_each(|packet| packet.add_to(&mut directions));
        let last = |direction: &WireDirection| direction.last.or(direction.acknowledged).unwrap();
        let all = directions.into_values().flatten();
        all.map(|direction| {
            u64::from(last(&direction).wrapping_sub(direction.first).wrapping_sub(1))
        })
        .collect()
    }

    #[test]
    fn a_connection_counts_from_its_first_packet_to_its_last() {
        let lines = [
            "1.0 IP 10.1.0.1.50 > 10.1.0.2.80: Flags [S], seq 4294967290, win 9, options [x], length 0",
            "1.0 IP 10.1.0.2.80 > 10.1.0.1.50: Flags [S.], seq 100, ack 4294967291, win 9, length 0",
            "1.0 IP 10.1.0.1.50 > 10.1.0.2.80: Flags [S], seq 4294967290, win 9, options [x], length 0",
            "1.1 IP 10.1.0.1.50 > 10.1.0.2.80: Flags [FP.], seq 3:9, ack 131, win 9, length 6",
            "1.2 IP 10.1.0.2.80 > 10.1.0.1.50: Flags [F.], seq 131, ack 10, win 9, length 0",
            "1.3 IP 10.1.0.1.50 > 10.1.0.2.80: Flags [R], seq 10, win 0, length 0",
        ];
        assert_eq!(bytes(&lines), [14, 30]);
    }

    #[test]
    fn a_direction_without_an_end_counts_up_to_the_last_acknowledgement() {
        let lines = [
            "1.0 IP6 fd00:1::1.50 > fd00:1::2.80: Flags [S], seq 7, win 9, length 0",
            "1.0 IP6 fd00:1::2.80 > fd00:1::1.50: Flags [S.], seq 100, ack 8, win 9, length 0",
            "1.1 IP6 fd00:1::1.50 > fd00:1::2.80: Flags [R.], seq 20, ack 111, win 9, length 0",
        ];
        assert_eq!(bytes(&lines), [12, 10]);
    }
}
