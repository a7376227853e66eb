//! Groups of clocks that messages connect, with the exchanges of their hosts.

use crate::assemble;
use crate::facts::HostFacts;
use crate::hints::exchanges::ClockHints;
use crate::lines::solve;
use crate::model::{ClockModel, HostClock};
use crate::pairs::pair;
use crate::samples::{ClockSample, ClockSamples};

/// The clocks as estimated from messages, and the exchanges: the input of `join` and `check`.
pub(crate) struct ClockGroups<'a> {
    pub(crate) hosts: &'a [HostFacts],
    /// The clock of each host.
    pub(crate) clock_of: &'a [usize],
    /// The clock that each clock is compared with.
    pub(crate) root_of: &'a [usize],
    /// Number of the common clock.
    pub(crate) reference: usize,
    pub(crate) hints: &'a ClockHints,
}

impl ClockGroups<'_> {
    /// Returns the clock that the group of a host is compared with.
    pub(crate) fn group_root(&self, host: usize) -> Option<usize> {
        self.clock_of.get(host).and_then(|clock| self.root_of.get(*clock)).copied()
    }

    /// Returns whether the host's clock is the one that the clocks of its group are compared with.
    pub(crate) fn is_root(&self, host: usize) -> bool {
        self.clock_of.get(host).copied() == self.group_root(host)
    }

    /// Returns the number of exchanges of a host.
    pub(crate) fn exchange_count(&self, host: usize) -> u64 {
        self.hints.of_host.get(host).map_or(0, |hinted| hinted.exchanges)
    }

    /// Returns half of the least round trip of any of `hosts`, in nanoseconds: no exchange is more
    /// precise.
    pub(crate) fn min_half_trip(&self, hosts: &[usize]) -> i64 {
        let hinted = hosts.iter().filter_map(|host| self.hints.of_host.get(*host));
        let trips = hinted.filter(|hinted| hinted.exchanges > 0).map(|hinted| hinted.round_trip_ns);
        trips.min().map_or(0, |trip| trip - trip / 2)
    }

    /// Returns the uncertainty of a host's time on its group's common clock, in nanoseconds.
    pub(crate) fn host_uncertainty(&self, clocks: &ClockModel, host: usize) -> Option<i64> {
        if self.is_root(host) { Some(0) } else { clocks.hosts.get(host)?.uncertainty_ns }
    }

    /// Returns the times of the first and the last event of a host, in nanoseconds on the common
    /// clock of its group.
    pub(crate) fn host_span(&self, clocks: &ClockModel, host: usize) -> Option<[i64; 2]> {
        let facts = self.hosts.get(host).filter(|facts| (facts.first, facts.last) != (0, 0))?;
        let [first, last] =
            [facts.first, facts.last.max(facts.first)].map(|time| clocks.common_time(host, time));
        Some([first, last.max(first)])
    }

    /// Returns the times of a host's first and last exchange, in nanoseconds on the common clock of
    /// its group.
    pub(crate) fn hinted_span(&self, clocks: &ClockModel, host: usize) -> Option<[i64; 2]> {
        let pairs = self.hints.samples.pair_minima();
        let of_host = pairs.iter().filter(|pair| pair.from.min(pair.to) as usize == host);
        let times = of_host.flat_map(|pair| {
            let is_question = pair.from < pair.to;
            pair.points
                .iter()
                .map(move |point| if is_question { point.sent } else { point.received })
        });
        let times = times.map(|time| clocks.common_time(host, time));
        times.map(|time| [time; 2]).reduce(|[a, b], [c, d]| [a.min(c), b.max(d)])
    }

    /// Returns the exchanges as messages between the collector, number 0, and nodes from 1 on:
    /// `node` returns the node of a host, and the uncertainty of its time on the common clock of
    /// its group. A node without exchanges has no messages.
    pub(crate) fn star_samples(
        &self,
        clocks: &ClockModel,
        nodes: usize,
        node: impl Fn(usize) -> Option<(usize, i64)>,
    ) -> ClockSamples {
        let mut star = ClockSamples::new(nodes + 1);
        for pair in self.hints.samples.pair_minima() {
            let is_question = pair.from < pair.to;
            let host = if is_question { pair.from } else { pair.to } as usize;
            let Some((node, off)) = node(host) else { continue };
            for ClockSample { sent, received } in &pair.points {
                // The message is treated as if it had taken longer by the uncertainty.
                if is_question {
                    star.add_message(
                        node as u32,
                        0,
                        clocks.common_time(host, *sent).saturating_sub(off),
                        *received,
                    );
                } else {
                    star.add_message(
                        0,
                        node as u32,
                        *sent,
                        clocks.common_time(host, *received).saturating_add(off),
                    );
                }
            }
        }
        star
    }
}

/// Solves a star of nodes around the collector: each node's clock against the clock of `root`, with
/// uncertainties for the times `spans`.
pub(crate) fn solve_star(
    star: &ClockSamples,
    root: usize,
    spans: &[Option<[i64; 2]>],
) -> Vec<Option<HostClock>> {
    let nodes: Vec<usize> = (0..spans.len()).collect();
    let pairs = pair::clock_pairs(&star.pair_minima(), &nodes, |_, time| Some(time));
    let solved = solve::solve_clocks(&pairs, nodes.len(), Some(root), spans);
    let clocks = solved.clocks.iter().enumerate();
    clocks
        .map(|(node, line)| line.as_ref().map(|line| assemble::with_inferred_steps(line, node)))
        .collect()
}
