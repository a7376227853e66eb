//! Operations on the page: how often each was called, how many of its calls failed, and both
//! numbers over time. Calls are counted by slice of time, and empty slices are left out.

use analyze::paths::{PathPattern, TimedInstance};
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::names::PageNames;
use super::number::ShortNumber;
use super::series::TimeSlices;
use crate::operations::{CallCounts, OperationCounts, PatternOperation, named_calls};
use crate::tuning::{MAX_HOPS, MAX_PAGE_OPERATIONS};

/// A call of a pattern with an operation on the page.
#[derive(Clone, Copy, Debug)]
struct PlacedCall {
    /// The row of the operation.
    row: u32,
    /// The hop of the request.
    request: u32,
    /// The hop of the response.
    response: Option<u32>,
}

/// The operations of a page, while instances are added.
#[derive(Debug)]
pub(super) struct PageOperations<'a> {
    slices: TimeSlices,
    rows: Vec<(PatternOperation<'a>, CallCounts)>,
    /// Number of operations that do not fit into the page.
    omitted: usize,
    /// The calls of each pattern, by rank.
    places: Vec<Vec<PlacedCall>>,
    /// The non-empty slices of each row.
    series: Vec<Vec<(u16, CallCounts)>>,
}

/// The operations, one list for each column.
#[derive(Debug, Serialize)]
pub(super) struct OperationColumns {
    /// Length of a slice, in nanoseconds.
    step: i64,
    omitted: usize,
    /// The operation, as the number of a name.
    name: Vec<u32>,
    /// The node that receives the request, as the number of a name.
    node: Vec<u32>,
    root: Vec<bool>,
    calls: Vec<ShortNumber>,
    answered: Vec<ShortNumber>,
    errors: Vec<ShortNumber>,
    /// For each row, a flat list with four numbers for each non-empty slice: its number, calls,
    /// answered calls, and failed calls.
    series: Vec<Vec<ShortNumber>>,
}

