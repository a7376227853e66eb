//! Importers on any bytes, without a directory: what fuzzing and property tests run. Each panics where the importer
//! breaks its word, which is that everything read is either used or counted as skipped.

use std::io::Cursor;
use std::path::Path;

use super::error::Error;
use super::nodes::NodeTable;
use super::reading::Input;
use super::summary::Summary;
use super::target::Target;
use super::values::Unit;
use super::{Calls, Messages, Project5};

/// `import messages` of a table; what comes before the first byte 0, if there is one, is a table of nodes.
pub fn messages(bytes: &[u8]) {
    let importer = Messages { name: None, unit: Unit::Nanoseconds, nodes: None };
    let (nodes, table) = match bytes.iter().position(|byte| *byte == 0) {
        Some(place) => (Some(&bytes[..place]), &bytes[place + 1..]),
        None => (None, bytes),
    };
    run(table, 1, |input, target, summary| {
        let mut of_nodes = Summary::default();
        let nodes = nodes.map(|bytes| NodeTable::of(input_of(bytes)?, target, &mut of_nodes)).transpose()?;
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

fn input_of(bytes: &[u8]) -> Result<Input<'_>, Error> {
    let file = Path::new("input");
    Input::of(file, Cursor::new(bytes)).map_err(|error| Error::io(file, error))
}

/// Runs an importer that makes at most `most` messages of a row, and of a row that it does not skip at least one.
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
    const NODES: &str =
        "id,host,pid,start,command,executable,traced\na,h,1,2,c,/c,true\nb,h,,,d,,false\nc,,,,e,,true\n";
    const CALLS: &str = "call_id,caller,callee,t_call_send,t_call_recv,t_ret_send,t_ret_recv,caller_thread,callee_thread,req_bytes,resp_bytes\n\
        0,client,a,0,5,6,9,,,,\n1,a,b,1,,4,,t1,12,100,2\n2,a,b,,,,7,,,,\n";
    const PROJECT5: &str =
        "timestamp operation sender rcvr ID\n1.5 CALL a b 1\n1.75\tRETURN  b a 1\n2 MESSAGE a c\n# end\n";

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

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
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
        fn damaged_gzip(bytes in mutated(gzip(CALLS.as_bytes()))) { calls(&bytes) }

        #[test]
        fn damaged_zstd(bytes in mutated(zstd::encode_all(PROJECT5.as_bytes(), 0).unwrap())) { project5(&bytes) }

        #[test]
        fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            messages(&bytes);
            calls(&bytes);
            project5(&bytes);
        }
    }
}
