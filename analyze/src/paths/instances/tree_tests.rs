//! Trees by hand: the paper's Figure 4, both limits, and the cases that the paper leaves open.

use proptest::prelude::*;

use super::*;
use crate::links::Links;
use crate::paths::reference;

/// Returns the instances of `root`: the probability and the rows of the messages with their depths.
fn instances(links: &Links, options: &Options, root: u32) -> Vec<(f64, Vec<(u32, u32)>)> {
    let (instances, _) = reference::build_instances(links, options);
    let tree = |instance: crate::paths::PathInstance<'_>| {
        let rows = instance.messages.iter().map(|message| message.index() as u32);
        rows.zip(instance.depths.iter().copied()).collect()
    };
    instances
        .iter()
        .filter(|instance| instance.messages[0].index() == root as usize)
        .map(|instance| (instance.probability, tree(instance)))
        .collect()
}

fn assert_close(one: f64, other: f64) {
    assert!((one - other).abs() < 1e-9, "{one} is not {other}");
}

/// Figure 4: A -> B (0) may have caused B -> C, B -> D, B -> E, B -> F (1 to 4), and B -> C C -> G
/// (5).
fn figure_4() -> Links {
    let mut links = Links::spontaneous_only(7);
    links.set_parent_rows(1, &[(0, 0.8)], 0.2);
    // D's and E's more likely cause is another message, 6.
    links.set_parent_rows(2, &[(6, 0.8), (0, 0.2)], 0.0);
    links.set_parent_rows(3, &[(6, 0.9), (0, 0.1)], 0.0);
    links.set_parent_rows(4, &[(6, 0.52), (0, 0.48)], 0.0);
    links.set_parent_rows(5, &[(1, 0.9)], 0.1);
    links
}

#[test]
fn figure_4_one_link_tried_both_ways_makes_two_instances() {
    let found = instances(&figure_4(), &Options::default(), 0);
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].1, [(0, 0), (1, 1), (5, 2), (4, 1)]);
    assert_close(found[0].0, 0.8 * 0.9 * (1.0 - 0.2) * (1.0 - 0.1) * 0.48);
    assert_eq!((found[0].0 * 1000.0).round(), 249.0);
    assert_eq!(found[1].1, [(0, 0), (1, 1), (5, 2)]);
    assert_close(found[1].0, 0.8 * 0.9 * (1.0 - 0.2) * (1.0 - 0.1) * (1.0 - 0.48));
    assert_eq!((found[1].0 * 1000.0).round(), 270.0);
}

#[test]
fn a_likely_cause_is_tried_even_though_it_is_improbable() {
    let mut links = figure_4();
    // Now no other cause of B -> D is as likely as A -> B, and there are four instances.
    links.set_parent_rows(2, &[(0, 0.2), (6, 0.1)], 0.15);
    let found = instances(&links, &Options::default(), 0);
    assert_eq!(found.len(), 4);
    assert_eq!(found.iter().filter(|(_, tree)| tree.contains(&(2, 1))).count(), 2);
}

#[test]
fn the_probability_of_the_root_is_that_of_being_spontaneous() {
    let mut links = Links::spontaneous_only(4);
    links.set_parent_rows(1, &[(0, 0.55)], 0.45);
    links.set_parent_rows(2, &[(0, 0.7)], 0.3);
    links.set_parent_rows(3, &[(0, 0.3), (1, 0.3)], 0.35);
    let options = Options::default();
    assert_close(instances(&links, &options, 1)[0].0, 0.45 * 0.7);
    assert!(instances(&links, &options, 2).is_empty());
    assert_close(instances(&links, &options, 3)[0].0, 0.35);
}

