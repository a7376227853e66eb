//! The convolution algorithm (Project 5 section 5.2). Messages are not looked at one by one. All
//! that one node sent to another is a signal over time. Where the signal of what a node sends is
//! like that of what it received, later by d, the one caused the other.
//!
//! Its steps are a file each: who sent and received what ([`sites`]); messages as indicator
//! functions ([`indicator`], section 5.2.1) and the length of a time quantum ([`time_step`]);
//! FindCorrelation ([`correlation`]) and the spikes of its result ([`spikes`]); the messages that
//! belong to a spike ([`select`], lines 22 to 27 of Figure 6 and section 5.2.2), as a set with a
//! common delay ([`caused`]); FindPathsFromRoot, ProcessNode and FindCausedMessages ([`search`]),
//! with what is removed ([`undesirable`], section 5.2.3); and the graph that they make ([`graph`]),
//! also as Project 5 draws it ([`delays`]).
//!
//! The graph says which nodes work for which, and how long they take. Links between messages are
//! derived from it ([`parents`]), as everything after an inference goes by links.

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

use registry::About;

use super::flags::WINDOW;
use super::inference::{AlgorithmEntry, Inference};
use super::input::Input;
use crate::links::Links;
pub use delays::{DelayEdge, DelayGraph};
pub use graph::{Edge, Graph, Path, Vertex};
use search::Search;
use sites::Sites;

/// The entry of convolution.
pub(super) static ALGORITHM: AlgorithmEntry = AlgorithmEntry {
    about: About { name: "convolution", summary: "Project 5", ..About::NOTHING },
    flags: &[
        &WINDOW,
        &flags::TIME_STEP,
        &flags::SPIKE,
        &flags::BETWEEN_SPIKES,
        &flags::VARIATION,
        &flags::LEAST_MESSAGES,
        &flags::LEAST_SHARE,
    ],
    apply: flags::apply,
    begin: || Box::new(Convolution),
};

/// The convolution algorithm.
#[derive(Clone, Copy, Debug, Default)]
pub struct Convolution;

impl Convolution {
    /// The graph of a trace.
    pub fn graph(self, input: &Input<'_>) -> Graph {
        let sites = Sites::of(input.trace, input.naming);
        Search::new(input, &sites).run().0
    }
}

impl Inference for Convolution {
    fn infer(&mut self, input: &Input<'_>) -> Links {
        let Input { trace, naming, progress, .. } = *input;
        let sites = Sites::of(trace, naming);
        progress.step("correlating messages", trace.len() as u64);
        let (graph, quanta) = Search::new(input, &sites).run();
        progress.step("linking messages", trace.len() as u64);
        let links = parents::links(trace.len(), &sites, &graph, &quanta);
        progress.advance(trace.len() as u64);
        links
    }

    fn looks_for_calls(&self) -> bool {
        false
    }
}
