//! Captures of a connection and of a datagram, for tests.

/// One capture in each format.
pub(super) fn samples() -> Vec<Vec<u8>> {
    [false, true].map(capture).to_vec()
}

/// A capture of a connection and of a datagram, in either format.
fn capture(new: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut number = |words: &[u32]| words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    if new {
        number(&[0x0a0d_0d0a, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28]);
        number(&[1, 32, 101, 0, 0x0001_0009, 9, 0, 32]);
    } else {
        number(&[0xa1b2_c3d4, 0x0004_0002, 0, 0, 262_144, 101]);
    }
    let mut next = [[1000u32, 2000], [2000, 1000]];
    for (step, (from, flags, payload)) in [
        (0, 2, 0),
        (1, 18, 0),
        (0, 16, 0),
        (0, 24, 20),
        (1, 16, 24),
        (1, 24, 8),
        (0, 17, 0),
        (1, 17, 0),
        (0, 0, 12),
    ]
    .into_iter()
    .enumerate()
    {
        let (udp, payload) = (flags == 0, vec![step as u8; payload]);
        let ports: [u8; 4] = if from == 0 { [0x9c, 0x40, 0, 80] } else { [0, 80, 0x9c, 0x40] };
        let mut body = ports.to_vec();
        if udp {
            body.extend([0, payload.len() as u8 + 8, 0, 0]);
        } else {
            let [sequence, acknowledged] = next[from];
            body.extend(sequence.to_be_bytes());
            body.extend(acknowledged.to_be_bytes());
            body.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
            let end = sequence + payload.len() as u32 + u32::from(flags & 3 != 0);
            (next[from][0], next[1 - from][1]) = (end, end);
        }
        body.extend(payload);
        let length = body.len() as u8 + 20;
        let mut packet =
            vec![0x45, 0, 0, length, 0, step as u8, 0, 0, 64, if udp { 17 } else { 6 }, 0, 0];
        packet.extend([10, 0, 0, 1 + from as u8, 10, 0, 0, 2 - from as u8]);
        packet.extend(body);
        let size = packet.len() as u32;
        if new {
            let total = 32 + size.next_multiple_of(4);
            let mut head = Vec::new();
            [6, total, 0, 0x1797_0000, step as u32, size, size]
                .iter()
                .for_each(|word: &u32| head.extend(word.to_le_bytes()));
            packet.resize(packet.len().next_multiple_of(4), 0);
            bytes.extend([&head[..], &packet, &total.to_le_bytes()].concat());
        } else {
            let words: [u32; 4] = [1_700_000_000, step as u32, size, size];
            words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
            bytes.extend(packet);
        }
    }
    bytes
}

#[test]
fn sample_captures_are_intact() {
    for new in [false, true] {
        let (read, made) = super::import_dry(&capture(new)).unwrap();
        // Two TCP flows and two UDP flows with their names, three messages sent and three arrivals,
        // a datagram at each end, and the closed sockets.
        assert_eq!((read, made), (9, 4 * 2 + 2 + 3 + 2 + 2), "{new}");
    }
}
