//! The report: the patterns, and the facts about the trace that a reader needs in order to trust
//! them.

use analyze::paths::PathPattern;
use serde::Serialize;

use crate::applied_filter::AppliedFilter;
use crate::call_evidence::DecidedCalls;
use crate::clocks::ComparedClock;
use crate::families::{PatternFamilies, PatternFamily};
use crate::operations::OperationCounts;
use crate::options::Options;

/// A report: the data of every output.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// The patterns, in any order. If some are left out ([`TraceMeta::rest`]), these are the first
    /// ones by the chosen metric.
    pub(crate) patterns: &'a [PathPattern],
    /// The families of the patterns.
    pub(crate) families: PatternFamilies<'a>,
    /// The operations of the patterns.
    pub(crate) operations: OperationCounts<'a>,
    /// The trace that the patterns were found in.
    pub meta: TraceMeta,
}

/// The trace in a few numbers, and its unseen parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceMeta {
    /// The source of the trace as the user named it, usually the data directory.
    pub source: String,
    /// The number of messages in the trace.
    pub messages: u64,
    /// The number of traced processes.
    pub processes: u64,
    /// The numbers of requests and steps, if the paths are from spans. The numbers are shown in
    /// place of messages and processes.
    pub requests: Option<RequestCounts>,
    /// Other contents of the source, and how to see them.
    pub other: Option<String>,
    /// The number of traced hosts.
    pub hosts: u64,
    /// The time of the first event, in nanoseconds since the Unix epoch on the common clock; `None`
    /// if it is unknown.
    pub begin: Option<i64>,
    /// The time from the first event to the last, in nanoseconds.
    pub span: i64,
    /// The expected number of real path instances of all patterns, including omitted ones.
    pub expected_paths: f64,
    /// Notes on unseen parts of the trace. A note with a count of zero is not shown.
    pub notes: Vec<UnseenNote>,
    /// What decided for which requests services made their calls.
    pub decided: DecidedCalls,
    /// The clocks of the hosts. All times of the report are corrected by them.
    pub clocks: Vec<ComparedClock>,
    /// Sums over the omitted patterns, which are too many to look at.
    pub rest: RestSums,
    /// The filter that selected a part of the trace; `None` for the whole. The patterns and the
    /// expected number of paths are those of this part.
    pub filtered: Option<AppliedFilter>,
    /// Suggested next steps for the reader. Each is a line at the end of the terminal output, never
    /// broken.
    pub next_steps: Vec<String>,
}

/// The numbers of requests and steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RequestCounts {
    /// The number of requests.
    pub requests: u64,
    /// The number of the requests' steps.
    pub steps: u64,
}

/// The sums over omitted patterns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RestSums {
    /// The number of patterns.
    pub patterns: u64,
    /// The number of the patterns' instances.
    pub instances: u64,
    /// The sum of the patterns' total times, in nanoseconds.
    pub total_time: f64,
}

/// Something that was not seen, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnseenNote {
    /// The unseen item, as it follows a number: "messages without a receiver".
    pub label: String,
    /// The number of times.
    pub count: u64,
}

impl<'a> Report<'a> {
    /// The report of `patterns`, in any order. If some are left out ([`TraceMeta::rest`]), these
    /// are the first ones by the metric that the reader chose.
    pub fn new(patterns: &'a [PathPattern], meta: TraceMeta) -> Report<'a> {
        let families = PatternFamilies::from_patterns(patterns);
        Report { patterns, families, operations: OperationCounts::from_patterns(patterns), meta }
    }

    /// The patterns in the order of `options`, up to its limit.
    pub(crate) fn ranked_patterns(&self, options: &Options) -> Vec<&'a PathPattern> {
        let mut ranked = options.sort.rank_patterns(self.patterns);
        ranked.truncate(options.limit.unwrap_or(usize::MAX));
        ranked
    }

    /// The families in the order of `options`, up to its limit. Without folding, each pattern is a
    /// family of its own.
    pub(crate) fn ranked_families(&self, options: &Options) -> Vec<PatternFamily<'a>> {
        if !options.fold {
            let alone = |lead| PatternFamily { lead, alike: Vec::new() };
            return self.ranked_patterns(options).into_iter().map(alone).collect();
        }
        let mut families = self.families.ranked_families(options.sort);
        families.truncate(options.limit.unwrap_or(usize::MAX));
        families
    }

    /// The number of all patterns, including omitted ones.
    pub(crate) fn pattern_count(&self) -> u64 {
        self.patterns.len() as u64 + self.meta.rest.patterns
    }

    /// The number of instances of all patterns, including omitted ones.
    pub(crate) fn instance_count(&self) -> u64 {
        let given: i64 = self.patterns.iter().map(|pattern| pattern.count).sum();
        given.max(0) as u64 + self.meta.rest.instances
    }

    /// The total time of all patterns, including omitted ones, in nanoseconds.
    pub(crate) fn total_time(&self) -> f64 {
        self.patterns.iter().map(|pattern| pattern.total_time).sum::<f64>()
            + self.meta.rest.total_time
    }

    /// The share of the total time that `pattern` has, from 0 to 1.
    pub(crate) fn share_of_time(&self, pattern: &PathPattern) -> f64 {
        share_of_whole(pattern.total_time, self.total_time())
    }

    /// The notes with a count above zero.
    pub(crate) fn counted_notes(&self) -> impl Iterator<Item = &UnseenNote> {
        self.meta.notes.iter().filter(|note| note.count > 0)
    }
}

/// `part` divided by `whole`; 0 if `whole` is not above zero.
pub(crate) fn share_of_whole(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{JsonWriter, ReportWriter, TerminalWriter, sample_reports};

    #[test]
    fn omitted_patterns_are_counted() {
        let patterns = sample_reports::small_system();
        let whole = Report::new(&patterns, sample_reports::sample_meta());
        let (first, last) = patterns.split_at(3);
        let instances = last.iter().map(|pattern| pattern.count as u64).sum();
        let total_time = last.iter().map(|pattern| pattern.total_time).sum();
        let rest = RestSums { patterns: last.len() as u64, instances, total_time };
        let part = Report::new(first, TraceMeta { rest, ..sample_reports::sample_meta() });
        assert_eq!(part.pattern_count(), whole.pattern_count());
        assert_eq!(part.instance_count(), whole.instance_count());
        assert!((part.total_time() - whole.total_time()).abs() < 1.0);
        let mut out = Vec::new();
        TerminalWriter.write_report(&part, &Options::default(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("4 path patterns") && text.contains("1 pattern not shown"), "{text}");
        let mut out = Vec::new();
        JsonWriter.write_report(&part, &Options::default(), &mut out).unwrap();
        assert!(String::from_utf8(out).unwrap().contains("\"pattern_count\": 4"));
    }
}
