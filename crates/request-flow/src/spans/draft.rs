//! Draft: a request with times on the hosts' own clocks, and with unordered steps.

use clocks::{ClockModel, ClockSamples};
use serde::{Deserialize, Serialize};

use super::span::SpanKind;
use super::span_record::SpanRecord;
use crate::request::{Request, RequestBuilder};
use crate::step::{Step, outlasts_wait};
use out_of_core::{NameId, NameInterner};

/// Number of a clock. All resources (services, programs) on one host read one clock.
pub(super) type ClockNumber = u32;

/// A draft of a request.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct RequestDraft {
    /// Steps in the order of the source. A parent may follow its children.
    pub(super) request: Request,
    /// The position of each step among its siblings, if the source has it.
    orders: Vec<Option<i64>>,
    /// The clocks that the times of each step were read from: at the node and at the caller.
    clocks: Vec<[ClockNumber; 2]>,
    /// Whether the caller of each step waits for its end.
    waiting: Vec<CallerWait>,
}

/// Counts of steps that do not fit into their parents by the common clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MisplacedSteps {
    /// Steps that seemed to begin before their parents, or to end after their callers had the
    /// response, and were moved.
    pub(super) moved: u64,
    /// Steps that began when their parents at other hosts had ended, and were left there.
    pub(super) late: u64,
}

/// Whether a step's caller waits for its end, so that the end bounds the difference of their
/// clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum CallerWait {
    /// A client's span lasts until it has the response, and a caller on a stack until the call is
    /// over.
    Known,
    /// Callers usually wait for a step of this kind, but the wait was not seen: a server's span
    /// without a client's, or two spans with one name.
    Usual,
    /// Not known to be waited for.
    Unknown,
    /// The step takes a message, for which it may have waited before the message was sent.
    Consumer,
}

impl RequestDraft {
    /// Adds a step to the draft.
    pub(super) fn push_step<'a>(
        &mut self,
        step: Step,
        parameters: impl IntoIterator<Item = (NameId, &'a str)>,
        order: Option<i64>,
        clocks: [ClockNumber; 2],
        waiting: CallerWait,
    ) {
        self.request.push_step(step, parameters);
        self.waiting.push(waiting);
        self.orders.push(order);
        self.clocks.push(clocks);
    }

    /// Adds the times that two clocks read at the two ends of a message: the call, from caller to
    /// callee, and the response, back. Calls `is_related` for each of two clocks between which both
    /// a call and its response were seen.
    ///
    /// If the caller's times of a call are not known, its parent's are used: they are further
    /// apart, and so less precise. An effect begins after its cause, but ends before the end of its
    /// cause only if its caller waits for it. So an end counts if the caller is known to wait; if
    /// callers only usually wait, it counts unless it contradicts that both clocks are one.
    pub(super) fn add_samples(
        &self,
        samples: &mut ClockSamples,
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
            let waiting = self.waiting.get(place).copied().unwrap_or(CallerWait::Unknown);
            let is_early = begin.is_some_and(|begin| step.begin.is_some_and(|own| own < begin));
            let received = match waiting {
                CallerWait::Consumer if is_early => step.end,
                _ => step.begin,
            };
            if let (Some(sent), Some(received)) = (begin, received) {
                samples.add_message(from, *own, sent, received);
            }
            let is_within = end.is_some_and(|end| step.end <= Some(end));
            let overlaps = end.is_some_and(|end| step.begin < Some(end));
            let is_waited_for = match waiting {
                CallerWait::Known => true,
                CallerWait::Usual if is_seen => overlaps,
                CallerWait::Usual => is_within,
                CallerWait::Unknown | CallerWait::Consumer => false,
            };
            if let (Some(sent), Some(received), true) = (step.end, end, is_waited_for)
                && !outlasts_wait([step.begin, step.end], [begin, end])
            {
                samples.add_message(*own, from, sent, received);
                if is_seen && begin.is_some() && from != *own {
                    is_related(from);
                    is_related(*own);
                }
            }
        }
    }

    /// Passes each time of a step to `seen`, with the clock that showed it.
    pub(super) fn for_each_clock_range(&self, mut seen: impl FnMut(ClockNumber, i64)) {
        for (step, [own, caller]) in self.request.steps.iter().zip(&self.clocks) {
            [step.begin, step.end].into_iter().flatten().for_each(|time| seen(*own, time));
            let at_caller = [step.caller_begin, step.caller_end];
            at_caller.into_iter().flatten().for_each(|time| seen(*caller, time));
        }
    }

    /// Makes the request: times on the common clock, steps in depth-first order. Returns how many
    /// steps do not fit into their parents by that clock.
    pub(super) fn finish_request(
        &mut self,
        clocks: Option<&ClockModel>,
        builder: &mut RequestBuilder,
        request: &mut Request,
    ) -> MisplacedSteps {
        if let Some(clocks) = clocks {
            for (step, [own, caller]) in self.request.steps.iter_mut().zip(&self.clocks) {
                for (clock, time) in [
                    (own, &mut step.begin),
                    (own, &mut step.end),
                    (caller, &mut step.caller_begin),
                    (caller, &mut step.caller_end),
                ] {
                    *time = time.map(|time| clocks.common_time(*clock as usize, time));
                }
            }
        }
        for (place, step) in self.request.steps.iter().enumerate() {
            builder.add_step(*step, self.orders[place], self.request.parameters.of_step(place));
        }
        let Request { trace, caller, caller_host, probability, torn, pattern, path, .. } =
            &self.request;
        request.trace.clone_from(trace);
        (request.caller, request.caller_host) = (*caller, *caller_host);
        (request.probability, request.torn) = (*probability, *torn);
        (request.pattern, request.path) = (*pattern, *path);
        builder.build(request);
        nest_steps(&mut request.steps)
    }
}

