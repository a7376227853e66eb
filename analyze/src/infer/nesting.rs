//! The nesting algorithm (Project 5 section 5.1): a call was probably caused by one that encloses
//! it in time at the node that makes it. Among several, it is the one with the delay that is the
//! most common in the trace. Each step is a file: [`call_pairs`] (FindCallPairs) with the calls
//! that are open when a call returns ([`open_calls`]), [`scoreboard`] (ScoreNestings),
//! [`nested_pairs`] (FindNestedPairs) with its [`penalties`], and [`windows`], the sliding windows
//! of section 8. FindCallPaths is [`crate::paths`], as for every algorithm.
//!
//! Each call pair is examined as one node observed it, and nodes are processed separately. Possible
//! nestings are computed twice, once to score and once to choose, and not stored, so that memory
//! does not grow with the parallelism.

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

use clap::Args;
use message_trace::MessageId;
use registry::{EntryHelp, Spec};

use super::call_links::{self, MadeCallId};
use super::inference::{AlgorithmEntry, AlgorithmSpec, Inference, read_flags};
use super::input::InferenceInput;
use crate::calls::Calls;
use crate::links::Links;
use flags::NestingFlags;
use out_of_core::workers;

/// The registry entry of the nesting algorithm.
pub(super) static ALGORITHM: AlgorithmSpec = Spec {
    about: EntryHelp {
        name: "nesting",
        summary: "Project 5, for calls and their returns",
        ..EntryHelp::NOTHING
    },
    flags: NestingFlags::augment_args,
    entry: AlgorithmEntry {
        read_flags: read_flags::<NestingFlags>,
        begin: || Box::new(NestingAlgorithm),
    },
};

/// Stored as the parent of a message without one.
const NO_PARENT: u32 = u32::MAX;

/// The nesting algorithm.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NestingAlgorithm;

impl Inference for NestingAlgorithm {
    fn infer_links(&mut self, input: &InferenceInput<'_>) -> Links {
        let InferenceInput { trace, naming, options, progress, .. } = *input;
        progress.begin_step("pairing calls", trace.len() as u64);
        let calls = Calls::from_trace(trace);
        let mut nodes = call_pairs::find_call_pairs(trace, naming, &calls, options);
        progress.begin_step(
            "nesting calls",
            nodes.iter().map(|node| 2 * node.children.len() as u64).sum(),
        );
        windows::choose_parents(&mut nodes, &options.nesting, progress);
        progress.begin_step("linking messages", trace.len() as u64);
        // Each message has one parent or none: the choice is not probabilistic.
        let parents: Vec<AtomicU32> =
            iter::repeat_with(|| AtomicU32::new(NO_PARENT)).take(trace.len()).collect();
        workers::for_each_item(
            &mut nodes,
            |node| node.children.len() + node.parents.len(),
            |node, (): &mut ()| {
                let shares = |child: MadeCallId| iter::once((node.chosen[child.index()], 1.0));
                call_links::link_messages(
                    &calls,
                    node.node_calls(),
                    shares,
                    |message, found, _| {
                        let parent =
                            found.first().map_or(NO_PARENT, |(parent, _)| parent.index() as u32);
                        parents[message.index()].store(parent, Ordering::Relaxed);
                    },
                );
            },
        );
        let mut links = Links::spontaneous_only(trace.len());
        let parents =
            || MessageId::ids().zip(parents.iter().map(|parent| parent.load(Ordering::Relaxed)));
        links.reserve(parents().filter(|(_, parent)| *parent != NO_PARENT).count());
        for (message, parent) in parents().filter(|(_, parent)| *parent != NO_PARENT) {
            links.set_parents(message, &[(MessageId::from_index(parent as usize), 1.0)], 0.0);
        }
        links
    }
}
