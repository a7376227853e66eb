//! The nesting algorithm (Project 5 section 5.1): a call was probably caused by one that encloses
//! it in time at the node that makes it. Of several such, it was the one whose delay to it is the
//! most common in the trace. Its steps are a file each: [`call_pairs`] (FindCallPairs) with what is
//! open when a call returns ([`open_calls`]), [`scoreboard`] (ScoreNestings), [`nested_pairs`]
//! (FindNestedPairs) with its [`penalties`], and [`windows`], the sliding windows of section 8.
//! FindCallPaths is [`crate::paths`], as for every algorithm.
//!
//! Each call pair is looked at as one node saw it, and nodes are worked on apart. Possible nestings
//! are found twice, once to score and once to choose, and not kept, so that memory does not grow
//! with the parallelism.

mod call_pairs;
mod flags;
mod nested_pairs;
mod open_calls;
mod penalties;
mod scoreboard;
#[cfg(test)]
mod tests;
mod windows;

use std::iter;
use std::sync::atomic::{AtomicU32, Ordering};

use registry::About;

use super::call_links::{self, NONE};
use super::inference::{AlgorithmEntry, Inference};
use super::input::Input;
use crate::calls::Calls;
use crate::links::Links;
use out_of_core::workers;

/// The entry of nesting.
pub(super) static ALGORITHM: AlgorithmEntry = AlgorithmEntry {
    about: About {
        name: "nesting",
        summary: "Project 5, for calls and their returns",
        ..About::NOTHING
    },
    flags: &[&flags::SKEW_WINDOW, &flags::SMOOTHING, &flags::PENALTIES, &flags::SCOREBOARD_WINDOW],
    apply: flags::apply,
    begin: || Box::new(Nesting),
};

/// The nesting algorithm.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Nesting;

impl Inference for Nesting {
    fn infer(&mut self, input: &Input<'_>) -> Links {
        let Input { trace, naming, options, progress, .. } = *input;
        progress.step("pairing calls", trace.len() as u64);
        let calls = Calls::of(trace);
        let mut nodes = call_pairs::find(trace, naming, &calls, options);
        progress
            .step("nesting calls", nodes.iter().map(|node| 2 * node.children.len() as u64).sum());
        windows::nest(&mut nodes, &options.nesting, progress);
        progress.step("linking messages", trace.len() as u64);
        // Each message has one parent or none: the choice is not a matter of probability.
        let parents: Vec<AtomicU32> =
            iter::repeat_with(|| AtomicU32::new(NONE)).take(trace.len()).collect();
        workers::on_each(
            &mut nodes,
            |node| node.children.len() + node.parents.len(),
            |node, (): &mut ()| {
                let shares = |child: usize| iter::once((node.chosen[child], 1.0));
                call_links::of(&calls, node.calls(), shares, |message, found, _| {
                    let parent = found.first().map_or(NONE, |(parent, _)| *parent);
                    parents[message].store(parent, Ordering::Relaxed);
                });
            },
        );
        let mut links = Links::spontaneous_only(trace.len());
        let parents = || parents.iter().map(|parent| parent.load(Ordering::Relaxed)).enumerate();
        links.reserve(parents().filter(|(_, parent)| *parent != NONE).count());
        for (message, parent) in parents().filter(|(_, parent)| *parent != NONE) {
            links.set(message, &[(parent, 1.0)], 0.0);
        }
        links
    }
}
