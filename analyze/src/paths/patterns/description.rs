//! Patterns between description and writing, as bytes: the summary of the instances of a shape
//! (WAP5 sections 5.1 and 5.2). The delays of a pattern with several instances are summarised with
//! their probabilities as weights; a pattern with one instance stays as it was recorded, and is
//! summarised when it is written.

use message_trace::stats::DelaySummary;

use super::pattern::{CallOutcomes, ConnectTimes};
use super::record::{HopMeasures, InstanceHop, RecordedInstance};
use super::shape_labels::ShapeLabels;
use crate::paths::storage::bytes::{PathByteReader, put_float, put_number, put_slice};

/// A message of a pattern, summarised over its instances.
pub(crate) type PatternHop = HopMeasures<DelaySummary, f64, ConnectTimes, CallOutcomes>;

/// First byte of a pattern with one instance.
const ONE_INSTANCE: u8 = 0;
/// First byte of a pattern with several instances.
const SEVERAL_INSTANCES: u8 = 1;

/// Totals of a pattern; times are in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct PatternTotals {
    pub(crate) count: i64,
    pub(crate) expected: f64,
    pub(crate) max_probability: f64,
    pub(crate) duration: DelaySummary,
    pub(crate) total_time: f64,
}

impl PatternTotals {
    fn from_instance(instance: &RecordedInstance<'_>) -> PatternTotals {
        let p = instance.probability;
        PatternTotals {
            count: 1,
            expected: p,
            max_probability: p,
            duration: single_summary(instance.duration, p),
            total_time: instance.duration as f64 * p,
        }
    }
}

/// Returns the summary of one delay. It multiplies and divides by the probability, so that it
/// equals the result of [`DelaySummary::from_samples`] bit by bit.
#[inline]
fn single_summary(delay: i64, probability: f64) -> DelaySummary {
    let value = delay as f64;
    DelaySummary { mean: value * probability / probability, p50: value, p99: value }
}

/// Describes one pattern after the other. The fields are buffers of the delays of one pattern or
/// message, in nanoseconds, each with the probability of its instance.
#[derive(Default)]
pub(crate) struct PatternDescriber {
    duration: Vec<(i64, f64)>,
    network: Vec<(i64, f64)>,
    node: Vec<(i64, f64)>,
    untraced: Vec<(i64, f64)>,
    connect: Vec<(i64, f64)>,
}

