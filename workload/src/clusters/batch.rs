//! Batch clusters: all requests at once, so that their order changes nothing.
//!
//! 1. Requests with the same text are looked at together.
//! 2. They are split where one of their demands falls apart into two groups ([`split`]), the
//!    clearest one first, until none does. How wide a group is, is measured and not assumed.
//! 3. Requests that are far from the middle of their group by one demand are taken out.
//! 4. They, and requests whose texts are rare, are added to the nearest cluster by edit distance,
//!    or make new ones, in an order that does not depend on the one in which requests came.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::kept::{Text, value};
use super::resource::Resource;
use super::split::{middle, split};
use super::{Growing, Incremental, Kept, Scaled, distance};
use crate::canonical::Canonical;
use crate::tuning::{MIN_CLUSTER, OUTLIER_SPREADS, SPLIT_SHARE, THRESHOLD};

/// Clusters of all requests, and the number of each request with that of its cluster.
pub(crate) fn cluster(kept: &Kept) -> (Incremental, Vec<(u64, u64)>) {
    let first = |text: &&Text| text.facts.iter().map(|facts| facts.number).min();
    let mut texts: Vec<&Text> = kept.texts().iter().collect();
    texts.sort_by_cached_key(|text| (Reverse(text.facts.len()), first(text)));

    let mut clusters = Vec::new();
    let mut members = Vec::with_capacity(kept.len());
    let mut left: Vec<(&Text, u32)> = Vec::new();
    for text in texts {
        let mut rows: Vec<u32> = (0..text.facts.len() as u32).collect();
        rows.sort_unstable_by_key(|row| text.facts[*row as usize].number);
        if rows.len() < MIN_CLUSTER {
            left.extend(rows.into_iter().map(|row| (text, row)));
            continue;
        }
        let fewest = rows.len() / SPLIT_SHARE;
        let scales = scales(text);
        for group in groups(&scales, rows, fewest) {
            let (group, out) = outliers(&scales, group);
            left.extend(out.into_iter().map(|row| (text, row)));
            if group.len() < MIN_CLUSTER {
                left.extend(group.into_iter().map(|row| (text, row)));
                continue;
            }
            let number = clusters.len() as u64;
            members.extend(group.iter().map(|row| (text.facts[*row as usize].number, number)));
            clusters.push(gather(text, &group));
        }
    }
    let mut clusters = Incremental::of(clusters);
    for (text, row) in left {
        let facts = &text.facts[row as usize];
        let number = clusters.add(&text.canonical(row as usize), facts, THRESHOLD);
        members.push((facts.number, number));
    }
    members.sort_unstable();
    (clusters, members)
}

/// Demands of all requests of a text on the scale of differences: those of each element, and the
/// sums over all elements, as work may move from one to another.
fn scales(text: &Text) -> Vec<Vec<f32>> {
    let count = text.facts.len();
    let mut sums: BTreeMap<Resource, Vec<f64>> = BTreeMap::new();
    let mut scales = Vec::with_capacity(text.columns.len());
    for ((_, resource), column) in &text.columns {
        let sum = sums.entry(*resource).or_insert_with(|| vec![0.0; count]);
        let scale = (0..count).map(|row| {
            let demand = f64::from(value(column, row));
            sum[row] += demand;
            resource.scale(demand) as f32
        });
        scales.push(scale.collect());
    }
    for (resource, sum) in sums {
        let parts = text.columns.keys().filter(|(_, of)| *of == resource).count();
        if parts > 1 {
            scales.push(sum.into_iter().map(|demand| resource.scale(demand) as f32).collect());
        }
    }
    scales
}

/// Groups of rows that no demand splits any more.
fn groups(scales: &[Vec<f32>], rows: Vec<u32>, fewest: usize) -> Vec<Vec<u32>> {
    let mut groups = Vec::new();
    let mut open = vec![rows];
    let mut sorted = Vec::new();
    while let Some(rows) = open.pop() {
        let mut best: Option<(f32, f32, usize)> = None;
        for (number, scale) in scales.iter().enumerate() {
            sort_values(scale, &rows, &mut sorted);
            let Some(found) = split(&sorted, fewest) else { continue };
            if best.is_none_or(|(apart, ..)| found.apart > apart) {
                best = Some((found.apart, found.at, number));
            }
        }
        match best {
            None => groups.push(rows),
            Some((_, at, number)) => {
                let is_lower = |row: &u32| scales[number][*row as usize] < at;
                let (lower, upper) = rows.into_iter().partition(is_lower);
                open.extend([upper, lower]);
            }
        }
    }
    groups
}

/// The rows of a group without those that one demand takes far from its middle, and these.
fn outliers(scales: &[Vec<f32>], rows: Vec<u32>) -> (Vec<u32>, Vec<u32>) {
    let mut is_out = vec![false; rows.len()];
    let mut sorted = Vec::new();
    for scale in scales {
        sort_values(scale, &rows, &mut sorted);
        let (median, spread) = middle(&sorted);
        let limit = THRESHOLD.max(OUTLIER_SPREADS * spread);
        for (is_out, row) in is_out.iter_mut().zip(&rows) {
            *is_out |= (scale[*row as usize] - median).abs() > limit;
        }
    }
    let (mut inner, mut outer) = (Vec::with_capacity(rows.len()), Vec::new());
    for (row, is_out) in rows.into_iter().zip(is_out) {
        if is_out { outer.push(row) } else { inner.push(row) }
    }
    (inner, outer)
}

fn sort_values(scale: &[f32], rows: &[u32], sorted: &mut Vec<f32>) {
    sorted.clear();
    sorted.extend(rows.iter().map(|row| scale[*row as usize]));
    sorted.sort_unstable_by(f32::total_cmp);
}

/// A cluster of rows of one text: its centre is their mean, and its representative the member
/// whose demands differ least from that.
fn gather(text: &Text, rows: &[u32]) -> Growing {
    let requests =
        || rows.iter().map(|row| (text.canonical(*row as usize), &text.facts[*row as usize]));
    let mut growing = Growing::around(Canonical::default(), Default::default());
    if let Some((first, facts)) = requests().next() {
        growing = Growing::around(first, *facts);
    }
    for (of, facts) in requests() {
        growing.add(&Scaled::of(&of), &of, facts, 0.0);
    }
    let nearest = rows.iter().min_by(|a, b| {
        let unlike = |row: &u32| growing.unlikeness(&text.facts[*row as usize].demands);
        unlike(a).total_cmp(&unlike(b))
    });
    if let Some(row) = nearest {
        growing.representative = text.canonical(*row as usize);
        growing.facts = text.facts[*row as usize];
    }
    for (of, _) in requests() {
        let far = distance(&Scaled::of(&of), &growing.center, f32::INFINITY).unwrap_or_default();
        growing.farthest = growing.farthest.max(far);
        growing.distances += f64::from(far);
    }
    growing
}