impl CallerWait {
    /// Returns whether the caller of `span` waits for its end; `caller` is the caller's span, if
    /// known.
    pub(super) fn from_spans(span: &SpanRecord<'_>, caller: Option<&SpanRecord<'_>>) -> CallerWait {
        use SpanKind::{Client, Consumer, Producer, Server, Unknown};
        match (caller.map(|caller| caller.kind), span.kind) {
            _ if span.depth.is_some() => CallerWait::Known,
            (_, Consumer) => CallerWait::Consumer,
            (Some(Producer), _) => CallerWait::Unknown,
            _ if span.follows => CallerWait::Unknown,
            (Some(Client), _) | (Some(_), Server) => CallerWait::Known,
            (Some(Unknown), _) | (None, Server) => CallerWait::Usual,
            _ => CallerWait::Unknown,
        }
    }
}

/// Removes the remaining effects of wrong clocks: no step begins before its parent, none ends
/// before it begins, and no response is sent after it was received. A step that lasted longer than
/// its caller waited has sent no response to it, and stays as it is. `steps` are in depth-first
/// order.
fn nest_steps(steps: &mut [Step]) -> MisplacedSteps {
    let mut found = MisplacedSteps::default();
    for place in 0..steps.len() {
        let before = steps[place];
        let parent = before.parent.and_then(|parent| steps.get(parent as usize)).copied();
        let least = parent.and_then(|parent| parent.first_time());
        let step = &mut steps[place];
        let is_answered = !step.outlasts_caller();
        step.caller_begin = step.caller_begin.max(least.filter(|_| step.caller_begin.is_some()));
        let least = step.caller_begin.or(least);
        step.begin = step.begin.max(least.filter(|_| step.begin.is_some()));
        // A response is received after it was sent, and sent after the work was begun.
        let not_before = step.begin.filter(|_| is_answered).or(step.caller_begin);
        step.caller_end = step.caller_end.max(not_before.filter(|_| step.caller_end.is_some()));
        step.end = match (step.end, step.caller_end) {
            (Some(end), Some(received)) if is_answered => Some(end.min(received)),
            (end, _) => end,
        };
        let not_before = step.begin.or(step.caller_begin);
        step.end = step.end.max(not_before.filter(|_| step.end.is_some()));
        found.moved += u64::from(*step != before);
        found.late += u64::from(parent.is_some_and(|parent| is_late(step, &parent)));
        if let (Some(earlier), Some(end)) = (step.end, before.end)
            && earlier < end
        {
            end_calls_earlier(&mut steps[place + 1..], place, earlier, end);
        }
    }
    found
}

