//! A pattern between being described and being written, as bytes: what the instances of a shape
//! have in common (WAP5 sections 5.1 and 5.2). The delays of a pattern of many instances are
//! summarised with their probabilities as weights; one that was seen once stays as it was recorded,
//! and is summarised when it is written.

use message_trace::stats::Summary;

use super::pattern::{Connects, Outcomes};
use super::record::{HopMeasures, InstanceHop, Recorded};
use super::shape_labels::ShapeLabels;
use crate::paths::storage::bytes::{Reader, put, put_float, put_slice};

/// A message of a pattern, summarised over its instances.
pub(crate) type PatternHop = HopMeasures<Summary, f64, Connects, Outcomes>;

/// Kinds of patterns.
const ONCE: u8 = 0;
const OFTEN: u8 = 1;

/// Totals of a pattern; times are in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct PatternTotals {
    pub(crate) count: i64,
    pub(crate) expected: f64,
    pub(crate) max_probability: f64,
    pub(crate) duration: Summary,
    pub(crate) total_time: f64,
}

impl PatternTotals {
    fn once(instance: &Recorded<'_>) -> PatternTotals {
        let p = instance.probability;
        PatternTotals {
            count: 1,
            expected: p,
            max_probability: p,
            duration: summary(instance.duration, p),
            total_time: instance.duration as f64 * p,
        }
    }
}

/// The summary of one delay: that of [`Summary::of`], with what multiplying and dividing does to
/// it.
#[inline]
fn summary(delay: i64, probability: f64) -> Summary {
    let value = delay as f64;
    Summary { mean: value * probability / probability, p50: value, p99: value }
}

/// Describes one pattern after the other.
#[derive(Default)]
pub(crate) struct Describer {
    duration: Vec<(i64, f64)>,
    network: Vec<(i64, f64)>,
    node: Vec<(i64, f64)>,
    untraced: Vec<(i64, f64)>,
    connect: Vec<(i64, f64)>,
}

impl Describer {
    /// Appends the pattern of that shape to `out`. `instances` are all of the pattern, at least
    /// one. Returns its total time.
    pub(crate) fn describe(
        &mut self,
        shape: &[u8],
        instances: &mut [Recorded<'_>],
        out: &mut Vec<u8>,
    ) -> f64 {
        if let [only] = instances {
            out.push(ONCE);
            put_slice(out, shape);
            out.extend_from_slice(only.bytes);
            return PatternTotals::once(only).total_time;
        }
        let whole = self.whole(instances);
        let PatternTotals { expected, max_probability, duration, total_time, .. } = whole;
        out.push(OFTEN);
        put_slice(out, shape);
        put(out, instances.len() as u64);
        for number in
            [expected, max_probability, duration.mean, duration.p50, duration.p99, total_time]
        {
            put_float(out, number);
        }
        for _ in ShapeHops::of(shape) {
            self.message(instances).put(out);
        }
        total_time
    }

    /// Totals of the pattern with just these `instances`.
    pub(crate) fn whole(&mut self, instances: &[Recorded<'_>]) -> PatternTotals {
        self.duration.clear();
        self.duration
            .extend(instances.iter().map(|instance| (instance.duration, instance.probability)));
        let weighted = self.duration.iter().map(|(duration, weight)| *duration as f64 * weight);
        let total_time = weighted.fold(0.0, |total, time| total + time);
        let probabilities = || self.duration.iter().map(|(_, probability)| *probability);
        let expected = probabilities().fold(0.0, |total, probability| total + probability);
        let max_probability = probabilities().fold(0.0, f64::max);
        let duration = Summary::of(&mut self.duration).unwrap_or_default();
        PatternTotals {
            count: instances.len() as i64,
            expected,
            max_probability,
            duration,
            total_time,
        }
    }

    /// The next message of all `instances`, summarised.
    pub(crate) fn message(&mut self, instances: &mut [Recorded<'_>]) -> PatternHop {
        let Describer { network, node, untraced, connect, .. } = self;
        network.clear();
        node.clear();
        untraced.clear();
        connect.clear();
        let (mut bytes, mut weight) = (0.0, 0.0);
        let (mut src_traced, mut dst_traced) = (false, false);
        let mut outcomes = OutcomeSums::default();
        for instance in instances {
            let p = instance.probability;
            let seen = InstanceHop::next(&mut instance.messages);
            network.extend(seen.network.map(|delay| (delay, p)));
            node.extend(seen.node.map(|delay| (delay, p)));
            untraced.extend(seen.untraced.map(|delay| (delay, p)));
            connect.extend(seen.connect.map(|time| (time, p)));
            outcomes.add(seen.outcome, p);
            bytes += seen.bytes as f64 * p;
            weight += p;
            src_traced |= seen.src_traced;
            dst_traced |= seen.dst_traced;
        }
        HopMeasures {
            src_traced,
            dst_traced,
            network: Summary::of(network),
            node: Summary::of(node),
            untraced: Summary::of(untraced),
            connect: Connects::of(connect, weight),
            bytes: bytes / weight,
            outcome: outcomes.of(),
        }
    }
}

/// Answers and errors among them: how many, and how many are expected to be real.
#[derive(Clone, Copy, Debug, Default)]
struct OutcomeSums {
    answers: (i64, f64),
    errors: (i64, f64),
}

impl OutcomeSums {
    fn add(&mut self, is_error: Option<bool>, probability: f64) {
        let count = |is: bool, (count, expected): &mut (i64, f64)| {
            *count += i64::from(is);
            *expected += if is { probability } else { 0.0 };
        };
        count(is_error.is_some(), &mut self.answers);
        count(is_error == Some(true), &mut self.errors);
    }

    fn of(self) -> Option<Outcomes> {
        let (answers, all) = self.answers;
        let (errors, failed) = self.errors;
        (answers > 0).then(|| Outcomes { answers, errors, error_share: failed / all })
    }
}

fn put_summary(out: &mut Vec<u8>, delay: &Summary) {
    [delay.mean, delay.p50, delay.p99].into_iter().for_each(|part| put_float(out, part));
}

impl PatternHop {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(self.flags());
        for delay in [self.network, self.node, self.untraced].into_iter().flatten() {
            put_summary(out, &delay);
        }
        if let Some(Connects { count, expected, share, delay }) = self.connect {
            put(out, count as u64);
            put_float(out, expected);
            put_float(out, share);
            put_summary(out, &delay);
        }
        put_float(out, self.bytes);
        if let Some(Outcomes { answers, errors, error_share }) = self.outcome {
            put(out, answers as u64);
            put(out, errors as u64);
            put_float(out, error_share);
        }
    }

    fn next<'bytes>(reader: &mut Reader<'bytes>) -> PatternHop {
        let delay = |reader: &mut Reader<'bytes>| {
            let [mean, p50, p99] = [reader.float(), reader.float(), reader.float()];
            Summary { mean, p50, p99 }
        };
        let connect = |reader: &mut Reader<'bytes>| {
            let (count, expected, share) = (reader.number() as i64, reader.float(), reader.float());
            Connects { count, expected, share, delay: delay(reader) }
        };
        let outcomes = |reader: &mut Reader<'bytes>| Outcomes {
            answers: reader.number() as i64,
            errors: reader.number() as i64,
            error_share: reader.float(),
        };
        HopMeasures::read(reader, delay, connect, Reader::float, outcomes)
    }

    /// The same for a message of the only instance.
    #[inline]
    fn once(seen: InstanceHop, p: f64) -> PatternHop {
        let connect =
            |time| Connects { count: 1, expected: p, share: 1.0, delay: summary(time, p) };
        let outcome = |is_error: bool| Outcomes {
            answers: 1,
            errors: i64::from(is_error),
            error_share: f64::from(u8::from(is_error)),
        };
        seen.map(|delay| summary(delay, p), |bytes| bytes as f64 * p / p, connect, outcome)
    }
}

