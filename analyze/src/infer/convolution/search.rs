//! The procedures of Project 5's Figure 6: FindPathsFromRoot, ProcessNode and FindCausedMessages.
//!
//! The paper is given its roots. Here they are the clients, as the requests that they send begin
//! paths. After them, as long as there are messages on no path, a root is the node that sends most
//! of these and receives least.

use std::sync::OnceLock;

use message_trace::Progress;

use super::caused::Caused;
use super::correlation::{Correlator, Spectrum};
use super::graph::{Edge, Graph};
use super::indicator::{Quanta, indicate};
use super::select::{Shifts, around, select};
use super::sites::{Event, Sites};
use super::spikes::spikes;
use super::time_step;
use super::undesirable::{Marks, is_cycle, is_short};
use crate::infer::input::Input;
use crate::naming::Naming;
use crate::options::Options;
use crate::tuning::convolution::{
    MAX_EDGES, MAX_EDGES_OF_PATH, MAX_KEPT_NUMBERS, MAX_QUANTA, MIN_LENGTH_FOR_THREADS,
};
use out_of_core::workers;

/// The search for the paths of a trace.
pub(super) struct Search<'a> {
    sites: &'a Sites,
    naming: &'a Naming,
    options: &'a Options,
    progress: &'a dyn Progress,
    quanta: Quanta,
    correlator: Correlator,
    spectra: Vec<OnceLock<Spectrum>>,
    /// The longest delay, in quanta.
    longest: usize,
    graph: Graph,
    /// Whether each message is on a path.
    reached: Vec<bool>,
    marks: Marks,
}

