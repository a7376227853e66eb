//! Flow: a request under construction. Each step takes a random time, and its caller continues when
//! it has the response.

use rand_chacha::ChaCha8Rng;
use request_flow::{NameInterner, Request, Step};

use super::load::{SystemLoad, standard_normal, uniform_share};
use crate::random::shuffle_list;

/// Median time of a message on the network, in nanoseconds, and the standard deviation of its
/// logarithm.
const NETWORK: (f64, f64) = (70_000.0, 0.35);

/// Standard deviation of the logarithm of a step's own time.
const SPREAD: f64 = 0.45;

/// The probability that a step stalls, and the minimum duration of a stall in nanoseconds. Stalls
/// have a long tail: twice the duration has a third of the frequency.
const STALLS: (f64, f64) = (0.0015, 2e6);

/// A request under construction.
pub(super) struct FlowBuilder<'w> {
    random: &'w mut ChaCha8Rng,
    load: &'w SystemLoad,
    names: &'w mut NameInterner,
    request: Request,
}

impl<'w> FlowBuilder<'w> {
    /// A request that `caller` sends.
    pub(super) fn new(
        random: &'w mut ChaCha8Rng,
        load: &'w SystemLoad,
        names: &'w mut NameInterner,
        caller: &str,
    ) -> FlowBuilder<'w> {
        let caller = names.intern(caller);
        let request = Request { probability: 1.0, caller, ..Request::default() };
        FlowBuilder { random, load, names, request }
    }

    /// Puts concurrent calls into the order in which they happen to be made.
    pub(super) fn shuffle_concurrent<T>(&mut self, calls: &mut [T]) {
        shuffle_list(self.random, calls);
    }

    /// Returns the request, when its root has ended.
    pub(super) fn finish(self) -> Request {
        self.request
    }

    /// Begins a step of the request.
    pub(super) fn begin_step(
        &mut self,
        parent: Option<u32>,
        node: &str,
        operation: &str,
        now: i64,
    ) -> u32 {
        let host = self.names.intern(host_of(node));
        let (node, operation) = (self.names.intern(node), self.names.intern(operation));
        let step = Step { parent, host, begin: Some(now), ..Step::new(node, operation) };
        self.request.push_step(step, []);
        self.request.steps.len() as u32 - 1
    }

    /// Ends a step of the request.
    pub(super) fn end_step(&mut self, step: u32, now: i64) {
        if let Some(step) = self.request.steps.get_mut(step as usize) {
            step.end = Some(now);
        }
    }

    /// The time at which `node` finishes work that it begins at `now` and that takes it about
    /// `median` nanoseconds.
    pub(super) fn finish_time(&mut self, node: &str, now: i64, median: f64) -> i64 {
        let takes = median
            * self.load.factor_of_node(node, now)
            * (SPREAD * standard_normal(self.random)).exp();
        let stalls = uniform_share(self.random) < STALLS.0;
        let stall =
            if stalls { STALLS.1 / uniform_share(self.random).max(1e-4).powf(0.63) } else { 0.0 };
        now + (takes + stall) as i64
    }

    /// A step within a node that takes about `median` nanoseconds; returns when it ends.
    pub(super) fn local_step(
        &mut self,
        parent: u32,
        node: &str,
        operation: &str,
        now: i64,
        median: f64,
    ) -> i64 {
        let step = self.begin_step(Some(parent), node, operation, now);
        let end = self.finish_time(node, now, median);
        self.end_step(step, end);
        end
    }

    /// A call of another node; `inside` computes the callee's work, from a step and a start time to
    /// an end time. Returns when the response has arrived.
    pub(super) fn remote_call(
        &mut self,
        parent: u32,
        node: &str,
        operation: &str,
        now: i64,
        inside: impl FnOnce(&mut Self, u32, i64) -> i64,
    ) -> i64 {
        let received = self.network_arrival(now);
        let step = self.begin_step(Some(parent), node, operation, received);
        let sent = inside(self, step, received);
        self.end_step(step, sent);
        let answered = self.network_arrival(sent);
        if let Some(step) = self.request.steps.get_mut(step as usize) {
            (step.caller_begin, step.caller_end) = (Some(now), Some(answered));
        }
        answered
    }

    fn network_arrival(&mut self, now: i64) -> i64 {
        now + (NETWORK.0 * (NETWORK.1 * standard_normal(self.random)).exp()) as i64
    }
}

/// The host of a node: the NFS server and the metadata server share one (5.1).
fn host_of(node: &str) -> &'static str {
    match node {
        "storage1" => "e11",
        "storage2" => "e12",
        "storage3" => "e13",
        _ => "e10",
    }
}
