//! Draft: a request whose times are still those of the hosts' own clocks, and whose steps are in no
//! order.

use clocks::{Clocks, Samples};
use serde::{Deserialize, Serialize};

use crate::request::{Request, RequestBuilder};
use crate::step::Step;
use out_of_core::NameId;

/// Number of a clock. Resources of one host read one clock.
pub(super) type ClockNumber = u32;

/// A request in the making.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Draft {
    /// Steps in the order of the source. A parent may come behind its children.
    pub(super) request: Request,
    /// The place of each step among its siblings, where the source tells one.
    orders: Vec<Option<i64>>,
    /// The clocks that the times of each step were read from: at the node and at the caller.
    clocks: Vec<[ClockNumber; 2]>,
    /// Whether the parent is known to wait for the end of each step.
    waited_for: Vec<bool>,
}

impl Draft {
    /// Adds a step.
    pub(super) fn push<'a>(
        &mut self,
        step: Step,
        parameters: impl IntoIterator<Item = (NameId, &'a str)>,
        order: Option<i64>,
        clocks: [ClockNumber; 2],
        is_waited_for: bool,
    ) {
        self.request.push(step, parameters);
        self.waited_for.push(is_waited_for);
        self.orders.push(order);
        self.clocks.push(clocks);
    }

    /// The times that two clocks read of the two ends of a message: the call, from caller to
    /// callee, and the answer, back. `is_related` is told of clocks that a call and its answer
    /// relate.
    ///
    /// Where the caller's times of a call are not known its parent's are taken: they are further
    /// apart, and so say less. A step that nobody is known to wait for may go on after its parent,
    /// so its end is taken only where it lies outside its parent though it is shorter: such clocks
    /// cannot be one.
    pub(super) fn add_samples(
        &self,
        samples: &mut Samples,
        mut is_related: impl FnMut(ClockNumber),
    ) {
        for (place, (step, [own, caller])) in
            self.request.steps.iter().zip(&self.clocks).enumerate()
        {
            let is_seen = step.caller_begin.is_some() || step.caller_end.is_some();
            let above = step.parent.and_then(|parent| self.request.steps.get(parent as usize));
            let (from, begin, end) = match (is_seen, step.parent, above) {
                (true, ..) => (*caller, step.caller_begin, step.caller_end),
                (false, Some(parent), Some(above)) => {
                    let from = self.clocks.get(parent as usize).map_or(*own, |[own, _]| *own);
                    (from, above.begin, above.end)
                }
                _ => continue,
            };
            let is_shorter = is_seen
                || step
                    .response_time()
                    .zip(above.and_then(Step::response_time))
                    .is_some_and(|(own, above)| own < above);
            let is_outside = step.begin < begin || end.is_some_and(|end| step.begin >= Some(end));
            let is_waited_for = is_seen || self.waited_for.get(place).copied().unwrap_or(false);
            let has_end = is_shorter && (is_waited_for || is_outside);
            if let (Some(sent), Some(received)) = (begin, step.begin) {
                samples.add(from, *own, sent, received);
            }
            if let (Some(sent), Some(received), true) = (step.end, end, has_end) {
                samples.add(*own, from, sent, received);
                if is_waited_for && begin.is_some() && from != *own {
                    is_related(from);
                    is_related(*own);
                }
            }
        }
    }

    /// The first and the last time that each clock showed; `seen` gets both.
    pub(super) fn times(&self, mut seen: impl FnMut(ClockNumber, i64)) {
        for (step, [own, caller]) in self.request.steps.iter().zip(&self.clocks) {
            [step.begin, step.end].into_iter().flatten().for_each(|time| seen(*own, time));
            let at_caller = [step.caller_begin, step.caller_end];
            at_caller.into_iter().flatten().for_each(|time| seen(*caller, time));
        }
    }

    /// Makes the request: times on the common clock, steps in depth-first order. Returns the number
    /// of steps that seemed to begin before their parents, or to end after their callers had the
    /// answer, and were moved.
    pub(super) fn finish(
        &mut self,
        clocks: Option<&Clocks>,
        builder: &mut RequestBuilder,
        request: &mut Request,
    ) -> u64 {
        if let Some(clocks) = clocks {
            for (step, [own, caller]) in self.request.steps.iter_mut().zip(&self.clocks) {
                for (clock, time) in [
                    (own, &mut step.begin),
                    (own, &mut step.end),
                    (caller, &mut step.caller_begin),
                    (caller, &mut step.caller_end),
                ] {
                    *time = time.map(|time| clocks.common(*clock as usize, time));
                }
            }
        }
        for (place, step) in self.request.steps.iter().enumerate() {
            builder.add(*step, self.orders[place], self.request.parameters.of(place));
        }
        let Request { trace, caller, caller_host, probability, torn, pattern, path, .. } =
            &self.request;
        request.trace.clone_from(trace);
        (request.caller, request.caller_host) = (*caller, *caller_host);
        (request.probability, request.torn) = (*probability, *torn);
        (request.pattern, request.path) = (*pattern, *path);
        builder.build(request);
        nest(&mut request.steps)
    }
}

