//! Kinds of requests: the same caller and the same operation at the root. Categories of one kind
//! are different ways to serve it (Spectroscope, 4.2.2, uses kinds to prune originators).

use request_flow::NameId;
use rustc_hash::FxHashMap;

use crate::analysis::CategoryStats;
use crate::tuning::WINDOWS;

/// A kind of requests in both periods.
#[derive(Clone, Debug, Default)]
pub struct RequestKind {
    /// Caller, and node and operation of the root.
    pub names: [NameId; 3],
    /// Indices of the kind's categories.
    pub categories: Vec<usize>,
    /// Number of requests in each period.
    pub counts: [f64; 2],
    /// Number of the kind's requests in each window of both periods.
    pub windows: [[f64; WINDOWS]; 2],
}

/// All kinds, in the order of their first categories.
pub fn group_by_kind(categories: &[CategoryStats]) -> Vec<RequestKind> {
    let mut numbers: FxHashMap<[NameId; 3], usize> = FxHashMap::default();
    let mut kinds: Vec<RequestKind> = Vec::new();
    for (place, category) in categories.iter().enumerate() {
        let names = category.structure.request_kind();
        let number = *numbers.entry(names).or_insert(kinds.len());
        if number == kinds.len() {
            kinds.push(RequestKind { names, ..RequestKind::default() });
        }
        let kind = &mut kinds[number];
        kind.categories.push(place);
        for side in 0..2 {
            kind.counts[side] += category.counts[side];
            let windows = kind.windows[side].iter_mut().zip(&category.windows[side]);
            windows.for_each(|(sum, count)| *sum += count);
        }
    }
    kinds
}
