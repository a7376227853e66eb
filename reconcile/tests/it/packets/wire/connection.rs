//! A TCP connection that keeps its sequence numbers, so that tests only state senders and times.

use super::{ACK, FIN, MS, PUSH, Packet, SYN, Sniffer, tcp};

/// A TCP connection with packets that are shown to sniffers on their way: the client's first, the
/// server's last.
pub struct Connection {
    pub client: String,
    pub server: String,
    /// The next sequence number of each.
    pub next: [u32; 2],
    /// Travel time of a packet from one end to the other.
    pub delay: i64,
    pub id: u16,
}

impl Connection {
    pub fn new(client: &str, server: &str) -> Connection {
        // Pseudo-random, and the server's is about to wrap around.
        let number = |text: &str| {
            text.bytes().fold(7u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()))
        };
        let both = number(client).wrapping_mul(65_537).wrapping_add(number(server));
        let next = [both, u32::MAX - both % 1000];
        Connection { client: client.into(), server: server.into(), next, delay: MS, id: 1 }
    }

    /// A segment of end `from` (0 the client), sent at `time`.
    pub fn packet(&mut self, from: usize, flags: u8, payload: &[u8]) -> Packet {
        let ends = [&self.client, &self.server];
        let mut packet =
            tcp(ends[from], ends[1 - from], self.next[from], self.next[1 - from], flags, payload);
        self.id += 1;
        packet.id = self.id;
        let sequence = u32::from(flags & (SYN | FIN) != 0);
        self.next[from] = self.next[from].wrapping_add(payload.len() as u32 + sequence);
        packet
    }

    /// Shows a segment to the sniffers at both ends.
    pub fn send(
        &mut self,
        time: i64,
        from: usize,
        flags: u8,
        payload: &[u8],
        at: &mut [&mut Sniffer; 2],
    ) {
        let packet = self.packet(from, flags, payload);
        at[from].see(time, &packet);
        at[1 - from].see(time + self.delay, &packet);
    }

    pub fn open(&mut self, time: i64, at: &mut [&mut Sniffer; 2]) {
        self.send(time, 0, SYN, &[], at);
        self.send(time + self.delay, 1, SYN | ACK, &[], at);
        self.send(time + 2 * self.delay, 0, ACK, &[], at);
    }

    /// A request and its answer of several segments; takes five delays.
    pub fn exchange(
        &mut self,
        time: i64,
        request: usize,
        answer: usize,
        at: &mut [&mut Sniffer; 2],
    ) {
        self.send(time, 0, PUSH | ACK, &vec![b'q'; request], at);
        let mut left = answer;
        let mut sent = time + 2 * self.delay;
        while left > 0 {
            let part = left.min(1448);
            left -= part;
            let push = if left == 0 { PUSH } else { 0 };
            self.send(sent, 1, push | ACK, &vec![b'a'; part], at);
            sent += 1000;
        }
        self.send(time + 4 * self.delay, 0, ACK, &[], at);
    }

    pub fn close(&mut self, time: i64, at: &mut [&mut Sniffer; 2]) {
        self.send(time, 0, FIN | ACK, &[], at);
        self.send(time + self.delay, 1, FIN | ACK, &[], at);
        self.send(time + 2 * self.delay, 0, ACK, &[], at);
    }
}
