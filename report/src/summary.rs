//! What is reported: the patterns, and what a reader must know of the trace to trust them.

use analyze::paths::PathPattern;

use crate::clocks::Clock;
use crate::families::{Families, Family};
use crate::filtered::Filtered;
use crate::options::Options;

/// Everything an output shows.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// The patterns, in any order; those that come first by the chosen metric where they are not
    /// all ([`Meta::rest`]).
    pub(crate) patterns: &'a [PathPattern],
    /// The same by families.
    pub(crate) families: Families<'a>,
    /// What they were found in.
    pub meta: Meta,
}

/// The trace in a few numbers, and what could not be seen in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meta {
    /// What was looked at, as the user named it: usually the data directory.
    pub source: String,
    /// Messages in the trace.
    pub messages: u64,
    /// Traced processes.
    pub processes: u64,
    /// Traced hosts.
    pub hosts: u64,
    /// When the first event of the trace was, in nanoseconds since the Unix epoch on the common
    /// clock; none where nobody asked.
    pub begin: Option<i64>,
    /// From the first event of the trace to the last, in nanoseconds.
    pub span: i64,
    /// How many path instances are expected to be real, in all patterns, also in those that are not
    /// given.
    pub expected_paths: f64,
    /// What could not be seen: nobody shall trust a hole. Those with a count of zero are not shown.
    pub notes: Vec<Note>,
    /// The hosts' clocks, of which the times are already corrected.
    pub clocks: Vec<Clock>,
    /// The patterns that are not given, as nobody would look at so many.
    pub rest: Rest,
    /// What the reader asked for where that is not all; the patterns, and how many paths are
    /// expected, are those of it.
    pub filtered: Option<Filtered>,
    /// What the reader may do next, one line each, shown at the end of the terminal output, never
    /// broken.
    pub next_steps: Vec<String>,
}

/// How much the patterns are that are not given.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rest {
    /// How many there are.
    pub patterns: u64,
    /// How many instances they have.
    pub instances: u64,
    /// The sum of their total times, in nanoseconds.
    pub total_time: f64,
}

/// Something that could not be seen, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What it is, as it follows a number: "messages without a receiver".
    pub label: String,
    /// How many.
    pub count: u64,
}

impl<'a> Report<'a> {
    /// The report of `patterns`, in any order. Where they are not all ([`Meta::rest`]), they are
    /// those that come first by the metric that the reader chose.
    pub fn new(patterns: &'a [PathPattern], meta: Meta) -> Report<'a> {
        Report { patterns, families: Families::of(patterns), meta }
    }

    /// The patterns in the order of `options`, and no more than it allows.
    pub(crate) fn ranked(&self, options: &Options) -> Vec<&'a PathPattern> {
        let mut ranked = options.sort.rank(self.patterns);
        ranked.truncate(options.limit.unwrap_or(usize::MAX));
        ranked
    }

    /// The families of patterns in the order of `options`, and no more than it allows. Where it
    /// does not fold, each pattern is one by itself.
    pub(crate) fn families(&self, options: &Options) -> Vec<Family<'a>> {
        if !options.fold {
            let alone = |lead| Family { lead, alike: Vec::new() };
            return self.ranked(options).into_iter().map(alone).collect();
        }
        let mut families = self.families.ranked(options.sort);
        families.truncate(options.limit.unwrap_or(usize::MAX));
        families
    }

    /// How many patterns there are.
    pub(crate) fn pattern_count(&self) -> u64 {
        self.patterns.len() as u64 + self.meta.rest.patterns
    }

    /// How many instances all patterns have.
    pub(crate) fn instances(&self) -> u64 {
        let given: i64 = self.patterns.iter().map(|pattern| pattern.count).sum();
        given.max(0) as u64 + self.meta.rest.instances
    }

    /// The total time of all patterns, in nanoseconds.
    pub(crate) fn total_time(&self) -> f64 {
        self.patterns.iter().map(|pattern| pattern.total_time).sum::<f64>()
            + self.meta.rest.total_time
    }

    /// The part of the total time that is `pattern`'s, from 0 to 1.
    pub(crate) fn share(&self, pattern: &PathPattern) -> f64 {
        share(pattern.total_time, self.total_time())
    }

    /// The notes that say something.
    pub(crate) fn notes(&self) -> impl Iterator<Item = &Note> {
        self.meta.notes.iter().filter(|note| note.count > 0)
    }
}

/// `part` of `whole`, and 0 of nothing.
pub(crate) fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Json, Output, Terminal, samples};

    #[test]
    fn what_is_not_given_is_counted() {
        let patterns = samples::some();
        let whole = Report::new(&patterns, samples::meta());
        let (first, last) = patterns.split_at(3);
        let instances = last.iter().map(|pattern| pattern.count as u64).sum();
        let total_time = last.iter().map(|pattern| pattern.total_time).sum();
        let rest = Rest { patterns: last.len() as u64, instances, total_time };
        let part = Report::new(first, Meta { rest, ..samples::meta() });
        assert_eq!(part.pattern_count(), whole.pattern_count());
        assert_eq!(part.instances(), whole.instances());
        assert!((part.total_time() - whole.total_time()).abs() < 1.0);
        let mut out = Vec::new();
        Terminal.write(&part, &Options::default(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("4 path patterns") && text.contains("1 pattern not shown"), "{text}");
        let mut out = Vec::new();
        Json.write(&part, &Options::default(), &mut out).unwrap();
        assert!(String::from_utf8(out).unwrap().contains("\"pattern_count\": 4"));
    }
}
