//! Gathering evidence: each call site is tested for its times, its calls and its failures.

use super::calls::{ln_odds_ratio, novel_halves, pattern_change};
use super::evidence::{EvidenceKind, SiteEvidence};
use super::pools::{SiteTimes, build_pools};
use request_flow::StepResource;

use crate::collect::PeriodTotals;
use crate::period_windows::{degrees_of_counts, effect_of_counts};
use crate::sites::{CallSite, CallSites, SiteKey, TimeTest};
use crate::statistics::{RatePrior, combine_p_values, rates_differ, with_estimated_variance};
use crate::tuning::FAR_OCTAVES;

/// Rates of rare events at all sites.
struct RarePriors {
    /// Windows with a very slow execution, for each of [`FAR_OCTAVES`].
    far: [RatePrior; FAR_OCTAVES.len()],
    /// Executions with a call pattern that is missing in the other half of a period.
    novelty: RatePrior,
    /// Failed executions.
    failures: RatePrior,
}

/// Tests all call sites and pools of them. All evidence is returned, changed or not. `response` is
/// the mean response time of all requests in each period, in nanoseconds.
pub fn gather_evidence(
    sites: &CallSites,
    totals: &[PeriodTotals; 2],
    response: [f64; 2],
) -> Vec<SiteEvidence> {
    let lengths = totals.map(|totals| totals.length());
    let mut keys: Vec<&SiteKey> = sites.keys().collect();
    keys.sort_unstable();
    let sites: Vec<(SiteKey, &CallSite)> =
        keys.into_iter().filter_map(|key| Some((*key, sites.get(key)?))).collect();
    let tests: Vec<[Option<TimeTest>; 2]> = sites
        .iter()
        .map(|(_, site)| [site.own.test_change(lengths), site.network.test_change(lengths)])
        .collect();
    let far = |level: usize| -> Vec<[f64; 2]> {
        tests.iter().flatten().flatten().flat_map(|test| test.far[level]).collect()
    };
    let halves = sites.iter().flat_map(|(_, site)| [novel_halves(site, 0), novel_halves(site, 1)]);
    let failures = sites.iter().flat_map(|(_, site)| {
        [0, 1].map(|side| [site.failures.period_sum(side), site.executions.period_sum(side)])
    });
    let priors = RarePriors {
        far: std::array::from_fn(|level| RatePrior::fit_prior(&far(level))),
        novelty: RatePrior::fit_prior(&halves.filter(|[_, all]| *all > 0.0).collect::<Vec<_>>()),
        failures: RatePrior::fit_prior(&failures.filter(|[_, all]| *all > 0.0).collect::<Vec<_>>()),
    };
    let scale = (response[0].max(1.0) * response[1].max(1.0)).sqrt();
    let requests = totals.map(|totals| totals.expected.max(f64::MIN_POSITIVE));
    let mut all = Vec::new();
    for (key, kind, pool) in build_pools(&sites) {
        let Some(test) = pool.relative.test_change(lengths) else { continue };
        let p_value = p_value(&test, &priors.far);
        let times = pool.pooled_times();
        let evidence = evidence_of_times(key, kind, &times, p_value, (requests, scale));
        all.push(SiteEvidence { is_pooled: true, ..evidence });
    }
    for ((key, site), tests) in sites.into_iter().zip(tests) {
        let [own, network] = tests;
        let times =
            [(EvidenceKind::Own, &site.own, own), (EvidenceKind::Network, &site.network, network)];
        for (number, (kind, histogram, test)) in times.into_iter().enumerate() {
            let Some(test) = test else { continue };
            let times = SiteTimes::from_site(site, number, histogram);
            let p_value = p_value(&test, &priors.far);
            let mut evidence = evidence_of_times(key, kind, &times, p_value, (requests, scale));
            if evidence.kind == EvidenceKind::Own {
                evidence.resource = resource_of_change(site, evidence.values);
            }
            all.push(evidence);
        }
        let executions = [0, 1].map(|side| site.executions.period_sum(side));
        // Executions per request, at the midpoint of both periods.
        let rate = f64::midpoint(executions[0] / requests[0], executions[1] / requests[1]);
        let of_share = |kind, values, weight: f64, p_value| SiteEvidence {
            site: key,
            kind,
            is_pooled: false,
            values,
            resource: None,
            executions,
            of_mean: 0.0,
            weight: rate.min(1.0) * weight,
            p_value,
            adjusted: 1.0,
            is_sure: false,
        };
        if let Some(change) = pattern_change(site, &priors.novelty) {
            let kind = EvidenceKind::Calls(change.calls);
            all.push(of_share(kind, change.shares, change.weight, change.p_value));
        }
        let failures = [0, 1].map(|side| site.failures.period_sum(side));
        if failures.iter().any(|count| *count > 0.0) && executions.iter().all(|count| *count > 0.0)
        {
            let values = [0, 1].map(|side| failures[side] / executions[side]);
            let weight = (values[1] - values[0]).abs() * ln_odds_ratio(failures, executions).abs();
            let effect = [0, 1]
                .map(|side| effect_of_counts(&site.failures.0[side], &site.executions.0[side]));
            let effect = effect[0].max(effect[1]);
            let periods = [0, 1].map(|side| [failures[side] / effect, executions[side] / effect]);
            let degrees = degrees_of_counts(&site.executions.0);
            let differ =
                with_estimated_variance(rates_differ(failures, executions, effect), degrees);
            let p_value =
                combine_p_values([(differ, 0.5), (priors.failures.p_value(periods), 0.5)]);
            all.push(of_share(EvidenceKind::Failures, values, weight, p_value));
        }
    }
    all
}

