//! Path patterns: path instances of the same shape, counted and summarised (WAP5 sections 5.1 and
//! 6.6).

use message_trace::TransportProtocol;
use message_trace::stats::DelaySummary;

/// A tree of hops that was seen at least once, with its count and durations. Times are in
/// nanoseconds, and every summary is weighted by the probability of the instances.
#[derive(Clone, Debug, PartialEq)]
pub struct PathPattern {
    /// The number of the pattern; the pattern with the largest total time is 0.
    pub id: i64,
    /// The messages of the tree in depth-first order, children of one node in the order of sending.
    /// The first is the root.
    pub hops: Vec<Hop>,
    /// Number of instances that were built.
    pub count: i64,
    /// Expected number of real instances: the sum of their probabilities.
    pub expected: f64,
    /// The probability of the most certain instance.
    pub max_probability: f64,
    /// Time from the sending of the root to the last event of the tree.
    pub duration: DelaySummary,
    /// The sum over the instances of duration times probability.
    pub total_time: f64,
}

impl PathPattern {
    /// Returns the mean probability of an instance: WAP5's first composite metric, which favours
    /// certain paths.
    pub fn expected_per_count(&self) -> f64 {
        self.expected / self.count as f64
    }

    /// Returns WAP5's second composite metric: seeing a path often makes it more credible, but not
    /// in proportion.
    pub fn expected_per_root_count(&self) -> f64 {
        self.expected / (self.count as f64).sqrt()
    }
}

/// One message of a pattern: from the node that sends it over the network to the node that receives
/// it.
#[derive(Clone, Debug, PartialEq)]
pub struct Hop {
    /// The message that caused this one, as an index of [`PathPattern::hops`]; `None` for the root.
    pub parent: Option<usize>,
    /// Number of causes before the message: 0 for the root.
    pub depth: usize,
    /// The name of the sending node at the chosen grain, or `CLIENT`.
    pub src: String,
    /// The name of the receiving node.
    pub dst: String,
    /// The sender's port, `*` for an ephemeral one, or the name of another kind of endpoint.
    pub src_port: String,
    /// The receiver's port, `*` for an ephemeral one, or the name of another kind of endpoint.
    pub dst_port: String,
    /// Transport protocol of the message.
    pub protocol: TransportProtocol,
    /// Whether the sender was traced.
    pub src_traced: bool,
    /// Whether the receiver was traced.
    pub dst_traced: bool,
    /// The mean size of the message, in bytes.
    pub bytes: f64,
    /// The node latency: from the receipt of the parent to the sending of this message, by one
    /// clock. `None` for the root and for an untraced sender.
    pub node: Option<DelaySummary>,
    /// The network latency: from the sending of this message to its receipt. `None` if an end was
    /// not traced.
    pub network: Option<DelaySummary>,
    /// For an untraced sender: from the parent's sending to this message's receipt, which is the
    /// time of that node and of its network in both directions (WAP5 section 6.1).
    pub untraced: Option<DelaySummary>,
    /// Time for which the sender waited for the connection, in those instances in which this is the
    /// first message on it. `None` if it never is.
    pub connect: Option<ConnectTimes>,
    /// The operation of a request or one-way message, by its name without literals: `GET /cart/{}`.
    /// `None` if unknown, and for a response.
    pub operation: Option<String>,
    /// Outcomes of the calls to which the message is the response. `None` if it is not known to be
    /// a response.
    pub outcomes: Option<CallOutcomes>,
}

impl Hop {
    /// Returns whether the message has the reverse direction of `call`.
    pub fn is_response_to(&self, call: &Hop) -> bool {
        self.src == call.dst
            && self.dst == call.src
            && self.src_port == call.dst_port
            && self.dst_port == call.src_port
            && self.protocol == call.protocol
    }
}

/// Outcomes of calls, over the instances in which the message is known to be a response.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallOutcomes {
    /// Number of instances in which the message is known to be a response.
    pub answers: i64,
    /// Number of these in which the answering side failed.
    pub errors: i64,
    /// Expected share of errors among them, from 0 to 1.
    pub error_share: f64,
}

/// The times for which connections were made, over the instances or messages that made one. They
/// are part of no other delay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConnectTimes {
    /// Number of samples.
    pub count: i64,
    /// Expected number of real samples.
    pub expected: f64,
    /// Expected share of them among all instances or messages, from 0 to 1.
    pub share: f64,
    /// Times of waiting, in nanoseconds.
    pub delay: DelaySummary,
}

impl ConnectTimes {
    /// Summarises the connect times of these samples, each a time in nanoseconds and a probability.
    /// `all` is the expected number of real instances or messages, with and without a new
    /// connection.
    pub(crate) fn from_samples(samples: &mut [(i64, f64)], all: f64) -> Option<ConnectTimes> {
        let expected = samples.iter().fold(0.0, |sum, (_, probability)| sum + probability);
        let delay = DelaySummary::from_samples(samples)?;
        Some(ConnectTimes { count: samples.len() as i64, expected, share: expected / all, delay })
    }

    /// Returns the mean over all instances or messages, including those without a new connection.
    pub fn mean_over_all(&self) -> f64 {
        self.delay.mean * self.share
    }
}
