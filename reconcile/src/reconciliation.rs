//! Outcome of a reconciliation, with unmatched data by cause: nothing is dropped without being
//! counted here.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use message_trace::{DataDir, PathError};
use serde::{Deserialize, Serialize};
use socket_log::SocketLog;
use socket_log::layout::state;

use crate::internal::{FlowsAndMessages, InternalMessages, InternalTraffic};
use crate::options::Options;

/// Counts by the name of a protocol or of a cause.
pub type NamedCounts = BTreeMap<String, u64>;

/// The outcome of a reconciliation, `reconciliation.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reconciliation {
    /// The settings of the reconciliation; `None` if a version without settings wrote the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<ReconcileSettings>,
    /// Log files found.
    pub logs: u64,
    /// Disk space of the logs, in bytes.
    pub log_bytes: u64,
    /// Traced processes: readable logs, without programs that were replaced by `exec`.
    pub processes: u64,
    /// Hosts of these processes.
    pub hosts: u64,
    /// Records read.
    pub records: u64,
    /// Flows: connections, and pairs of datagram endpoints.
    pub flows: u64,
    /// Messages that were imported as such, by the name of the import. They are included in the
    /// messages written.
    pub imported: NamedCounts,
    /// Messages written by protocol; a merged message counts once.
    pub messages: NamedCounts,
    /// Connections written as such, because the accepting side spoke first. They are not included
    /// in the messages.
    pub connects: u64,
    /// Multiplexed connections.
    pub multiplexed: u64,
    /// Connections with an accepting side that never answers.
    pub unanswered: u64,
    /// Operations written: messages with a known operation, from a recording with `--protocols`.
    #[serde(skip_serializing_if = "is_none")]
    pub operations: u64,
    /// Operations in logs without their messages in the trace, by cause.
    #[serde(skip_serializing_if = "NamedCounts::is_empty")]
    pub operations_without_message: NamedCounts,
    /// Messages written with a time at both ends.
    pub both_ends: u64,
    /// Messages written with the sender's times alone, by cause.
    pub send_only: NamedCounts,
    /// Messages written with the receiver's times alone, by cause.
    pub receive_only: NamedCounts,
    /// Streams (connections) without a known other end, by cause.
    pub unmatched_streams: NamedCounts,
    /// Streams that were left out because they were open before they were recorded and it is
    /// uncertain which of their calls belong together; by the name of the accepting end.
    pub unplaced_streams: NamedCounts,
    /// Translated names, found by connections with ends that have different names.
    pub translations: Vec<NameTranslation>,
    /// The bytes of streams with both ends traced.
    pub stream_bytes: StreamBytes,
    /// Datagrams.
    pub datagrams: DatagramCounts,
    /// Messages of processes to themselves. Other counts include them only if the options keep all
    /// of them.
    pub internal: InternalTraffic,
    /// Duplicate sockets that were dropped because another source saw more of them, by their own
    /// source.
    pub seen_twice: NamedCounts,
    /// Records of sockets that carry no messages: other address families, and flows that the log
    /// does not describe; by cause.
    pub ignored: NamedCounts,
    /// Calls that failed, by direction.
    pub failed_calls: NamedCounts,
    /// Numbers of logs that lack evidence of causes because of the options of their recording.
    pub left_out: LeftOutEvidence,
    /// Records that could not be written during capture, by cause.
    pub lost_records: NamedCounts,
    /// Lost records by program and cause, the largest number first.
    pub holes: Vec<ProgramGap>,
    /// Logs with a header that names another host than the directory that contains them, by the
    /// host of the directory, to which they are attributed.
    pub misnamed: NamedCounts,
    /// Logs with damage; their undamaged parts were used.
    pub damaged: Vec<DamagedLog>,
    /// Logs that had not ended when they were read: their processes were still running, or were
    /// killed.
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
    /// Number of records that the log had.
    pub records: u64,
}

/// Two names of one end of connections: the one that its peers use, and its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NameTranslation {
    /// Which end has two names.
    pub end: TranslatedEnd,
    /// Of a server, the name to which clients connect; of a client, its own address.
    pub from: String,
    /// Of a server, its own name; of a client, the address by which servers see it.
    pub to: String,
    /// Number of connections or flows with these names.
    pub flows: u64,
    /// Confidence that their ends belong together: the mean or, of datagrams, the minimum, up to 1.
    pub confidence: f64,
}