/// A described pattern that is being read.
pub(crate) struct Described<'bytes> {
    pub(crate) whole: PatternTotals,
    places: ShapeHops<'bytes>,
    messages: Reader<'bytes>,
    /// The probability of the only instance.
    once: Option<f64>,
}

impl<'bytes> Described<'bytes> {
    /// Reads what [`Describer::describe`] wrote.
    pub(crate) fn of(bytes: &'bytes [u8]) -> Described<'bytes> {
        let mut reader = Reader(bytes);
        let kind = reader.byte();
        let places = ShapeHops::of(reader.slice());
        if kind == ONCE {
            let instance = Recorded::of(reader.0);
            let once = Some(instance.probability);
            return Described {
                whole: PatternTotals::once(&instance),
                places,
                messages: instance.messages,
                once,
            };
        }
        let count = reader.number() as i64;
        let [expected, max_probability, mean, p50, p99, total_time] =
            std::array::from_fn(|_| reader.float());
        let duration = Summary { mean, p50, p99 };
        let whole = PatternTotals { count, expected, max_probability, duration, total_time };
        Described { whole, places, messages: reader, once: None }
    }
}

impl Iterator for Described<'_> {
    /// The depth of a message, its labels, and the message.
    type Item = (u32, ShapeLabels, PatternHop);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (depth, labels) = self.places.next()?;
        let message = match self.once {
            Some(p) => PatternHop::once(InstanceHop::next(&mut self.messages), p),
            None => PatternHop::next(&mut self.messages),
        };
        Some((depth, labels, message))
    }
}

/// The depths and labels of a shape.
pub(crate) struct ShapeHops<'bytes>(Reader<'bytes>);

impl<'bytes> ShapeHops<'bytes> {
    pub(crate) fn of(shape: &'bytes [u8]) -> ShapeHops<'bytes> {
        ShapeHops(Reader(shape))
    }
}

impl Iterator for ShapeHops<'_> {
    type Item = (u32, ShapeLabels);

    #[inline]
    fn next(&mut self) -> Option<(u32, ShapeLabels)> {
        (!self.0.is_empty()).then(|| ShapeLabels::next(&mut self.0))
    }
}
