//! Message linking (WAP5 section 5.1): a message was probably caused by one that its sender
//! received shortly before. Its steps are a file each: the arrivals and departures at each place
//! ([`places`], with the rule for untraced nodes in [`untraced`]), the average delays ([`delay`],
//! step 1), and the possible parents ([`parents`], step 2). Step 3 builds trees of any algorithm's
//! links and is in [`crate::paths`].
//!
//! Each step looks at one place and one window of time only, so that places can be worked on apart.

mod delay;
mod flags;
mod parents;
mod places;
#[cfg(test)]
mod tests;
mod untraced;

use std::convert::Infallible;

use message_trace::Progress;
use out_of_core::workers::in_order;
use registry::About;

use super::flags::WINDOW;
use super::inference::{AlgorithmEntry, Inference};
use super::input::Input;
use super::traced_links;
use crate::links::Links;
use crate::naming::Naming;
use crate::options::Options;
use crate::tuning::linking::DEPARTURES_AT_ONCE;
use delay::{Delays, Round};
pub(super) use flags::{ITERATIONS, SPONTANEOUS_DELAY, apply};
use out_of_core::workers;
use places::Places;
pub(super) use untraced::Rounds;

/// The entry of message linking.
pub(super) static ALGORITHM: AlgorithmEntry = AlgorithmEntry {
    about: About { name: "linking", summary: "WAP5", ..About::NOTHING },
    flags: &[&WINDOW, &flags::SPONTANEOUS_DELAY, &flags::ITERATIONS],
    apply,
    begin: || Box::new(Linking),
};

/// The message linking algorithm.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Linking;

impl Inference for Linking {
    fn infer(&mut self, input: &Input<'_>) -> Links {
        let Input { trace, naming, options, progress, .. } = *input;
        let places = Places::of(trace, naming, options);
        let departures = places.departures();
        progress.step("estimating delays", departures as u64);
        let mut delays = estimate(&places, naming, options, Round::First, progress);
        for _ in 1..options.iterations {
            progress.step("estimating delays by links", departures as u64);
            delays = estimate(&places, naming, options, Round::After(&delays), progress);
        }
        progress.step("linking messages", departures as u64);
        let mut links = Links::spontaneous_only(trace.len());
        let pieces = departures.div_ceil(DEPARTURES_AT_ONCE);
        let work = |piece: usize| {
            let mut found = LinkedPiece::default();
            for chunk in places.chunks(
                piece * DEPARTURES_AT_ONCE..departures.min((piece + 1) * DEPARTURES_AT_ONCE),
            ) {
                found.link(&chunk, naming, &delays, options);
                progress.advance(chunk.departures.len() as u64);
            }
            Ok::<LinkedPiece, Infallible>(found)
        };
        let Ok(()) = in_order(workers::threads(), pieces, work, |_, found: LinkedPiece| {
            found.copy_to(&mut links);
            Ok(())
        });
        traced_links::settle(input, &mut links);
        links
    }

    fn looks_for_calls(&self) -> bool {
        false
    }
}

/// The average delays by all that happened at `places`: step 1.
fn estimate(
    places: &Places,
    naming: &Naming,
    options: &Options,
    round: Round<'_>,
    progress: &dyn Progress,
) -> Delays {
    let parts = workers::in_parts(places.departures(), |part| {
        let mut delays = Delays::new(naming.hops());
        for chunk in places.chunks(part) {
            delays.observe(&chunk, naming, options, round);
            progress.advance(chunk.departures.len() as u64);
        }
        delays
    });
    Delays::sum(parts, naming.hops())
}

/// The parents found in one piece: for each child how many, and all of them one after the other.
#[derive(Default)]
struct LinkedPiece {
    children: Vec<(u32, u32, f64)>,
    parents: Vec<(u32, f64)>,
}

impl LinkedPiece {
    fn link(
        &mut self,
        chunk: &places::Chunk<'_>,
        naming: &Naming,
        delays: &Delays,
        options: &Options,
    ) {
        for (departure, before) in chunk.sweep() {
            let d = delays.mean(naming.hop(departure.message as usize));
            let first = self.parents.len();
            let spontaneous = parents::find(&before, departure, d, options, &mut self.parents);
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
            links.set(*child as usize, parents, *spontaneous);
            rest = others;
        }
    }
}
