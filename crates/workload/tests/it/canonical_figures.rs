//! Figures 9, 10 and 11 of Magpie by hand.

use crate::threads::ThreadAction::{Begins, GoesOn, Signals, Works};
use crate::threads::{SEED, ThreadAction, joined_request};
use workload::canonical::{CanonicalRequest, ElementAct, canonicalize_joined, role_by_kind};

const MS: i64 = 1_000_000;

/// Elements as act, role, processor time, begin.
fn element_figures(canonical: &CanonicalRequest) -> Vec<(ElementAct, u32, i64, i64)> {
    let figures = canonical.elements.iter().map(|element| {
        assert_eq!(element.end - element.begin, element.demands.processor_ns);
        (element.act, element.role.index() as u32, element.demands.processor_ns, element.begin)
    });
    figures.collect()
}

fn canonical_figures(steps: &[(i32, i32, ThreadAction)]) -> Vec<(ElementAct, u32, i64, i64)> {
    element_figures(&canonicalize_joined(&joined_request(steps), role_by_kind))
}

/// Roles: the kinds of events with which threads continue.
const PARSER: u32 = 11;
const FILTER: u32 = 12;
const PAGE: u32 = 13;

#[test]
fn figure_9_a_request_that_is_preempted_again_and_again() {
    // A thread parses, hands over to a filter, and that to the page, which spins for 15 ms.
    let at_once = [
        (1, 0, Begins),
        (1, 0, Works(100)),
        (1, 0, Signals(1)),
        (2, 0, GoesOn(1, FILTER)),
        (2, 0, Works(200)),
        (2, 0, Signals(2)),
        (3, 0, GoesOn(2, PAGE)),
        (3, 0, Works(15 * MS)),
        (2, 0, Works(7)),
    ];
    // With five clients: other threads, four slices on two processors, the filter's rest first.
    let preempted = [
        (81, 1, Begins),
        (81, 1, Works(60)),
        (81, 0, Works(40)),
        (81, 0, Signals(1)),
        (55, 1, GoesOn(1, FILTER)),
        (55, 1, Works(150)),
        (55, 0, Works(50)),
        (55, 0, Signals(2)),
        (55, 0, Works(7)),
        (44, 1, GoesOn(2, PAGE)),
        (44, 1, Works(4 * MS)),
        (44, 0, Works(5 * MS)),
        (44, 1, Works(2 * MS)),
        (44, 1, Works(4 * MS)),
    ];
    let expected = [
        (ElementAct::Work, SEED, 100, 0),
        (ElementAct::Signal, FILTER, 0, 100),
        (ElementAct::Work, SEED, 0, 100),
        (ElementAct::Wait, SEED, 0, 100),
        (ElementAct::Resume, FILTER, 0, 100),
        (ElementAct::Work, FILTER, 200, 100),
        (ElementAct::Signal, PAGE, 0, 300),
        (ElementAct::Work, FILTER, 7, 300),
        (ElementAct::Wait, FILTER, 0, 307),
        (ElementAct::Resume, PAGE, 0, 300),
        (ElementAct::Work, PAGE, 15 * MS, 300),
        (ElementAct::Wait, PAGE, 0, 300 + 15 * MS),
    ];
    assert_eq!(canonical_figures(&at_once), expected);
    assert_eq!(canonical_figures(&preempted), expected);
}

#[test]
fn figure_9_threads_of_a_pool_may_do_several_parts() {
    // The same thread takes up the work that it handed over, or another one does.
    let steps = |second: i32, third: i32| {
        [
            (1, 0, Begins),
            (1, 0, Works(100)),
            (1, 0, Signals(1)),
            (second, 0, GoesOn(1, FILTER)),
            (second, 0, Works(200)),
            (second, 0, Signals(2)),
            (third, 0, GoesOn(2, PAGE)),
            (third, 0, Works(300)),
        ]
    };
    let expected = canonical_figures(&steps(2, 3));
    for (second, third) in [(1, 1), (1, 2), (2, 2), (2, 1)] {
        assert_eq!(canonical_figures(&steps(second, third)), expected, "{second} {third}");
    }
}

#[test]
fn figure_10_a_call_by_message_is_flattened_depth_first() {
    // The caller signals and waits: a leaf. The worker signals back: the caller continues.
    let found = canonical_figures(&[
        (1, 0, Begins),
        (1, 0, Works(5)),
        (1, 0, Signals(1)),
        (2, 1, GoesOn(1, PARSER)),
        (2, 1, Works(20)),
        (2, 1, Signals(2)),
        (1, 0, GoesOn(2, PAGE)),
        (1, 0, Works(6)),
    ]);
    let expected = [
        (ElementAct::Work, SEED, 5, 0),
        (ElementAct::Signal, PARSER, 0, 5),
        (ElementAct::Work, SEED, 0, 5),
        (ElementAct::Wait, SEED, 0, 5),
        (ElementAct::Resume, PARSER, 0, 5),
        (ElementAct::Work, PARSER, 20, 5),
        (ElementAct::Signal, PAGE, 0, 25),
        (ElementAct::Work, PARSER, 0, 25),
        (ElementAct::Wait, PARSER, 0, 25),
        (ElementAct::Resume, PAGE, 0, 25),
        (ElementAct::Work, PAGE, 6, 25),
        (ElementAct::Wait, PAGE, 0, 31),
    ];
    assert_eq!(found, expected);
}

