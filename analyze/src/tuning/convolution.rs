//! Tuned figures of the convolution algorithm.

/// Delay relative to the difference up to which the delays of two batches are merged.
pub(crate) const NEAR_DIVISOR: i64 = 20;
/// Smallest weight of a parent relative to the best one, as in message linking.
pub(crate) const NEGLIGIBLE: f64 = 1e-6;
/// Maximum number of possible parents of a message.
pub(crate) const MAX_PARENTS: usize = 16;
/// Maximum number of edges of a path, more than any reader needs.
pub(crate) const MAX_EDGES_OF_PATH: usize = 100;
/// Maximum number of edges of the graph, in addition to those from its roots; it bounds the time if
/// edges multiply by chance.
pub(crate) const MAX_EDGES: usize = 2_000;
/// Maximum size of the spectra of groups that are kept, in numbers: 256 MiB.
pub(crate) const MAX_KEPT_NUMBERS: usize = 1 << 24;
/// Shortest correlation that is worth a thread, in quanta.
pub(crate) const MIN_LENGTH_FOR_THREADS: usize = 1 << 12;
/// Height above the mean down to which a spike extends, in standard deviations. The part below S is
/// its tail: delays vary (section 5.2.2), and of two decisions about one delay one may be at S and
/// the other below. Measured in docs/decisions/0403: 83.8/51.7% of links/traces of the multi-tier
/// system are right, and 78.3/44.5% if it extends only to S.
pub(crate) const REACH_DEVIATIONS: f64 = 1.0;
/// Maximum number of quanta of a trace for any option: each vector takes 32 MiB then.
pub(crate) const MAX_QUANTA: usize = 1 << 22;
/// Maximum number of quanta by default; the time of a transform grows with them.
pub(crate) const MAX_CHOSEN_QUANTA: i64 = 1 << 18;
/// Number of messages of each site that are examined, evenly over the trace.
pub(crate) const MESSAGES_OF_SITE: usize = 1 << 16;
/// Number of quanta per usual delay. Measured in docs/decisions/0403: with 1, 2 and 4 of them
/// 84.0/48.9, 83.8/51.7 and 81.0/47.7% of links/traces of the multi-tier system are right.
pub(crate) const QUANTA_PER_DELAY: i64 = 2;
