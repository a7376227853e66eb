//! Processor time charged to requests, and the remaining time (Magpie, section 6).

use request_flow::Request;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use super::timelines::ThreadTimelines;

/// Processor time of the processes that served requests, in nanoseconds, and the part of it that
/// was charged to requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChargedTime {
    /// Processor time, in nanoseconds, of all threads of the processes in which any thread handled
    /// a message of a request.
    pub processor_ns: i64,
    /// Processor time of steps, weighted by their probabilities.
    pub charged_ns: f64,
    /// Processor time, in nanoseconds, of threads without messages: they collect garbage, run
    /// timers, or work for requests without a known hand-off.
    pub without_messages_ns: i64,
}

impl ChargedTime {
    /// All processor time; nothing is charged yet.
    pub(super) fn from_timelines(timelines: &ThreadTimelines) -> ChargedTime {
        let threads = timelines.threads();
        let serving = threads.iter().filter(|thread| thread.has_messages);
        let relevant: FxHashSet<_> = serving.map(|thread| thread.process).collect();
        let mut charged = ChargedTime::default();
        for thread in threads.iter().filter(|thread| relevant.contains(&thread.process)) {
            charged.processor_ns += thread.running_ns;
            if !thread.has_messages {
                charged.without_messages_ns += thread.running_ns;
            }
        }
        charged
    }

    /// Adds the threads that handled the steps of a request.
    pub(super) fn add_request(&mut self, request: &Request) {
        let of_steps = request.steps.iter();
        let charged = of_steps.filter_map(|step| Some((step.waits?, step.processor_ns?)));
        self.charged_ns +=
            request.probability * charged.map(|(_, processor)| processor as f64).sum::<f64>();
    }

    /// Share of the processor time that was charged, from 0 to 1; `None` if there was none.
    pub fn charged_share(&self) -> Option<f64> {
        (self.processor_ns > 0).then(|| (self.charged_ns / self.processor_ns as f64).min(1.0))
    }
}
