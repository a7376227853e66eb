//! Importers on any bytes, without a directory: what fuzzing and property tests run. Each panics
//! where the importer breaks its word, which is that everything read is either used or counted as
//! skipped.

use std::io::Cursor;
use std::path::Path;

use crate::error::Error;
use crate::reading::Input;
use crate::summary::Summary;
use crate::tabular::{Calls, Messages, NodeTable, Project5, Unit};
use crate::target::Target;

/// `import messages` of a table; what comes before the first byte 0, if there is one, is a table of
/// nodes.
pub fn messages(bytes: &[u8]) {
    let importer = Messages { name: None, unit: Unit::Nanoseconds, nodes: None };
    let (nodes, table) = match bytes.iter().position(|byte| *byte == 0) {
        Some(place) => (Some(&bytes[..place]), &bytes[place + 1..]),
        None => (None, bytes),
    };
    run(table, 1, |input, target, summary| {
        let mut of_nodes = Summary::default();
        let nodes = nodes
            .map(|bytes| NodeTable::of(input_of(bytes)?, target, &mut of_nodes))
            .transpose()?;
        importer.read(input, nodes.as_ref(), target, summary)
    });
}

/// `import calls` of a table.
pub fn calls(bytes: &[u8]) {
    let importer = Calls { name: None, unit: Unit::Nanoseconds };
    run(bytes, 2, |input, target, summary| importer.read(input, target, summary));
}

/// `import project5` of a trace.
pub fn project5(bytes: &[u8]) {
    let importer = Project5 { name: None, unit: Unit::Seconds };
    run(bytes, 1, |input, target, summary| importer.read(input, target, summary));
}

/// `import pcap` of a capture.
pub fn pcap(bytes: &[u8]) {
    match crate::pcap::dry(bytes) {
        // A packet is at most a flow and its names at both ends, a message out and one in, and what
        // it ends.
        Ok((read, made)) => assert!(made <= 32 * read, "{made} records of {read} packets"),
        Err(error) => assert!(error.to_string().contains("input"), "{error}"),
    }
}

/// `import strace` of one file, whatever it begins with.
pub fn strace(bytes: &[u8]) {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').count() as u64;
    match crate::strace::import_bytes(bytes) {
        Ok((read, skipped)) => {
            assert_eq!(read, lines, "every line is read");
            assert!(skipped <= read, "{read} lines, {skipped} skipped");
        }
        Err(error) => assert!(error.to_string().contains("input"), "{error}"),
    }
}

fn input_of(bytes: &[u8]) -> Result<Input<'_>, Error> {
    let file = Path::new("input");
    Input::of(file, Cursor::new(bytes)).map_err(|error| Error::io(file, error))
}