#[test]
fn beyond_the_limit_the_least_ambiguous_links_are_decided() {
    let mut links = Links::spontaneous_only(5);
    links.set_parent_rows(1, &[(0, 0.5)], 0.5);
    links.set_parent_rows(2, &[(0, 0.45)], 0.55);
    links.set_parent_rows(3, &[(0, 0.58)], 0.42);
    links.set_parent_rows(4, &[(0, 0.51)], 0.49);
    let of = |limit| instances(&links, &Options { try_both_limit: limit, ..Options::default() }, 0);
    assert_eq!(of(4).len(), 16);
    let found = of(2);
    assert_eq!(found.len(), 4);
    // The links to 1 and 4 are the nearest to a half. The link to 3 is taken, because it is its
    // most likely cause; the link to 2 is not.
    for (_, tree) in &found {
        assert!(tree.contains(&(3, 1)) && !tree.contains(&(2, 1)));
    }
    let total: f64 = found.iter().map(|(probability, _)| probability).sum();
    assert_close(total, 0.58 * 0.55);
    assert_eq!(of(0).len(), 1);
    let bounded = |limit| {
        let options = Options { try_both_limit: limit, ..Options::default() };
        reference::build_instances(&links, &options).1.bounded
    };
    assert_eq!((bounded(4), bounded(3)), (0, 1));
}

#[test]
fn a_message_that_two_links_lead_to_is_in_an_instance_once() {
    // 0 caused 1; both may have caused 2.
    let mut links = Links::spontaneous_only(3);
    links.set_parent_rows(1, &[(0, 0.9)], 0.1);
    links.set_parent_rows(2, &[(1, 0.64), (0, 0.24)], 0.12);
    let found = instances(&links, &Options::default(), 0);
    // Not caused by 0, with 1 - 0.24; given that, by 1 with 0.64 / 0.76: by 1 with 0.64, as should
    // be.
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].1, [(0, 0), (1, 1), (2, 2)]);
    assert_close(found[0].0, 0.9 * 0.64);
    // Tried both ways the three outcomes have the probabilities of the three causes.
    links.set_parent_rows(2, &[(1, 0.5), (0, 0.4)], 0.1);
    let found = instances(&links, &Options::default(), 0);
    let probabilities: Vec<f64> = found.iter().map(|(probability, _)| *probability).collect();
    assert_eq!(probabilities.len(), 3);
    for (probability, expected) in probabilities.into_iter().zip([0.4, 0.5, 0.1]) {
        assert_close(probability, 0.9 * expected);
    }
}

#[test]
fn trees_of_messages_that_seem_to_cause_each_other_end() {
    // Clocks that are off make 1 and 2 each other's cause.
    let mut links = Links::spontaneous_only(3);
    links.set_parent_rows(1, &[(0, 0.5), (2, 0.5)], 0.0);
    links.set_parent_rows(2, &[(1, 1.0)], 0.0);
    let found = instances(&links, &Options::default(), 0);
    assert_eq!(found[0].1, [(0, 0), (1, 1), (2, 2)]);
}

#[test]
fn a_chain_of_a_hundred_thousand_messages_is_cut_and_counted() {
    let mut links = Links::spontaneous_only(100_000);
    for message in 1..100_000 {
        links.set_parent_rows(message, &[(message - 1, 0.95)], 0.05);
    }
    let (instances, built) = reference::build_instances(&links, &Options::default());
    assert_eq!((instances.len(), instances.get(0).messages.len()), (1, 1000));
    assert_eq!(built, BuildCounts { roots: 1, bounded: 0, cut: 1, unlikely: 0 });
    // Without the limit it neither overflows the stack nor becomes impossible.
    let options = Options { path_limit: usize::MAX, ..Options::default() };
    let (instances, built) = reference::build_instances(&links, &options);
    assert_eq!((instances.get(0).messages.len(), built.cut), (100_000, 0));
    assert!(instances.get(0).probability > 0.0);
}

