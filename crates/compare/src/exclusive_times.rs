//! Exclusive times: the time for which each step of a request worked itself, while none of its
//! calls was open, and the transfer time of its call and response. Neither time grows for a step
//! that only waits longer because another step is slow.

use request_flow::Request;

/// Exclusive times of one request at a time, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExclusiveTimes {
    /// For each step its own time, `None` if its begin or end is not known, and its transfer time,
    /// `None` if the times at its caller are not known either.
    times: Vec<(Option<i64>, Option<i64>)>,
    /// Calls of the request: the calling step, begin and end.
    children: Vec<(u32, i64, i64)>,
}

impl ExclusiveTimes {
    /// The exclusive times of each step of a request.
    pub(crate) fn times_of_request(&mut self, request: &Request) -> &[(Option<i64>, Option<i64>)] {
        let ExclusiveTimes { times, children } = self;
        times.clear();
        children.clear();
        for step in &request.steps {
            if let (Some(parent), (Some(begin), Some(end))) = (step.parent, step.span_at_caller()) {
                children.push((parent, begin, end));
            }
        }
        children.sort_unstable();
        let mut next = 0;
        for (place, step) in (0_u32..).zip(&request.steps) {
            let seen = (step.begin, step.end, step.caller_begin, step.caller_end);
            let (begin, end, network) = match seen {
                (Some(begin), Some(end), Some(sent), Some(received)) => {
                    let transfer =
                        received.saturating_sub(sent).saturating_sub(end.saturating_sub(begin));
                    (begin, end, Some(transfer.max(0)))
                }
                (Some(begin), Some(end), ..) | (None, None, Some(begin), Some(end)) => {
                    (begin, end, None)
                }
                _ => {
                    times.push((None, None));
                    continue;
                }
            };
            while children.get(next).is_some_and(|(parent, ..)| *parent < place) {
                next += 1;
            }
            let (mut own, mut until) = (0, begin);
            for (_, from, to) in children[next..].iter().take_while(|child| child.0 == place) {
                own += (*from).min(end).saturating_sub(until).max(0);
                until = until.max((*to).min(end));
            }
            own += end.saturating_sub(until).max(0);
            times.push((Some(own), network));
        }
        times
    }
}

#[cfg(test)]
mod tests {
    use request_flow::{NameId, Step};

    use super::*;

    fn step(parent: Option<u32>, begin: i64, end: i64) -> Step {
        Step {
            parent,
            begin: Some(begin),
            end: Some(end),
            ..Step::new(NameId::from_index(1), NameId::from_index(1))
        }
    }

    #[test]
    fn overlapping_calls_are_subtracted_once() {
        let mut request = Request::default();
        request.push_step(step(None, 0, 100), []);
        let of = Step { caller_begin: Some(10), caller_end: Some(30), ..step(Some(0), 12, 25) };
        request.push_step(of, []);
        request.push_step(step(Some(0), 20, 40), []);
        request.push_step(step(Some(0), 90, 130), []);
        request.push_step(Step { end: None, ..step(Some(3), 1, 1) }, []);
        let mut times = ExclusiveTimes::default();
        let expected = [
            (Some(10 + 50), None),
            (Some(13), Some(7)),
            (Some(20), None),
            (Some(40), None),
            (None, None),
        ];
        assert_eq!(times.times_of_request(&request), expected);
    }
}
