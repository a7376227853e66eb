//! Families: patterns that users regard as one. The patterns of a family have the same hops, a
//! different number of times or in a different order. A loop that ran three times in one request
//! and four times in the next makes two patterns; so do concurrent calls with their responses in a
//! different order.
//!
//! ```text
//! web → db, db → web                           one family: the same two hops, once,
//! web → db, db → web, web → db, db → web       twice,
//! web → db, web → db, db → web, db → web       or twice concurrently
//! ```

use std::cmp::Ordering;

use analyze::paths::{Hop, PathPattern};
use message_trace::TransportProtocol;
use rustc_hash::FxHashMap;

use crate::sort::{SortKey, SortValues};

/// The families of all patterns of a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PatternFamilies<'a> {
    /// The families, in the order of the numbers of their leads (the patterns that represent them).
    families: Vec<PatternFamily<'a>>,
    /// The number of the lead of each pattern's family, by the number of the pattern.
    leads: FxHashMap<i64, i64>,
}

impl<'a> PatternFamilies<'a> {
    /// Groups `patterns` into families.
    pub(crate) fn from_patterns(patterns: &'a [PathPattern]) -> PatternFamilies<'a> {
        let families = PatternFamily::group_patterns(patterns);
        let leads = families
            .iter()
            .flat_map(|family| family.patterns().map(|pattern| (pattern.id, family.lead.id)))
            .collect();
        PatternFamilies { families, leads }
    }

    /// The number of the lead of the family that `pattern` is in.
    pub(crate) fn lead_of_pattern(&self, pattern: &PathPattern) -> i64 {
        self.leads.get(&pattern.id).copied().unwrap_or(pattern.id)
    }

    /// The families in the order of `key`.
    pub(crate) fn ranked_families(&self, key: SortKey) -> Vec<PatternFamily<'a>> {
        let mut ranked = self.families.clone();
        ranked.sort_by(|one, other| one.compare_by(other, key));
        ranked
    }
}

/// A family: patterns of the same hops, shown as one line that can be opened.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternFamily<'a> {
    /// The pattern that represents the family: the one with the largest total time.
    pub(crate) lead: &'a PathPattern,
    /// The other patterns, in the order of their numbers.
    pub(crate) alike: Vec<&'a PathPattern>,
}

/// The sums over all patterns of a family.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct FamilySums {
    /// The number of instances.
    pub(crate) count: i64,
    /// The expected number of real instances.
    pub(crate) expected: f64,
    /// The sum of the total times, in nanoseconds.
    pub(crate) total_time: f64,
}

impl FamilySums {
    /// The mean duration of an instance, in nanoseconds.
    pub(crate) fn mean_duration(&self) -> f64 {
        self.total_time / self.expected
    }
}

impl<'a> PatternFamily<'a> {
    /// The families of `patterns`, in the order of the numbers of their leads.
    pub fn group_patterns(
        patterns: impl IntoIterator<Item = &'a PathPattern>,
    ) -> Vec<PatternFamily<'a>> {
        let mut in_order: Vec<&PathPattern> = patterns.into_iter().collect();
        in_order.sort_by_key(|pattern| pattern.id);
        let mut families: Vec<PatternFamily<'a>> = Vec::new();
        let mut places: FxHashMap<Vec<HopKey<'a>>, usize> = FxHashMap::default();
        for pattern in in_order {
            let place = *places.entry(family_signature(pattern)).or_insert(families.len());
            match families.get_mut(place) {
                Some(family) => family.alike.push(pattern),
                None => families.push(PatternFamily { lead: pattern, alike: Vec::new() }),
            }
        }
        families
    }

    /// All patterns of the family, the lead first.
    pub fn patterns(&self) -> impl Iterator<Item = &'a PathPattern> {
        std::iter::once(self.lead).chain(self.alike.iter().copied())
    }

    /// The sums over all patterns of the family.
    pub(crate) fn family_sums(&self) -> FamilySums {
        self.patterns().fold(FamilySums::default(), |sum, pattern| FamilySums {
            count: sum.count + pattern.count,
            expected: sum.expected + pattern.expected,
            total_time: sum.total_time + pattern.total_time,
        })
    }

    /// The order of two families by `key`.
    pub(crate) fn compare_by(&self, other: &PatternFamily<'_>, key: SortKey) -> Ordering {
        key.compare_values(&self.sort_values(), &other.sort_values())
    }

    /// The values that the family is ranked by: the sums over its patterns, and the 99th percentile
    /// of the lead, as percentiles of several patterns cannot be added up.
    fn sort_values(&self) -> SortValues {
        let together = self.family_sums();
        SortValues {
            count: together.count as f64,
            expected: together.expected,
            total_time: together.total_time,
            mean: together.mean_duration(),
            p99: self.lead.duration.p99,
        }
    }
}

