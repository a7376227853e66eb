//! Samples: rows of features of the requests of both classes of a question. Of a large period, only
//! some groups of requests, at equal distances, are read.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use message_trace::PathError;
use request_flow::{NameId, Request};
use rustc_hash::FxHashMap;

use super::features::{FeatureValue, RequestFeature, for_each_step_feature};
use super::question::ClassQuestion;
use crate::category::{CategoryEncoder, NameHashes};
use crate::options::Options;
use crate::period::{Period, PeriodSide};
use crate::tuning::{MAX_EXPLAINED_GROUPS, MAX_EXPLAINED_ROWS};

/// Nanoseconds of a second.
const SECOND_NS: i64 = 1_000_000_000;

/// Nanoseconds of a day.
const DAY_NS: i64 = 86_400_000_000_000;

/// Rows of one question: a row for each sampled request.
#[derive(Clone, Debug, Default)]
pub(super) struct FeatureSamples {
    /// Class and weight of each row.
    pub(super) rows: Vec<(usize, f64)>,
    /// The period of each row.
    sides: Vec<PeriodSide>,
    /// Each feature's values, as row and value.
    pub(super) features: BTreeMap<RequestFeature, Vec<(u32, FeatureValue)>>,
}

impl FeatureSamples {
    /// Adds a row and returns its number; `None` if there are enough rows of the class.
    fn push_row(&mut self, class: usize, weight: f64, side: PeriodSide) -> Option<u32> {
        let of_class = self.rows.iter().filter(|(of, _)| *of == class).count();
        (of_class < MAX_EXPLAINED_ROWS).then(|| {
            self.rows.push((class, weight));
            self.sides.push(side);
            self.rows.len() as u32 - 1
        })
    }

    /// Drops features with texts that identify a period: processes, threads and pods have different
    /// names in each recording, which explains nothing. Half of the identifiers must occur in both
    /// periods; of other texts, one is enough.
    pub(super) fn drop_identities(&mut self) {
        let sides = &self.sides;
        let of_side = |side: PeriodSide| sides.iter().filter(|of| **of == side).count() as f64;
        let all = [of_side(PeriodSide::Before), of_side(PeriodSide::After)];
        if all.contains(&0.0) {
            return;
        }
        self.features.retain(|feature, values| {
            if *feature == RequestFeature::TimeOfDay {
                return ranges_overlap(values, sides);
            }
            let mut counts: FxHashMap<&str, [f64; 2]> = FxHashMap::default();
            for (row, value) in values.iter() {
                match (value, sides.get(*row as usize)) {
                    (FeatureValue::Text(text), Some(side)) => {
                        counts.entry(text).or_default()[*side as usize] += 1.0;
                    }
                    _ => return true,
                }
            }
            let common = counts.values().map(|of| (of[0] / all[0]).min(of[1] / all[1]));
            let common: f64 = common.sum();
            if feature.is_identifier() { common >= 0.5 } else { common > 0.0 }
        });
    }

    /// Adds the rows of another part of the periods.
    pub(super) fn merge(&mut self, other: FeatureSamples) {
        let before = self.rows.len() as u32;
        self.rows.extend(other.rows);
        self.sides.extend(other.sides);
        for (feature, values) in other.features {
            let moved = values.into_iter().map(|(row, value)| (row + before, value));
            self.features.entry(feature).or_default().extend(moved);
        }
    }
}

/// Whether the ranges of the numbers of the two periods overlap.
fn ranges_overlap(values: &[(u32, FeatureValue)], sides: &[PeriodSide]) -> bool {
    let mut ranges = [(f64::INFINITY, f64::NEG_INFINITY); 2];
    for (row, value) in values {
        if let (FeatureValue::Number(number), Some(side)) = (value, sides.get(*row as usize)) {
            let (least, most) = &mut ranges[*side as usize];
            (*least, *most) = (least.min(*number), most.max(*number));
        }
    }
    ranges[0].0 < ranges[1].1 && ranges[1].0 < ranges[0].1
}

/// Indices of the groups of requests to read, out of `count` groups.
pub(super) fn sampled_groups(count: usize) -> Vec<usize> {
    let read = count.min(MAX_EXPLAINED_GROUPS);
    (0..read).map(|number| number * count / read).collect()
}

/// The pass over one period.
pub(super) struct SamplePass<'p> {
    pub(super) period: &'p Period<'p>,
    pub(super) side: PeriodSide,
    pub(super) options: &'p Options,
    pub(super) questions: &'p [ClassQuestion],
    pub(super) without: &'p [String],
}