/// Returns whether a step began at another host after its parent had ended, without known times at
/// the caller.
fn is_late(step: &Step, parent: &Step) -> bool {
    let is_seen = step.caller_begin.is_some() || step.caller_end.is_some();
    let place = |of: &Step| {
        if of.host == NameInterner::UNKNOWN {
            (of.node, of.host)
        } else {
            (NameInterner::UNKNOWN, of.host)
        }
    };
    let has_ended = parent.last_time().is_some_and(|end| step.begin > Some(end));
    !is_seen && has_ended && place(step) != place(parent)
}

/// Limits the direct and indirect calls of step `place` after its end was moved from `end` to
/// `earlier`: calls that ended before the step now end with it at the latest. Calls that outlasted
/// the step still outlast it. `later` are the steps after `place`.
fn end_calls_earlier(later: &mut [Step], place: usize, earlier: i64, end: i64) {
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
    fn steps_are_moved_into_their_parents() {
        let root = Step {
            begin: Some(100),
            end: Some(200),
            ..Step::new(NameId::from_index(1), NameId::from_index(1))
        };
        let early = Step {
            parent: Some(0),
            begin: Some(90),
            end: Some(95),
            ..Step::new(NameId::from_index(2), NameId::from_index(2))
        };
        let late = Step {
            parent: Some(0),
            caller_begin: Some(110),
            begin: Some(105),
            end: Some(160),
            caller_end: Some(150),
            ..Step::new(NameId::from_index(2), NameId::from_index(2))
        };
        let after = Step {
            parent: Some(0),
            begin: Some(190),
            end: Some(900),
            ..Step::new(NameId::from_index(2), NameId::from_index(2))
        };
        let mut steps = [root, early, late, after];
        assert_eq!(nest_steps(&mut steps).moved, 2);
        assert_eq!((steps[1].begin, steps[1].end), (Some(100), Some(100)));
        assert_eq!((steps[2].begin, steps[2].end), (Some(110), Some(150)));
        // Work may continue after its caller has ended.
        assert_eq!((steps[0], steps[3]), (root, after));
    }

    #[test]
    fn work_that_is_not_waited_for_is_neither_moved_nor_cut() {
        let root = Step {
            begin: Some(0),
            end: Some(900_000),
            host: NameId::from_index(1),
            ..Step::new(NameId::from_index(1), NameId::from_index(1))
        };
        // The caller waited for half a millisecond of forty.
        let left = Step {
            parent: Some(0),
            caller_begin: Some(100_000),
            begin: Some(200_000),
            end: Some(40_200_000),
            caller_end: Some(600_000),
            host: NameId::from_index(2),
            ..Step::new(NameId::from_index(2), NameId::from_index(2))
        };
        // The step was begun when its caller had given up, and when the root had ended.
        let queued = Step { begin: Some(20_000_000), end: Some(70_000_000), ..left };
        let late = Step { caller_begin: None, caller_end: None, ..queued };
        let mut steps = [root, left, queued, late];
        assert_eq!(nest_steps(&mut steps), MisplacedSteps { moved: 0, late: 1 });
        assert_eq!(steps, [root, left, queued, late]);
    }

    #[test]
    fn steps_within_a_moved_step_move_with_it() {
        let root = Step {
            begin: Some(100),
            end: Some(200),
            ..Step::new(NameId::from_index(1), NameId::from_index(1))
        };
        let called = Step {
            parent: Some(0),
            caller_begin: Some(110),
            begin: Some(112),
            end: Some(153),
            caller_end: Some(150),
            ..Step::new(NameId::from_index(2), NameId::from_index(2))
        };
        let within = |begin, end| Step {
            parent: Some(1),
            begin: Some(begin),
            end: Some(end),
            ..Step::new(NameId::from_index(2), NameId::from_index(3))
        };
        // Another call of the root is not within.
        let beside = Step {
            parent: Some(0),
            begin: Some(151),
            end: Some(152),
            ..Step::new(NameId::from_index(2), NameId::from_index(4))
        };
        let mut steps =
            [root, called, within(120, 152), within(151, 152), within(130, 160), beside];
        assert_eq!(nest_steps(&mut steps).moved, 1);
        let times = steps.map(|step| [step.begin, step.end].map(Option::unwrap));
        assert_eq!(times, [[100, 200], [112, 150], [120, 150], [150, 150], [130, 160], [151, 152]]);
    }
}