/// Links with the parents of each message before it, and probabilities that sum to 1.
pub(crate) fn some_links() -> impl Strategy<Value = Links> {
    let causes = proptest::collection::vec((any::<proptest::sample::Index>(), 1u32..100), 0..4);
    proptest::collection::vec((causes, 0u32..100), 1..24).prop_map(|messages| {
        let mut links = Links::spontaneous_only(messages.len());
        for (child, (causes, spontaneous)) in messages.into_iter().enumerate().skip(1) {
            let mut parents: Vec<(usize, f64)> = Vec::new();
            for (parent, weight) in causes {
                let parent = parent.index(child);
                if parents.iter().all(|(known, _)| *known != parent) {
                    parents.push((parent, f64::from(weight)));
                }
            }
            let spontaneous = if parents.is_empty() { 1.0 } else { f64::from(spontaneous) };
            let total = spontaneous + parents.iter().map(|(_, weight)| weight).sum::<f64>();
            parents.iter_mut().for_each(|(_, weight)| *weight /= total);
            links.set_parent_rows(child, &parents, spontaneous / total);
        }
        links
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn instances_are_trees_of_links_and_a_root_has_no_more_than_its_own_probability(
        links in some_links(),
        limit in 0usize..8,
        path_limit in 1usize..30,
    ) {
        let options = Options { try_both_limit: limit, path_limit, ..Options::default() };
        let (instances, _) = reference::build_instances(&links, &options);
        let mut totals = vec![(0, 0.0); links.message_count()];
        for instance in instances.iter() {
            prop_assert!(instance.probability > 0.0 && instance.probability <= 1.0);
            prop_assert!(instance.messages.len() <= path_limit);
            let mut above: Vec<MessageId> = Vec::new();
            let mut met = std::collections::HashSet::new();
            for (message, depth) in instance.messages.iter().zip(instance.depths) {
                prop_assert!(met.insert(*message), "{message:?} occurs twice");
                prop_assert!(*depth as usize <= above.len());
                above.truncate(*depth as usize);
                if let Some(parent) = above.last() {
                    prop_assert!(links.parents_here(*message).any(|(known, _)| known == *parent));
                }
                above.push(*message);
            }
            let total = &mut totals[instance.messages[0].index()];
            *total = (total.0 + 1, total.1 + instance.probability);
        }
        for (message, (count, total)) in MessageId::ids().zip(totals) {
            prop_assert!(count <= 1 << limit);
            // A cut removes factors, so the sum may be greater.
            prop_assert!(path_limit < links.message_count() || total <= links.spontaneous_probability(message) + 1e-9);
        }
    }

    #[test]
    fn with_every_link_tried_the_instances_of_a_root_are_exhaustive(links in some_links()) {
        let options = Options { try_both: [0.0, 1.0], try_both_limit: 12, ..Options::default() };
        let (instances, built) = reference::build_instances(&links, &options);
        prop_assume!(built.bounded == 0);
        for message in links.ids().filter(|message| links.spontaneous_probability(*message) > 0.0) {
            let of_root = instances.iter().filter(|instance| instance.messages[0] == message);
            let total: f64 = of_root.map(|instance| instance.probability).sum();
            // Trees that are too unlikely are not kept.
            let missing = links.spontaneous_probability(message) - total;
            prop_assert!((-1e-9..built.unlikely as f64 * MIN_PROBABILITY + 1e-9).contains(&missing), "{missing}");
        }
    }
}

#[test]
fn unlikely_instances_are_counted_and_only_the_likeliest_is_kept() {
    // Two links that are tried both ways, and many that are left out although each is nearly as
    // likely as not.
    let links = |others: usize| {
        let mut links = Links::spontaneous_only(3 + 2 * others);
        links.set_parent_rows(1, &[(0, 0.55)], 0.45);
        links.set_parent_rows(2, &[(0, 0.58)], 0.42);
        for other in (3..).take(others) {
            links.set_parent_rows(other, &[(other + others, 0.62), (0, 0.38)], 0.0);
        }
        links
    };
    let built = |others: usize| {
        let links = links(others);
        let (instances, built) = reference::build_instances(&links, &Options::default());
        let of_root = instances.iter().filter(|instance| instance.messages[0].index() == 0);
        let rows = |of: &[MessageId]| of.iter().map(|message| message.index()).collect();
        let trees: Vec<Vec<usize>> = of_root.map(|instance| rows(instance.messages)).collect();
        (trees, built.unlikely)
    };
    // 0.55 or 0.45, times 0.58 or 0.42, times 0.62^n: of these, all four, three or none exceed a
    // thousandth.
    let all = vec![vec![0, 1, 2], vec![0, 1], vec![0, 2], vec![0]];
    assert_eq!(built(8), (all.clone(), 0));
    assert_eq!(built(11), (all[..3].to_vec(), 1));
    assert_eq!(built(13), (all[..1].to_vec(), 3));
}
