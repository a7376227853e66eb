//! Types of Table 1 in mixtures, as in Tables 2 to 5, with the noise of a real server.

use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::mixtures::{MixtureRequest, mixture, names};
use workload::Workload;
use workload::model::{ClusterMember, ClusterPurity, WorkloadModel};

fn model(mut workload: Workload, made: &[MixtureRequest]) -> WorkloadModel {
    made.iter().for_each(|of| workload.push(&of.canonical, &of.facts));
    workload.finish(&names())
}

/// Checks that only disturbed requests and at most one other are in a wrong or an additional
/// cluster, and that the model is close to the requests' demands.
fn check(types: &str, clients: u32, workload: Workload) {
    let made = mixture(types, clients, 500, 3);
    let model = model(workload, &made);
    let purity = ClusterPurity::from_model(&model);
    let found: Vec<String> =
        purity.clusters.iter().map(|of| format!("{}{}", of.requests, of.name)).collect();
    let is_off = |member: &&ClusterMember| {
        let of = &purity.clusters[member.cluster as usize];
        let made = &made[member.request as usize];
        let is_right = names().name_of(made.facts.name) == of.name && !of.is_extra;
        !is_right && !made.is_disturbed
    };
    // A request with the hand-over and with overhead far from the mean may be alone.
    let off = model.members.iter().filter(is_off).count();
    assert!(off <= 1, "{types} {clients}: {found:?}");
    assert!(purity.without_cluster.is_empty());
    let error = model.error.representative;
    assert!(error.processor.is_some_and(|error| error < 0.02), "{error:?}");
    assert!(error.network.is_some_and(|error| error < 0.05), "{error:?}");
}

#[test]
fn batch_clusters_misplace_only_disturbed_requests() {
    for types in ["A", "B", "AB", "C", "D", "CD", "E", "BE", "ABE", "AF", "AEF", "ABEF"] {
        for clients in [1, 5] {
            check(types, clients, Workload::default());
        }
    }
}

#[test]
fn growing_clusters_separate_types_too() {
    for types in ["AB", "CD", "ABE", "ABEF"] {
        let made = mixture(types, 5, 500, 4);
        let purity = ClusterPurity::from_model(&model(Workload::incremental(), &made));
        let disturbed = made.iter().filter(|of| of.is_disturbed).count() as u64;
        assert!(purity.wrong <= disturbed, "{types}: {purity:?}");
        assert!(purity.in_extra_clusters <= disturbed + 10, "{types}: {purity:?}");
    }
}

#[test]
fn types_alone_predict_their_mixture() {
    let alone = ["A", "B"].map(|kind| model(Workload::default(), &mixture(kind, 1, 500, 5)));
    let made = mixture("AB", 5, 500, 6);
    let usual: Vec<MixtureRequest> = made.into_iter().filter(|of| !of.is_disturbed).collect();
    let is_a = |of: &&MixtureRequest| names().name_of(of.facts.name) == "A";
    let count = usual.iter().filter(is_a).count() as u64;
    let whole = model(Workload::default(), &usual);
    let errors =
        whole.prediction_errors(&[(&alone[0], count), (&alone[1], usual.len() as u64 - count)]);
    assert!(errors.processor.unwrap() < 0.02, "{errors:?}");
    // With swapped numbers the prediction is far off, unless the numbers are equal.
    let swapped = whole.prediction_errors(&[(&alone[0], usual.len() as u64), (&alone[1], 0)]);
    assert!(swapped.processor.unwrap() > 0.2, "{swapped:?}");
}

#[test]
fn requests_beyond_the_batch_limit_join_its_clusters() {
    let made = mixture("ABEF", 5, 1_000, 7);
    let model = model(Workload::with_batch_limit(400), &made);
    let purity = ClusterPurity::from_model(&model);
    assert_eq!((model.requests, model.members.len()), (1_000, 1_000));
    assert!(purity.wrong < 10 && purity.in_extra_clusters < 30, "{purity:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn the_order_of_requests_does_not_affect_a_batch(seed in any::<u64>()) {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut made = mixture("ABCEF", 5, 300, seed);
        let one = model(Workload::default(), &made);
        for last in (1..made.len()).rev() {
            made.swap(last, random.next_u32() as usize % (last + 1));
        }
        let other = model(Workload::default(), &made);
        let json = |model: &WorkloadModel| serde_json::to_string(model).unwrap();
        prop_assert_eq!(json(&one), json(&other));
        prop_assert_eq!(one.members, other.members);
    }

    #[test]
    fn growing_clusters_depend_little_on_the_order(seed in any::<u64>()) {
        let mut made = mixture("ABEF", 1, 400, seed);
        let one = ClusterPurity::from_model(&model(Workload::incremental(), &made));
        made.reverse();
        let other = ClusterPurity::from_model(&model(Workload::incremental(), &made));
        prop_assert!(one.in_extra_clusters.abs_diff(other.in_extra_clusters) < 20);
        prop_assert!(one.wrong < 5 && other.wrong < 5, "{:?} {:?}", one, other);
    }
}
