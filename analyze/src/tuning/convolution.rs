//! Tuned figures of the convolution algorithm.

/// Delay over the difference by which two delays of two stretches are one.
pub(crate) const NEAR_DIVISOR: i64 = 20;
/// Smallest weight of a parent in comparison with the best one, as in message linking.
pub(crate) const NEGLIGIBLE: f64 = 1e-6;
/// Maximum number of possible parents of a message.
pub(crate) const MAX_PARENTS: usize = 16;
/// Maximum number of edges of a path, more than anybody looks at.
pub(crate) const MAX_EDGES_OF_PATH: usize = 100;
/// Maximum number of edges of the graph, beside those from its roots; it bounds the time where
/// edges multiply by chance.
pub(crate) const MAX_EDGES: usize = 2_000;
/// Maximum size of the spectra of groups that are kept, in numbers: 256 MiB.
pub(crate) const MAX_KEPT_NUMBERS: usize = 1 << 24;
/// Shortest correlation that is worth a thread, in quanta.
pub(crate) const MIN_LENGTH_FOR_THREADS: usize = 1 << 12;
/// Height above the mean down to which a spike reaches, in standard deviations. Below S is its
/// tail: delays vary (section 5.2.2), and of two decisions about one delay one may be at S and the
/// other below. Measured in docs/decisions/0403: 83.8/51.7% of links/traces of the multi-tier
/// system are right, and 78.3/44.5% where it reaches to S.
pub(crate) const REACH_DEVIATIONS: f64 = 1.0;
/// Maximum number of quanta of a trace whatever the user says: each vector takes 32 MiB then.
pub(crate) const MAX_QUANTA: usize = 1 << 22;
/// Maximum number of quanta where the user does not say; the time of a transform grows with them.
pub(crate) const MAX_CHOSEN_QUANTA: i64 = 1 << 18;
/// Number of messages of each site that are looked at, evenly over the trace.
pub(crate) const MESSAGES_OF_SITE: usize = 1 << 16;
/// Number of quanta to the usual delay. Measured in docs/decisions/0403: with 1, 2 and 4 of them
/// 84.0/48.9, 83.8/51.7 and 81.0/47.7% of links/traces of the multi-tier system are right.
pub(crate) const QUANTA_PER_DELAY: i64 = 2;
