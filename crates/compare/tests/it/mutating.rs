//! Mutations, their originators and contributions, and shares that add up.

use compare::mutations::MutationKind;
use compare::{Options, Period, compare_periods};

use crate::support::{MS, TestWorld, WorldTables, compare_worlds};

#[test]
fn a_structural_mutation_has_the_cache_hit_as_its_originator() {
    let found =
        compare_worlds(TestWorld::WELL, TestWorld { cached: 30, ..TestWorld::WELL.again() });
    let structural = found.mutations.iter().find_map(|of| match &of.kind {
        MutationKind::Structural { originators, shares } => Some((of, originators, shares)),
        MutationKind::ResponseTime { .. } => None,
    });
    let (mutation, originators, shares) = structural.unwrap();
    assert!((shares[0] - 0.3).abs() < 0.1 && (shares[1] - 0.7).abs() < 0.1, "{shares:?}");
    let [here, there] =
        [mutation.category, originators[0].category].map(|of| &found.categories[of]);
    assert_eq!((here.structure.places.len(), there.structure.places.len()), (5, 4));
    // Both categories are the same up to the cache's call of the store, which is missing in the
    // originator.
    assert_eq!(originators[0].parting, [4, 3]);
    // The additional requests, times the difference from the originator's response time (4.2.3).
    let more = (shares[1] - shares[0]) * found.totals[1].expected;
    let slower = here.response[1].moments.mean - there.response[1].moments.mean;
    assert!((mutation.contribution - more * slower).abs() < 1.0);
}

#[test]
fn a_response_time_mutation_contributes_its_requests_times_their_change() {
    let before = TestWorld { requests: 300, ..TestWorld::WELL };
    let found = compare_worlds(before, TestWorld { cart: 6 * MS, requests: 600, ..before.again() });
    for mutation in &found.mutations {
        let MutationKind::ResponseTime { hops } = &mutation.kind else { continue };
        let category = &found.categories[mutation.category];
        let [before, after] = [0, 1].map(|side| category.response[side].moments.mean);
        // Counts of the first period, scaled to the length of the second.
        let expected = category.counts[0] * 2.0 * (after - before);
        assert!((mutation.contribution - expected).abs() < 1.0, "{mutation:?}");
        let hop = &category.hops[hops[0].hop];
        let place = category.structure.places[hop.place as usize];
        assert_eq!(found.names.name_of(place.symbol.node), "cart");
    }
    assert!(!found.mutations.is_empty());
}

#[test]
fn shares_of_the_mean_and_of_quantiles_add_up() {
    let after = TestWorld { cart: 4 * MS, cached: 20, failing: 5, ..TestWorld::WELL.again() };
    let found = compare_worlds(TestWorld::WELL, after);
    let [before, after] = found.overall.mean;
    let mean = compare::shares::shares_of_mean(&found.categories, &found.kinds);
    let sum = |shares: &compare::shares::ChangeShares| -> f64 {
        [&shares.slower, &shares.paths, &shares.mix].into_iter().flatten().sum()
    };
    assert!((mean.total - (after - before)).abs() < 1e-3 * (after - before).abs());
    assert!((sum(&mean) - mean.total).abs() < 1e-6 * mean.total.abs(), "{mean:?}");
    for values in found.overall.quantiles.into_iter().flatten() {
        let parts = compare::shares::shares_of_quantile(&found.categories, &found.kinds, values);
        assert!((parts.total - (values[1] - values[0])).abs() < 1e-6);
        assert!((sum(&parts) - parts.total).abs() < 1e-6 * parts.total.abs().max(1.0));
    }
}

#[test]
fn a_period_that_was_recorded_longer_is_no_change() {
    let found =
        compare_worlds(TestWorld::WELL, TestWorld { requests: 2_400, ..TestWorld::WELL.again() });
    assert!(!found.is_changed, "{:?} {:?}", found.mutations, found.evidence);
}

#[test]
fn one_recording_is_cut_by_time() {
    let worlds =
        WorldTables::new(TestWorld { requests: 1_200, ..TestWorld::WELL }, TestWorld::WELL);
    let middle = 600 * 100 * MS;
    let whole = Period::from_tables(&worlds.tables[0]);
    let periods = [Period { until: Some(middle), ..whole }, Period { from: Some(middle), ..whole }];
    let directory = tempfile::tempdir().unwrap();
    let options = Options::default();
    let found =
        compare_periods(periods.each_ref(), &options, 1 << 26, directory.path(), &()).unwrap();
    assert_eq!(found.totals.map(|totals| totals.requests), [600, 600]);
    assert!(!found.is_changed);
}
