//! Timing models of requests made by hand.

use contexts::identity::OperationIdentity;
use contexts::tree::{LeafKind, ModelLeaf, ModelOptions, TimingModel, build_model};

use crate::support::{RequestSet, call};

fn modelled(made: &RequestSet, memory: u64, options: &ModelOptions) -> (TimingModel, Vec<String>) {
    made.with(OperationIdentity::Operation, memory, |collected, profiled| {
        let model = build_model(profiled, collected, options).unwrap();
        let operations = &profiled.profile.operations;
        let name = |leaf: &ModelLeaf| operations[leaf.operation as usize].names.operation.clone();
        let names = model.leaves.iter().map(name).collect();
        (model, names)
    })
}

/// GET is called by three callers: two are similar, one is slow; and twice by a rare one.
fn shop() -> RequestSet {
    let mut made = RequestSet::new();
    for round in 0..400 {
        let (caller, base) = match round % 4 {
            0 => ("checkout", 10_000),
            1 => ("cart", 1_000),
            _ => ("catalog", 1_010),
        };
        let caller = if round > 397 { "rare" } else { caller };
        let get = call("GET", base + (round * 37) % 101, vec![]);
        made.add(&call("page", 1, vec![call(caller, 1, vec![get])]));
    }
    made
}

#[test]
fn leaves_are_a_partition_and_merged_ones_have_the_times_of_all() {
    for memory in [u64::MAX, 0] {
        let (model, names) = modelled(&shop(), memory, &ModelOptions::default());
        let of_get: Vec<&ModelLeaf> = model
            .leaves
            .iter()
            .zip(&names)
            .filter(|(_, name)| *name == "GET")
            .map(|(leaf, _)| leaf)
            .collect();
        let shown: Vec<(LeafKind, usize, f64)> =
            of_get.iter().map(|leaf| (leaf.kind, leaf.contexts.len(), leaf.calls)).collect();
        let expected = [
            (LeafKind::Linked, 1, 2.0),
            (LeafKind::Context, 1, 100.0),
            (LeafKind::Merged, 2, 298.0),
        ];
        assert_eq!(shown, expected);
        let merged = of_get[2].times.as_ref().unwrap();
        assert_eq!((merged.weight, merged.min, merged.max), (298.0, 1_000, 1_110));
        // Linked contexts have the response times of the whole operation.
        assert_eq!(of_get[0].times.as_ref().unwrap().weight, 400.0);
        // Pages have the same structure as GET; and there are the four callers, one with two calls
        // only.
        assert_eq!((model.too_few, names.len()), (1, 3 + 3 + 4));
        assert_eq!(model.leaves.iter().map(|leaf| leaf.calls).sum::<f64>(), 1_200.0);
        assert!(model.decrease > 0.5, "{}", model.decrease);
        // A linked node has the part to which it is linked, and a divided node has none.
        assert_eq!((model.leaf_of[0], model.leaf_of.len() as u64), (None, model.nodes + 1));
        for (leaf, place) in model.leaves.iter().zip(0..) {
            let expected = (leaf.kind != LeafKind::Linked).then_some(place);
            assert!(leaf.contexts.iter().all(|node| model.leaf_of[*node as usize] == expected));
        }
        let gone = model.removed + model.merged + model.linked;
        assert!(gone < model.nodes && model.linked == 3);
    }
}

#[test]
fn a_limit_of_leaves_makes_one_leaf_of_each_operation_at_last() {
    let options = ModelOptions { max_leaves: Some(1), ..ModelOptions::default() };
    let (model, names) = modelled(&shop(), u64::MAX, &options);
    assert_eq!((names.len(), model.bound), (6, None));
    assert!(model.leaves.iter().all(|leaf| leaf.kind == LeafKind::Context));
    assert!(model.decrease.abs() < 1e-9);
}
