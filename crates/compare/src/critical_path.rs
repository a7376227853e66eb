//! Critical path: the steps and messages on which a request's response time depends (Spectroscope,
//! 4.2.1). With concurrent calls it is the slowest branch.
//!
//! The path is walked backwards. A step's end waits for the child that ended last before it, the
//! begin of that child for the child that had ended last before the begin, and so on:
//!
//! ```text
//! shop     |--------------------------------|
//! cache      |---|   :                   :           shop's own time: what lies between the calls
//! prices          |-----|                :           that are waited for, and the network's time:
//! stock           |----------------------|           what lies between caller's and callee's times
//! on it    ===cccc=ssssssssssssssssssssss==
//! ```
//!
//! So each moment between the request's begin and its end belongs to one step, and the shares of
//! all steps add up to the response time.

use request_flow::{Request, Step};

use crate::exclusive_times::ExclusiveTimes;

/// Time of a step on the critical path, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepShare {
    /// The step's own time, while it waited for no child.
    pub own: i64,
    /// Transfer time of the step's call and response; 0 if the times at one end are not known.
    pub network: i64,
}

/// Computes the critical path of one request at a time, with reused buffers.
#[derive(Clone, Debug, Default)]
pub(crate) struct CriticalPath {
    shares: Vec<StepShare>,
    /// Children of each step as index, begin and end, the one that ended last first: one list, with
    /// the start of each step's children in `begins`.
    children: Vec<(u32, i64, i64)>,
    begins: Vec<u32>,
    /// Steps on the path that were not walked yet, with the begin and end of their part of it.
    open: Vec<(u32, i64, i64)>,
}

impl CriticalPath {
    /// The response time of a request in nanoseconds, with the share of each step; `None` if its
    /// begin or end is not known.
    pub(crate) fn shares_of_request(&mut self, request: &Request) -> Option<(i64, &[StepShare])> {
        let steps = &request.steps;
        let root = steps.first()?;
        let (Some(begin), Some(end)) = times_at_caller(root) else { return None };
        let total = end.saturating_sub(begin);
        if total < 0 {
            return None;
        }
        self.list_children(steps);
        self.shares.clear();
        self.shares.resize(steps.len(), StepShare::default());
        self.open.clear();
        self.open.push((0, begin, end));
        while let Some((step, begin, end)) = self.open.pop() {
            self.walk_step(step, &steps[step as usize], begin, end);
        }
        Some((total, &self.shares))
    }

    fn list_children(&mut self, steps: &[Step]) {
        let CriticalPath { children, begins, .. } = self;
        children.clear();
        let parent = |place: u32, step: &Step| step.parent.filter(|parent| *parent < place);
        children.extend((0..).zip(steps).filter_map(|(place, step)| {
            let (begin, end) = times_at_caller(step);
            parent(place, step)?;
            Some((place, begin?, end?))
        }));
        children.sort_unstable_by_key(|(place, begin, end)| {
            (parent(*place, &steps[*place as usize]), std::cmp::Reverse(*end), *begin, *place)
        });
        begins.clear();
        begins.resize(steps.len() + 1, 0);
        for (place, ..) in children.iter() {
            if let Some(of) = parent(*place, &steps[*place as usize]) {
                begins[of as usize + 1] += 1;
            }
        }
        for place in 0..steps.len() {
            begins[place + 1] += begins[place];
        }
    }

    /// Attributes the time from `begin` to `end` at the caller of a step to the step and its
    /// children.
    fn walk_step(&mut self, place: u32, step: &Step, begin: i64, end: i64) {
        let first = step.begin.map_or(begin, |time| time.clamp(begin, end));
        let mut time = step.end.map_or(end, |time| time.clamp(first, end));
        let mut share = StepShare { own: 0, network: (first - begin) + (end - time) };
        let range = self.begins[place as usize] as usize..self.begins[place as usize + 1] as usize;
        for (child, child_begin, child_end) in &self.children[range] {
            // A child that continues after the end of the step is not waited for, unless it exceeds
            // the end by so little that clock errors may explain it.
            let over = child_end.saturating_sub(time);
            let outlives_step =
                over > 0 && over.saturating_mul(10) > child_end.saturating_sub(*child_begin);
            if outlives_step || *child_end <= first || *child_begin >= time {
                continue;
            }
            let child_end = (*child_end).min(time);
            share.own += time - child_end;
            time = (*child_begin).clamp(first, child_end);
            self.open.push((*child, time, child_end));
        }
        share.own += time - first;
        self.shares[place as usize] = share;
    }
}

