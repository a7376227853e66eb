//! The tuned figures of this crate. None was measured against another value unless it says so;
//! `synthetic` has the cases that they must get right.

/// Maximum difference in speed of two clocks: one in this many, 1000 ppm. Oscillators differ by up
/// to 200 ppm, and a clock that is being adjusted runs up to 500 ppm off.
pub(crate) const MAX_SKEW_ONE_IN: i128 = 1_000;
/// Maximum difference in speed of two clocks, as a share.
pub(crate) const MAX_SKEW: f64 = 1.0 / MAX_SKEW_ONE_IN as f64;

/// Number of buckets of all pairs together; each keeps one message per direction.
pub(crate) const BUCKETS: usize = 1 << 17;
/// Maximum and minimum number of buckets of one pair.
pub(crate) const BUCKETS_A_PAIR: [usize; 2] = [512, 16];
/// Width of the narrowest bucket, as a power of two of nanoseconds: a millisecond.
pub(crate) const NARROWEST_BUCKET_BITS: u32 = 20;
/// Width of the widest bucket, as a power of two of nanoseconds. All existing times fall into a few
/// of them.
pub(crate) const WIDEST_BUCKET_BITS: u32 = 58;

/// Precision of a clock reading, in nanoseconds: times from `strace` are in whole microseconds.
pub(crate) const READING_NS: i64 = 1_000;
/// Share of the fastest messages that may be matched wrongly, or were under way when the clock was
/// set: one in this many.
pub(crate) const ONE_WRONG_IN: usize = 50;

/// Amount by which messages may contradict one line before it is split in two, in nanoseconds.
/// Clocks wander by some microseconds a minute, and a line that is off by that is better than many
/// short ones.
pub(crate) const MISFIT_NS: f64 = 100_000.0;
/// Number of timestamp pairs examined after one that contradicts a line.
pub(crate) const LOOK_AHEAD: usize = 5;
/// Number of these timestamp pairs that must contradict the line as well; otherwise the first is
/// left out as a stray.
pub(crate) const CONFIRMING_STAMPS: usize = 2;
/// Maximum number of passes over the timestamp pairs in search of strays.
pub(crate) const STRAY_PASSES: usize = 4;
/// Smallest step that matters for the choice of a time axis, in nanoseconds: a clock that was set
/// by less is as good an axis as another.
pub(crate) const NOTABLE_STEP_NS: f64 = 10_000_000.0;
/// Minimum number of timestamp pairs of a credible piece.
pub(crate) const MIN_PIECE_PAIRS: usize = 3;
/// Maximum slack that the messages of a piece may leave its line, divided by the slack of the piece
/// with most timestamp pairs. The fastest of few messages is slower than the fastest of many, by
/// far if there are queues; but no time-out is short enough to pass.
pub(crate) const MAX_SLACK_RATIO: f64 = 1_000.0;

/// Greatest distance in time of two changes that can be the same one, in nanoseconds, if the
/// timestamp pairs around them do not allow more.
pub(crate) const SAME_STEP_NS: i64 = 1_000_000;
/// Distance around a step to which both pieces reach, in nanoseconds: the time of a step is known
/// about as precisely.
pub(crate) const STEP_MARGIN_NS: i64 = 200_000;
/// Weight of an edge with messages in one direction only, in nanoseconds of uncertainty: more than
/// any edge with both.
pub(crate) const ONE_WAY_UNCERTAINTY_NS: f64 = 1e15;
/// Maximum number of passes over all nodes.
pub(crate) const MAX_SWEEPS: usize = 16;
/// Movement below which a node is at rest, in nanoseconds.
pub(crate) const STILL_NS: f64 = 5.0;
/// Number of passes in which the messages' times are converted to common time again, with the lines
/// found.
pub(crate) const REFINE_PASSES: usize = 2;
/// Difference of a clock's rate before and after a step, as a share, unless messages show more.
pub(crate) const SAME_RATE: f64 = 20e-6;
/// Maximum number of times at which a clock's uncertainty is computed.
pub(crate) const UNCERTAINTY_TIMES: usize = 64;

/// Number of messages that are kept as evidence, of all pairs together.
pub(crate) const EVIDENCE_MESSAGES: usize = 20_000;
/// Minimum and maximum number of messages of one pair and direction that are kept as evidence.
pub(crate) const EVIDENCE_A_DIRECTION: [usize; 2] = [4, 100];
