//! Batch clusters: all requests are clustered together, so that their order does not matter.
//!
//! The text of a request is the sequence of its elements, each as an act and a role, without
//! demands.
//!
//! 1. Requests with the same text are grouped.
//! 2. Groups are split if one of their demands separates into two groups ([`best_split`]), the
//!    clearest split first, until no demand separates. The width of a group is measured and not
//!    assumed.
//! 3. Requests with a demand far from the middle of their group are removed.
//! 4. Groups that are near a larger one of another text, by edit distance, join it: an additional
//!    or missing hand-over does not make another kind of request.
//! 5. Removed requests, and groups that are too small to measure and not tight, are added one by
//!    one to the nearest cluster, or make new clusters. Their order does not depend on the order in
//!    which requests arrived.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::request_columns::{TextColumns, value_at};
use super::resource::DemandedResource;
use super::split::{ValueSplit, best_split, median_and_spread};
use super::{GrowingCluster, IncrementalClusters, RequestColumns, ScaledRequest, request_distance};
use crate::canonical::CanonicalRequest;
use crate::tuning::{
    CLUSTER_THRESHOLD, MATTERING_SHARE, MIN_CLUSTER, MIN_MEASURED, OUTLIER_SPREADS, SPLIT_SHARE,
};

/// Clusters of all requests, and for each request its number, its cluster's number and its distance
/// from the cluster's centre.
pub(crate) fn cluster_batch(kept: &RequestColumns) -> (IncrementalClusters, Vec<(u64, u64, f32)>) {
    let first = |text: &&TextColumns| text.facts.iter().map(|facts| facts.number).min();
    let mut texts: Vec<&TextColumns> = kept.texts().iter().collect();
    texts.sort_by_cached_key(|text| (Reverse(text.facts.len()), first(text)));

    let mut groups: Vec<TextGroup> = Vec::new();
    let mut remaining: Vec<(&TextColumns, u32)> = Vec::new();
    for text in texts {
        let mut rows: Vec<u32> = (0..text.facts.len() as u32).collect();
        rows.sort_unstable_by_key(|row| text.facts[*row as usize].number);
        let demanded = TextDemands::from_columns(text);
        let fewest = rows.len() / SPLIT_SHARE;
        for group in demanded.split_groups(rows, fewest) {
            let [rows, out] = demanded.split_outliers(group);
            remaining.extend(out.into_iter().map(|row| (text, row)));
            let is_measured = rows.len() >= MIN_MEASURED
                || (rows.len() >= MIN_CLUSTER && demanded.is_tight(&rows));
            if !is_measured {
                remaining.extend(rows.into_iter().map(|row| (text, row)));
            } else {
                groups.push(TextGroup { text, rows });
            }
        }
    }
    // Large groups first; the sort keeps the order of equally large ones.
    groups.sort_by_key(|group| Reverse(group.rows.len()));
    let mut clusters = IncrementalClusters::default();
    let mut members = Vec::with_capacity(kept.len());
    for TextGroup { text, rows } in groups {
        let (cluster, distances) = build_cluster(text, &rows);
        let number = clusters.insert_cluster(cluster, CLUSTER_THRESHOLD);
        let of = rows.iter().zip(distances);
        members.extend(of.map(|(row, far)| (text.facts[*row as usize].number, number, far)));
    }
    let before = members.len();
    for (text, row) in remaining {
        let facts = &text.facts[row as usize];
        let (number, far) =
            clusters.add_request(&text.canonical_request(row as usize), facts, CLUSTER_THRESHOLD);
        members.push((facts.number, number, far));
    }
    let mut fresh: Vec<u64> = members[before..].iter().map(|(_, number, _)| *number).collect();
    fresh.sort_unstable();
    fresh.dedup();
    fresh.into_iter().for_each(|number| clusters.merge_with_nearest(number, CLUSTER_THRESHOLD));
    (clusters, members)
}

/// Similar requests with the same text.
struct TextGroup<'a> {
    text: &'a TextColumns,
    rows: Vec<u32>,
}

/// Demands of all requests of a text: for each element, and summed over all elements, as work may
/// move from one to another.
struct TextDemands {
    columns: Vec<(DemandedResource, Vec<f32>)>,
    sums: BTreeMap<DemandedResource, Vec<f32>>,
}

impl TextDemands {
    fn from_columns(text: &TextColumns) -> TextDemands {
        let count = text.facts.len();
        let mut sums: BTreeMap<DemandedResource, Vec<f32>> = BTreeMap::new();
        let mut columns = Vec::with_capacity(text.columns.len());
        for ((_, resource), column) in &text.columns {
            let sum = sums.entry(*resource).or_insert_with(|| vec![0.0; count]);
            sum.iter_mut().zip(column).for_each(|(sum, demand)| *sum += demand);
            let all = (0..count).map(|row| value_at(column, row));
            columns.push((*resource, all.collect()));
        }
        let parts = |resource| columns.iter().filter(|(of, _)| *of == resource).count();
        let several = sums.iter().filter(|(resource, _)| parts(**resource) > 1);
        let several: Vec<_> = several.map(|(of, sum)| (*of, sum.clone())).collect();
        columns.extend(several);
        TextDemands { columns, sums }
    }