impl<'a> PageOperations<'a> {
    /// The operations of the `ranked` patterns.
    pub(super) fn from_operations(
        operations: &OperationCounts<'a>,
        ranked: &[&'a PathPattern],
        slices: TimeSlices,
    ) -> PageOperations<'a> {
        let rows: Vec<_> = operations.rows.iter().take(MAX_PAGE_OPERATIONS).copied().collect();
        let omitted = operations.rows.len() - rows.len();
        let numbers: FxHashMap<PatternOperation<'a>, u32> =
            rows.iter().map(|(operation, _)| *operation).zip(0..).collect();
        let places = |pattern: &&'a PathPattern| {
            let calls = named_calls(pattern).into_iter().filter(|call| call.request < MAX_HOPS);
            let place = |call: crate::operations::NamedCall<'a>| {
                Some(PlacedCall {
                    row: *numbers.get(&call.operation)?,
                    request: call.request as u32,
                    response: call.response.map(|hop| hop as u32),
                })
            };
            calls.filter_map(place).collect()
        };
        PageOperations {
            slices,
            omitted,
            places: ranked.iter().map(places).collect(),
            series: vec![Vec::new(); rows.len()],
            rows,
        }
    }

    /// Adds an instance of the pattern of that rank. A call without a time counts at the beginning
    /// of the instance or, if that is unknown, at `begin`.
    pub(super) fn add_instance(&mut self, rank: usize, instance: &TimedInstance<'_>, begin: i64) {
        let probability = instance.which.probability;
        for place in self.places.get(rank).into_iter().flatten() {
            let hop = |hop: u32| instance.hops.get(hop as usize);
            let Some(request) = hop(place.request) else { continue };
            let at = request.sent.or(request.received).or_else(|| instance.begin_time());
            let is_error = place.response.and_then(hop).and_then(|hop| hop.is_error);
            let as_one = |is: bool| if is { probability } else { 0.0 };
            let call = CallCounts {
                calls: probability,
                answered: as_one(is_error.is_some()),
                errors: as_one(is_error == Some(true)),
            };
            let slice = self.slices.slice_at(at.unwrap_or(begin)) as u16;
            let Some(series) = self.series.get_mut(place.row as usize) else { continue };
            match series.binary_search_by_key(&slice, |(slice, _)| *slice) {
                Ok(place) => series[place].1.add(call),
                Err(place) => series.insert(place, (slice, call)),
            }
        }
    }

    /// The columns; `None` if no pattern has a known operation.
    pub(super) fn into_columns(self, names: &mut PageNames) -> Option<OperationColumns> {
        if self.rows.is_empty() {
            return None;
        }
        let calls = |of: fn(&CallCounts) -> f64| {
            self.rows
                .iter()
                .map(|(_, calls)| ShortNumber::from_value(of(calls)))
                .collect::<Vec<_>>()
        };
        let flat = |series: &Vec<(u16, CallCounts)>| {
            let row = |(slice, of): &(u16, CallCounts)| {
                [f64::from(*slice), of.calls, of.answered, of.errors].map(ShortNumber::from_value)
            };
            series.iter().flat_map(row).collect()
        };
        Some(OperationColumns {
            step: self.slices.slice_length(),
            omitted: self.omitted,
            name: self.rows.iter().map(|(of, _)| names.intern(of.name)).collect(),
            node: self.rows.iter().map(|(of, _)| names.intern(of.node)).collect(),
            root: self.rows.iter().map(|(of, _)| of.is_root).collect(),
            calls: calls(|calls| calls.calls),
            answered: calls(|calls| calls.answered),
            errors: calls(|calls| calls.errors),
            series: self.series.iter().map(flat).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use analyze::paths::{InstanceRow, TimedHop};

    use super::*;
    use crate::sample_reports;

    /// An instance of a chain of six messages that is sent at `at`; `ends` are the outcomes of the
    /// calls of redis and of nginx.
    fn add(operations: &mut PageOperations<'_>, rank: usize, at: i64, ends: [Option<bool>; 2]) {
        let hop = |index: u32| TimedHop {
            parent: index.checked_sub(1),
            depth: index,
            message: i64::from(index),
            sent: (index > 0).then_some(at + i64::from(index)),
            received: Some(at + i64::from(index)),
            bytes: 0,
            connecting: 0,
            is_error: match index {
                3 => ends[0],
                5 => ends[1],
                _ => None,
            },
        };
        let hops: Vec<TimedHop> = (0..6).map(hop).collect();
        let which = InstanceRow { path: 0, pattern: 0, probability: 0.5 };
        operations.add_instance(rank, &TimedInstance { which, hops: &hops }, 0);
    }

    #[test]
    fn calls_and_errors_are_counted_by_slice() {
        let patterns = sample_reports::patterns_with_operations();
        let all = OperationCounts::from_patterns(&patterns);
        let ranked: Vec<&PathPattern> = patterns.iter().collect();
        let mut operations =
            PageOperations::from_operations(&all, &ranked, TimeSlices::new(0, 599, 60));
        add(&mut operations, 0, 100, [Some(true), Some(true)]);
        add(&mut operations, 0, 102, [None, Some(false)]);
        add(&mut operations, 0, 0, [Some(false), Some(false)]);
        add(&mut operations, 1, 590, [None, None]);
        let mut names = PageNames::default();
        let columns = operations.into_columns(&mut names).unwrap();
        let json = serde_json::to_value(columns).unwrap();
        assert_eq!(json["step"], 10);
        assert_eq!(json["root"], serde_json::json!([false, true, true, false]));
        assert_eq!(json["errors"], serde_json::json!([54, 51, 0, 0]));
        // For redis, by slice: the calls, the calls with known outcomes, and the failed calls.
        let redis = [[0.0, 0.5, 0.5, 0.0], [10.0, 1.0, 0.5, 0.5], [59.0, 0.5, 0.0, 0.0]];
        let cart = [[0.0, 0.5, 0.5, 0.0], [10.0, 1.0, 1.0, 0.5]];
        let flat = |rows: &[[f64; 4]]| rows.concat();
        let series = |row: usize| -> Vec<f64> {
            let numbers = json["series"][row].as_array().unwrap();
            numbers.iter().map(|number| number.as_f64().unwrap()).collect()
        };
        assert_eq!((series(0), series(1)), (flat(&redis), flat(&cart)));
    }

    #[test]
    fn operations_are_limited_and_omitted_ones_are_counted() {
        let mut patterns = Vec::new();
        for index in 0..MAX_PAGE_OPERATIONS + 7 {
            let mut pattern = sample_reports::cached_pattern();
            pattern.hops[0].operation = Some(format!("GET /page-{index}"));
            patterns.push(pattern);
        }
        let all = OperationCounts::from_patterns(&patterns);
        let ranked: Vec<&PathPattern> = patterns.iter().collect();
        let mut operations =
            PageOperations::from_operations(&all, &ranked, TimeSlices::new(0, 599, 60));
        (0..ranked.len()).for_each(|rank| add(&mut operations, rank, 7, [None, None]));
        let columns = operations.into_columns(&mut PageNames::default()).unwrap();
        assert_eq!((columns.omitted, columns.series.len()), (7, MAX_PAGE_OPERATIONS));
        assert!(columns.series.iter().all(|series| series.len() == 4));
    }

    #[test]
    fn without_operations_there_are_no_columns() {
        let patterns = sample_reports::small_system();
        let ranked: Vec<&PathPattern> = patterns.iter().collect();
        let slices = TimeSlices::new(0, 599, 60);
        let operations = PageOperations::from_operations(
            &OperationCounts::from_patterns(&patterns),
            &ranked,
            slices,
        );
        assert!(operations.into_columns(&mut PageNames::default()).is_none());
    }
}
