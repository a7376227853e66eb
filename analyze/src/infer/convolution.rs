//! The convolution algorithm (Project 5 section 5.2). It does not examine single messages. All
//! messages from one node to another are a signal over time. If the signal of sent messages
//! resembles the signal of received ones, later by d, the latter caused the former.
//!
//! Each step is a file: the sent and received messages of each site ([`sites`]); messages as
//! indicator functions ([`indicator`], section 5.2.1) and the length of a time quantum
//! ([`time_step`]); FindCorrelation ([`correlation`]) and the spikes of its result ([`spikes`]);
//! the messages that belong to a spike ([`select`], lines 22 to 27 of Figure 6 and section 5.2.2),
//! as a set with a common delay ([`caused`]); FindPathsFromRoot, ProcessNode and FindCausedMessages
//! ([`search`]), and the parts that are removed ([`undesirable`], section 5.2.3); and the resulting
//! graph ([`graph`]), also in the form of Project 5 ([`delays`]).
//!
//! The graph shows which nodes work for which, and how long they take. Links between messages are
//! derived from it ([`parents`]), since everything after an inference uses links.

mod caused;
mod correlation;
mod delays;
mod flags;
mod graph;
mod indicator;
mod parents;
mod search;
mod select;
mod sites;
mod spikes;
#[cfg(test)]
mod tests;
mod time_step;
mod undesirable;

use clap::Args;
use registry::{EntryHelp, Spec};

use super::inference::{AlgorithmEntry, AlgorithmSpec, Inference, read_flags};
use super::input::InferenceInput;
use crate::links::Links;
pub use delays::{DelayEdge, DelayGraph};
use flags::ConvolutionFlags;
pub use graph::{GraphEdge, GraphPath, GraphVertex, PathGraph};
use search::PathSearch;
use sites::SiteMessages;

/// The registry entry of the convolution algorithm.
pub(super) static ALGORITHM: AlgorithmSpec = Spec {
    about: EntryHelp { name: "convolution", summary: "Project 5", ..EntryHelp::NOTHING },
    flags: ConvolutionFlags::augment_args,
    entry: AlgorithmEntry {
        read_flags: read_flags::<ConvolutionFlags>,
        begin: || Box::new(ConvolutionAlgorithm),
    },
};

/// The convolution algorithm.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConvolutionAlgorithm;

impl ConvolutionAlgorithm {
    /// Builds the graph of a trace.
    pub fn build_graph(self, input: &InferenceInput<'_>) -> PathGraph {
        let sites = SiteMessages::from_trace(input.trace, input.naming);
        PathSearch::new(input, &sites).find_all_paths().0
    }
}

impl Inference for ConvolutionAlgorithm {
    fn infer_links(&mut self, input: &InferenceInput<'_>) -> Links {
        let InferenceInput { trace, naming, progress, .. } = *input;
        let sites = SiteMessages::from_trace(trace, naming);
        progress.begin_step("correlating messages", trace.len() as u64);
        let (graph, quanta) = PathSearch::new(input, &sites).find_all_paths();
        progress.begin_step("linking messages", trace.len() as u64);
        let links = parents::build_links(trace.len(), &sites, &graph, &quanta);
        progress.advance_step(trace.len() as u64);
        links
    }

    fn looks_for_calls(&self) -> bool {
        false
    }
}
