use proptest::prelude::*;

use super::*;
use crate::fixture::Fixture;
use crate::options::Options;

/// Returns the labels by roles of a path through these servers in sequence: the numbers of senders
/// and receivers.
fn numbers(servers: &[String]) -> Vec<(u16, u16)> {
    let mut trace = Fixture::new();
    for (time, pair) in (0..).step_by(10).zip(servers.windows(2)) {
        trace.send(&pair[0], &pair[1], time, time + 5);
        // Each of them serves a client, so none is a client itself.
        trace.send("probe", &pair[0], 100_000 + time, 100_005 + time);
        trace.send("probe", &pair[1], 100_000 + time, 100_005 + time);
    }
    let trace = trace.trace();
    let naming = Naming::new(&trace, &Options { roles: true, ..Options::default() });
    let mut labeler = PathLabeler::new(&naming);
    labeler.begin_path();
    let labels: Vec<ShapeLabels> = MessageId::of_rows(0..servers.len() - 1)
        .map(|message| labeler.label_message(message))
        .collect();
    labeler.begin_path();
    assert_eq!(
        labeler.label_message(MessageId::from_index(servers.len() - 2)).src,
        0,
        "no label of the previous path remains"
    );
    labels.iter().map(|label| (label.src, label.dst)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn labels_survive_encoding(
        depth in 0..u32::MAX,
        hop in any::<u32>(),
        src in any::<u16>(),
        dst in any::<u16>(),
        operation in any::<Option<u32>>(),
    ) {
        let labels = ShapeLabels { hop, src, dst, operation };
        let mut bytes = Vec::new();
        labels.write_to(depth, &mut bytes);
        labels.write_to(depth, &mut bytes);
        let mut reader = PathByteReader(&bytes);
        prop_assert_eq!(ShapeLabels::read_from(&mut reader), (depth, labels));
        prop_assert_eq!(ShapeLabels::read_from(&mut reader), (depth, labels));
        prop_assert!(reader.is_empty());
    }

    #[test]
    fn the_number_of_servers_matters_but_not_which_ones(
        path in proptest::collection::vec((0usize..3, 0usize..3), 2..20),
        other in Just(vec![0usize, 1, 2]).prop_shuffle(),
    ) {
        // Server j of role i is one of hosts; in the other path, servers of each role have changed
        // places.
        let server = |role: usize, host: usize| format!("{}/{}", ["x", "y", "z"][host], ["a", "b", "c"][role]);
        let one: Vec<String> = path.iter().map(|(role, host)| server(*role, *host)).collect();
        let two: Vec<String> = path.iter().map(|(role, host)| server(*role, other[*host])).collect();
        let numbers_of_one = numbers(&one);
        prop_assert_eq!(&numbers_of_one, &numbers(&two));
        // In words: the number of other servers with the role earlier in the path.
        let number = |place: usize| {
            let before = path.iter().take_while(|server| **server != path[place]);
            let mut others: Vec<_> = before.filter(|server| server.0 == path[place].0).collect();
            others.sort_unstable();
            others.dedup();
            others.len() as u16
        };
        let expected: Vec<(u16, u16)> = (0..path.len() - 1).map(|place| (number(place), number(place + 1))).collect();
        prop_assert_eq!(numbers_of_one, expected);
    }
}