/// The resource whose mean changed most in the direction in which the own time changed, with its
/// means in both periods; `None` if resources are not known in both periods.
fn resource_of_change(site: &CallSite, own: [f64; 2]) -> Option<(StepResource, [f64; 2])> {
    let [before, after] = site.resources;
    if before.0 <= 0.0 || after.0 <= 0.0 {
        return None;
    }
    let sign = (own[1] - own[0]).signum();
    let means =
        before.1.iter().zip(after.1).map(|(sum, after_sum)| [sum / before.0, after_sum / after.0]);
    let change = |of: &[f64; 2]| sign * (of[1] - of[0]);
    let most = StepResource::ALL
        .into_iter()
        .zip(means)
        .max_by(|a, b| change(&a.1).total_cmp(&change(&b.1)));
    most.filter(|(_, of)| change(of) > 0.0)
}

/// The probability of times that differ at least as much as a test found, if nothing changed. The
/// parts of the test detect different changes: of the distribution, of the mean, and of a few very
/// slow executions.
fn p_value(test: &TimeTest, far: &[RatePrior; FAR_OCTAVES.len()]) -> f64 {
    let levels = far.iter().zip(test.far).map(|(prior, periods)| prior.p_value(periods));
    let third = 1.0 / 3.0;
    let levels = levels.map(|level| (level, third / FAR_OCTAVES.len() as f64));
    combine_p_values(levels.chain([(test.p_value, third), (test.shift, third)]))
}

/// Evidence that the times of a call site changed.
fn evidence_of_times(
    site: SiteKey,
    kind: EvidenceKind,
    times: &SiteTimes,
    p_value: f64,
    (requests, scale): ([f64; 2], f64),
) -> SiteEvidence {
    let SiteTimes { executions, values, .. } = *times;
    let share =
        if times.total > 0.0 { (times.critical / times.total).clamp(0.0, 1.0) } else { 0.0 };
    let rate = f64::midpoint(executions[0] / requests[0], executions[1] / requests[1]);
    let of_mean = rate * share * (values[1] - values[0]);
    let mut evidence = SiteEvidence {
        site,
        kind,
        is_pooled: false,
        values,
        resource: None,
        executions,
        of_mean,
        weight: 0.0,
        p_value,
        adjusted: 1.0,
        is_sure: false,
    };
    evidence.weight = of_mean.abs() / scale * evidence.ln_ratio().abs();
    evidence
}
