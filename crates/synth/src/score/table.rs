//! The score as text: one line per measure, shares in percent.

use std::fmt::{self, Display, Formatter};

use super::LinkScore;
use super::paths::FalseCounts;
use super::pruning::PatternOmission;

/// Width of the column with the names of measures, in characters.
const NAME_WIDTH: usize = 30;

impl Display for LinkScore {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (links, population) = (&self.links, &self.population);
        writeln!(f, "{:NAME_WIDTH$} {:>9}  of", "accuracy", "right")?;
        for (name, right, count, unit) in [
            ("links", links.link_accuracy, links.links, "link"),
            ("ambiguous links", links.ambiguous_link_accuracy, links.ambiguous_links, "link"),
            ("requests", links.request_accuracy, links.requests, "request"),
            ("traces", links.trace_accuracy, links.traces, "trace"),
            ("traces, top 5", self.top5_trace_accuracy, links.traces, "trace"),
        ] {
            writeln!(
                f,
                "{name:NAME_WIDTH$} {:>9}  {}",
                format_percent(right),
                plural_phrase(count, unit)
            )?;
        }
        // This figure differs only if calls are missing.
        if population.truth_without_calls > 0 && links.trace_recall.is_some() {
            writeln!(
                f,
                "{:NAME_WIDTH$} {:>9}  all traces of the truth",
                "traces, whole",
                format_percent(links.trace_recall)
            )?;
        }
        let confidence = &self.confidence;
        let precision = format_percent(confidence.precision_at_90_coverage);
        writeln!(
            f,
            "{:NAME_WIDTH$} {precision:>9}  the most probable 90% of the links",
            "precision at 90% coverage"
        )?;
        let error = format_percent(confidence.calibration_error);
        writeln!(f, "{:NAME_WIDTH$} {error:>9}", "expected calibration error")?;
        let counted = |count: u64, one: &str, many: &str| match count {
            0 => String::new(),
            1 => format!(", 1 {one}"),
            _ => format!(", {count} {many}"),
        };
        writeln!(
            f,
            "\n{}, {}{}{}{}{}{}",
            plural_phrase(population.calls, "call"),
            plural_phrase(population.roots, "root"),
            counted(
                population.roots_with_a_parent,
                "of them given a parent",
                "of them given a parent"
            ),
            counted(population.excluded, "call excluded", "calls excluded"),
            counted(
                population.calls_without_truth,
                "call that is not in the truth",
                "calls that are not in the truth"
            ),
            counted(
                population.truth_without_calls,
                "of the truth that is not in the trace",
                "of the truth that are not in the trace"
            ),
            counted(
                population.adopted,
                "with a parent that is not in the trace, counted to the call above",
                "with a parent that is not in the trace, counted to the call above"
            ),
        )?;
        write_paths(
            f,
            [
                ("patterns", self.paths.patterns),
                ("instances", self.paths.instances),
                ("messages", self.paths.messages),
            ],
        )?;
        write_omissions(f, &self.top_n_omission)?;
        write_reliability(f, self)
    }
}

/// `1 link`, `2 links`.
fn plural_phrase(count: u64, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

/// Missed and false paths.
fn write_paths(f: &mut Formatter<'_>, rows: [(&str, FalseCounts); 3]) -> fmt::Result {
    writeln!(
        f,
        "\n{:12} {:>9} {:>9} {:>17} {:>17}",
        "paths", "real", "inferred", "false negatives", "false positives"
    )?;
    for (name, found) in rows {
        let rate = |count: u64, rate| format!("{count} ({})", format_percent(rate));
        writeln!(
            f,
            "{name:12} {:>9} {:>9} {:>17} {:>17}",
            found.real,
            found.inferred,
            rate(found.false_negatives, found.false_negative_rate),
            rate(found.false_positives, found.false_positive_rate),
        )?;
    }
    Ok(())
}

/// How many of the N most frequent patterns are omitted, for a few N.
fn write_omissions(f: &mut Formatter<'_>, all: &[PatternOmission]) -> fmt::Result {
    writeln!(
        f,
        "\n{:12} {:>9} {:>17} {:>17}",
        "top N", "omitted", "at 2% tolerance", "at 6% tolerance"
    )?;
    let last = all.len() as u64;
    for row in all.iter().filter(|row| [1, 2, 5, 10, 20, 50].contains(&row.n) || row.n == last) {
        let at = [row.omitted_at_2_percent, row.omitted_at_6_percent];
        writeln!(f, "{:<12} {:>9} {:>17} {:>17}", row.n, row.omitted, at[0], at[1])?;
    }
    Ok(())
}

/// Accuracy by probability: the bins that have links.
fn write_reliability(f: &mut Formatter<'_>, score: &LinkScore) -> fmt::Result {
    writeln!(
        f,
        "\n{:12} {:>9} {:>17} {:>17}",
        "probability", "links", "mean probability", "right"
    )?;
    for bin in score.confidence.reliability.iter().filter(|bin| bin.links > 0) {
        let range = format!("{:.1} to {:.1}", bin.from, bin.to);
        writeln!(
            f,
            "{range:12} {:>9} {:>17} {:>17}",
            bin.links,
            format_percent(bin.probability),
            format_percent(bin.accuracy)
        )?;
    }
    Ok(())
}

/// A share in percent, or a dash without a share. Less than all is never rounded to 100%.
fn format_percent(share: Option<f64>) -> String {
    match share {
        None => "-".to_owned(),
        Some(share) if share < 1.0 => format!("{:.2}%", (100.0 * share).min(99.99)),
        Some(share) => format!("{:.2}%", 100.0 * share),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_than_all_is_not_shown_as_100_percent() {
        assert_eq!(format_percent(Some(1.0)), "100.00%");
        assert_eq!(format_percent(Some(0.999_999)), "99.99%");
        assert_eq!(format_percent(Some(0.5)), "50.00%");
        assert_eq!(format_percent(None), "-");
    }
}
