//! What reconciliation found and what it could not match, by cause: nothing is dropped without
//! being counted here.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use message_trace::{DataDir, PathError};
use serde::{Deserialize, Serialize};
use socket_log::SocketLog;
use socket_log::layout::state;

use crate::internal::{FlowsAndMessages, InternalMessages, InternalTraffic};
use crate::options::Options;

/// Counts by a name: of a protocol, or of a cause.
pub type NamedCounts = BTreeMap<String, u64>;

/// The outcome of a reconciliation, `reconciliation.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reconciliation {
    /// How it was made; `None` by a version that did not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<ReconcileSettings>,
    /// Log files found.
    pub logs: u64,
    /// How much room they take on the disk, in bytes.
    pub log_bytes: u64,
    /// Traced processes: logs that could be read, without those of programs that were replaced by
    /// `exec`.
    pub processes: u64,
    /// Hosts they ran on.
    pub hosts: u64,
    /// Records read.
    pub records: u64,
    /// Flows: connections, and pairs of datagram endpoints.
    pub flows: u64,
    /// Messages that were imported as such, by the name of the import. They are among the messages
    /// written.
    pub imported: NamedCounts,
    /// Messages written, fat ones counted once, by protocol.
    pub messages: NamedCounts,
    /// Connections written as such, because the side that accepted spoke first. They are not among
    /// the messages.
    pub connects: u64,
    /// Connections that carry many calls at once.
    pub multiplexed: u64,
    /// Connections on which nobody answers what the connecting side sends.
    pub unanswered: u64,
    /// Operations written: messages that are known to do something, by a recording with
    /// `--protocols`.
    #[serde(skip_serializing_if = "is_none")]
    pub operations: u64,
    /// Operations that logs tell, and whose messages are not in the trace, by cause.
    #[serde(skip_serializing_if = "NamedCounts::is_empty")]
    pub operations_without_message: NamedCounts,
    /// Messages written with a time at both ends.
    pub both_ends: u64,
    /// Messages written with the sender's times alone, by cause.
    pub send_only: NamedCounts,
    /// Messages written with the receiver's times alone, by cause.
    pub receive_only: NamedCounts,
    /// Streams (connections) whose other end was not found, by cause.
    pub unmatched_streams: NamedCounts,
    /// Streams that were open before they were recorded and were left out, as it is not certain
    /// which of their calls belong together; by the name of the end that accepted.
    pub unplaced_streams: NamedCounts,
    /// Names that address translation stands behind, as found by connections whose ends have
    /// different names.
    pub translations: Vec<NameTranslation>,
    /// The bytes of streams with both ends traced.
    pub stream_bytes: StreamBytes,
    /// Datagrams.
    pub datagrams: DatagramCounts,
    /// What a process sent to itself. Nothing else counts it, unless all of it was to be kept.
    pub internal: InternalTraffic,
    /// Sockets that another source knows more of, which were left out, by their own source.
    pub seen_twice: NamedCounts,
    /// Records of sockets that are no message's: other address families, and flows that the log
    /// does not describe; by cause.
    pub ignored: NamedCounts,
    /// Calls that failed, by direction.
    pub failed_calls: NamedCounts,
    /// Records that could not be written during capture, by cause.
    pub lost_records: NamedCounts,
    /// The same by program and cause, the largest number first.
    pub holes: Vec<ProgramGap>,
    /// Logs that say that they are another host's than the one whose directory they lie in, by that
    /// one, whose they are taken to be.
    pub misnamed: NamedCounts,
    /// Logs with damage; what was whole in them was used.
    pub damaged: Vec<DamagedLog>,
    /// Logs that had not ended when they were read: their processes ran on, or were killed.
    pub unended: Vec<UnendedLog>,
}

/// Whether a count is 0.
fn is_none(count: &u64) -> bool {
    *count == 0
}

/// A log that had not ended when it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UnendedLog {
    /// The file, below the data directory.
    pub file: PathBuf,
    /// How many records it had.
    pub records: u64,
}

/// What one end of connections is called by the other end, and what it calls itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NameTranslation {
    /// Which end.
    pub end: TranslatedEnd,
    /// Of a server, the name that clients connect to; of a client, its own address.
    pub from: String,
    /// Of a server, its own name; of a client, the address by which servers see it.
    pub to: String,
    /// Connections.
    pub flows: u64,
    /// How sure their ends belong together: the mean or, of datagrams, the least, up to 1.
    pub confidence: f64,
}

/// Which end of a connection has another name for its peer than for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TranslatedEnd {
    /// The one that accepted: the server.
    #[default]
    Destination,
    /// The one that connected: the client.
    Source,
}

/// The bytes of streams with both ends traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StreamBytes {
    /// Seen by both ends.
    pub matched: u64,
    /// Sent and never read.
    pub sent_only: u64,
    /// Read, though no call was seen to send them.
    pub received_only: u64,
}

impl StreamBytes {
    /// Adds what a part of the work counted.
    pub(crate) fn absorb(&mut self, part: StreamBytes) {
        self.matched += part.matched;
        self.sent_only += part.sent_only;
        self.received_only += part.received_only;
    }
}

