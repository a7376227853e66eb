//! Connections through address translation: the sockets at their two ends are paired, and the
//! translated names are counted. In the trace each server and client then has its own name only,
//! not the name by which the other end knows it.

use std::collections::BTreeMap;

use message_trace::{PathError, Progress};
use out_of_core::SpillableVec;

use crate::connections::connection::{Connection, SocketPartners, pair_lone_sockets};
use crate::indices::SocketIndex;
use crate::logs::capture::Capture;
use crate::options::Options;
use crate::reconciliation::{NameTranslation, Reconciliation, TranslatedEnd};
use crate::sockets::socket::KernelSockets;
use crate::translation::half_flows::HalfFlows;
use crate::translation::pair::HalfFlowPair;
use crate::translation::pairs;
use crate::tuning::MIN_CLOCK_CONFIDENCE;

/// The connecting sockets of pairs that are too uncertain for estimating clocks, in order.
#[derive(Debug)]
pub(crate) struct AmbiguousPairs(SpillableVec<SocketIndex>);

impl AmbiguousPairs {
    /// Marks the connections of these sockets in `connections` as ambiguous.
    pub(crate) fn mark_connections(&self, connections: &mut SpillableVec<Connection>) {
        if self.0.is_empty() {
            return;
        }
        connections.for_each_mut(0..connections.len(), |connection| {
            let Some(connecting) = connection.connecting.get() else { return };
            let at = self.0.partition_point(0..self.0.len(), |socket| *socket < connecting);
            connection.ambiguous |= self.0.get(at) == Some(&connecting);
        });
    }
}

/// Finds the other ends of sockets that have no `partner` yet, and counts the translated names in
/// `outcome`.
pub(crate) fn pair_up(
    capture: &Capture,
    sockets: &KernelSockets,
    partner: &mut SocketPartners,
    options: &Options,
    progress: &dyn Progress,
    outcome: &mut Reconciliation,
) -> Result<AmbiguousPairs, PathError> {
    let mut ambiguous = AmbiguousPairs(SpillableVec::new(&capture.pool));
    let Some(least) = options.translation else { return Ok(ambiguous) };
    let Some(flows) =
        HalfFlows::read_half_flows(capture, sockets, partner, options.thread_count(), progress)?
    else {
        return Ok(ambiguous);
    };
    let pairs = pairs::find_pairs_in(&flows.halves, &[], least)?;
    for pair in pairs.iter() {
        let [one, other] =
            [pair.connecting, pair.accepting].map(|half| flows.sockets[half as usize]);
        pair_lone_sockets(partner, (one, other));
        if pair.confidence < MIN_CLOCK_CONFIDENCE {
            ambiguous.0.push(one)?;
        }
    }
    outcome.translations = list_translations(&flows, &pairs);
    Ok(ambiguous)
}

/// Lists the translations of names.
fn list_translations(
    flows: &HalfFlows,
    pairs: &SpillableVec<HalfFlowPair>,
) -> Vec<NameTranslation> {
    let mut counts: BTreeMap<(TranslatedEnd, String, String), (u64, f64)> = BTreeMap::new();
    for pair in pairs.iter() {
        let [one, other] = [pair.connecting, pair.accepting].map(|half| flows.halves.half_at(half));
        let server = (TranslatedEnd::Destination, one.peer.to_string(), other.local.to_string());
        let client =
            (TranslatedEnd::Source, one.local.ip().to_string(), other.peer.ip().to_string());
        for key in [server, client].into_iter().filter(|(_, from, to)| from != to) {
            let (count, sum) = counts.entry(key).or_insert((0, 0.0));
            (*count, *sum) = (*count + 1, *sum + pair.confidence);
        }
    }
    let translation = |((end, from, to), (flows, sum)): (_, (u64, f64))| {
        // A mean with three digits reflects its precision.
        let confidence = (1000.0 * sum / flows as f64).round() / 1000.0;
        NameTranslation { end, from, to, flows, confidence }
    };
    counts.into_iter().map(translation).collect()
}
