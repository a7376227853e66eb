//! Resources of a step: its messages in order, the threads that worked between them, and the
//! classification of that time.

use out_of_core::NameId;
use request_flow::{Request, Step};
use rustc_hash::FxHasher;

use std::hash::{Hash, Hasher};

use super::moment_sums::{MomentSums, OpenCalls};
use super::timeline_entry::NO_THREAD;
use super::timelines::ThreadTimelines;
use super::wake_chain::{ChainFinder, MessageGap, ThreadSpan};

/// Computes the resources of steps, with reusable buffers.
#[derive(Default)]
pub(super) struct StepSums {
    chains: ChainFinder,
    parts: Vec<ThreadSpan>,
    open: OpenCalls,
    /// Messages of the calls of the current step: time in nanoseconds, and number of the thread.
    messages: Vec<(i64, u32)>,
}

/// Identity of a step among the messages of a thread: requests that share a step, because its cause
/// is uncertain, share this identity. `None` if the step was not seen at its node.
pub(super) fn step_identity(step: &Step, host: &str) -> Option<i64> {
    let mut hasher = FxHasher::default();
    (host, step.threads.process, step.threads.begin, step.begin?).hash(&mut hasher);
    Some(hasher.finish() as i64)
}

/// A thread, as host, process and id.
pub(super) type ThreadId<'host> = (&'host str, i32, i32);

/// Passes the messages that threads handled for the steps of a request to `each`: thread, time,
/// step, and whether it is the step's last message. `host` returns the name of a host.
///
/// # Errors
/// Those of `each`.
pub(super) fn for_each_message<'names, E>(
    request: &Request,
    host: impl Fn(NameId) -> &'names str,
    mut each: impl FnMut(ThreadId<'names>, i64, i64, bool) -> Result<(), E>,
) -> Result<(), E> {
    for step in &request.steps {
        let threads = step.threads;
        if let Some((identity, process)) = step_identity(step, host(step.host)).zip(threads.process)
        {
            let ends = [(threads.begin, step.begin, false), (threads.end, step.end, true)];
            for (thread, time, is_last) in ends {
                if let (Some(thread), Some(time)) = (thread, time) {
                    each((host(step.host), process, thread), time, identity, is_last)?;
                }
            }
        }
        let parent = step.parent.and_then(|parent| request.steps.get(parent as usize));
        let Some(parent) = parent else { continue };
        let caller = step_identity(parent, host(parent.host)).zip(threads.caller_process);
        let Some((identity, process)) = caller else { continue };
        let ends =
            [(threads.caller_begin, step.caller_begin), (threads.caller_end, step.caller_end)];
        for (thread, time) in ends {
            if let (Some(thread), Some(time)) = (thread, time) {
                each((host(parent.host), process, thread), time, identity, false)?;
            }
        }
    }
    Ok(())
}

impl StepSums {
    /// The classified times of the step at `place`; `None` if its begin or end is not known, or
    /// none of its threads was recorded. `children` are the indices of its calls, and `host`
    /// returns the name of a host.
    pub(super) fn sums_of_step<'names>(
        &mut self,
        timelines: &ThreadTimelines,
        request: &Request,
        place: usize,
        children: &[u32],
        host: impl Fn(NameId) -> &'names str,
    ) -> Option<MomentSums> {
        let step = request.steps.get(place)?;
        let (begin, end) = (step.begin?, step.end?);
        let name = host(step.host);
        let number = timelines.find_host(name)?;
        let thread = |process: Option<i32>, id: Option<i32>| {
            let known = process.zip(id);
            known.and_then(|(process, id)| timelines.find_thread(number, process, id))
        };
        let of = step.threads;
        let [first, last] = [of.begin, of.end].map(|id| thread(of.process, id));
        if end < begin {
            return None;
        }
        let calls = children.iter().filter_map(|child| request.steps.get(*child as usize));
        self.messages.clear();
        for call in calls.clone() {
            let of = call.threads;
            let ends = [(of.caller_begin, call.caller_begin), (of.caller_end, call.caller_end)];
            let known = ends.into_iter().filter_map(|(id, time)| {
                let time = time.filter(|time| (begin..=end).contains(time))?;
                Some((time, thread(of.caller_process, id)?))
            });
            self.messages.extend(known);
        }
        if first.is_none() && last.is_none() && self.messages.is_empty() {
            return None;
        }
        self.messages.sort_by_key(|message| message.0);
        let open = calls.filter_map(|call| {
            let (from, to) = call.span_at_caller();
            Some((from?.max(begin), to?.min(end)))
        });
        self.open.set_calls(open);

        let step = step_identity(step, name)?;
        let mut sums = MomentSums::default();
        let mut from = (first.unwrap_or(NO_THREAD), begin);
        let messages = self.messages.iter().map(|(time, thread)| (*thread, *time));
        for to in messages.chain([(last.unwrap_or(NO_THREAD), end)]) {
            let gap = MessageGap { step, from, to };
            self.parts.clear();
            self.chains.find_spans(timelines, gap, &mut self.parts);
            for part in &self.parts {
                sums.add_span(timelines, gap, part, &self.open);
            }
            from = to;
        }
        Some(sums)
    }
}
