//! What hosts and the collector showed each other, for its use beside the messages (`join`,
//! `check`).
//!
//! The collector's clock is one more in the graph of clocks, of a host without a log, and each
//! exchange is two messages: the host's question and the collector's answer. But messages between
//! hosts are better evidence, as an exchange may wait behind the data that is being shipped. So the
//! clocks are estimated by messages first, as if there were no exchanges; what they connect is a
//! group with one common time. Exchanges only tell how the times of groups differ, and whether they
//! agree with the messages.

use super::model::{Clocks, Hinted, HostClock};
use super::samples::{Sample, Samples};
use super::{HostFacts, assemble, check, join, link, solve};

/// The exchanges of all hosts, in bounded memory however many were added.
#[derive(Clone, Debug, Default)]
pub struct Hints {
    hosts: usize,
    /// The collector has the number behind the last host's.
    samples: Samples,
    /// Of each host; what there is to say of agreement is not known yet.
    of_host: Vec<Hinted>,
}

impl Hints {
    /// None yet, of hosts with the numbers below `hosts`.
    pub fn new(hosts: usize) -> Hints {
        Hints { hosts, samples: Samples::new(hosts + 1), of_host: vec![Hinted::default(); hosts] }
    }

    /// Adds an exchange of the host number `host`: when it sent, when the collector received and
    /// sent, and when it received. What cannot be, as the round trip would be less than nothing, is
    /// counted as damaged.
    pub fn add(&mut self, host: u32, [sent, received, answered, back]: [i64; 4]) {
        let Some(of_host) = self.of_host.get_mut(host as usize) else { return };
        let round_trip = (|| {
            let waited = answered.checked_sub(received).filter(|waited| *waited >= 0)?;
            back.checked_sub(sent)?.checked_sub(waited).filter(|trip| *trip >= 0)
        })();
        let Some(round_trip) = round_trip else {
            of_host.damaged += 1;
            return;
        };
        let is_less = of_host.exchanges == 0 || round_trip < of_host.round_trip_ns;
        of_host.round_trip_ns = if is_less { round_trip } else { of_host.round_trip_ns };
        of_host.exchanges += 1;
        let collector = self.hosts as u32;
        self.samples.add(host, collector, sent, received);
        self.samples.add(collector, host, answered, back);
    }

    /// Counts lines of a host that are no exchange.
    pub fn damaged(&mut self, host: u32, lines: u64) {
        self.of_host
            .get_mut(host as usize)
            .into_iter()
            .for_each(|of_host| of_host.damaged += lines);
    }

    /// Counts an exchange that is not to be used.
    pub fn left_out(&mut self, host: u32) {
        self.of_host.get_mut(host as usize).into_iter().for_each(|of_host| of_host.left_out += 1);
    }

    /// Adds what `other` holds. The order in which hints are merged makes no difference.
    pub fn merge(&mut self, other: Hints) {
        self.samples.merge(other.samples);
        for (mine, theirs) in self.of_host.iter_mut().zip(other.of_host) {
            let is_less = mine.exchanges == 0
                || theirs.exchanges > 0 && theirs.round_trip_ns < mine.round_trip_ns;
            mine.round_trip_ns = if is_less { theirs.round_trip_ns } else { mine.round_trip_ns };
            mine.exchanges += theirs.exchanges;
            mine.damaged += theirs.damaged;
            mine.left_out += theirs.left_out;
        }
    }

    /// Whether there is any exchange.
    pub fn is_empty(&self) -> bool {
        self.of_host.iter().all(|host| host.exchanges == 0)
    }
}

/// The clocks as messages have them, and the exchanges: what both parts of their use look at.
pub(super) struct Grouped<'a> {
    pub(super) hosts: &'a [HostFacts],
    /// The clock of each host,
    pub(super) clock_of: &'a [usize],
    /// and of each clock the one that it is compared with.
    pub(super) root_of: &'a [usize],
    /// The clock that is the common one.
    pub(super) reference: usize,
    hints: &'a Hints,
}

