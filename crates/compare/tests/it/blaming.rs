//! Suspects: which node is named for which change, and that no node is named without one.

use compare::Comparison;
use compare::suspects::EvidenceKind;

use crate::support::{MS, TestWorld, compare_worlds};

/// The first suspect, with the kind of its first evidence.
fn first(comparison: &Comparison) -> (&str, &EvidenceKind) {
    let suspect = comparison.suspects.first().unwrap();
    let evidence = &comparison.evidence[suspect.evidence[0].0];
    (comparison.names.name_of(suspect.node), &evidence.kind)
}

#[test]
fn two_periods_of_one_system_have_no_suspect() {
    // Each pair of 20 seeds; at most one in twenty may be chance.
    let alarms = (0..20).filter(|seed| {
        let before = TestWorld { seed: 10 + seed, ..TestWorld::WELL };
        compare_worlds(before, before.again()).is_changed
    });
    let alarms = alarms.count();
    assert!(alarms <= 1, "{alarms} of 20");
}

#[test]
fn a_slow_node_is_named_for_its_own_time() {
    let found =
        compare_worlds(TestWorld::WELL, TestWorld { cart: 3 * MS, ..TestWorld::WELL.again() });
    assert!(matches!(first(&found), ("cart", EvidenceKind::Own)), "{:?}", first(&found));
    assert!(found.overall.is_changed);
    // The caller of the slower node waits longer, and is not to blame.
    assert!(found.suspects.iter().all(|suspect| found.names.name_of(suspect.node) != "front"));
}

#[test]
fn slow_transfers_from_all_callers_are_blamed_on_the_node() {
    let found =
        compare_worlds(TestWorld::WELL, TestWorld { to_store: 3 * MS, ..TestWorld::WELL.again() });
    assert!(matches!(first(&found), ("store", EvidenceKind::Network)), "{:?}", first(&found));
}

#[test]
fn an_early_return_is_named_where_the_calls_are_missing() {
    let found =
        compare_worlds(TestWorld::WELL, TestWorld { failing: 10, ..TestWorld::WELL.again() });
    let (node, _) = first(&found);
    assert_eq!(node, "cart");
    let of_cart = found.suspects[0].evidence.iter().map(|(place, _)| &found.evidence[*place].kind);
    let kinds: Vec<&EvidenceKind> = of_cart.collect();
    assert!(kinds.iter().any(|kind| matches!(kind, EvidenceKind::Calls(_))), "{kinds:?}");
    assert!(kinds.iter().any(|kind| matches!(kind, EvidenceKind::Failures)), "{kinds:?}");
}

#[test]
fn a_cache_with_misses_is_named_for_its_calls() {
    let found =
        compare_worlds(TestWorld::WELL, TestWorld { cached: 30, ..TestWorld::WELL.again() });
    let (node, kind) = first(&found);
    assert_eq!(node, "cache");
    let EvidenceKind::Calls(calls) = kind else { panic!("{kind:?}") };
    assert_eq!(found.names.name_of(calls[0].node), "store");
    assert!((calls[0].calls[0] - 0.3).abs() < 0.1 && (calls[0].calls[1] - 0.7).abs() < 0.1);
}

#[test]
fn a_faster_node_is_no_suspect() {
    let found =
        compare_worlds(TestWorld { cart: 3 * MS, ..TestWorld::WELL }, TestWorld::WELL.again());
    assert!(found.suspects.is_empty(), "{:?}", found.suspects);
    assert_eq!(found.names.name_of(found.faster[0].node), "cart");
}

#[test]
fn a_node_with_many_rare_operations_is_named_for_all_of_them() {
    // Each operation of the cart is called three times in each period.
    let many = TestWorld { operations: 100, requests: 300, ..TestWorld::WELL };
    let found = compare_worlds(many, TestWorld { cart: 4 * MS, ..many.again() });
    let (node, kind) = first(&found);
    assert!(node == "cart" && matches!(kind, EvidenceKind::Own), "{node} {kind:?}");
    let evidence = &found.evidence[found.suspects[0].evidence[0].0];
    assert!(evidence.is_pooled && (evidence.values[1] / evidence.values[0] - 2.0).abs() < 0.3);
    let alarms = (0..8).filter(|seed| {
        let before = TestWorld { seed: 50 + seed, ..many };
        compare_worlds(before, before.again()).is_changed
    });
    assert!(alarms.count() <= 1);
}

#[test]
fn a_slower_machine_is_reported_as_the_cause() {
    let doubts = |after: TestWorld| {
        let found = compare_worlds(TestWorld::WELL, after);
        assert!(found.is_changed);
        compare::output::ComparisonReport::from_comparison(&found, ["before", "after"], Vec::new())
            .doubts
    };
    let all = doubts(TestWorld { percent: 150, ..TestWorld::WELL.again() });
    assert!(
        all.iter().any(|doubt| doubt.contains("slower: the cause may be the machine")),
        "{all:?}"
    );
    let one = doubts(TestWorld { cart: 3 * MS, ..TestWorld::WELL.again() });
    assert!(one.is_empty(), "{one:?}");
}

#[test]
fn a_kind_that_only_one_period_has_is_new() {
    let after = TestWorld { other_kind: 10, ..TestWorld::WELL.again() };
    let found = compare_worlds(TestWorld::WELL, after);
    let [kind] = &found.new_kinds[..] else { panic!("{:?}", found.new_kinds) };
    assert!(kind.shares[0] == 0.0 && (kind.shares[1] - 0.1).abs() < 0.04, "{kind:?}");
    assert!(found.is_changed);
    let new_paths: compare::conditions::FailCondition = "new-paths".parse().unwrap();
    let why = new_paths.find_violation(&found, 0.05).unwrap();
    assert!(why.contains("front other"), "{why}");
    let back = compare_worlds(after, TestWorld::WELL.again());
    assert!(back.new_kinds[0].shares[1] == 0.0 && new_paths.find_violation(&back, 0.05).is_none());
}
