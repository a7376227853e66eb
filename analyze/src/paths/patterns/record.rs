//! Records of path instances, kept until their patterns are described: shape, probability and
//! delays, as bytes: varint length and bytes of the shape ([`ShapeLabels::write_to`]); varint
//! length of the rest; varint work item, varint number of the instance in it, f64 probability,
//! signed varint duration in nanoseconds, and each message ([`InstanceHop::write_to`]).
//!
//! The shape is common to instances of one pattern: the depth and the labels of each message, in
//! depth-first order. So two shapes are equal if their bytes are, and a pattern can be described
//! without the trace.

use std::hash::Hasher;

use message_trace::MessageId;
use rustc_hash::FxHasher;

use super::shape_labels::{PathLabeler, ShapeLabels};
use crate::naming::Naming;
use crate::paths::instances::connect_time::MessageTree;
use crate::paths::instances::messages::PathMessages;
use crate::paths::storage::bytes::{PathByteReader, put_float, put_number, put_signed, put_slice};
use crate::receipt::MessageReceipt;

/// Bits of the first byte of a message: which ends were traced, and which values follow.
const SRC_TRACED: u8 = 1;
const DST_TRACED: u8 = 2;
const NETWORK: u8 = 4;
const NODE: u8 = 8;
const UNTRACED: u8 = 16;
const CONNECT: u8 = 32;
const OUTCOME: u8 = 64;

/// A message of an instance or of a pattern: its delays `T` in nanoseconds, its size `B`, its
/// connect time `C`, and the outcome `O` of the call that it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct HopMeasures<T, B, C, O> {
    pub(crate) src_traced: bool,
    pub(crate) dst_traced: bool,
    /// Network latency, as in [`Hop::network`](super::pattern::Hop::network).
    pub(crate) network: Option<T>,
    /// Node latency, as in [`Hop::node`](super::pattern::Hop::node).
    pub(crate) node: Option<T>,
    /// Time of an untraced sender, as in [`Hop::untraced`](super::pattern::Hop::untraced).
    pub(crate) untraced: Option<T>,
    /// Time for which the sender waited for the connection, if it waited.
    pub(crate) connect: Option<C>,
    pub(crate) bytes: B,
    /// Outcome of the call, if the message is known to be a response.
    pub(crate) outcome: Option<O>,
}

impl<T, B, C, O> HopMeasures<T, B, C, O> {
    /// Returns the bits of the known properties.
    pub(crate) fn flag_bits(&self) -> u8 {
        let bit = |is, bit| if is { bit } else { 0 };
        bit(self.src_traced, SRC_TRACED)
            | bit(self.dst_traced, DST_TRACED)
            | bit(self.network.is_some(), NETWORK)
            | bit(self.node.is_some(), NODE)
            | bit(self.untraced.is_some(), UNTRACED)
            | bit(self.connect.is_some(), CONNECT)
            | bit(self.outcome.is_some(), OUTCOME)
    }