/// The key of a hop: sender, receiver, both ports, protocol and operation. Hops with equal keys are
/// the same.
type HopKey<'a> = (&'a str, &'a str, &'a str, &'a str, TransportProtocol, Option<&'a str>);

fn hop_key(hop: &Hop) -> HopKey<'_> {
    let operation = hop.operation.as_deref();
    (&hop.src, &hop.dst, &hop.src_port, &hop.dst_port, hop.protocol, operation)
}

/// The key of a family: the first hop of the pattern, and its distinct hops in a fixed order.
fn family_signature(pattern: &PathPattern) -> Vec<HopKey<'_>> {
    let mut hops: Vec<HopKey<'_>> = pattern.hops.iter().map(hop_key).collect();
    let root = hops.first().cloned();
    hops.sort_unstable();
    hops.dedup();
    root.into_iter().chain(hops).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_reports;

    /// The sample pattern with `times` calls of redis, and with the given id and total time.
    fn looped(id: i64, times: usize, total_time: f64) -> PathPattern {
        let mut pattern = sample_reports::cached_pattern();
        let (call, answer) = (pattern.hops[2].clone(), pattern.hops[3].clone());
        for _ in 1..times {
            pattern.hops.splice(4..4, [call.clone(), answer.clone()]);
        }
        (pattern.id, pattern.total_time) = (id, total_time);
        (pattern.count, pattern.expected) = (10, 5.0);
        pattern
    }

    #[test]
    fn loops_with_different_counts_are_one_family() {
        let patterns = [
            looped(3, 4, 10.0),
            looped(0, 1, 90.0),
            sample_reports::forked_pattern(),
            looped(2, 2, 20.0),
        ];
        let families = PatternFamily::group_patterns(&patterns);
        let ids: Vec<Vec<i64>> = families
            .iter()
            .map(|family| family.patterns().map(|pattern| pattern.id).collect())
            .collect();
        assert_eq!(ids, [vec![0, 2, 3], vec![1]]);
        let together = families[0].family_sums();
        assert_eq!(together, FamilySums { count: 30, expected: 15.0, total_time: 120.0 });
        assert_eq!(together.mean_duration(), 8.0);
    }

    #[test]
    fn a_different_order_is_the_same_family_and_a_different_server_is_not() {
        let mut swapped = sample_reports::forked_pattern();
        swapped.id = 7;
        swapped.hops.swap(1, 3);
        swapped.hops.swap(2, 4);
        let mut other = sample_reports::forked_pattern();
        other.id = 8;
        other.hops[6].dst_port = "515".to_owned();
        assert_eq!(
            PatternFamily::group_patterns(&[sample_reports::forked_pattern(), swapped, other])
                .len(),
            2
        );
    }

    #[test]
    fn a_different_operation_is_another_family() {
        let mut orders = sample_reports::cached_pattern();
        orders.id = 9;
        orders.hops[0].operation = Some("POST /orders".to_owned());
        assert_eq!(
            PatternFamily::group_patterns(&[sample_reports::cached_pattern(), orders]).len(),
            2
        );
    }

    #[test]
    fn a_path_that_begins_elsewhere_is_another_family() {
        let mut torn = sample_reports::cached_pattern();
        torn.id = 9;
        torn.hops.rotate_left(1);
        assert_eq!(
            PatternFamily::group_patterns(&[sample_reports::cached_pattern(), torn]).len(),
            2
        );
    }

    #[test]
    fn families_are_ranked_by_their_sums() {
        let mut lone = sample_reports::forked_pattern();
        (lone.id, lone.total_time, lone.expected, lone.count) = (1, 100.0, 20.0, 20);
        let patterns = [looped(0, 1, 101.0), lone, looped(2, 2, 50.0), looped(3, 3, 60.0)];
        let families = PatternFamily::group_patterns(&patterns);
        assert_eq!(families[0].compare_by(&families[1], SortKey::Total), Ordering::Less);
        assert_eq!(families[0].compare_by(&families[1], SortKey::Expected), Ordering::Greater);
    }
}
