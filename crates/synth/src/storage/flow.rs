//! Flow: a request in the making. Each step takes a time at random, and whoever calls it goes on
//! when it has the answer.

use rand_chacha::ChaCha8Rng;
use request_flow::{Names, Request, Step};

use super::load::{Load, normal, uniform};
use crate::random::shuffle;

/// Median time of a message on the way, in nanoseconds, and the standard deviation of its
/// logarithm.
const NETWORK: (f64, f64) = (70_000.0, 0.35);

/// Standard deviation of the logarithm of what a step takes itself.
const SPREAD: f64 = 0.45;

/// How often a step stalls, and how long at least, in nanoseconds. Stalls have a long tail: those
/// that are twice as long are a third as frequent.
const STALLS: (f64, f64) = (0.0015, 2e6);

/// A request in the making.
pub(super) struct Flow<'w> {
    random: &'w mut ChaCha8Rng,
    load: &'w Load,
    names: &'w mut Names,
    request: Request,
}

impl<'w> Flow<'w> {
    /// A request that `caller` sends.
    pub(super) fn new(
        random: &'w mut ChaCha8Rng,
        load: &'w Load,
        names: &'w mut Names,
        caller: &str,
    ) -> Flow<'w> {
        let caller = names.number(caller);
        let request = Request { probability: 1.0, caller, ..Request::default() };
        Flow { random, load, names, request }
    }

    /// Puts calls that are made at once into the order in which they happen to be made.
    pub(super) fn race<T>(&mut self, calls: &mut [T]) {
        shuffle(self.random, calls);
    }

    /// The request, when its root has ended.
    pub(super) fn finish(self) -> Request {
        self.request
    }

    /// Begins a step.
    pub(super) fn begin(
        &mut self,
        parent: Option<u32>,
        node: &str,
        operation: &str,
        now: i64,
    ) -> u32 {
        let host = self.names.number(host_of(node));
        let (node, operation) = (self.names.number(node), self.names.number(operation));
        let step = Step { parent, host, begin: Some(now), ..Step::of(node, operation) };
        self.request.push(step, []);
        self.request.steps.len() as u32 - 1
    }

    /// Ends a step.
    pub(super) fn end(&mut self, step: u32, now: i64) {
        if let Some(step) = self.request.steps.get_mut(step as usize) {
            step.end = Some(now);
        }
    }

    /// When a node is done that takes about `median` nanoseconds from `now` on.
    pub(super) fn after(&mut self, node: &str, now: i64, median: f64) -> i64 {
        let takes = median * self.load.of_node(node, now) * (SPREAD * normal(self.random)).exp();
        let stalls = uniform(self.random) < STALLS.0;
        let stall = if stalls { STALLS.1 / uniform(self.random).max(1e-4).powf(0.63) } else { 0.0 };
        now + (takes + stall) as i64
    }

    /// A step within a node that takes about `median` nanoseconds; returns when it ends.
    pub(super) fn local(
        &mut self,
        parent: u32,
        node: &str,
        operation: &str,
        now: i64,
        median: f64,
    ) -> i64 {
        let step = self.begin(Some(parent), node, operation, now);
        let end = self.after(node, now, median);
        self.end(step, end);
        end
    }

    /// A call of another node; `inside` is what that does, from a step and a time to a time.
    /// Returns when the answer is there.
    pub(super) fn call(
        &mut self,
        parent: u32,
        node: &str,
        operation: &str,
        now: i64,
        inside: impl FnOnce(&mut Self, u32, i64) -> i64,
    ) -> i64 {
        let received = self.on_the_way(now);
        let step = self.begin(Some(parent), node, operation, received);
        let sent = inside(self, step, received);
        self.end(step, sent);
        let answered = self.on_the_way(sent);
        if let Some(step) = self.request.steps.get_mut(step as usize) {
            (step.caller_begin, step.caller_end) = (Some(now), Some(answered));
        }
        answered
    }

    fn on_the_way(&mut self, now: i64) -> i64 {
        now + (NETWORK.0 * (NETWORK.1 * normal(self.random)).exp()) as i64
    }
}

/// The machine of a node: the NFS server and the metadata server have one together (5.1).
fn host_of(node: &str) -> &'static str {
    match node {
        "storage1" => "e11",
        "storage2" => "e12",
        "storage3" => "e13",
        _ => "e10",
    }
}
