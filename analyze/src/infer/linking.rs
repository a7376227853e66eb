//! Message linking (WAP5 section 5.1): a message was probably caused by one that its sender
//! received shortly before. Each step is a file: the arrivals and departures at each place
//! ([`places`], with the rule for untraced nodes in [`untraced`]), the average delays ([`delay`],
//! step 1), and the possible parents ([`parents`], step 2). Step 3 builds trees of any algorithm's
//! links and is in [`crate::paths`].
//!
//! Each step examines only one place and one window of time, so that places can be processed
//! separately.

mod delay;
mod flags;
mod parents;
mod places;
#[cfg(test)]
mod tests;
mod untraced;

use std::convert::Infallible;

use clap::Args;
use message_trace::{MessageId, Progress};
use out_of_core::workers::run_in_order;
use registry::{EntryHelp, Spec};

use super::inference::{AlgorithmEntry, AlgorithmSpec, Inference, read_flags};
use super::input::InferenceInput;
use super::traced_links;
use super::words::WordLinks;
use crate::links::Links;
use crate::naming::Naming;
use crate::options::Options;
use crate::tuning::linking::DEPARTURES_AT_ONCE;
use delay::{DelaySums, IterationWeights};
pub(super) use flags::LinkingFlags;
use out_of_core::workers;
use places::PlaceEvents;
pub(super) use untraced::RoundTrips;

/// The registry entry of message linking.
pub(super) static ALGORITHM: AlgorithmSpec = Spec {
    about: EntryHelp { name: "linking", summary: "WAP5", ..EntryHelp::NOTHING },
    flags: LinkingFlags::augment_args,
    entry: AlgorithmEntry {
        read_flags: read_flags::<LinkingFlags>,
        begin: || Box::new(LinkingAlgorithm),
    },
};

/// The message linking algorithm.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LinkingAlgorithm;

impl Inference for LinkingAlgorithm {
    fn infer_links(&mut self, input: &InferenceInput<'_>) -> Links {
        LinkingAlgorithm::link_messages(input, &WordLinks::from_input(input))
    }

    fn looks_for_calls(&self) -> bool {
        false
    }
}

impl LinkingAlgorithm {
    /// The links of all messages. Causes that rare words or the ids of tracers show replace those
    /// by delays.
    pub(super) fn link_messages(input: &InferenceInput<'_>, words: &WordLinks) -> Links {
        let InferenceInput { trace, naming, options, progress, .. } = *input;
        let places = PlaceEvents::from_trace(trace, naming, options);
        let departures = places.departure_count();
        progress.begin_step("estimating delays", departures as u64);
        let mut delays =
            estimate_delays(&places, naming, options, IterationWeights::First, progress);
        for _ in 1..options.iterations {
            progress.begin_step("estimating delays by links", departures as u64);
            delays = estimate_delays(
                &places,
                naming,
                options,
                IterationWeights::After(&delays),
                progress,
            );
        }
        progress.begin_step("linking messages", departures as u64);
        let mut links = Links::spontaneous_only(trace.len());
        let pieces = departures.div_ceil(DEPARTURES_AT_ONCE);
        let work = |piece: usize| {
            let mut found = LinkedChunk::default();
            for chunk in places.chunks(
                piece * DEPARTURES_AT_ONCE..departures.min((piece + 1) * DEPARTURES_AT_ONCE),
            ) {
                found.link_chunk(&chunk, naming, &delays, options);
                progress.advance_step(chunk.departures.len() as u64);
            }
            Ok::<LinkedChunk, Infallible>(found)
        };
        let Ok(()) =
            run_in_order(workers::thread_count(), pieces, work, |_, found: LinkedChunk| {
                found.copy_to(&mut links);
                Ok(())
            });
        words.link_all(&mut links);
        traced_links::link_by_trace_ids(input, &mut links);
        links
    }
}

/// Step 1: the average delays over all events at `places`, weighted as the iteration `weights`.
fn estimate_delays(
    places: &PlaceEvents,
    naming: &Naming,
    options: &Options,
    weights: IterationWeights<'_>,
    progress: &dyn Progress,
) -> DelaySums {
    let parts = workers::map_ranges(places.departure_count(), |part| {
        let mut delays = DelaySums::new(naming.hop_count());
        for chunk in places.chunks(part) {
            delays.observe_chunk(&chunk, naming, options, weights);
            progress.advance_step(chunk.departures.len() as u64);
        }
        delays
    });
    DelaySums::merge_sums(parts, naming.hop_count())
}

/// The links of one chunk of departures.
#[derive(Default)]
struct LinkedChunk {
    /// Each child, the number of its possible parents, and the probability that it has none.
    children: Vec<(MessageId, u32, f64)>,
    /// The possible parents of all children in their order, each with its probability.
    parents: Vec<(MessageId, f64)>,
}

impl LinkedChunk {
    fn link_chunk(
        &mut self,
        chunk: &places::DepartureChunk<'_>,
        naming: &Naming,
        delays: &DelaySums,
        options: &Options,
    ) {
        for (departure, before) in chunk.departures_with_arrivals() {
            let d = delays.mean_delay(naming.hop(departure.message));
            let first = self.parents.len();
            let spontaneous =
                parents::find_parents(&before, departure, d, options, &mut self.parents);
            self.children.push((
                departure.message,
                (self.parents.len() - first) as u32,
                spontaneous,
            ));
        }
    }

    fn copy_to(&self, links: &mut Links) {
        let mut rest = self.parents.as_slice();
        for (child, count, spontaneous) in &self.children {
            let (parents, others) = rest.split_at(*count as usize);
            links.set_parents(*child, parents, *spontaneous);
            rest = others;
        }
    }
}
