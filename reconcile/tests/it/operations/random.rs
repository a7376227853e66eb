//! Operations of random bytes: each has its message, however the bytes are cut into calls.

use proptest::prelude::*;
use socket_log::encode::Direction::{self, Receive, Send};
use socket_log::write::EPOCH;

use super::{ends, reconcile_operations};

/// Sizes of calls that move `total` bytes in all.
fn cut(total: u64, mut sizes: Vec<u64>) -> Vec<u64> {
    let mut left = total;
    sizes.retain_mut(|size| {
        *size = (*size).min(left);
        left -= *size;
        *size > 0
    });
    sizes.extend(Some(left).filter(|left| *left > 0));
    sizes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// However bytes are cut into calls, each operation has a message of its own, with the times of
    /// the calls that moved its first and its last byte; whichever side recorded it.
    #[test]
    fn each_operation_has_its_message_however_bytes_are_cut(
        begins in prop::collection::btree_set(0_u64..400, 1..12),
        writes in prop::collection::vec(1_u64..90, 0..12),
        reads in prop::collection::vec(1_u64..90, 0..12),
        tells in prop::sample::select(vec![[true, true], [true, false], [false, true]]),
    ) {
        let total = 400;
        let (mut client, mut server) = ends();
        let (writes, reads) = (cut(total, writes), cut(total, reads));
        // For each byte the call that moved it: its time, and the byte's offset in it.
        let calls = |sizes: &[u64], first: u64| -> Vec<(u64, u32)> {
            (0_u64..)
                .zip(sizes)
                .flat_map(|(call, size)| (0..*size as u32).map(move |at| (first + 10 * call, at)))
                .collect()
        };
        let (sent, read) = (calls(&writes, 1_000), calls(&reads, 50_000));
        (0_u64..).zip(&writes).for_each(|(call, size)| {
            client.send(1_000 + 10 * call, 1, *size);
        });
        (0_u64..).zip(&reads).for_each(|(call, size)| {
            server.receive(50_000 + 10 * call, 1, *size);
        });
        let names: Vec<String> =
            begins.iter().map(|begin| format!("at {begin}#{begin}")).collect();
        let of = |direction, calls: &[(u64, u32)]| -> Vec<(Direction, u64, u32, &str)> {
            begins
                .iter()
                .zip(&names)
                .map(|(begin, name)| {
                    let (ticks, at) = calls[*begin as usize];
                    (direction, ticks, at, name.as_str())
                })
                .collect()
        };
        let by_client = if tells[0] { of(Send, &sent) } else { Vec::new() };
        let by_server = if tells[1] { of(Receive, &read) } else { Vec::new() };
        let (outcome, operations) = reconcile_operations(&(client, server), &by_client, &by_server);
        // Bytes before the first operation are a message as well.
        let boundaries: Vec<u64> =
            std::iter::once(0).chain(begins.iter().copied()).chain([total]).collect();
        let expected: Vec<_> = boundaries
            .windows(2)
            .filter(|range| range[0] < range[1])
            .map(|range| {
                let [first, last] = [range[0], range[1] - 1].map(|at| at as usize);
                let time = |calls: &[(u64, u32)], at: usize| Some(EPOCH + calls[at].0 as i64);
                let times = [
                    time(&sent, first),
                    time(&sent, last),
                    time(&read, first),
                    time(&read, last),
                ];
                ((range[1] - range[0]) as i64, times)
            })
            .collect();
        let found: Vec<_> = outcome
            .trace
            .messages()
            .map(|m| (m.bytes, [m.send_first, m.send_last, m.recv_first, m.recv_last]))
            .collect();
        prop_assert_eq!(found, expected);
        let before = usize::from(!begins.contains(&0));
        let named: Vec<String> = (before..).zip(&names).map(|(row, name)| format!("{row} {name}")).collect();
        prop_assert_eq!(operations, named);
    }
}