/// Types A, B, E and F of Table 1.
fn of_type(name: char) -> Vec<(i32, i32, ThreadAction)> {
    match name {
        'A' => vec![(1, 0, Begins), (1, 0, Works(30 * MS))],
        'B' => vec![(1, 0, Begins), (1, 0, Works(15 * MS))],
        'E' => vec![
            (1, 0, Begins),
            (1, 0, Signals(1)),
            (2, 1, GoesOn(1, PARSER)),
            (2, 1, Works(15 * MS)),
            (2, 1, Signals(2)),
            (1, 0, Works(15 * MS)),
            (1, 0, GoesOn(2, PAGE)),
        ],
        _ => vec![
            (1, 0, Begins),
            (1, 0, Works(7_500_000)),
            (1, 0, Signals(1)),
            (2, 1, GoesOn(1, PARSER)),
            (2, 1, Works(15 * MS)),
            (2, 1, Signals(2)),
            (1, 0, GoesOn(2, PAGE)),
            (1, 0, Works(7_250_000)),
        ],
    }
}

#[test]
fn figure_11_four_types_with_different_inner_structure() {
    let works = |name: char| -> Vec<(i64, i64)> {
        let figures = canonical_figures(&of_type(name));
        let works = figures.into_iter().filter(|(act, ..)| *act == ElementAct::Work);
        works.map(|(_, _, used, begin)| (begin, used)).collect()
    };
    assert_eq!(works('A'), [(0, 30 * MS)]);
    assert_eq!(works('B'), [(0, 15 * MS)]);
    // Two concurrent threads, and then the work that joins them.
    assert_eq!(works('E'), [(0, 0), (0, 15 * MS), (0, 15 * MS), (15 * MS, 0), (15 * MS, 0)]);
    // The threads run one after the other.
    let first = 7_500_000;
    let both = first + 15 * MS;
    assert_eq!(
        works('F'),
        [(0, first), (first, 0), (first, 15 * MS), (both, 0), (both, 7_250_000)]
    );
    // With unlimited processors E takes as long as B, F nearly as long as A.
    let durations = ['A', 'B', 'E', 'F'].map(|name| {
        canonicalize_joined(&joined_request(&of_type(name)), role_by_kind).ideal_duration()
    });
    assert_eq!(durations, [30 * MS, 15 * MS, 15 * MS, 29_750_000]);
}

#[test]
fn threads_without_a_cause_are_one_element() {
    let interrupts = |a: i32, b: i32| {
        canonical_figures(&[(1, 0, Begins), (a, 1, Works(3)), (1, 0, Works(9)), (b, 0, Works(4))])
    };
    let expected = [
        (ElementAct::Work, SEED, 9, 0),
        (ElementAct::Wait, SEED, 0, 9),
        (ElementAct::Work, 0, 7, 0),
        (ElementAct::Wait, 0, 0, 7),
    ];
    assert_eq!(interrupts(2, 2), expected);
    assert_eq!(interrupts(3, 2), expected);
}

#[test]
fn threads_without_a_cause_are_separate_if_they_work_long() {
    // Two threads of 15 ms are not one of 30 ms, though no event shows what started the second one.
    let works = |threads: &[(i32, i64)]| -> Vec<i64> {
        let mut steps = vec![(1, 0, Begins), (1, 0, Works(MS))];
        steps.extend(threads.iter().map(|(thread, used)| (*thread, 0, Works(*used))));
        let figures = canonical_figures(&steps).into_iter();
        figures.filter(|(act, ..)| *act == ElementAct::Work).map(|(_, _, used, _)| used).collect()
    };
    assert_eq!(works(&[(2, 30 * MS), (3, 9)]), [MS, 30 * MS, 9]);
    assert_eq!(works(&[(3, 4), (2, 15 * MS), (4, 5), (5, 16 * MS)]), [MS, 16 * MS, 15 * MS, 9]);
}

#[test]
fn invalid_and_cyclic_syncs_do_no_harm() {
    let mut request = joined_request(&of_type('F'));
    let expected = canonicalize_joined(&request, role_by_kind).total_demands();
    for (source, destination) in [(0, 99), (99, 0), (3, 3), (7, 0), (6, 2)] {
        request.syncs.push(workload::joined_request::SyncEdge { source, destination });
    }
    assert_eq!(canonicalize_joined(&request, role_by_kind).total_demands(), expected);
    assert_eq!(canonicalize_joined(&Default::default(), role_by_kind), CanonicalRequest::default());
}
