//! Pooled evidence: all operations of a node, or of an edge, together. If each operation is called
//! few times, only all of them together distinguish a change from chance. Each time is relative to
//! the median of its call site, so that another mix of operations is no change.

use std::collections::BTreeMap;

use request_flow::{NameId, NameInterner};

use super::evidence::{EvidenceKind, SiteEvidence};
use crate::sites::{CallSite, SiteHistogram, SiteKey};

/// Subject of a pool: the node or edge whose call sites it contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PoolKey {
    Node(NameId),
    Edge([NameId; 2]),
}

/// Times of one call site, or of several.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SiteTimes {
    /// Number of executions in both periods.
    pub(super) executions: [f64; 2],
    /// Mean times in nanoseconds.
    pub(super) values: [f64; 2],
    /// Sum of both periods' times on the critical path, in nanoseconds.
    pub(super) critical: f64,
    /// Sum of both periods' times, in nanoseconds.
    pub(super) total: f64,
}

impl SiteTimes {
    /// The times in `histogram`: the own times of `site` if `number` is 0, the transfer times of
    /// `site` if it is 1.
    pub(super) fn from_site(
        site: &CallSite,
        number: usize,
        histogram: &SiteHistogram,
    ) -> SiteTimes {
        let executions = [0, 1].map(|side| histogram.weight(side));
        let values = [0, 1].map(|side| histogram.mean(side));
        SiteTimes {
            executions,
            values,
            critical: site.critical.iter().filter_map(|sums| sums.get(number)).sum(),
            total: (0..2).map(|side| executions[side] * values[side]).sum(),
        }
    }
}

/// Several call sites that are tested together.
#[derive(Debug, Default)]
pub(super) struct SitePool {
    /// Times relative to the medians of their call sites.
    pub(super) relative: SiteHistogram,
    /// Sums over the sites. The values of a site are weighted by its executions at the midpoint of
    /// both periods.
    sums: SiteTimes,
    /// Sum of the weights: the executions of each site at the midpoint of both periods.
    middle: f64,
    /// Number of sites.
    sites: usize,
}

impl SitePool {
    fn add_site(&mut self, times: &SiteTimes, histogram: &SiteHistogram) {
        self.relative.merge_relative(histogram);
        let middle = f64::midpoint(times.executions[0], times.executions[1]);
        for side in 0..2 {
            self.sums.executions[side] += times.executions[side];
            self.sums.values[side] += middle * times.values[side];
        }
        self.sums.critical += times.critical;
        self.sums.total += times.total;
        self.middle += middle;
        self.sites += 1;
    }

    /// The times of all sites together.
    pub(super) fn pooled_times(&self) -> SiteTimes {
        let middle = self.middle.max(f64::MIN_POSITIVE);
        SiteTimes { values: self.sums.values.map(|sum| sum / middle), ..self.sums }
    }
}

/// The pools of call sites: the representative site of each, the kind of its times, and the pool. A
/// single call site needs no pool.
pub(super) fn build_pools(
    sites: &[(SiteKey, &CallSite)],
) -> Vec<(SiteKey, EvidenceKind, SitePool)> {
    let mut pools: BTreeMap<PoolKey, SitePool> = BTreeMap::new();
    for (key, site) in sites {
        let edge = key.is_between_nodes().then_some(PoolKey::Edge([key.caller, key.node]));
        let both = [(Some(PoolKey::Node(key.node)), &site.own), (edge, &site.network)];
        for (number, (pool, histogram)) in both.into_iter().enumerate() {
            let is_in_both = histogram.count(0) > 0 && histogram.count(1) > 0;
            if let Some(pool) = pool.filter(|_| is_in_both) {
                let times = SiteTimes::from_site(site, number, histogram);
                pools.entry(pool).or_default().add_site(&times, histogram);
            }
        }
    }
    let several = pools.into_iter().filter(|(_, pooled)| pooled.sites > 1);
    several
        .map(|(pool, pooled)| {
            let unknown = NameInterner::UNKNOWN;
            let (caller, node, kind) = match pool {
                PoolKey::Node(node) => (unknown, node, EvidenceKind::Own),
                PoolKey::Edge([caller, node]) => (caller, node, EvidenceKind::Network),
            };
            (SiteKey { caller, calling: unknown, node, operation: unknown }, kind, pooled)
        })
        .collect()
}

/// Drops pooled evidence of a node or edge that has evidence at single call sites. If only the
/// pooled evidence is sure, unsure evidence at single call sites is dropped instead.
pub fn drop_redundant(evidence: &mut Vec<SiteEvidence>) {
    let pool = |of: &SiteEvidence| match of.kind {
        EvidenceKind::Own => Some(PoolKey::Node(of.site.node)),
        EvidenceKind::Network => Some(PoolKey::Edge([of.site.caller, of.site.node])),
        EvidenceKind::Calls(_) | EvidenceKind::Failures => None,
    };
    let pools = |is_pooled: bool, is_sure: bool| -> Vec<PoolKey> {
        let is_matching = |of: &&SiteEvidence| of.is_pooled == is_pooled && of.is_sure >= is_sure;
        evidence.iter().filter(is_matching).filter_map(pool).collect()
    };
    let (sure, any, pooled) = (pools(false, true), pools(false, false), pools(true, true));
    evidence.retain(|of| {
        let Some(pool) = pool(of) else { return true };
        match of.is_pooled {
            true => !if of.is_sure { &sure } else { &any }.contains(&pool),
            false => of.is_sure || sure.contains(&pool) || !pooled.contains(&pool),
        }
    });
}
