//! The procedures of Project 5's Figure 6: FindPathsFromRoot, ProcessNode and FindCausedMessages.
//!
//! The paper takes its roots as input. Here they are the clients, since their requests begin paths.
//! After them, as long as there are messages on no path, the next root is the node that sends most
//! of these and receives least.

use std::sync::OnceLock;

use message_trace::Progress;

use super::caused::CausedMessages;
use super::correlation::{Correlator, Spectrum};
use super::graph::{GraphEdge, PathGraph};
use super::indicator::{TimeQuanta, write_indicator};
use super::select::{ShiftRange, select_effects, shifts_around};
use super::sites::{SiteEvent, SiteMessages};
use super::spikes::find_spikes;
use super::time_step;
use super::undesirable::{MessageMarks, is_cycle, is_short};
use crate::infer::input::InferenceInput;
use crate::naming::Naming;
use crate::options::Options;
use crate::tuning::convolution::{
    MAX_EDGES, MAX_EDGES_OF_PATH, MAX_KEPT_NUMBERS, MAX_QUANTA, MIN_LENGTH_FOR_THREADS,
};
use out_of_core::workers;

/// The search for the paths of a trace.
pub(super) struct PathSearch<'a> {
    sites: &'a SiteMessages,
    naming: &'a Naming,
    options: &'a Options,
    progress: &'a dyn Progress,
    quanta: TimeQuanta,
    correlator: Correlator,
    /// The spectrum of the sent messages of each group, once it is computed; empty if all of them
    /// together would take too much memory.
    spectra: Vec<OnceLock<Spectrum>>,
    /// The longest delay, in quanta.
    longest: usize,
    graph: PathGraph,
    /// Whether each message is on a path.
    reached: Vec<bool>,
    marks: MessageMarks,
}