/// Runs an importer that makes at most `most` messages of a row, and of a row that it does not skip
/// at least one.
fn run<'a>(
    bytes: &'a [u8],
    most: u64,
    import: impl FnOnce(Input<'a>, &mut Target, &mut Summary) -> Result<(), Error>,
) {
    let (mut target, mut summary) = (Target::dry(), Summary::default());
    let Ok(input) = input_of(bytes) else { return };
    match import(input, &mut target, &mut summary) {
        Ok(()) => {
            let (made, skipped) = (target.messages(), summary.skipped.total());
            assert!(made <= most * summary.read, "{made} messages of {} rows", summary.read);
            assert!(
                made + skipped >= summary.read,
                "{} rows, {made} messages, {skipped} skipped",
                summary.read
            );
        }
        Err(error) => assert!(error.to_string().contains("input"), "{error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MESSAGES: &str = "send_first,recv_last,send_ts,recv_ts,src,dst,src_endpoint,src_tid,flow,direction,protocol,bytes,parts,call_id\n\
        1,2,1,2,a,b,10.0.0.1:80,7,0,0,tcp,10,1,x\n3,,3,,b,a,\"unix:/a,b\",,1,1,udp,,,\n,5,,5,a,c,[::1]:5,w,2,,,,,\n";
    const NODES: &str = "id,host,pid,start,command,executable,traced\na,h,1,2,c,/c,true\nb,h,,,d,,false\nc,,,,e,,true\n";
    const CALLS: &str = "call_id,caller,callee,t_call_send,t_call_recv,t_ret_send,t_ret_recv,caller_thread,callee_thread,req_bytes,resp_bytes\n\
        0,client,a,0,5,6,9,,,,\n1,a,b,1,,4,,t1,12,100,2\n2,a,b,,,,7,,,,\n";
    const STRACE: &str = include_str!("../../reconcile/tests/strace/every_call.strace");
    const BATCHES: &str = include_str!("../../reconcile/tests/strace/batches.strace");
    const PROJECT5: &str = "timestamp operation sender rcvr ID\n1.5 CALL a b 1\n1.75\tRETURN  b a 1\n2 MESSAGE a c\n# end\n";

    /// What happens to a file: some bytes are others, some are missing, some are there twice.
    fn mutated(whole: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
        let length = whole.len();
        let change = (0..length, 0..length, any::<u8>(), 0u8..6);
        proptest::collection::vec(change, 0..6).prop_map(move |changes| {
            let mut bytes = whole.clone();
            for (a, b, byte, kind) in changes {
                let (a, b) = (a.min(b).min(bytes.len()), a.max(b).min(bytes.len()));
                match kind {
                    0 => bytes.truncate(b),
                    1 => drop(bytes.drain(a..b)),
                    2 => bytes.extend_from_within(a..b),
                    3 => bytes.insert(a, byte),
                    4 => bytes.insert(a, b"\",\n\r. 9-"[usize::from(byte) % 8]),
                    _ => bytes.iter_mut().skip(a).take(1).for_each(|changed| *changed = byte),
                }
            }
            bytes
        })
    }

    /// A capture of a connection and of a datagram, in either format.
    fn capture(new: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut number =
            |words: &[u32]| words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
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
    fn captures_are_whole_before_they_are_damaged() {
        for new in [false, true] {
            let (read, made) = crate::pcap::dry(&capture(new)).unwrap();
            // Two flows of TCP and two of UDP with their names, three messages sent and three
            // arrivals, a datagram at each end, and what is closed.
            assert_eq!((read, made), (9, 4 * 2 + 2 + 3 + 2 + 2), "{new}");
        }
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// Where `scripts/fuzz` wants them, these files become seeds of their targets.
    #[test]
    fn seeds_for_fuzzing() {
        type Run = fn(&[u8]);
        let seeds: [(&str, Run, Vec<u8>); 7] = [
            ("messages", messages, MESSAGES.into()),
            ("calls", calls, CALLS.into()),
            ("project5", project5, PROJECT5.into()),
            ("pcap", pcap, capture(false)),
            ("pcap", pcap, capture(true)),
            ("strace", strace, STRACE.into()),
            ("strace", strace, BATCHES.into()),
        ];
        for (number, (target, run, seed)) in seeds.into_iter().enumerate() {
            run(&seed);
            if let Some(corpus) = std::env::var_os("FUZZ_SEEDS") {
                let directory = Path::new(&corpus).join(target);
                std::fs::create_dir_all(&directory).unwrap();
                std::fs::write(directory.join(format!("seed-{number}")), seed).unwrap();
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn damaged_messages(bytes in mutated(MESSAGES.into())) { messages(&bytes) }

        #[test]
        fn damaged_messages_with_nodes(bytes in mutated([NODES, "\0", MESSAGES].concat().into())) { messages(&bytes) }

        #[test]
        fn damaged_calls(bytes in mutated(CALLS.into())) { calls(&bytes) }

        #[test]
        fn damaged_traces_of_project_5(bytes in mutated(PROJECT5.into())) { project5(&bytes) }

        #[test]
        fn damaged_captures(bytes in mutated(capture(false))) { pcap(&bytes) }

        #[test]
        fn damaged_captures_of_the_new_format(bytes in mutated(capture(true))) { pcap(&bytes) }

        #[test]
        fn damaged_output_of_strace(bytes in mutated(STRACE.into())) { strace(&bytes) }

        #[test]
        fn damaged_batches(bytes in mutated(BATCHES.into())) { strace(&bytes) }

        #[test]
        fn damaged_gzip(bytes in mutated(gzip(CALLS.as_bytes()))) { calls(&bytes) }

        #[test]
        fn damaged_zstd(bytes in mutated(zstd::encode_all(PROJECT5.as_bytes(), 0).unwrap())) { project5(&bytes) }

        #[test]
        fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            messages(&bytes);
            calls(&bytes);
            project5(&bytes);
            pcap(&bytes);
            strace(&bytes);
        }
    }
}