/// What became of the datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DatagramCounts {
    /// Sent by traced processes.
    pub sent: u64,
    /// Received by traced processes.
    pub received: u64,
    /// Seen by both ends.
    pub matched: u64,
    /// Sent to a traced socket and never received.
    pub lost: u64,
    /// Received once more. They are no messages.
    pub duplicated: u64,
    /// Received after one that was sent later.
    pub reordered: u64,
    /// Received by one more socket (multicast).
    pub copies: u64,
    /// Received in part.
    pub truncated: u64,
    /// Sent or received without a checksum: who saw it did not see the whole payload.
    pub unchecked: u64,
    /// Looked at and left in the queue. They are no messages.
    pub peeked: u64,
}

/// What the user chose of what decides which messages there are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReconcileSettings {
    /// `ReconcileOptions::internal`.
    pub internal: InternalMessages,
    /// `ReconcileOptions::fat_gap`.
    pub fat_gap: Duration,
    /// `ReconcileOptions::translation`.
    pub translation: Option<f64>,
}

impl From<&Options> for ReconcileSettings {
    fn from(options: &Options) -> ReconcileSettings {
        let Options { internal, fat_gap, translation, .. } = *options;
        ReconcileSettings { internal, fat_gap, translation }
    }
}

/// A log with damage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DamagedLog {
    /// The file.
    pub file: String,
    /// How many places are damaged.
    pub places: u64,
    /// What is wrong, place by place; the first ones only where there are many.
    pub what: Vec<String>,
}

impl Reconciliation {
    /// Reads the outcome of the last reconciliation of `data`.
    ///
    /// # Errors
    /// When there is none, or it is not what it should be.
    pub fn read(data: &DataDir) -> Result<Reconciliation, PathError> {
        message_trace::json::read_json(data.reconciliation_path())
    }

    /// Writes `reconciliation.json`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, data: &DataDir) -> Result<(), PathError> {
        message_trace::json::write_json(data.reconciliation_path(), self)
    }

    /// Whether a log that had not ended when it was read has more to say now. A log is written
    /// through memory, so its file need not look any newer.
    pub fn is_outdated(&self, data: &DataDir) -> bool {
        self.unended.iter().any(|unended| {
            match SocketLog::open(data.root_path().join(&unended.file)) {
                Ok(log) if log.header().state == state::RUNNING => {
                    let mut records = 0;
                    log.for_each(|_| records += 1);
                    records != unended.records
                }
                _ => true,
            }
        })
    }

    /// What of [`Reconciliation::internal`] is in the trace.
    pub fn internal_in_trace(&self) -> FlowsAndMessages {
        match self.settings.map(|settings| settings.internal) {
            Some(InternalMessages::BetweenThreads) => self.internal.between_threads,
            _ => FlowsAndMessages::default(),
        }
    }

    /// How many messages were written, but for those that a process sent to itself.
    pub fn total_messages(&self) -> u64 {
        self.messages.values().sum()
    }

    /// Adds what a part of the work counted.
    pub(crate) fn absorb(&mut self, part: Reconciliation) {
        self.records += part.records;
        self.flows += part.flows;
        self.connects += part.connects;
        self.multiplexed += part.multiplexed;
        self.unanswered += part.unanswered;
        self.both_ends += part.both_ends;
        for (counts, more) in [
            (&mut self.messages, part.messages),
            (&mut self.send_only, part.send_only),
            (&mut self.receive_only, part.receive_only),
            (&mut self.unmatched_streams, part.unmatched_streams),
            (&mut self.unplaced_streams, part.unplaced_streams),
            (&mut self.ignored, part.ignored),
            (&mut self.failed_calls, part.failed_calls),
        ] {
            more.iter().for_each(|(name, count)| add_count(counts, name, *count));
        }
        self.stream_bytes.absorb(part.stream_bytes);
        let (datagrams, more) = (&mut self.datagrams, part.datagrams);
        datagrams.sent += more.sent;
        datagrams.received += more.received;
        datagrams.matched += more.matched;
        datagrams.lost += more.lost;
        datagrams.duplicated += more.duplicated;
        datagrams.reordered += more.reordered;
        datagrams.copies += more.copies;
        datagrams.truncated += more.truncated;
        datagrams.unchecked += more.unchecked;
        datagrams.peeked += more.peeked;
        self.internal.absorb(part.internal);
    }
}

/// Adds `count` to what is counted under `name`.
pub(crate) fn add_count(counts: &mut NamedCounts, name: &str, count: u64) {
    if count == 0 {
        return;
    }
    match counts.get_mut(name) {
        // A damaged header may say anything.
        Some(sum) => *sum = sum.saturating_add(count),
        None => {
            counts.insert(name.to_owned(), count);
        }
    }
}

/// What is missing of a program, for one cause.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProgramGap {
    /// The program, with its host where there are several. Of a program that is not
    /// recorded at all, its path.
    pub program: String,
    /// Why it is missing.
    pub cause: String,
    /// Number of records that were lost.
    pub records: u64,
    /// Number of processes without any recording.
    pub processes: u64,
    /// Whether `program` is not the missing one, but the one that began it.
    pub of_children: bool,
}