impl<'a> PathSearch<'a> {
    pub(super) fn new(input: &InferenceInput<'a>, sites: &'a SiteMessages) -> PathSearch<'a> {
        let InferenceInput { trace, naming, options, progress, .. } = *input;
        let messages = trace.len();
        let step = options
            .convolution
            .time_step
            .unwrap_or_else(|| time_step::choose_time_step(sites, options.window));
        let quanta = TimeQuanta::new(sites.bounds.0, sites.bounds.1, step, MAX_QUANTA);
        // A shift by the whole trace or more is meaningless.
        let longest = quanta.quanta_covering(options.window).min(quanta.count());
        let correlator = Correlator::new(quanta.count(), longest);
        let kept =
            if sites.groups.len().saturating_mul(correlator.signal_length()) <= MAX_KEPT_NUMBERS {
                sites.groups.len()
            } else {
                0
            };
        PathSearch {
            sites,
            naming,
            options,
            progress,
            quanta,
            correlator,
            spectra: vec![OnceLock::new(); kept],
            longest,
            graph: PathGraph::default(),
            reached: vec![false; messages],
            marks: MessageMarks::new(messages),
        }
    }

    /// Finds the paths from all roots. Also returns the quanta of their delays.
    pub(super) fn find_all_paths(mut self) -> (PathGraph, TimeQuanta) {
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
        let mut is_root = vec![false; sites.len()];
        while let Some(site) = self.next_root(&is_root) {
            is_root[site as usize] = true;
            let unreached = |group: &u32| {
                let sent = sites.groups[*group as usize].sent.iter().copied();
                (
                    *group,
                    sent.filter(|event| !self.reached[event.message.index()])
                        .collect::<Vec<SiteEvent>>(),
                )
            };
            let sent: Vec<_> = sites.sent_by(site).iter().map(unreached).collect();
            let sent = sent.into_iter().filter(|(_, messages)| messages.len() >= least).collect();
            self.find_paths_from_root(site, sent);
        }
        (self.graph, self.quanta)
    }

    /// Among the sites that were no root so far, the one that sends most messages on no path in
    /// comparison with those that it receives; `None` if all send fewer than an edge must have.
    fn next_root(&self, is_root: &[bool]) -> Option<u32> {
        let mut balance = vec![(0_i64, 0_usize); self.sites.len()];
        for group in &self.sites.groups {
            let unreached = |event: &&SiteEvent| !self.reached[event.message.index()];
            let count = group.sent.iter().filter(unreached).count();
            let (net, most) = &mut balance[group.from as usize];
            (*net, *most) = (*net + count as i64, (*most).max(count));
            if let Some(to) = group.to {
                balance[to as usize].0 -= count as i64;
            }
        }
        let least = self.options.convolution.least_messages.max(1);
        let sites = (0..self.sites.len() as u32).filter(|site| !is_root[*site as usize]);
        sites
            .filter(|site| balance[*site as usize].1 >= least)
            .max_by_key(|site| (balance[*site as usize].0, std::cmp::Reverse(*site)))
    }

    /// FindPathsFromRoot (lines 1 to 8): follows the messages `sent` by `site` to each receiving
    /// node, and on from there.
    fn find_paths_from_root(&mut self, site: u32, sent: Vec<(u32, Vec<SiteEvent>)>) {
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
                CausedMessages { group, delay: 0, shifts: (0, 0), excess: Vec::new(), messages },
            );
            self.process_node(edge, 1, least);
        }
    }

    /// ProcessNode (lines 9 to 17): adds edges for the messages that the messages of `edge` caused
    /// where they arrived, from the shortest delay up, so that longer routes are known before the
    /// accidentally short ones that they produce. An edge has at least `least` messages; `depth` is
    /// the number of edges from the root to `edge`.
    fn process_node(&mut self, edge: usize, depth: usize, least: usize) {
        let GraphEdge { to: vertex, group, .. } = self.graph.edges()[edge];
        let Some(site) = self.sites.groups[group as usize].to else { return };
        if depth >= MAX_EDGES_OF_PATH || self.graph.edges().len() >= MAX_EDGES {
            return;
        }
        let received = self.sites.arrivals_at(&self.graph.edges()[edge].messages, site);
        for mut caused in self.find_caused_messages(&received, site, least) {
            if self.graph.edges().len() >= MAX_EDGES {
                return;
            }
            let step = self.quanta.step();
            let delays = self.shift_span(caused.shifts);
            if is_cycle(&self.graph, vertex, caused.group, &mut caused.messages, &mut self.marks)
                || caused.messages.len() < least
                || is_short(&self.graph, vertex, &caused, &delays, step, &mut self.marks)
            {
                continue;
            }
            let edge = self.add_edge(vertex, Some(self.delay_nanoseconds(caused.delay)), caused);
            self.process_node(edge, depth + 1, least);
        }
    }

    /// FindCausedMessages (lines 17 to 28): returns the sets of messages that `site` sent a common
    /// delay after the `received` ones, each with at least `least` messages, by their delays.
    /// Messages to different nodes are correlated separately (docs/decisions/0403).
    fn find_caused_messages(
        &self,
        received: &[SiteEvent],
        site: u32,
        least: usize,
    ) -> Vec<CausedMessages> {
        if received.len() < least {
            return Vec::new();
        }
        // A client's requests begin paths, and have no cause.
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
        let s1 = self.event_spectrum(received);
        let of_group =
            |place: usize| self.find_caused_in_group(received, &s1, groups[place], least);
        let found = if self.correlator.signal_length() < MIN_LENGTH_FOR_THREADS {
            (0..groups.len()).map(of_group).collect()
        } else {
            workers::map_items(groups.len(), of_group)
        };
        let mut found: Vec<CausedMessages> = found.into_iter().flatten().collect();
        found.sort_by_key(|caused| (caused.delay, caused.group));
        found
    }

    fn find_caused_in_group(
        &self,
        received: &[SiteEvent],
        s1: &Spectrum,
        group: u32,
        least: usize,
    ) -> Vec<CausedMessages> {
        let sent = &self.sites.groups[group as usize].sent;
        let c = match self.spectra.get(group as usize) {
            Some(kept) => {
                self.correlator.correlate(s1, kept.get_or_init(|| self.event_spectrum(sent)))
            }
            None => self.correlator.correlate(s1, &self.event_spectrum(sent)),
        };
        let options = &self.options.convolution;
        let found =
            find_spikes(&c, self.longest, options.spike, options.between_spikes).into_iter();
        let found = found.map(|spike| {
            let shifts = match options.variation {
                Some(v) => shifts_around(spike.delay, self.quanta.quanta_covering(v)),
                None => spike.extent,
            };
            // Beyond the longest delay the cyclic signals reach negative delays.
            let shifts = (shifts.0, shifts.1.min(self.longest).min(c.values.len() - 1));
            let messages = select_effects(received, sent, &self.quanta, shifts);
            let excess = c.values[shifts.0..=shifts.1].iter().map(|value| value - c.mean).collect();
            CausedMessages { group, delay: spike.delay, shifts, excess, messages }
        });
        // Noise: the messages selected by chance do not count.
        let enough = |caused: &CausedMessages| {
            caused.messages.len() >= least && caused.excess_count() >= least as f64
        };
        found.filter(enough).collect()
    }

    fn event_spectrum(&self, events: &[SiteEvent]) -> Spectrum {
        let mut signal = vec![0.0; self.correlator.signal_length()];
        write_indicator(events, &self.quanta, &mut signal);
        self.correlator.compute_spectrum(&mut signal)
    }

    fn add_edge(&mut self, from: usize, delay: Option<i64>, caused: CausedMessages) -> usize {
        let mut new = 0;
        for event in &caused.messages {
            new += u64::from(!std::mem::replace(&mut self.reached[event.message.index()], true));
        }
        self.progress.advance_step(new);
        let hop = self.naming.hop_name(self.sites.groups[caused.group as usize].hop);
        let CausedMessages { group, shifts, excess, messages, .. } = caused;
        let travel = self.sites.mean_travel_time(&messages);
        let edge = GraphEdge { from, to: 0, delay, messages, group, travel, shifts, excess };
        self.graph.add_edge(self.naming.label_text(hop.dst), edge)
    }

    fn name_of_sender(&self, group: u32) -> &'a str {
        self.naming.label_text(self.naming.hop_name(self.sites.groups[group as usize].hop).src)
    }

    /// A delay in nanoseconds.
    fn delay_nanoseconds(&self, quanta: usize) -> i64 {
        (quanta as i64).saturating_mul(self.quanta.step())
    }

    fn shift_span(&self, shifts: ShiftRange) -> std::ops::RangeInclusive<i64> {
        self.delay_nanoseconds(shifts.0)..=self.delay_nanoseconds(shifts.1)
    }
}
