//! Categories: which requests have the same structure.

use compare::category::{CategoryEncoder, CategoryKey, CategoryStructure, NameHashes, ZoomLevel};
use proptest::prelude::*;
use request_flow::{NameId, NameInterner, Request, Step};

/// Names `a`, `b`, `c` and so on, with the numbers 1, 2, 3.
fn names() -> NameInterner {
    let mut names = NameInterner::default();
    ["a", "b", "c", "d"].iter().for_each(|name| {
        names.intern(name);
    });
    names
}

/// A step with its parent, node, begin and end. Its operation has its node's name.
fn step(parent: Option<u32>, node: usize, begin: i64, end: i64) -> Step {
    let node = NameId::from_index(node);
    Step { parent, begin: Some(begin), end: Some(end), ..Step::new(node, node) }
}

fn request(steps: impl IntoIterator<Item = Step>) -> Request {
    let mut request = Request { probability: 1.0, ..Request::default() };
    steps.into_iter().for_each(|step| request.push_step(step, []));
    request
}

/// Category, structure, and the place of each step.
fn encoded(request: &Request, zoom: &ZoomLevel) -> (CategoryKey, CategoryStructure, Vec<u32>) {
    let names = names();
    let hashes = NameHashes::from_names(&names);
    let mut encoder = CategoryEncoder::new(zoom, &names, &hashes);
    let encoded = encoder.encode(request);
    let places = (0..request.steps.len()).map(|step| encoded.place_of_step(step)).collect();
    (encoded.key, encoded.build_structure(request), places)
}

fn key(request: &Request, zoom: &ZoomLevel) -> CategoryKey {
    encoded(request, zoom).0
}

#[test]
fn races_make_no_category_and_order_does() {
    let all = ZoomLevel::default();
    let one = request([step(None, 1, 0, 99), step(Some(0), 2, 10, 30), step(Some(0), 3, 20, 40)]);
    let other = request([step(None, 1, 0, 99), step(Some(0), 3, 10, 30), step(Some(0), 2, 20, 40)]);
    assert_eq!(key(&one, &all), key(&other, &all));
    // Both requests have their steps at the same places.
    assert_eq!(encoded(&one, &all).1, encoded(&other, &all).1);
    let mut swapped = encoded(&other, &all).2;
    swapped.swap(1, 2);
    assert_eq!(encoded(&one, &all).2, swapped);
    let turn = request([step(None, 1, 0, 99), step(Some(0), 2, 10, 20), step(Some(0), 3, 30, 40)]);
    let back = request([step(None, 1, 0, 99), step(Some(0), 3, 10, 20), step(Some(0), 2, 30, 40)]);
    assert_ne!(key(&turn, &all), key(&back, &all));
    assert_ne!(key(&turn, &all), key(&one, &all));
    // Without concurrency the order distinguishes them.
    let races = ZoomLevel { races: true, ..ZoomLevel::default() };
    assert_ne!(key(&one, &races), key(&other, &races));
}

#[test]
fn failures_callers_and_names_make_a_category() {
    let all = ZoomLevel::default();
    let plain = request([step(None, 1, 0, 99), step(Some(0), 2, 10, 30)]);
    let mut failed = plain.clone();
    failed.steps[1].failed = true;
    let mut called = plain.clone();
    called.caller = NameId::from_index(4);
    let mut torn = plain.clone();
    torn.torn = true;
    let other = request([step(None, 1, 0, 99), step(Some(0), 3, 10, 30)]);
    let mut keys = [&plain, &failed, &called, &torn, &other].map(|of| key(of, &all)).to_vec();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), 5);
}

#[test]
fn repeated_calls_are_one_where_loops_are() {
    let calls = |count: u32| {
        let below = (0..count).flat_map(|number| {
            let begin = 10 + 20 * i64::from(number);
            [
                step(Some(0), 2, begin, begin + 9),
                step(Some(1 + 2 * number), 3, begin + 1, begin + 5),
            ]
        });
        request(std::iter::once(step(None, 1, 0, 500)).chain(below))
    };
    let (all, loops) = (ZoomLevel::default(), ZoomLevel { loops: true, ..ZoomLevel::default() });
    assert_ne!(key(&calls(2), &all), key(&calls(3), &all));
    assert_eq!(key(&calls(2), &loops), key(&calls(9), &loops));
    assert_ne!(key(&calls(1), &loops), key(&calls(2), &loops), "a loop is told from one call");
    let (_, structure, places) = encoded(&calls(3), &loops);
    assert_eq!(places, [0, 1, 2, 1, 2, 1, 2]);
    assert!(structure.places[1].symbol.repeated && !structure.places[2].symbol.repeated);
}

#[test]
fn internal_calls_of_a_node_can_be_hidden_and_shown() {
    // `a` calls itself, and the inner call calls `b`.
    let within = |inner: usize| {
        let inner = Step { operation: NameId::from_index(inner), ..step(Some(0), 1, 5, 60) };
        request([step(None, 1, 0, 99), inner, step(Some(1), 2, 10, 30)])
    };
    let components = ZoomLevel { components: true, ..ZoomLevel::default() };
    assert_ne!(key(&within(3), &ZoomLevel::default()), key(&within(4), &ZoomLevel::default()));
    assert_eq!(key(&within(3), &components), key(&within(4), &components));
    let (_, structure, places) = encoded(&within(3), &components);
    assert_eq!((places, structure.places.len()), (vec![0, 0, 1], 2));
    assert_eq!(structure.places[1].parent, Some(0), "b is called by what is shown above it");
    let opened = ZoomLevel { opened: vec!["a".to_owned()], ..components };
    assert_eq!(key(&within(3), &opened), key(&within(3), &ZoomLevel::default()));
}

/// Any tree in depth-first order with sequential or concurrent siblings.
fn trees() -> impl Strategy<Value = Vec<(usize, usize, bool)>> {
    prop::collection::vec((0_usize..8, 1_usize..4, any::<bool>()), 0..12)
}

fn tree(raw: &[(usize, usize, bool)]) -> Request {
    let mut builder = request_flow::RequestBuilder::default();
    builder.add_step(step(None, 1, 0, 10_000), None, []);
    for (number, (parent, node, at_once)) in raw.iter().enumerate() {
        let begin = 10 + 100 * number as i64;
        let end = if *at_once { begin + 150 } else { begin + 50 };
        builder.add_step(step(Some((*parent).min(number) as u32), *node, begin, end), None, []);
    }
    let mut request = Request { probability: 1.0, ..Request::default() };
    builder.build(&mut request);
    request
}

proptest! {
    #[test]
    fn equal_categories_have_equal_structures(one in trees(), other in trees()) {
        for zoom in [
            ZoomLevel::default(),
            ZoomLevel { loops: true, ..ZoomLevel::default() },
            ZoomLevel { components: true, loops: true, ..ZoomLevel::default() },
        ] {
            let [one, other] = [tree(&one), tree(&other)].map(|of| encoded(&of, &zoom));
            prop_assert_eq!(one.0 == other.0, one.1 == other.1);
            // Places are depth first, and every step has one.
            for (_, structure, places) in [one, other] {
                let count = structure.places.len() as u32;
                prop_assert!(places.iter().all(|place| *place < count));
                for (place, of) in (0_u32..).zip(&structure.places) {
                    prop_assert!(of.parent.is_none_or(|parent| parent < place));
                }
            }
        }
    }
}
