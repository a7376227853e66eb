//! Compares collected paths with those of a simple reference implementation, for any budget, work
//! items and threads.

use std::num::NonZeroUsize;

use message_trace::{MessageTrace, OperationRole, table};
use proptest::prelude::*;

use super::*;
use crate::fixture::Fixture;
use crate::links::Links;
use crate::options::{AnalysisResources, WorkDivision};
use crate::paths::instances::tree::tests::some_links;
use crate::paths::reference;
use crate::paths::{PathInstances, PathPattern};

/// A trace of `messages` among few nodes. The last was not traced, and the first two are of one
/// kind.
fn some_trace(messages: usize) -> impl Strategy<Value = MessageTrace> {
    let message = (0usize..4, 0usize..4, -20i64..60, 1u16..3, 0u8..10, 1i64..4);
    let operation = prop::option::of((0usize..3, prop::option::of(0u32..3), any::<bool>()));
    proptest::collection::vec((message, operation), messages).prop_map(|messages| {
        let mut trace = Fixture::new().untraced(&["d"]);
        for (number, (message, operation)) in messages.into_iter().enumerate() {
            let (src, dst, latency, port, lost, bytes) = message;
            let names = ["one/a", "two/a", "one/c", "one/d"];
            let time = 7 * number as i64;
            let sent =
                trace.send(names[src], names[dst], time, time + latency).ports(40_000, 80 * port);
            sent.bytes(bytes);
            if lost == 0 {
                sent.lost();
            }
            if let Some((role, name, is_error)) = operation {
                sent.tells(OperationRole::ALL[role], None).named(name, is_error);
            }
        }
        trace.trace()
    })
}

fn resources() -> impl Strategy<Value = AnalysisResources> {
    let memory = prop::sample::select(vec![0, 500, 5_000, 256 << 20]);
    (memory, 1usize..4, 1usize..9, 1usize..9, 1usize..50).prop_map(
        |(memory, threads, messages, partitions, rows)| AnalysisResources {
            memory,
            threads: NonZeroUsize::new(threads),
            division: WorkDivision { messages, partitions, rows },
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tables_equal_the_reference_implementation(
        (links, trace) in some_links().prop_flat_map(|links| {
            let messages = links.message_count();
            (Just(links), some_trace(messages))
        }),
        resources in resources(),
        boundaries in proptest::collection::vec(any::<prop::sample::Index>(), 0..3),
        path_limit in 1usize..30,
        repeats in 1u64..4,
        roles in any::<bool>(),
    ) {
        let options = Options { resources, path_limit, roles, clients_start_paths: false, ..Options::default() };
        let naming = Naming::new(&trace, &options);
        let (messages, columns) = (trace.len(), PathMessages::from(&trace));
        let children = PossibleChildren::from_links(&links, &options);
        // The same trace again and again, as if it were longer.
        let (once, built) = reference::build_instances(&links, &options);
        let mut expected = PathInstances::default();
        (0..repeats).for_each(|_| expected.append_instances(&once));
        let patterns = reference::build_patterns(&trace, &naming, &mut expected);
        expected.shift_messages(once.len(), messages);

        let directory = tempfile::tempdir().unwrap();
        let dir = DataDir::new(directory.path());
        let budget = MemoryBudget::new(resources.memory);
        let mut collector = PathCollector::new(&options, &budget, dir.path());
        let mut boundaries: Vec<usize> = boundaries.into_iter().map(|boundary| boundary.index(messages)).collect();
        boundaries.extend([0, messages]);
        boundaries.sort_unstable();
        for repeat in 0..repeats {
            for roots in boundaries.windows(2).map(|roots| (roots[0], roots[1])) {
                let before = repeat * messages as u64;
                let batch = PathBatch { messages: &columns, naming: &naming, children: &children, roots, before };
                collector.add_batch(&batch, &()).unwrap();
            }
        }
        let names = [0, 1, 2].map(|name| format!("#{name}"));
        let counts = collector.finish(&naming, Some(&names), &dir, &()).unwrap();
        prop_assert_eq!(&PathInstances::read(dir.paths_path()).unwrap(), &expected);
        prop_assert_eq!(&PathPattern::read_all(dir.patterns_path()).unwrap(), &patterns);
        prop_assert_eq!(counts.instances as usize, expected.len());
        prop_assert_eq!(counts.patterns as usize, patterns.len());
        prop_assert_eq!(counts.expected, expected.iter().fold(0.0, |sum, one| sum + one.probability));
        prop_assert_eq!(counts.built.roots, repeats * built.roots);
        prop_assert_eq!(counts.built.cut, repeats * built.cut);
        prop_assert_eq!(table::count_rows(dir.paths_path()).unwrap(), expected.iter().map(|one| one.messages.len() as u64).sum::<u64>());
        prop_assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "only the tables remain");
    }
}

#[test]
fn a_missing_directory_for_temporary_files_is_an_error() {
    let mut trace = Fixture::new();
    trace.send("a", "b", 0, 10);
    let trace = trace.trace();
    let options = Options::default();
    let naming = Naming::new(&trace, &options);
    let children = PossibleChildren::from_links(&Links::spontaneous_only(1), &options);
    let budget = MemoryBudget::new(0);
    let mut collector = PathCollector::new(&options, &budget, Path::new("/nonexistent/here"));
    let messages = PathMessages::from(&trace);
    let batch = PathBatch {
        messages: &messages,
        naming: &naming,
        children: &children,
        roots: (0, 1),
        before: 0,
    };
    let error = collector.add_batch(&batch, &()).unwrap_err().to_string();
    assert!(error.contains("/nonexistent/here"), "{error}");
}
