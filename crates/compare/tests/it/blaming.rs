//! Suspects: who is named for what, and that nobody is named for nothing.

use compare::Comparison;
use compare::suspects::EvidenceKind;

use crate::support::{MS, World, changed};

/// The first suspect, with what its first evidence is of.
fn first(comparison: &Comparison) -> (&str, &EvidenceKind) {
    let suspect = comparison.suspects.first().unwrap();
    let evidence = &comparison.evidence[suspect.evidence[0].0];
    (comparison.names.text(suspect.node), &evidence.kind)
}

#[test]
fn two_periods_of_one_system_have_no_suspect() {
    // Each pair of 20 seeds; at most one in twenty may be by chance.
    let alarms = (0..20).filter(|seed| {
        let before = World { seed: 10 + seed, ..World::WELL };
        changed(before, before.again()).is_changed
    });
    let alarms = alarms.count();
    assert!(alarms <= 1, "{alarms} of 20");
}

#[test]
fn a_slow_node_is_named_for_its_own_time() {
    let found = changed(World::WELL, World { cart: 3 * MS, ..World::WELL.again() });
    assert!(matches!(first(&found), ("cart", EvidenceKind::Own)), "{:?}", first(&found));
    assert!(found.overall.is_changed);
    // Its caller waits longer, and is not to blame.
    assert!(found.suspects.iter().all(|suspect| found.names.text(suspect.node) != "front"));
}

#[test]
fn a_slow_way_to_a_node_from_all_sides_is_that_nodes() {
    let found = changed(World::WELL, World { to_store: 3 * MS, ..World::WELL.again() });
    assert!(matches!(first(&found), ("store", EvidenceKind::Network)), "{:?}", first(&found));
}

#[test]
fn an_early_return_is_named_where_the_calls_are_missing() {
    let found = changed(World::WELL, World { failing: 10, ..World::WELL.again() });
    let (node, _) = first(&found);
    assert_eq!(node, "cart");
    let of_cart = found.suspects[0].evidence.iter().map(|(place, _)| &found.evidence[*place].kind);
    let kinds: Vec<&EvidenceKind> = of_cart.collect();
    assert!(kinds.iter().any(|kind| matches!(kind, EvidenceKind::Calls(_))), "{kinds:?}");
    assert!(kinds.iter().any(|kind| matches!(kind, EvidenceKind::Failures)), "{kinds:?}");
}

#[test]
fn a_cache_that_misses_is_named_for_what_it_calls() {
    let found = changed(World::WELL, World { cached: 30, ..World::WELL.again() });
    let (node, kind) = first(&found);
    assert_eq!(node, "cache");
    let EvidenceKind::Calls(calls) = kind else { panic!("{kind:?}") };
    assert_eq!(found.names.text(calls[0].node), "store");
    assert!((calls[0].calls[0] - 0.3).abs() < 0.1 && (calls[0].calls[1] - 0.7).abs() < 0.1);
}

#[test]
fn what_became_faster_is_no_suspect() {
    let found = changed(World { cart: 3 * MS, ..World::WELL }, World::WELL.again());
    assert!(found.suspects.is_empty(), "{:?}", found.suspects);
    assert_eq!(found.names.text(found.faster[0].node), "cart");
}

#[test]
fn a_node_with_many_rare_operations_is_named_for_all_of_them() {
    // Each operation of the cart is called three times in each period.
    let many = World { operations: 100, requests: 300, ..World::WELL };
    let found = changed(many, World { cart: 4 * MS, ..many.again() });
    let (node, kind) = first(&found);
    assert!(node == "cart" && matches!(kind, EvidenceKind::Own), "{node} {kind:?}");
    let evidence = &found.evidence[found.suspects[0].evidence[0].0];
    assert!(evidence.is_pooled && (evidence.values[1] / evidence.values[0] - 2.0).abs() < 0.3);
    let alarms = (0..8).filter(|seed| {
        let before = World { seed: 50 + seed, ..many };
        changed(before, before.again()).is_changed
    });
    assert!(alarms.count() <= 1);
}

#[test]
fn a_slower_machine_is_said_to_be_one() {
    let doubts = |after: World| {
        let found = changed(World::WELL, after);
        assert!(found.is_changed);
        compare::output::Answer::of(&found, ["before", "after"], Vec::new()).doubts
    };
    let all = doubts(World { percent: 150, ..World::WELL.again() });
    assert!(all.iter().any(|doubt| doubt.contains("slower: it may be the machine")), "{all:?}");
    let one = doubts(World { cart: 3 * MS, ..World::WELL.again() });
    assert!(one.is_empty(), "{one:?}");
}

#[test]
fn a_kind_that_only_one_period_has_is_new() {
    let after = World { other_kind: 10, ..World::WELL.again() };
    let found = changed(World::WELL, after);
    let [kind] = &found.new_kinds[..] else { panic!("{:?}", found.new_kinds) };
    assert!(kind.shares[0] == 0.0 && (kind.shares[1] - 0.1).abs() < 0.04, "{kind:?}");
    assert!(found.is_changed);
    let new_paths: compare::conditions::Condition = "new-paths".parse().unwrap();
    let why = new_paths.holds(&found, 0.05).unwrap();
    assert!(why.contains("front other"), "{why}");
    let back = changed(after, World::WELL.again());
    assert!(back.new_kinds[0].shares[1] == 0.0 && new_paths.holds(&back, 0.05).is_none());
}
