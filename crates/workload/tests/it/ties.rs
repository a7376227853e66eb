//! Activations with equal role, structure and demands, by hand: their order does not matter.

use crate::threads::ThreadAction::{Begins, GoesOn, GoesOnAfterBoth, Signals, Works};
use crate::threads::{SEED, ThreadAction, joined_request};
use workload::canonical::{ElementAct, canonicalize_joined, role_by_kind};

const HELPER: u32 = 11;
const WRITER: u32 = 12;
const END: u32 = 30;

/// Elements as act, role, processor time, begin.
fn form(steps: &[(i32, ThreadAction)]) -> Vec<(ElementAct, u32, i64, i64)> {
    let steps: Vec<(i32, i32, ThreadAction)> =
        steps.iter().map(|(of, does)| (*of, 0, *does)).collect();
    let form = canonicalize_joined(&joined_request(&steps), role_by_kind);
    let elements = form.elements.iter();
    elements.map(|of| (of.act, of.role.index() as u32, of.demands.processor_ns, of.begin)).collect()
}

/// The forms of a request that wakes two helpers, threads 1 and 2, with either helper's steps
/// first.
fn both_ways(
    before: &[(i32, ThreadAction)],
    does: [&[(i32, ThreadAction)]; 2],
    end: &[(i32, ThreadAction)],
) -> Forms {
    let begin = [(0, Begins), (0, Signals(0))];
    let [one, other] = does;
    [[one, other], [other, one]]
        .map(|[first, second]| form(&[&begin, before, first, second, end].concat()))
}

type Forms = [Vec<(ElementAct, u32, i64, i64)>; 2];

#[test]
fn helpers_that_lead_to_different_begins() {
    // The writers do other work before, for 100 and for 200 ns.
    let [one, other] = both_ways(
        &[(3, Works(100)), (4, Works(200))],
        [
            &[(1, GoesOn(0, HELPER)), (1, Signals(1)), (3, GoesOn(1, WRITER))],
            &[(2, GoesOn(0, HELPER)), (2, Signals(2)), (4, GoesOn(2, WRITER))],
        ],
        &[],
    );
    let helper = |begin| {
        [
            (ElementAct::Resume, HELPER, 0, 0),
            (ElementAct::Work, HELPER, 0, 0),
            (ElementAct::Signal, WRITER, 0, 0),
            (ElementAct::Work, HELPER, 0, 0),
            (ElementAct::Wait, HELPER, 0, 0),
            (ElementAct::Resume, WRITER, 0, begin),
            (ElementAct::Work, WRITER, 0, begin),
            (ElementAct::Wait, WRITER, 0, begin),
        ]
    };
    let begin = [
        (ElementAct::Work, SEED, 0, 0),
        (ElementAct::Signal, HELPER, 0, 0),
        (ElementAct::Signal, HELPER, 0, 0),
        (ElementAct::Work, SEED, 0, 0),
        (ElementAct::Wait, SEED, 0, 0),
    ];
    // The first is written last, and work without a cause after all others.
    let loose = [(ElementAct::Work, 0, 300, 0), (ElementAct::Wait, 0, 0, 300)];
    assert_eq!(one, [&begin[..], &helper(200), &helper(100), &loose].concat());
    assert_eq!(one, other);
}

#[test]
fn the_parent_of_two_similar_ones_is_the_later() {
    let [one, other] = both_ways(
        &[(1, Works(100)), (2, Works(200))],
        [&[(1, GoesOn(0, HELPER)), (1, Signals(1))], &[(2, GoesOn(0, HELPER)), (2, Signals(2))]],
        &[(3, GoesOnAfterBoth([1, 2], END))],
    );
    let signal = one.iter().find(|(act, role, ..)| (*act, *role) == (ElementAct::Signal, END));
    assert_eq!(signal, Some(&(ElementAct::Signal, END, 0, 200)));
    assert_eq!(one, other);
}

#[test]
fn the_parent_of_two_similar_ones_depends_on_what_else_they_lead_to() {
    let [one, other] = both_ways(
        &[],
        [
            &[(1, GoesOn(0, HELPER)), (1, Signals(1)), (4, GoesOn(1, WRITER)), (4, Works(5))],
            &[(2, GoesOn(0, HELPER)), (2, Signals(2)), (5, GoesOn(2, WRITER)), (5, Works(7))],
        ],
        &[(3, GoesOnAfterBoth([1, 2], END))],
    );
    assert_eq!(one, other);
}