    /// Calls `visit` for each element and resource, with the demands of the given rows on the scale
    /// of differences. Differences that are small relative to the total demand of a request of the
    /// group vanish.
    fn for_each_demand(&self, rows: &[u32], mut visit: impl FnMut(&[f32])) {
        let mut floors = BTreeMap::new();
        let mut values: Vec<f32> = Vec::with_capacity(rows.len());
        for (resource, sum) in &self.sums {
            values.clear();
            values.extend(rows.iter().map(|row| sum[*row as usize]));
            values.sort_unstable_by(f32::total_cmp);
            floors.insert(*resource, f64::from(median_and_spread(&values).0) * MATTERING_SHARE);
        }
        for (resource, column) in &self.columns {
            let floor = floors.get(resource).copied().unwrap_or_default();
            values.clear();
            let demands = rows.iter().map(|row| f64::from(column[*row as usize]));
            values.extend(demands.map(|demand| resource.scale_above(demand, floor) as f32));
            visit(&values);
        }
    }

    /// Groups of rows that no demand splits any more. A split leaves at least `fewest` rows on each
    /// side.
    fn split_groups(&self, rows: Vec<u32>, fewest: usize) -> Vec<Vec<u32>> {
        let mut groups = Vec::new();
        let mut open = vec![rows];
        let mut sorted = Vec::new();
        while let Some(rows) = open.pop() {
            let mut best: Option<(f32, Vec<bool>)> = None;
            self.for_each_demand(&rows, |values| {
                sort_values(values, &mut sorted);
                let Some(ValueSplit { at, apart }) = best_split(&sorted, fewest) else { return };
                if best.as_ref().is_none_or(|(most, _)| apart > *most) {
                    best = Some((apart, values.iter().map(|value| *value < at).collect()));
                }
            });
            let Some((_, is_lower)) = best else {
                groups.push(rows);
                continue;
            };
            open.extend(partition_rows(rows, &is_lower));
        }
        groups
    }

    /// The rows of a group without outliers in one demand, and the outliers.
    fn split_outliers(&self, rows: Vec<u32>) -> [Vec<u32>; 2] {
        let mut is_in = vec![true; rows.len()];
        let mut sorted = Vec::new();
        self.for_each_demand(&rows, |values| {
            sort_values(values, &mut sorted);
            let (median, spread) = median_and_spread(&sorted);
            let limit = CLUSTER_THRESHOLD.max(OUTLIER_SPREADS * spread);
            for (is_in, value) in is_in.iter_mut().zip(values) {
                *is_in &= (value - median).abs() <= limit;
            }
        });
        partition_rows(rows, &is_in)
    }

    /// Whether no demand of the given rows differs by more than growing clusters allow for.
    fn is_tight(&self, rows: &[u32]) -> bool {
        let mut is_tight = true;
        self.for_each_demand(rows, |values| {
            let low = values.iter().copied().fold(f32::INFINITY, f32::min);
            let high = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            is_tight &= high - low <= CLUSTER_THRESHOLD;
        });
        is_tight
    }
}

/// The marked rows, and all other rows.
fn partition_rows(rows: Vec<u32>, is_marked: &[bool]) -> [Vec<u32>; 2] {
    let mut parts = [Vec::new(), Vec::new()];
    for (row, is_marked) in rows.into_iter().zip(is_marked) {
        parts[usize::from(!is_marked)].push(row);
    }
    parts
}

fn sort_values(values: &[f32], sorted: &mut Vec<f32>) {
    sorted.clear();
    sorted.extend_from_slice(values);
    sorted.sort_unstable_by(f32::total_cmp);
}

/// A cluster of rows of one text: its centre is their mean, and its representative the member with
/// the smallest difference of demands from the mean. Also returns the distance of each row from the
/// centre.
fn build_cluster(text: &TextColumns, rows: &[u32]) -> (GrowingCluster, Vec<f32>) {
    let requests = || {
        rows.iter().map(|row| (text.canonical_request(*row as usize), &text.facts[*row as usize]))
    };
    let mut growing =
        GrowingCluster::with_representative(CanonicalRequest::default(), Default::default());
    if let Some((first, facts)) = requests().next() {
        growing = GrowingCluster::with_representative(first, *facts);
    }
    for (of, facts) in requests() {
        growing.add_member(&ScaledRequest::from_canonical(&of), &of, facts, 0.0);
    }
    let nearest = rows.iter().min_by(|a, b| {
        let unlike = |row: &u32| growing.unlikeness_to_mean(&text.facts[*row as usize].demands);
        unlike(a).total_cmp(&unlike(b))
    });
    if let Some(row) = nearest {
        growing.representative = text.canonical_request(*row as usize);
        growing.facts = text.facts[*row as usize];
    }
    let far = |of: &CanonicalRequest| {
        request_distance(&ScaledRequest::from_canonical(of), &growing.center, f32::INFINITY)
    };
    let distances = requests().map(|(of, _)| far(&of).unwrap_or_default());
    let distances: Vec<f32> = distances.collect();
    growing.is_distinct = true;
    growing.farthest = distances.iter().copied().fold(0.0, f32::max);
    growing.distances = distances.iter().map(|far| f64::from(*far)).sum();
    (growing, distances)
}
