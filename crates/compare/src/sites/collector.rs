//! Collector of call sites: adds each step of a request to the statistics of its call site.

use request_flow::{NameId, NameInterner, Request, StepResource};

use super::call_pattern::CallPattern;
use super::call_site::{CallSites, SiteKey};
use crate::critical_path::StepShare;
use crate::exclusive_times::ExclusiveTimes;
use crate::period::PeriodSide;

/// Collector of the call sites of requests that share one numbering of names.
#[derive(Debug, Default)]
pub struct SiteCollector {
    /// The collected sites.
    pub sites: CallSites,
    times: ExclusiveTimes,
    /// Calls of each step, as the step and the called operation.
    calls: Vec<(u32, [NameId; 2])>,
    /// For each step, whether any of its calls failed.
    failed_below: Vec<bool>,
    pattern: Vec<[NameId; 2]>,
}

impl SiteCollector {
    /// Adds a request in a window of a period, with the shares of its steps in its response time.
    pub fn add_request(
        &mut self,
        request: &Request,
        side: PeriodSide,
        window: usize,
        shares: &[StepShare],
    ) {
        let SiteCollector { sites, times, calls, failed_below, pattern } = self;
        let steps = &request.steps;
        calls.clear();
        failed_below.clear();
        failed_below.resize(steps.len(), false);
        for (place, step) in (0_u32..).zip(steps) {
            if let Some(parent) = step.parent.filter(|parent| *parent < place) {
                calls.push((parent, [step.node, step.operation]));
                failed_below[parent as usize] |= step.failed;
            }
        }
        calls.sort_unstable();
        let mut next = 0;
        let weight = request.probability;
        let all = steps.iter().zip(times.times_of_request(request)).zip(0_u32..);
        for ((step, (own, network)), place) in all {
            let above = step.parent.and_then(|parent| steps.get(parent as usize));
            let key = SiteKey {
                caller: above.map_or(request.caller, |above| above.node),
                calling: above.map_or(NameInterner::UNKNOWN, |above| above.operation),
                node: step.node,
                operation: step.operation,
            };
            let site = sites.entry(key).or_default();
            site.all.add(side, window, weight);
            if let Some(own) = own {
                site.own.add_time(side, window, *own, weight);
            }
            if step.waits.is_some() {
                let (known, sums) = &mut site.resources[side as usize];
                *known += weight;
                for (sum, resource) in sums.iter_mut().zip(StepResource::ALL) {
                    *sum += weight * resource.time_in_step(step).unwrap_or(0) as f64;
                }
            }
            if let Some(network) = network {
                site.network.add_time(side, window, *network, weight);
            }
            if let Some(share) = shares.get(place as usize) {
                let critical = &mut site.critical[side as usize];
                critical[0] += weight * share.own as f64;
                critical[1] += weight * share.network as f64;
            }
            pattern.clear();
            while let Some((parent, call)) = calls.get(next).filter(|call| call.0 <= place) {
                if *parent == place {
                    pattern.push(*call);
                }
                next += 1;
            }
            // The failure of a call explains everything that follows it.
            if !failed_below[place as usize] {
                site.executions.add(side, window, weight);
                if step.failed {
                    site.failures.add(side, window, weight);
                }
                let counts = site.pattern_weights_mut(CallPattern::from_calls(pattern));
                counts.into_iter().for_each(|counts| counts.add(side, window, weight));
            }
        }
    }

    /// Adds the sites of another collector; `number` maps its names.
    pub fn merge_sites(&mut self, other: CallSites, number: impl Fn(NameId) -> NameId) {
        for (key, site) in other {
            let key = SiteKey {
                caller: number(key.caller),
                calling: number(key.calling),
                node: number(key.node),
                operation: number(key.operation),
            };
            self.sites.entry(key).or_default().merge(site, &number);
        }
    }
}