/// All time of each step, whether or not the request waits for it: an analysis without a critical
/// path, as a baseline.
#[derive(Debug, Default)]
pub(crate) struct StepTimes {
    times: ExclusiveTimes,
    shares: Vec<StepShare>,
}

impl StepTimes {
    /// The time of each step of a request.
    pub(crate) fn shares_of_request(&mut self, request: &Request) -> &[StepShare] {
        let times = self.times.times_of_request(request).iter();
        self.shares.clear();
        self.shares.extend(times.map(|(own, network)| StepShare {
            own: own.unwrap_or(0),
            network: network.unwrap_or(0),
        }));
        &self.shares
    }
}

/// Begin and end of the time in which the caller is occupied with a step; `None` if they are not
/// known or contradict each other.
fn times_at_caller(step: &Step) -> (Option<i64>, Option<i64>) {
    match step.span_at_caller() {
        (Some(begin), Some(end)) if begin <= end => (Some(begin), Some(end)),
        _ => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use request_flow::NameId;

    use super::*;

    fn step(parent: Option<u32>, begin: i64, end: i64) -> Step {
        Step {
            parent,
            begin: Some(begin),
            end: Some(end),
            ..Step::new(NameId::from_index(1), NameId::from_index(1))
        }
    }

    fn request(steps: impl IntoIterator<Item = Step>) -> Request {
        let mut request = Request::default();
        steps.into_iter().for_each(|step| request.push_step(step, []));
        request
    }

    #[test]
    fn the_picture_above() {
        let of = request([
            step(None, 0, 40),
            step(Some(0), 3, 7),
            step(Some(0), 8, 14),
            Step {
                begin: Some(9),
                end: Some(30),
                caller_begin: Some(8),
                caller_end: Some(31),
                ..step(Some(0), 0, 0)
            },
            // The step continues after its parent has responded.
            step(Some(0), 20, 90),
        ]);
        let mut path = CriticalPath::default();
        let (total, shares) = path.shares_of_request(&of).unwrap();
        assert_eq!(total, 40);
        let own: Vec<(i64, i64)> = shares.iter().map(|share| (share.own, share.network)).collect();
        // 40 to 31, 8 to 7 and 3 to 0 belong to the root.
        assert_eq!(own, [(13, 0), (4, 0), (0, 0), (21, 2), (0, 0)]);
    }

    #[test]
    fn steps_without_an_end_have_no_share() {
        let open = Step { end: None, ..step(None, 0, 9) };
        assert_eq!(CriticalPath::default().shares_of_request(&request([open])), None);
        let of = request([step(None, 0, 10), Step { end: None, ..step(Some(0), 1, 5) }]);
        let mut path = CriticalPath::default();
        let (_, shares) = path.shares_of_request(&of).unwrap();
        assert_eq!(shares[0].own, 10);
    }

    proptest! {
        #[test]
        fn shares_add_up_to_the_response_time(
            raw in prop::collection::vec((any::<prop::sample::Index>(), -20i64..100, 0i64..60, -9i64..9, any::<bool>()), 1..14),
        ) {
            let mut steps: Vec<Step> = Vec::new();
            for (place, (parent, begin, length, off, seen)) in raw.iter().enumerate() {
                let parent = (place > 0).then(|| parent.index(place) as u32);
                let mut of = step(parent, *begin, begin + length);
                if *seen {
                    (of.caller_begin, of.caller_end) = (Some(begin - off), Some(begin + length + off));
                }
                steps.push(of);
            }
            // This does not need a tree in depth-first order.
            let of = request(steps);
            if let Some((total, shares)) = CriticalPath::default().shares_of_request(&of) {
                let sum: i64 = shares.iter().map(|share| share.own + share.network).sum();
                prop_assert_eq!(sum, total);
                prop_assert!(shares.iter().all(|share| share.own >= 0 && share.network >= 0));
            }
        }
    }
}
