//! Fuzzing and property tests of both readers of the wire on arbitrary bytes. The entry point
//! panics if a reader breaks its contract: to refuse what is not a message, and to stay within a
//! host's directory whatever a shipper requests.

use std::fs;
use std::path::Path;

use message_trace::{DataDir, DataPath, DirectoryEntry};

use crate::collect::{self, HostLimits};
use crate::wire::{self, FrameReader};

/// Limits of a host, low enough that both are reached.
const LIMITS: HostLimits = HostLimits { bytes: 1 << 20, files: 4 };

/// Reads `bytes` as a stream of frames, as the collector does for an admitted shipper, with `root`
/// as the data directory; and each frame as an answer, as a shipper does. The directory is emptied
/// first.
pub fn wire(bytes: &[u8], root: &Path) {
    let data = DataDir::new(root);
    let host = data.hosts_dir().join("web-1");
    let _ = host.remove_dir_all();
    collect::answer_all(bytes, data.clone(), "web-1", LIMITS);
    let mut reader = FrameReader::default();
    let mut source = bytes;
    while let Ok(frame) = reader.next_frame(&mut source) {
        if let Ok(answer) = wire::decode_answer(frame) {
            let again = wire::encode_frame(&answer).unwrap_or_default();
            assert_eq!(wire::decode_answer(again.get(4..).unwrap_or(&[])).ok(), Some(answer));
        }
    }
    // Only the host's directory was created, and only files in it.

    assert!(
        [data.root_path().clone(), data.hosts_dir()]
            .map(|at| list_entries(&at))
            .iter()
            .all(|names| names.len() <= 1),
        "{:?}",
        list_entries(data.root_path())
    );
    let mut used = 0;
    for entry in list_entries(&host) {
        let status = entry.path.metadata();
        assert!(status.as_ref().is_ok_and(fs::Metadata::is_file), "{entry:?}");
        used += status.map_or(0, |status| std::os::unix::fs::MetadataExt::blocks(&status) * 512);
    }
    assert!(used <= 2 * LIMITS.bytes, "{used} bytes on the disk");
}

/// Content of a directory.
fn list_entries(directory: &DataPath) -> Vec<DirectoryEntry> {
    directory.entries().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::wire;
    use crate::identity::LogIdentity;
    use crate::wire::{ShipperRequest, TimeExchange, encode_frame_with};

    /// Frames of a shipper, one for each request.
    fn frames() -> Vec<Vec<u8>> {
        let identity = |pid| LogIdentity { boot: [7; 16], pid, ticks: 1, start: 2, name: 0 };
        let page = [9; 4096];
        let compressed = zstd::bulk::compress(&page, 1).unwrap();
        let exchange = TimeExchange {
            host_sent: 1,
            collector_received: 2,
            collector_sent: 3,
            host_received: 4,
        };
        let requests: Vec<(ShipperRequest<'_>, &[u8])> = vec![
            (ShipperRequest::File { name: "1-1.sclog", identity: identity(1) }, &[]),
            (ShipperRequest::Ask { page: 0, pages: 10 }, &[]),
            (ShipperRequest::Extent { offset: 0, length: 4096 }, &compressed),
            (ShipperRequest::Extent { offset: 40_960, length: 4096 }, &compressed),
            (ShipperRequest::Length { length: 50_000 }, &[]),
            (ShipperRequest::Flush { number: 1, left: 5 }, &[]),
            (ShipperRequest::File { name: "2-1.spare", identity: identity(2) }, &[]),
            (ShipperRequest::Extent { offset: 8192, length: 4096 }, &compressed),
            (ShipperRequest::Ask { page: 1, pages: 10 }, &[]),
            (ShipperRequest::Time, &[]),
            (ShipperRequest::Hint(exchange), &[]),
            (ShipperRequest::Flush { number: 2, left: 0 }, &[]),
            (ShipperRequest::Bye, &[]),
        ];
        requests.iter().map(|(request, bytes)| encode_frame_with(request, bytes).unwrap()).collect()
    }

    /// Writes the dialog as a seed for the fuzz target if `scripts/fuzz` asks for it.
    #[test]
    fn seeds_for_fuzzing() {
        let directory = tempfile::tempdir().unwrap();
        wire(&frames().concat(), directory.path());
        let stored = directory.path().join("hosts/web-1/1-1.sclog");
        assert_eq!(std::fs::metadata(stored).unwrap().len(), 50_000, "the dialog succeeds");
        if let Some(corpus) = std::env::var_os("FUZZ_SEEDS") {
            let directory = std::path::Path::new(&corpus).join("wire");
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(directory.join("seed"), frames().concat()).unwrap();
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        /// Frames of a shipper in any order, with some bytes changed.
        #[test]
        fn damaged_dialogs(
            order in prop::collection::vec(0..13_usize, 1..30),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        ) {
            let frames = frames();
            let mut bytes: Vec<u8> = order.iter().flat_map(|at| frames[*at].clone()).collect();
            for (at, value) in changes {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            let directory = tempfile::tempdir().unwrap();
            wire(&bytes, directory.path());
        }
    }
}
