//! The connections that go through address translation: their ends are paired, and the names that
//! were translated are counted, so that each server and client has the name that it has itself and
//! no other.

use std::collections::BTreeMap;

use message_trace::{PathError, Progress};
use out_of_core::SpillableVec;

use crate::absent::NONE;
use crate::connections::connection::Connection;
use crate::logs::capture::Capture;
use crate::options::Options;
use crate::reconciliation::{Reconciliation, TranslatedEnd, Translation};
use crate::sockets::socket::Sockets;
use crate::translation::half_flows::HalfFlows;
use crate::translation::pair::Pair;
use crate::translation::pairs;
use crate::tuning::MIN_SURE_FOR_CLOCKS;

/// The connecting sockets of pairs that are not sure enough to tell of clocks, in order.
#[derive(Debug)]
pub(crate) struct Doubtful(SpillableVec<u32>);

impl Doubtful {
    /// Notes it in the connections.
    pub(crate) fn mark(&self, connections: &mut SpillableVec<Connection>) {
        if self.0.is_empty() {
            return;
        }
        connections.for_each_mut(0..connections.len(), |connection| {
            let at =
                self.0.partition_point(0..self.0.len(), |socket| *socket < connection.connecting);
            connection.doubtful |= self.0.get(at) == Some(&connection.connecting);
        });
    }
}

/// Finds the other ends of sockets that have no `partner` yet, and counts in `outcome` what that
/// says of names.
pub(crate) fn pair_up(
    capture: &Capture,
    sockets: &Sockets,
    partner: &mut SpillableVec<u32>,
    options: &Options,
    progress: &dyn Progress,
    outcome: &mut Reconciliation,
) -> Result<Doubtful, PathError> {
    let mut doubtful = Doubtful(SpillableVec::new(&capture.pool));
    let Some(least) = options.translation else { return Ok(doubtful) };
    let Some(flows) = HalfFlows::read(capture, sockets, partner, options.threads(), progress)?
    else {
        return Ok(doubtful);
    };
    let pairs = pairs::pairs_of(&flows.halves, &[], least)?;
    for pair in pairs.iter() {
        let [one, other] =
            [pair.connecting, pair.accepting].map(|half| flows.sockets[half as usize]);
        if partner[one as usize] == NONE && partner[other as usize] == NONE {
            (partner[one as usize], partner[other as usize]) = (other, one);
        }
        if pair.confidence < MIN_SURE_FOR_CLOCKS {
            doubtful.0.push(one)?;
        }
    }
    outcome.translations = translations(&flows, &pairs);
    Ok(doubtful)
}

/// Which names were translated into which.
fn translations(flows: &HalfFlows, pairs: &SpillableVec<Pair>) -> Vec<Translation> {
    let mut counts: BTreeMap<(TranslatedEnd, String, String), (u64, f64)> = BTreeMap::new();
    for pair in pairs.iter() {
        let [one, other] = [pair.connecting, pair.accepting].map(|half| flows.halves.half(half));
        let server = (TranslatedEnd::Destination, one.peer.to_string(), other.local.to_string());
        let client =
            (TranslatedEnd::Source, one.local.ip().to_string(), other.peer.ip().to_string());
        for key in [server, client].into_iter().filter(|(_, from, to)| from != to) {
            let (count, sum) = counts.entry(key).or_insert((0, 0.0));
            (*count, *sum) = (*count + 1, *sum + pair.confidence);
        }
    }
    let translation = |((end, from, to), (flows, sum)): (_, (u64, f64))| {
        // A mean with three digits is as much as it is worth.
        let confidence = (1000.0 * sum / flows as f64).round() / 1000.0;
        Translation { end, from, to, flows, confidence }
    };
    counts.into_iter().map(translation).collect()
}