impl SamplePass<'_> {
    /// Reads a group of requests and makes rows for each question.
    pub(super) fn read_group(&self, group: usize) -> Result<Vec<FeatureSamples>, PathError> {
        let (names, requests) = self.period.tables.read_group(group)?;
        let hashes = NameHashes::from_names(&names);
        let mut encoder = CategoryEncoder::new(&self.options.zoom, &names, &hashes);
        let mut all: Vec<FeatureSamples> =
            self.questions.iter().map(|_| FeatureSamples::default()).collect();
        let name_of = |name: NameId| names.name_of(name).to_owned();
        let (mut open, mut recent) = (OpenRequests::default(), RecentRequests::default());
        for request in &requests {
            if request.steps.is_empty() || !self.period.contains(request.begin()) {
                continue;
            }
            let (open, recent) = (open.count_at(request), recent.count_at(request));
            let encoded = encoder.encode(request);
            for (question, samples) in self.questions.iter().zip(&mut all) {
                let Some(class) = question.class_of_request(encoded.key, self.side) else {
                    continue;
                };
                let Some(row) = samples.push_row(class, request.probability, self.side) else {
                    continue;
                };
                let mut add = |feature: RequestFeature, value: FeatureValue| {
                    if !self.without.iter().any(|name| name == feature.name()) {
                        samples.features.entry(feature).or_default().push((row, value));
                    }
                };
                // If requests take longer, more are open, and clients that wait for them send
                // requests less often, whatever the cause.
                if !question.by_period {
                    add(RequestFeature::RecentRequests, FeatureValue::Number(recent as f64));
                    add(RequestFeature::OpenRequests, FeatureValue::Number(open as f64));
                }
                // Between two periods the time always differs, which explains nothing.
                if let Some(begin) = request.begin().filter(|_| !question.by_period) {
                    let second = begin.rem_euclid(DAY_NS) as f64 / 1e9;
                    add(RequestFeature::TimeOfDay, FeatureValue::Number(second));
                }
                if request.caller_host != request_flow::NameInterner::UNKNOWN {
                    add(
                        RequestFeature::CallerHost,
                        FeatureValue::Text(name_of(request.caller_host)),
                    );
                }
                let mut known = u32::MAX;
                for step in 0..request.steps.len() {
                    let place = encoded.place_of_step(step);
                    // The first iteration stands for the whole loop.
                    let is_first = known == u32::MAX || place > known;
                    if encoded.is_shown(step) && place < question.shared && is_first {
                        known = place;
                        for_each_step_feature(request, step, place, &name_of, &mut add);
                    }
                }
            }
        }
        Ok(all)
    }
}

/// Counter of open requests, which receives requests in the order of their begins.
#[derive(Debug, Default)]
struct OpenRequests(BinaryHeap<Reverse<i64>>);

impl OpenRequests {
    /// Number of open requests at the begin of this one.
    fn count_at(&mut self, request: &Request) -> usize {
        let begin = request.begin().unwrap_or(i64::MIN);
        while self.0.peek().is_some_and(|Reverse(end)| *end <= begin) {
            self.0.pop();
        }
        let open = self.0.len();
        self.0.extend(request.end().map(Reverse));
        open
    }
}

/// Counter of the requests in the last second, which receives requests in the order of their
/// begins.
#[derive(Debug, Default)]
struct RecentRequests(VecDeque<i64>);

impl RecentRequests {
    /// Number of requests that began in the second before this one.
    fn count_at(&mut self, request: &Request) -> usize {
        let Some(begin) = request.begin() else { return self.0.len() };
        while self.0.front().is_some_and(|first| *first < begin - SECOND_NS) {
            self.0.pop_front();
        }
        let recent = self.0.len();
        self.0.push_back(begin);
        recent
    }
}

#[cfg(test)]
mod tests {
    use request_flow::Step;

    use super::*;

    #[test]
    fn open_requests_are_counted() {
        let mut open = OpenRequests::default();
        let mut at = |begin: i64, end: i64| {
            let mut request = Request::default();
            request.push_step(
                Step {
                    begin: Some(begin),
                    end: Some(end),
                    ..Step::new(NameId::from_index(1), NameId::from_index(1))
                },
                [],
            );
            open.count_at(&request)
        };
        assert_eq!([at(0, 10), at(1, 5), at(5, 7), at(6, 20), at(10, 11)], [0, 1, 1, 2, 1]);
    }

    #[test]
    fn requests_of_the_last_second_are_counted() {
        let mut recent = RecentRequests::default();
        let mut at = |begin: i64| {
            let mut request = Request::default();
            request.push_step(
                Step {
                    begin: Some(begin),
                    ..Step::new(NameId::from_index(1), NameId::from_index(1))
                },
                [],
            );
            recent.count_at(&request)
        };
        let times = [0, 1, SECOND_NS, SECOND_NS + 1, SECOND_NS + 2, 9 * SECOND_NS];
        assert_eq!(times.map(&mut at), [0, 1, 2, 2, 2, 0]);
    }

    #[test]
    fn identities_of_one_class_are_left_out() {
        let mut samples = FeatureSamples::default();
        for number in 0..8_u32 {
            let class = (number % 2) as usize;
            samples.rows.push((class, 1.0));
            samples.sides.push(if class == 0 { PeriodSide::Before } else { PeriodSide::After });
            let pod = ["one", "two"][class].to_owned();
            let host = if number < 4 { "a" } else { "b" }.to_owned();
            let mut add =
                |feature, value| samples.features.entry(feature).or_default().push((number, value));
            add(RequestFeature::CallerHost, FeatureValue::Text(host));
            add(
                RequestFeature::Step(0, super::super::features::StepFeature::Host),
                FeatureValue::Text(pod),
            );
            add(RequestFeature::OpenRequests, FeatureValue::Number(class as f64));
        }
        samples.drop_identities();
        let left: Vec<&str> = samples.features.keys().map(RequestFeature::name).collect();
        assert_eq!(left, ["open_requests", "caller_host"]);
    }

    #[test]
    fn groups_are_spread() {
        assert_eq!(sampled_groups(3), [0, 1, 2]);
        let many = sampled_groups(160);
        assert_eq!((many.len(), many[1]), (MAX_EXPLAINED_GROUPS, 160 / MAX_EXPLAINED_GROUPS));
        assert_eq!(sampled_groups(0), [0; 0]);
    }
}
