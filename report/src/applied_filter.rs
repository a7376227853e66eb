//! The filter of a report that covers only a part of an analysis. Every output shows it at the top,
//! so that a part is not mistaken for the whole.

use analyze::paths::PathFilter;

/// A filter, and the analysis that it was applied to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AppliedFilter {
    /// The filter: selects the paths of the report.
    pub filter: PathFilter,
    /// The time at which the trace begins, in nanoseconds since the Unix epoch on the common clock.
    /// [`PathFilter::from`] and [`PathFilter::to`] are shown relative to it.
    pub begin: i64,
    /// The number of all patterns, without the filter.
    pub of_patterns: u64,
    /// The number of all instances, without the filter.
    pub of_instances: u64,
}

impl AppliedFilter {
    /// The conditions of the filter in words, one text for each.
    pub(crate) fn condition_words(&self) -> Vec<String> {
        let PathFilter { through, operations, patterns, from, to, min_confidence, errors } =
            &self.filter;
        let mut words: Vec<String> = through.iter().map(|name| format!("through {name}")).collect();
        words.extend(operations.iter().map(|name| format!("operation {name}")));
        if !patterns.is_empty() {
            let numbers: Vec<String> =
                patterns.iter().map(|pattern| format!("#{pattern}")).collect();
            words.push(format!("pattern {}", numbers.join(", ")));
        }
        let since = |time: &i64| format_seconds(time.saturating_sub(self.begin));
        words.extend(from.iter().map(|from| format!("from {}", since(from))));
        words.extend(to.iter().map(|to| format!("to {}", since(to))));
        words.extend(min_confidence.iter().map(|least| format!("confidence at least {least}")));
        words.extend(errors.then(|| "with errors".to_owned()));
        words
    }
}

/// Nanoseconds as seconds, with as many digits as the user wrote.
fn format_seconds(nanoseconds: i64) -> String {
    let (sign, size) = (if nanoseconds < 0 { "-" } else { "" }, nanoseconds.unsigned_abs());
    let text = format!("{sign}{}.{:09}", size / 1_000_000_000, size % 1_000_000_000);
    format!("{}s", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_is_shown_as_the_user_wrote_it() {
        let filter = PathFilter {
            through: vec!["web".into(), "db".into()],
            operations: vec!["GET /cart/{}".into()],
            patterns: vec![0, 7],
            from: Some(1_000 + 1_500_000_000),
            to: Some(1_000 + 12_000_000_001),
            min_confidence: Some(0.25),
            errors: true,
        };
        let filtered = AppliedFilter { filter, begin: 1_000, ..AppliedFilter::default() };
        let words = [
            "through web",
            "through db",
            "operation GET /cart/{}",
            "pattern #0, #7",
            "from 1.5s",
            "to 12.000000001s",
            "confidence at least 0.25",
            "with errors",
        ];
        assert_eq!(filtered.condition_words(), words);
        assert_eq!(
            (format_seconds(0).as_str(), format_seconds(-20_000_000).as_str()),
            ("0s", "-0.02s")
        );
        assert_eq!(format_seconds(100_000_000_000), "100s");
        assert!(AppliedFilter::default().condition_words().is_empty());
    }
}