impl<'a> Search<'a> {
    pub(super) fn new(input: &Input<'a>, sites: &'a Sites) -> Search<'a> {
        let Input { trace, naming, options, progress, .. } = *input;
        let messages = trace.len();
        let step = options
            .convolution
            .time_step
            .unwrap_or_else(|| time_step::choose(sites, options.window));
        let quanta = Quanta::new(sites.bounds.0, sites.bounds.1, step, MAX_QUANTA);
        // A shift by the whole trace or more is none.
        let longest = quanta.covering(options.window).min(quanta.count());
        let correlator = Correlator::new(quanta.count(), longest);
        let kept = if sites.groups.len().saturating_mul(correlator.length()) <= MAX_KEPT_NUMBERS {
            sites.groups.len()
        } else {
            0
        };
        Search {
            sites,
            naming,
            options,
            progress,
            quanta,
            correlator,
            spectra: vec![OnceLock::new(); kept],
            longest,
            graph: Graph::default(),
            reached: vec![false; messages],
            marks: Marks::new(messages),
        }
    }

    /// Finds the paths from all roots.
    pub(super) fn run(mut self) -> (Graph, Quanta) {
        let least = self.options.convolution.least_messages.max(1);
        let sites = self.sites;
        let of_clients = |site: u32| {
            let groups = sites.sent_by(site).iter().copied();
            groups.filter(|group| sites.groups[*group as usize].begins).collect::<Vec<u32>>()
        };
        for site in 0..sites.len() as u32 {
            let sent = of_clients(site).into_iter();
            let sent = sent.map(|group| (group, sites.groups[group as usize].sent.clone()));
            let sent = sent.filter(|(_, messages)| messages.len() >= least).collect();
            self.find_paths_from_root(site, sent);
        }
        let mut begun = vec![false; sites.len()];
        while let Some(site) = self.next_root(&begun) {
            begun[site as usize] = true;
            let unreached = |group: &u32| {
                let sent = sites.groups[*group as usize].sent.iter().copied();
                (
                    *group,
                    sent.filter(|event| !self.reached[event.message as usize])
                        .collect::<Vec<Event>>(),
                )
            };
            let sent: Vec<_> = sites.sent_by(site).iter().map(unreached).collect();
            let sent = sent.into_iter().filter(|(_, messages)| messages.len() >= least).collect();
            self.find_paths_from_root(site, sent);
        }
        (self.graph, self.quanta)
    }

    /// The site, of those that have not `begun`, that sends most messages which are on no path in
    /// comparison with those that it receives; none where all send less than an edge must have.
    fn next_root(&self, begun: &[bool]) -> Option<u32> {
        let mut balance = vec![(0_i64, 0_usize); self.sites.len()];
        for group in &self.sites.groups {
            let unreached = |event: &&Event| !self.reached[event.message as usize];
            let count = group.sent.iter().filter(unreached).count();
            let (net, most) = &mut balance[group.from as usize];
            (*net, *most) = (*net + count as i64, (*most).max(count));
            if let Some(to) = group.to {
                balance[to as usize].0 -= count as i64;
            }
        }
        let least = self.options.convolution.least_messages.max(1);
        let sites = (0..self.sites.len() as u32).filter(|site| !begun[*site as usize]);
        sites
            .filter(|site| balance[*site as usize].1 >= least)
            .max_by_key(|site| (balance[*site as usize].0, std::cmp::Reverse(*site)))
    }

    /// FindPathsFromRoot (lines 1 to 8): to each node that the messages `sent` by `site` go to, and
    /// on from there.
    fn find_paths_from_root(&mut self, site: u32, sent: Vec<(u32, Vec<Event>)>) {
        if sent.is_empty() {
            return;
        }
        let root = self.graph.add_root(self.name_of_sender(sent[0].0));
        for (group, messages) in sent {
            debug_assert_eq!(self.sites.groups[group as usize].from, site);
            let share = self.options.convolution.least_share * messages.len() as f64;
            let least = self.options.convolution.least_messages.max(share as usize).max(1);
            let edge = self.add_edge(
                root,
                None,
                Caused { group, delay: 0, shifts: (0, 0), excess: Vec::new(), messages },
            );
            self.process_node(edge, 1, least);
        }
    }

    /// ProcessNode (lines 9 to 17): what the messages of `edge` caused where they arrived, in turn
    /// from the shortest delay up, so that longer ways are known when it comes to the shorter ones
    /// that they make.
    fn process_node(&mut self, edge: usize, depth: usize, least: usize) {
        let Edge { to: vertex, group, .. } = self.graph.edges()[edge];
        let Some(site) = self.sites.groups[group as usize].to else { return };
        if depth >= MAX_EDGES_OF_PATH || self.graph.edges().len() >= MAX_EDGES {
            return;
        }
        let received = self.sites.arrivals(&self.graph.edges()[edge].messages, site);
        for mut caused in self.find_caused_messages(&received, site, least) {
            if self.graph.edges().len() >= MAX_EDGES {
                return;
            }
            let step = self.quanta.step();
            let delays = self.span(caused.shifts);
            if is_cycle(&self.graph, vertex, caused.group, &mut caused.messages, &mut self.marks)
                || caused.messages.len() < least
                || is_short(&self.graph, vertex, &caused, &delays, step, &mut self.marks)
            {
                continue;
            }
            let edge = self.add_edge(vertex, Some(self.delay(caused.delay)), caused);
            self.process_node(edge, depth + 1, least);
        }
    }

    /// FindCausedMessages (lines 17 to 28): of all that `site` sends, what comes with a common
    /// delay after messages were `received` there, by that delay. What goes to different nodes is
    /// correlated apart (docs/decisions/0403).
    fn find_caused_messages(&self, received: &[Event], site: u32, least: usize) -> Vec<Caused> {
        if received.len() < least {
            return Vec::new();
        }
        // A client's requests begin paths, and are caused by nothing.
        let groups: Vec<u32> = self
            .sites
            .sent_by(site)
            .iter()
            .copied()
            .filter(|group| {
                let group = &self.sites.groups[*group as usize];
                !(group.begins && self.options.clients_start_paths) && group.sent.len() >= least
            })
            .collect();
        if groups.is_empty() {
            return Vec::new();
        }
        let s1 = self.spectrum(received);
        let of_group = |place: usize| self.caused_of_group(received, &s1, groups[place], least);
        let found = if self.correlator.length() < MIN_LENGTH_FOR_THREADS {
            (0..groups.len()).map(of_group).collect()
        } else {
            workers::one_by_one(groups.len(), of_group)
        };
        let mut found: Vec<Caused> = found.into_iter().flatten().collect();
        found.sort_by_key(|caused| (caused.delay, caused.group));
        found
    }

    fn caused_of_group(
        &self,
        received: &[Event],
        s1: &Spectrum,
        group: u32,
        least: usize,
    ) -> Vec<Caused> {
        let sent = &self.sites.groups[group as usize].sent;
        let c = match self.spectra.get(group as usize) {
            Some(kept) => self.correlator.correlate(s1, kept.get_or_init(|| self.spectrum(sent))),
            None => self.correlator.correlate(s1, &self.spectrum(sent)),
        };
        let options = &self.options.convolution;
        let found = spikes(&c, self.longest, options.spike, options.between_spikes).into_iter();
        let found = found.map(|spike| {
            let shifts = match options.variation {
                Some(v) => around(spike.delay, self.quanta.covering(v)),
                None => spike.extent,
            };
            // Beyond the longest delay the signals, which go round, meet at negative ones.
            let shifts = (shifts.0, shifts.1.min(self.longest).min(c.values.len() - 1));
            let messages = select(received, sent, &self.quanta, shifts);
            let excess = c.values[shifts.0..=shifts.1].iter().map(|value| value - c.mean).collect();
            Caused { group, delay: spike.delay, shifts, excess, messages }
        });
        // Noise: however many are selected by chance.
        let enough = |caused: &Caused| {
            caused.messages.len() >= least && caused.not_by_chance() >= least as f64
        };
        found.filter(enough).collect()
    }

    fn spectrum(&self, events: &[Event]) -> Spectrum {
        let mut signal = vec![0.0; self.correlator.length()];
        indicate(events, &self.quanta, &mut signal);
        self.correlator.spectrum(&mut signal)
    }

    fn add_edge(&mut self, from: usize, delay: Option<i64>, caused: Caused) -> usize {
        let mut new = 0;
        for event in &caused.messages {
            new += u64::from(!std::mem::replace(&mut self.reached[event.message as usize], true));
        }
        self.progress.advance(new);
        let hop = self.naming.hop_name(self.sites.groups[caused.group as usize].hop);
        let Caused { group, shifts, excess, messages, .. } = caused;
        let travel = self.sites.travel(&messages);
        let edge = Edge { from, to: 0, delay, messages, group, travel, shifts, excess };
        self.graph.add_edge(self.naming.text(hop.dst), edge)
    }

    fn name_of_sender(&self, group: u32) -> &'a str {
        self.naming.text(self.naming.hop_name(self.sites.groups[group as usize].hop).src)
    }

    /// A delay in nanoseconds.
    fn delay(&self, quanta: usize) -> i64 {
        (quanta as i64).saturating_mul(self.quanta.step())
    }

    fn span(&self, shifts: Shifts) -> std::ops::RangeInclusive<i64> {
        self.delay(shifts.0)..=self.delay(shifts.1)
    }
}