impl Grouped<'_> {
    /// The clock that the group of a host is compared with.
    pub(super) fn group(&self, host: usize) -> Option<usize> {
        self.clock_of.get(host).and_then(|clock| self.root_of.get(*clock)).copied()
    }

    /// Whether all that is known of the host's group is on its own clock.
    pub(super) fn is_root(&self, host: usize) -> bool {
        self.clock_of.get(host).copied() == self.group(host)
    }

    /// How many exchanges a host has.
    pub(super) fn exchanges(&self, host: usize) -> u64 {
        self.hints.of_host.get(host).map_or(0, |hinted| hinted.exchanges)
    }

    /// Half of the least round trip of any of `hosts`: no exchange tells more than that.
    pub(super) fn floor(&self, hosts: &[usize]) -> i64 {
        let hinted = hosts.iter().filter_map(|host| self.hints.of_host.get(*host));
        let trips = hinted.filter(|hinted| hinted.exchanges > 0).map(|hinted| hinted.round_trip_ns);
        trips.min().map_or(0, |trip| trip - trip / 2)
    }

    /// How far a host's time on its group's common clock may be off.
    pub(super) fn off(&self, clocks: &Clocks, host: usize) -> Option<i64> {
        if self.is_root(host) { Some(0) } else { clocks.hosts.get(host)?.uncertainty_ns }
    }

    /// When there was something of a host, on the common clock of its group.
    pub(super) fn span(&self, clocks: &Clocks, host: usize) -> Option<[i64; 2]> {
        let facts = self.hosts.get(host).filter(|facts| (facts.first, facts.last) != (0, 0))?;
        let [first, last] =
            [facts.first, facts.last.max(facts.first)].map(|time| clocks.common(host, time));
        Some([first, last.max(first)])
    }

    /// When a host had exchanges, on the common clock of its group.
    pub(super) fn hinted(&self, clocks: &Clocks, host: usize) -> Option<[i64; 2]> {
        let pairs = self.hints.samples.pairs();
        let of_host = pairs.iter().filter(|pair| pair.from.min(pair.to) as usize == host);
        let times = of_host.flat_map(|pair| {
            let is_question = pair.from < pair.to;
            pair.points
                .iter()
                .map(move |point| if is_question { point.sent } else { point.received })
        });
        let times = times.map(|time| clocks.common(host, time));
        times.map(|time| [time; 2]).reduce(|[a, b], [c, d]| [a.min(c), b.max(d)])
    }

    /// The exchanges as messages between the collector, number 0, and nodes from 1 on: those that
    /// `node` gives a host, with how far its time on the common clock of its group may be off.
    /// Nodes that there are none of have no messages.
    pub(super) fn star(
        &self,
        clocks: &Clocks,
        nodes: usize,
        node: impl Fn(usize) -> Option<(usize, i64)>,
    ) -> Samples {
        let mut star = Samples::new(nodes + 1);
        for pair in self.hints.samples.pairs() {
            let is_question = pair.from < pair.to;
            let host = if is_question { pair.from } else { pair.to } as usize;
            let Some((node, off)) = node(host) else { continue };
            for Sample { sent, received } in &pair.points {
                // What it may be off by is as if the message had taken so much longer.
                if is_question {
                    star.add(
                        node as u32,
                        0,
                        clocks.common(host, *sent).saturating_sub(off),
                        *received,
                    );
                } else {
                    star.add(
                        0,
                        node as u32,
                        *sent,
                        clocks.common(host, *received).saturating_add(off),
                    );
                }
            }
        }
        star
    }
}

/// Solves a star of nodes around the collector: each node's clock against that of `root`, which is
/// told for the times `spans`.
pub(super) fn solved(
    star: &Samples,
    root: usize,
    spans: &[Option<[i64; 2]>],
) -> Vec<Option<HostClock>> {
    let nodes: Vec<usize> = (0..spans.len()).collect();
    let links = link::links(&star.pairs(), &nodes, |_, time| Some(time));
    let solved = solve::solve(&links, nodes.len(), Some(root), spans);
    let clocks = solved.clocks.iter().enumerate();
    clocks
        .map(|(node, line)| line.as_ref().map(|line| assemble::unknown_steps(line, node)))
        .collect()
}

/// Uses `hints` on clocks that were estimated by messages: joins what no message connects, and says
/// whether they agree with messages where these connect.
pub(super) fn apply(
    mut clocks: Clocks,
    hosts: &[HostFacts],
    clock_of: &[usize],
    root_of: &[usize],
    reference: usize,
    hints: &Hints,
) -> Clocks {
    let grouped = Grouped { hosts, clock_of, root_of, reference, hints };
    let is_told = |hinted: &Hinted| *hinted != Hinted::default();
    for (clock, hinted) in clocks.hosts.iter_mut().zip(&hints.of_host) {
        clock.hints = Some(hinted.clone()).filter(is_told);
    }
    if !hints.is_empty() {
        check::check(&grouped, &mut clocks);
        join::join(&grouped, &mut clocks);
    }
    clocks
}