    /// Reads bits written by [`HopMeasures::flag_bits`] and then the known delays, the size and the
    /// outcome.
    #[inline]
    pub(crate) fn read_measures<'bytes>(
        reader: &mut PathByteReader<'bytes>,
        delay: impl Fn(&mut PathByteReader<'bytes>) -> T,
        connect: impl Fn(&mut PathByteReader<'bytes>) -> C,
        bytes: impl Fn(&mut PathByteReader<'bytes>) -> B,
        outcome: impl Fn(&mut PathByteReader<'bytes>) -> O,
    ) -> HopMeasures<T, B, C, O> {
        let flags = reader.read_byte();
        let mut known = |bit| (flags & bit != 0).then(|| delay(reader));
        let (network, node, untraced) = (known(NETWORK), known(NODE), known(UNTRACED));
        let connect = (flags & CONNECT != 0).then(|| connect(reader));
        let (src_traced, dst_traced) = (flags & SRC_TRACED != 0, flags & DST_TRACED != 0);
        HopMeasures {
            src_traced,
            dst_traced,
            network,
            node,
            untraced,
            connect,
            bytes: bytes(reader),
            outcome: (flags & OUTCOME != 0).then(|| outcome(reader)),
        }
    }
}

impl<T, B, C, O> HopMeasures<T, B, C, O> {
    /// Converts delays, sizes, connect times, and outcomes.
    pub(crate) fn map_measures<T2, B2, C2, O2>(
        self,
        delay: impl Fn(T) -> T2,
        bytes: impl Fn(B) -> B2,
        connect: impl Fn(C) -> C2,
        outcome: impl Fn(O) -> O2,
    ) -> HopMeasures<T2, B2, C2, O2> {
        HopMeasures {
            src_traced: self.src_traced,
            dst_traced: self.dst_traced,
            network: self.network.map(&delay),
            node: self.node.map(&delay),
            untraced: self.untraced.map(&delay),
            connect: self.connect.map(connect),
            bytes: bytes(self.bytes),
            outcome: self.outcome.map(outcome),
        }
    }
}

/// A message of one instance.
pub(crate) type InstanceHop = HopMeasures<i64, i64, i64, bool>;

impl InstanceHop {
    /// Appends the message to `out`: u8 bits of the known properties; signed varints: the known
    /// ones of network, node, untraced latency and connect time in nanoseconds, then the size in
    /// bytes; u8 outcome (1: error), if known.
    #[inline]
    pub(crate) fn write_to(&self, out: &mut Vec<u8>) {
        out.push(self.flag_bits());
        for delay in [self.network, self.node, self.untraced, self.connect].into_iter().flatten() {
            put_signed(out, delay);
        }
        put_signed(out, self.bytes);
        out.extend(self.outcome.map(u8::from));
    }

    /// Reads the next message of an instance.
    #[inline]
    pub(crate) fn read_from(reader: &mut PathByteReader<'_>) -> InstanceHop {
        let is_error = |reader: &mut PathByteReader<'_>| reader.read_byte() != 0;
        HopMeasures::read_measures(
            reader,
            PathByteReader::read_signed,
            PathByteReader::read_signed,
            PathByteReader::read_signed,
            is_error,
        )
    }
}

/// Writes instances as bytes, one after the other.
pub(crate) struct InstanceRecorder<'trace> {
    messages: &'trace PathMessages,
    naming: &'trace Naming,
    labeler: PathLabeler<'trace>,
    /// The indices of the messages above the current one.
    above: Vec<u32>,
    /// The index of each message's cause.
    causes: Vec<Option<u32>>,
    receipts: Vec<MessageReceipt>,
    /// Time for which the sender of each message waited for its connection, in nanoseconds.
    connecting: Vec<i64>,
    shape: Vec<u8>,
    /// The bytes of the record after its shape.
    body: Vec<u8>,
    /// The bytes of the messages.
    delays: Vec<u8>,
    record: Vec<u8>,
}

impl<'trace> InstanceRecorder<'trace> {
    pub(crate) fn new(
        messages: &'trace PathMessages,
        naming: &'trace Naming,
    ) -> InstanceRecorder<'trace> {
        InstanceRecorder {
            messages,
            naming,
            labeler: PathLabeler::new(naming),
            above: Vec::new(),
            causes: Vec::new(),
            receipts: Vec::new(),
            connecting: Vec::new(),
            shape: Vec::new(),
            body: Vec::new(),
            delays: Vec::new(),
            record: Vec::new(),
        }
    }

    /// Returns the record of a tree of messages with their depths, which has the number `instance`
    /// in the work item `item`; and a hash that is equal for all instances of its shape.
    pub(crate) fn record_tree(
        &mut self,
        (item, instance): (u64, u64),
        tree: &[(MessageId, u32)],
        probability: f64,
    ) -> (&[u8], u64) {
        self.shape.clear();
        self.delays.clear();
        self.connecting.clear();
        self.labeler.begin_path();
        self.find_receipts(tree);
        let mut first = None;
        let mut last = None;
        for (place, (message, depth)) in tree.iter().enumerate() {
            let message = *message;
            let (sent, received) = (self.messages.send_ts(message), self.receipts[place].at);
            first = first.or_else(|| Some(sent.or(received)));
            last = last.max(sent).max(received);
            let operation = self.messages.operations(message).operation;
            ShapeLabels { operation, ..self.labeler.label_message(message) }
                .write_to(*depth, &mut self.shape);
            let cause = self.causes[place]
                .map(|cause| (tree[cause as usize].0, self.receipts[cause as usize]));
            let connect =
                MessageTree { messages: tree, causes: &self.causes, receipts: &self.receipts }
                    .connect_time(place, self.messages, self.naming);
            self.connecting.push(connect.unwrap_or(0));
            self.measure_hop(message, cause, [sent, received], connect).write_to(&mut self.delays);
        }
        // From the first event of the root to the last event of the tree.
        let duration =
            last.zip(first.flatten()).map_or(0, |(last, first)| last.saturating_sub(first));
        self.body.clear();
        put_number(&mut self.body, item);
        put_number(&mut self.body, instance);
        put_float(&mut self.body, probability);
        put_signed(&mut self.body, duration);
        self.body.extend_from_slice(&self.delays);
        self.record.clear();
        put_slice(&mut self.record, &self.shape);
        put_slice(&mut self.record, &self.body);
        let mut hasher = FxHasher::default();
        hasher.write(&self.shape);
        (&self.record, hasher.finish())
    }

    /// Returns the time in nanoseconds for which the sender of each message of the last tree waited
    /// for its connection.
    pub(crate) fn connect_times(&self) -> &[i64] {
        &self.connecting
    }

    /// Finds the cause of each message of a tree, and when each was received.
    fn find_receipts(&mut self, tree: &[(MessageId, u32)]) {
        self.above.clear();
        self.causes.clear();
        self.receipts.clear();
        for (place, (message, depth)) in tree.iter().enumerate() {
            self.above.truncate(*depth as usize);
            let cause = self.above.last().copied();
            self.above.push(place as u32);
            self.causes.push(cause);
            self.receipts.push(self.messages.receipt(*message));
            if let Some(cause) = cause {
                self.receipts[cause as usize].note_effect(self.messages.send_ts(*message));
            }
        }
    }

    /// Returns the delays, size and outcome of a message. `cause` is the message that caused it,
    /// with its receipt; `connect` is the connect time in nanoseconds.
    #[inline]
    fn measure_hop(
        &self,
        message: MessageId,
        cause: Option<(MessageId, MessageReceipt)>,
        [sent, received]: [Option<i64>; 2],
        connect: Option<i64>,
    ) -> InstanceHop {
        let since = |end: Option<i64>, start: Option<i64>| Some(end?.saturating_sub(start?));
        let traced = |node: u32| self.naming.nodes()[node as usize].traced;
        HopMeasures {
            src_traced: traced(self.naming.src(message)),
            dst_traced: traced(self.naming.dst(message)),
            network: since(received, sent),
            node: cause
                .and_then(|(_, receipt)| since(sent, receipt.at))
                .map(|node| node.saturating_sub(connect.unwrap_or(0))),
            connect,
            untraced: cause
                .filter(|_| sent.is_none())
                .and_then(|(cause, _)| since(received, self.messages.send_ts(cause))),
            bytes: self.messages.bytes(message),
            outcome: self.messages.operations(message).is_error,
        }
    }
}

/// An instance as it was recorded, without its shape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordedInstance<'bytes> {
    /// The work item that built the instance, and the instance's number there.
    pub(crate) place: (u64, u64),
    pub(crate) probability: f64,
    /// Duration of the instance, in nanoseconds.
    pub(crate) duration: i64,
    /// The messages of the instance, for [`InstanceHop::read_from`].
    pub(crate) messages: PathByteReader<'bytes>,
    /// All bytes of the record from the probability on.
    pub(crate) bytes: &'bytes [u8],
}

impl<'bytes> RecordedInstance<'bytes> {
    /// Reads the shape and the rest of the next record.
    #[inline]
    pub(crate) fn read_with_shape(
        reader: &mut PathByteReader<'bytes>,
    ) -> (&'bytes [u8], RecordedInstance<'bytes>) {
        let shape = reader.read_slice();
        let mut body = PathByteReader(reader.read_slice());
        let place = (body.read_number(), body.read_number());
        let bytes = body.0;
        (shape, RecordedInstance { place, ..RecordedInstance::from_bytes(bytes) })
    }

    /// Reads a record from the probability on.
    #[inline]
    pub(crate) fn from_bytes(bytes: &'bytes [u8]) -> RecordedInstance<'bytes> {
        let mut reader = PathByteReader(bytes);
        let (probability, duration) = (reader.read_float(), reader.read_signed());
        RecordedInstance { place: (0, 0), probability, duration, messages: reader, bytes }
    }
}