impl PatternDescriber {
    /// Appends the pattern with this shape to `out`: u8 kind, varint length and bytes of the shape,
    /// and then either the record of the only instance from its probability on, or varint count,
    /// six f64 (expected, maximum probability, duration mean, median and 99th percentile, total
    /// time) and the summary of each message. `instances` are all instances of the pattern, at
    /// least one. Returns the total time of the pattern in nanoseconds.
    pub(crate) fn describe_pattern(
        &mut self,
        shape: &[u8],
        instances: &mut [RecordedInstance<'_>],
        out: &mut Vec<u8>,
    ) -> f64 {
        if let [only] = instances {
            out.push(ONE_INSTANCE);
            put_slice(out, shape);
            out.extend_from_slice(only.bytes);
            return PatternTotals::from_instance(only).total_time;
        }
        let totals = self.pattern_totals(instances);
        let PatternTotals { expected, max_probability, duration, total_time, .. } = totals;
        out.push(SEVERAL_INSTANCES);
        put_slice(out, shape);
        put_number(out, instances.len() as u64);
        for number in
            [expected, max_probability, duration.mean, duration.p50, duration.p99, total_time]
        {
            put_float(out, number);
        }
        for _ in ShapeHops::from_bytes(shape) {
            self.next_hop(instances).write_to(out);
        }
        total_time
    }

    /// Returns the totals of the pattern with these `instances`.
    pub(crate) fn pattern_totals(&mut self, instances: &[RecordedInstance<'_>]) -> PatternTotals {
        self.duration.clear();
        self.duration
            .extend(instances.iter().map(|instance| (instance.duration, instance.probability)));
        let weighted = self.duration.iter().map(|(duration, weight)| *duration as f64 * weight);
        let total_time = weighted.fold(0.0, |total, time| total + time);
        let probabilities = || self.duration.iter().map(|(_, probability)| *probability);
        let expected = probabilities().fold(0.0, |total, probability| total + probability);
        let max_probability = probabilities().fold(0.0, f64::max);
        let duration = DelaySummary::from_samples(&mut self.duration).unwrap_or_default();
        PatternTotals {
            count: instances.len() as i64,
            expected,
            max_probability,
            duration,
            total_time,
        }
    }

    /// Summarises the next message of all `instances`.
    pub(crate) fn next_hop(&mut self, instances: &mut [RecordedInstance<'_>]) -> PatternHop {
        let PatternDescriber { network, node, untraced, connect, .. } = self;
        network.clear();
        node.clear();
        untraced.clear();
        connect.clear();
        let (mut bytes, mut weight) = (0.0, 0.0);
        let (mut src_traced, mut dst_traced) = (false, false);
        let mut outcomes = OutcomeSums::default();
        for instance in instances {
            let p = instance.probability;
            let seen = InstanceHop::read_from(&mut instance.messages);
            network.extend(seen.network.map(|delay| (delay, p)));
            node.extend(seen.node.map(|delay| (delay, p)));
            untraced.extend(seen.untraced.map(|delay| (delay, p)));
            connect.extend(seen.connect.map(|time| (time, p)));
            outcomes.add_outcome(seen.outcome, p);
            bytes += seen.bytes as f64 * p;
            weight += p;
            src_traced |= seen.src_traced;
            dst_traced |= seen.dst_traced;
        }
        HopMeasures {
            src_traced,
            dst_traced,
            network: DelaySummary::from_samples(network),
            node: DelaySummary::from_samples(node),
            untraced: DelaySummary::from_samples(untraced),
            connect: ConnectTimes::from_samples(connect, weight),
            bytes: bytes / weight,
            outcome: outcomes.into_outcomes(),
        }
    }
}

/// Counts of responses: their number, and the expected number of real ones.
#[derive(Clone, Copy, Debug, Default)]
struct OutcomeSums {
    /// All responses with a known outcome.
    answers: (i64, f64),
    /// Responses that report an error.
    errors: (i64, f64),
}

impl OutcomeSums {
    fn add_outcome(&mut self, is_error: Option<bool>, probability: f64) {
        let count = |is: bool, (count, expected): &mut (i64, f64)| {
            *count += i64::from(is);
            *expected += if is { probability } else { 0.0 };
        };
        count(is_error.is_some(), &mut self.answers);
        count(is_error == Some(true), &mut self.errors);
    }

    fn into_outcomes(self) -> Option<CallOutcomes> {
        let (answers, all) = self.answers;
        let (errors, failed) = self.errors;
        (answers > 0).then(|| CallOutcomes { answers, errors, error_share: failed / all })
    }
}

fn put_summary(out: &mut Vec<u8>, delay: &DelaySummary) {
    [delay.mean, delay.p50, delay.p99].into_iter().for_each(|part| put_float(out, part));
}

impl PatternHop {
    fn write_to(&self, out: &mut Vec<u8>) {
        out.push(self.flag_bits());
        for delay in [self.network, self.node, self.untraced].into_iter().flatten() {
            put_summary(out, &delay);
        }
        if let Some(ConnectTimes { count, expected, share, delay }) = self.connect {
            put_number(out, count as u64);
            put_float(out, expected);
            put_float(out, share);
            put_summary(out, &delay);
        }
        put_float(out, self.bytes);
        if let Some(CallOutcomes { answers, errors, error_share }) = self.outcome {
            put_number(out, answers as u64);
            put_number(out, errors as u64);
            put_float(out, error_share);
        }
    }

    fn read_from<'bytes>(reader: &mut PathByteReader<'bytes>) -> PatternHop {
        let delay = |reader: &mut PathByteReader<'bytes>| {
            let [mean, p50, p99] = [reader.read_float(), reader.read_float(), reader.read_float()];
            DelaySummary { mean, p50, p99 }
        };
        let connect = |reader: &mut PathByteReader<'bytes>| {
            let (count, expected, share) =
                (reader.read_number() as i64, reader.read_float(), reader.read_float());
            ConnectTimes { count, expected, share, delay: delay(reader) }
        };
        let outcomes = |reader: &mut PathByteReader<'bytes>| CallOutcomes {
            answers: reader.read_number() as i64,
            errors: reader.read_number() as i64,
            error_share: reader.read_float(),
        };
        HopMeasures::read_measures(reader, delay, connect, PathByteReader::read_float, outcomes)
    }

    /// Returns the summary of a message of a pattern with one instance.
    #[inline]
    fn from_instance(seen: InstanceHop, p: f64) -> PatternHop {
        let connect = |time| ConnectTimes {
            count: 1,
            expected: p,
            share: 1.0,
            delay: single_summary(time, p),
        };
        let outcome = |is_error: bool| CallOutcomes {
            answers: 1,
            errors: i64::from(is_error),
            error_share: f64::from(u8::from(is_error)),
        };
        seen.map_measures(
            |delay| single_summary(delay, p),
            |bytes| bytes as f64 * p / p,
            connect,
            outcome,
        )
    }
}