/// The end of a connection that its peer knows under another name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TranslatedEnd {
    /// The accepting end: the server.
    #[default]
    Destination,
    /// The connecting end: the client.
    Source,
}

/// The bytes of streams with both ends traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StreamBytes {
    /// Bytes seen by both ends.
    pub matched: u64,
    /// Bytes sent and never read.
    pub sent_only: u64,
    /// Bytes read without a recorded call that sent them.
    pub received_only: u64,
}

impl StreamBytes {
    /// Adds the counts of a part of the work.
    pub(crate) fn absorb(&mut self, part: StreamBytes) {
        self.matched += part.matched;
        self.sent_only += part.sent_only;
        self.received_only += part.received_only;
    }
}

/// Numbers of the library's logs without some evidence of causes that `record` could have recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LeftOutEvidence {
    /// Logs without hand-offs between threads (`--resources`).
    pub handoffs: u64,
    /// Logs without rare words of messages (`--no-words`).
    pub words: u64,
}

/// Counts of datagrams.
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
    /// Received once more by the same socket (second copies). They are not messages.
    pub duplicated: u64,
    /// Received after one that was sent later.
    pub reordered: u64,
    /// Received by one more socket, as by multicast.
    pub copies: u64,
    /// Received in part.
    pub truncated: u64,
    /// Sent or received without a checksum: the recorder did not see the whole payload.
    pub unchecked: u64,
    /// Peeked at and left in the queue. They are not messages.
    pub peeked: u64,
}

/// Options that decide which messages the trace has.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReconcileSettings {
    /// See [`Options::internal`].
    pub internal: InternalMessages,
    /// See [`Options::fat_gap`].
    pub fat_gap: Duration,
    /// See [`Options::translation`].
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
    /// Number of damaged places.
    pub places: u64,
    /// Descriptions of the damage, place by place; if there are many, only of the first.
    pub what: Vec<String>,
}

impl Reconciliation {
    /// Reads the outcome of the last reconciliation of `data`.
    ///
    /// # Errors
    /// Fails if there is no outcome, or it cannot be parsed.
    pub fn read(data: &DataDir) -> Result<Reconciliation, PathError> {
        message_trace::json::read_json(data.reconciliation_path())
    }

    /// Writes `reconciliation.json`.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn write(&self, data: &DataDir) -> Result<(), PathError> {
        message_trace::json::write_json(data.reconciliation_path(), self)
    }

    /// Whether a log that had not ended when it was read has new records. A log is written through
    /// mapped memory, so the time of its file need not change.
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

    /// The part of [`Reconciliation::internal`] that is in the trace.
    pub fn internal_in_trace(&self) -> FlowsAndMessages {
        match self.settings.map(|settings| settings.internal) {
            Some(InternalMessages::BetweenThreads) => self.internal.between_threads,
            _ => FlowsAndMessages::default(),
        }
    }

    /// Number of messages written, without messages of processes to themselves.
    pub fn total_messages(&self) -> u64 {
        self.messages.values().sum()
    }

    /// Adds the counts of a part of the work.
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

/// Adds `count` to the count of `name`.
pub(crate) fn add_count(counts: &mut NamedCounts, name: &str, count: u64) {
    if count == 0 {
        return;
    }
    match counts.get_mut(name) {
        // A damaged header may contain any number.
        Some(sum) => *sum = sum.saturating_add(count),
        None => {
            counts.insert(name.to_owned(), count);
        }
    }
}

/// Records or processes that are missing of a program, for one cause.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProgramGap {
    /// The program, with its host if there are several. For a program that is not recorded at all,
    /// its path.
    pub program: String,
    /// Cause of the gap.
    pub cause: String,
    /// Number of records that were lost.
    pub records: u64,
    /// Number of processes without any recording.
    pub processes: u64,
    /// Whether `program` is not the missing program, but the one that started it.
    pub of_children: bool,
}