/// Moves what is left of wrong clocks: no step begins before its parent, none ends before it
/// begins, and no answer is sent after it was received. `steps` are in depth-first order.
fn nest(steps: &mut [Step]) -> u64 {
    let mut moved = 0;
    for place in 0..steps.len() {
        let before = steps[place];
        let parent = before.parent.and_then(|parent| steps.get(parent as usize));
        let least = parent.and_then(Step::first);
        let step = &mut steps[place];
        step.caller_begin = step.caller_begin.max(least.filter(|_| step.caller_begin.is_some()));
        let least = step.caller_begin.or(least);
        step.begin = step.begin.max(least.filter(|_| step.begin.is_some()));
        // An answer is received after it was sent, and sent after the work was begun.
        let not_before = step.begin.or(step.caller_begin);
        step.caller_end = step.caller_end.max(not_before.filter(|_| step.caller_end.is_some()));
        step.end = match (step.end, step.caller_end) {
            (Some(end), Some(received)) => Some(end.min(received)),
            (end, _) => end,
        };
        step.end = step.end.max(not_before.filter(|_| step.end.is_some()));
        moved += u64::from(*step != before);
        if let (Some(earlier), Some(end)) = (step.end, before.end)
            && earlier < end
        {
            keep_within(&mut steps[place + 1..], place, earlier, end);
        }
    }
    moved
}

/// What step `place` called, and what that called, ended before it did. Now the step ends `earlier`
/// than at `end`, and so do they. What went on behind it still does.
fn keep_within(later: &mut [Step], place: usize, earlier: i64, end: i64) {
    let is_below = |step: &Step| step.parent.is_some_and(|parent| parent as usize >= place);
    for step in later.iter_mut().take_while(|step| is_below(step)) {
        let times = [&mut step.caller_begin, &mut step.begin, &mut step.end, &mut step.caller_end];
        for time in times.into_iter().flatten().filter(|time| **time <= end) {
            *time = (*time).min(earlier);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_wrong_clocks_is_moved() {
        let root = Step { begin: Some(100), end: Some(200), ..Step::of(1, 1) };
        let early = Step { parent: Some(0), begin: Some(90), end: Some(95), ..Step::of(2, 2) };
        let late = Step {
            parent: Some(0),
            caller_begin: Some(110),
            begin: Some(105),
            end: Some(160),
            caller_end: Some(150),
            ..Step::of(2, 2)
        };
        let after = Step { parent: Some(0), begin: Some(190), end: Some(900), ..Step::of(2, 2) };
        let mut steps = [root, early, late, after];
        assert_eq!(nest(&mut steps), 2);
        assert_eq!((steps[1].begin, steps[1].end), (Some(100), Some(100)));
        assert_eq!((steps[2].begin, steps[2].end), (Some(110), Some(150)));
        // Work may go on after its caller has ended.
        assert_eq!((steps[0], steps[3]), (root, after));
    }

    #[test]
    fn what_is_moved_takes_along_what_was_within() {
        let root = Step { begin: Some(100), end: Some(200), ..Step::of(1, 1) };
        let called = Step {
            parent: Some(0),
            caller_begin: Some(110),
            begin: Some(112),
            end: Some(153),
            caller_end: Some(150),
            ..Step::of(2, 2)
        };
        let within = |begin, end| Step {
            parent: Some(1),
            begin: Some(begin),
            end: Some(end),
            ..Step::of(2, 3)
        };
        // Another one that the root calls is not within.
        let beside = Step { parent: Some(0), begin: Some(151), end: Some(152), ..Step::of(2, 4) };
        let mut steps =
            [root, called, within(120, 152), within(151, 152), within(130, 160), beside];
        assert_eq!(nest(&mut steps), 1);
        let times = steps.map(|step| [step.begin, step.end].map(Option::unwrap));
        assert_eq!(times, [[100, 200], [112, 150], [120, 150], [150, 150], [130, 160], [151, 152]]);
    }
}
