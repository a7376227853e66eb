//! Contributions to a change of the mean or of a quantile, with names. The contributions add up to
//! the change.

use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::analysis::{CategoryStats, HopKind};
use crate::comparison::Comparison;
use crate::shares::{ChangeShares, shares_of_mean, shares_of_quantile};
use crate::wording::operation_text;

/// A part of a change.
#[derive(Clone, Debug, Serialize)]
pub struct ChangeContribution {
    /// `hop`: a hop has changed times; `paths`: requests of one kind take other paths; `mix`: the
    /// number of requests of one kind changed.
    pub kind: &'static str,
    /// Subject of the part, in words.
    pub what: String,
    /// Size of the part in nanoseconds.
    pub ns: f64,
}

/// A change and its parts.
#[derive(Clone, Debug, Serialize)]
pub struct ChangeBreakdown {
    /// The whole change in nanoseconds.
    pub total_ns: f64,
    /// Parts of the change, the greatest first.
    pub parts: Vec<ChangeContribution>,
}

impl ChangeBreakdown {
    /// The parts of the change of the mean.
    pub(super) fn from_mean(comparison: &Comparison) -> ChangeBreakdown {
        ChangeBreakdown::from_shares(
            comparison,
            &shares_of_mean(&comparison.categories, &comparison.kinds),
            true,
        )
    }

    /// The parts of the change of a quantile from `values[0]` to `values[1]`.
    pub(super) fn from_quantile(comparison: &Comparison, values: [f64; 2]) -> ChangeBreakdown {
        let shares = shares_of_quantile(&comparison.categories, &comparison.kinds, values);
        ChangeBreakdown::from_shares(comparison, &shares, false)
    }

    fn from_shares(
        comparison: &Comparison,
        shares: &ChangeShares,
        is_mean: bool,
    ) -> ChangeBreakdown {
        let names = &comparison.names;
        let mut sums: FxHashMap<(&'static str, String), f64> = FxHashMap::default();
        for (category, share) in comparison.categories.iter().zip(&shares.slower) {
            for (what, part) in contributions_by_hop(comparison, category, *share, is_mean) {
                *sums.entry(("hop", what)).or_default() += part;
            }
        }
        for kind in &comparison.kinds {
            let what = operation_text(names, kind.names[1], kind.names[2]);
            let paths = kind.categories.iter().filter_map(|number| shares.paths.get(*number));
            *sums.entry(("paths", what)).or_default() += paths.sum::<f64>();
        }
        for (kind, share) in comparison.kinds.iter().zip(&shares.mix) {
            let what = operation_text(names, kind.names[1], kind.names[2]);
            *sums.entry(("mix", what)).or_default() += share;
        }
        let mut parts: Vec<ChangeContribution> = sums
            .into_iter()
            .filter(|(_, ns)| *ns != 0.0)
            .map(|((kind, what), ns)| ChangeContribution { kind, what, ns })
            .collect();
        parts.sort_by(|one, other| {
            let by_name = || (one.kind, &one.what).cmp(&(other.kind, &other.what));
            other.ns.abs().total_cmp(&one.ns.abs()).then_with(by_name)
        });
        ChangeBreakdown { total_ns: shares.total, parts }
    }
}

/// The contribution of a category with changed response times, divided among its hops in proportion
/// to the changes of their means. A hop that changed the other way has the other sign.
fn contributions_by_hop(
    comparison: &Comparison,
    category: &CategoryStats,
    share: f64,
    is_mean: bool,
) -> Vec<(String, f64)> {
    if share == 0.0 {
        return Vec::new();
    }
    let names = &comparison.names;
    let whole: f64 = category.hops.iter().map(|hop| hop.change()).sum();
    let sizes: f64 = category.hops.iter().map(|hop| hop.change().abs()).sum();
    // A quantile is moved by some of the requests only. If the changes of hops cancel each other,
    // or have another sign than the contribution, the means of hops do not describe these requests.
    if !is_mean && (whole * share <= 0.0 || whole.abs() < 0.5 * sizes) || whole == 0.0 {
        let [_, node, root] = category.structure.request_kind();
        return vec![(format!("{} in several hops", operation_text(names, node, root)), share)];
    }
    let places = &category.structure.places;
    let one = |hop: &crate::analysis::CategoryHop| {
        let place = places.get(hop.place as usize)?;
        let what = operation_text(names, place.symbol.node, place.symbol.operation);
        let above = place.parent.and_then(|parent| places.get(parent as usize));
        let caller = above.map_or(category.structure.caller, |above| above.symbol.node);
        let what = match hop.kind {
            HopKind::Own => format!("{what} itself"),
            HopKind::Network => format!("{} to {what} and back", names.name_of(caller)),
        };
        Some((what, share * hop.change() / whole))
    };
    category.hops.iter().filter_map(one).collect()
}