/// A described pattern that is being read.
pub(crate) struct DescribedHops<'bytes> {
    pub(crate) totals: PatternTotals,
    shape: ShapeHops<'bytes>,
    messages: PathByteReader<'bytes>,
    /// The probability of the only instance; `None` if there are several.
    only_probability: Option<f64>,
}

impl<'bytes> DescribedHops<'bytes> {
    /// Reads the output of [`PatternDescriber::describe_pattern`].
    pub(crate) fn from_bytes(bytes: &'bytes [u8]) -> DescribedHops<'bytes> {
        let mut reader = PathByteReader(bytes);
        let kind = reader.read_byte();
        let shape = ShapeHops::from_bytes(reader.read_slice());
        if kind == ONE_INSTANCE {
            let instance = RecordedInstance::from_bytes(reader.0);
            return DescribedHops {
                totals: PatternTotals::from_instance(&instance),
                shape,
                messages: instance.messages,
                only_probability: Some(instance.probability),
            };
        }
        let count = reader.read_number() as i64;
        let [expected, max_probability, mean, p50, p99, total_time] =
            std::array::from_fn(|_| reader.read_float());
        let duration = DelaySummary { mean, p50, p99 };
        let totals = PatternTotals { count, expected, max_probability, duration, total_time };
        DescribedHops { totals, shape, messages: reader, only_probability: None }
    }
}

impl Iterator for DescribedHops<'_> {
    /// The depth of a message, its labels, and the message.
    type Item = (u32, ShapeLabels, PatternHop);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (depth, labels) = self.shape.next()?;
        let message = match self.only_probability {
            Some(p) => PatternHop::from_instance(InstanceHop::read_from(&mut self.messages), p),
            None => PatternHop::read_from(&mut self.messages),
        };
        Some((depth, labels, message))
    }
}

/// The depths and labels of a shape.
pub(crate) struct ShapeHops<'bytes>(PathByteReader<'bytes>);

impl<'bytes> ShapeHops<'bytes> {
    pub(crate) fn from_bytes(shape: &'bytes [u8]) -> ShapeHops<'bytes> {
        ShapeHops(PathByteReader(shape))
    }
}

impl Iterator for ShapeHops<'_> {
    type Item = (u32, ShapeLabels);

    #[inline]
    fn next(&mut self) -> Option<(u32, ShapeLabels)> {
        (!self.0.is_empty()).then(|| ShapeLabels::read_from(&mut self.0))
    }
}
