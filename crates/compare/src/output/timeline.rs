//! Timeline: a typical request of a category, laid out from the mean times of its places, which are
//! the steps of the category.

use super::category_tree::CategoryTree;

/// Begin and end of a place, in nanoseconds after the request's begin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct PlaceSpan {
    pub(super) begin: f64,
    pub(super) end: f64,
}

/// The span of each place in a period. A step's own time is divided equally before, between and
/// after its calls, and half of the transfer time is placed before and after each call. Concurrent
/// calls begin together.
pub(super) fn layout_spans(tree: &CategoryTree, side: usize) -> Vec<PlaceSpan> {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); tree.places.len()];
    for (place, of) in tree.places.iter().enumerate() {
        if let Some(of) = of.parent.and_then(|parent| children.get_mut(parent as usize)) {
            of.push(place);
        }
    }
    // The duration of each place for its caller; in reverse order, as children follow their
    // parents.
    let mut durations = vec![0.0_f64; tree.places.len()];
    for place in (0..tree.places.len()).rev() {
        let waits: f64 = concurrent_groups(tree, &children[place])
            .iter()
            .map(|group| longest_time(group, &durations))
            .sum();
        let of = &tree.places[place];
        durations[place] = of.own_ns[side] + of.network_ns[side] + waits;
    }
    let mut spans = vec![PlaceSpan::default(); tree.places.len()];
    if let Some(root) = spans.first_mut() {
        root.end = durations[0];
    }
    for place in 0..tree.places.len() {
        let of = &tree.places[place];
        let half_transfer = of.network_ns[side] / 2.0;
        let span = &mut spans[place];
        (span.begin, span.end) = (span.begin + half_transfer, span.end - half_transfer);
        let groups = concurrent_groups(tree, &children[place]);
        let gap = of.own_ns[side] / (groups.len() + 1) as f64;
        let mut time = span.begin;
        for group in &groups {
            time += gap;
            for child in group {
                spans[*child] = PlaceSpan { begin: time, end: time + durations[*child] };
            }
            time += longest_time(group, &durations);
        }
    }
    spans
}

/// Children grouped by concurrency.
fn concurrent_groups(tree: &CategoryTree, children: &[usize]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for child in children {
        match groups.last_mut() {
            Some(group) if tree.places[*child].concurrent => group.push(*child),
            _ => groups.push(vec![*child]),
        }
    }
    groups
}

fn longest_time(group: &[usize], durations: &[f64]) -> f64 {
    group.iter().map(|child| durations[*child]).fold(0.0, f64::max)
}
