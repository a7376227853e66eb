//! The lines above the patterns: the trace, the number of paths, and the unseen parts.

use std::io::{self, Write};

use message_trace::units::{
    count_noun, format_count, format_duration, format_expected, to_printable,
};

use super::paint::TextRole;
use super::screen::TerminalScreen;
use crate::options::Options;
use crate::summary::{Report, RequestCounts, TraceMeta};

impl TerminalScreen {
    /// Writes the trace, the number of paths, and the unseen parts.
    pub(super) fn write_header(
        &self,
        report: &Report<'_>,
        options: &Options,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.write_trace(&report.meta, out)?;
        let mut row = self.new_row();
        row.push_text(
            TextRole::Strong,
            &count_noun(report.pattern_count(), "path pattern", "path patterns"),
        );
        row.push_items([
            (TextRole::Plain, count_noun(report.instance_count(), "instance", "instances")),
            (
                TextRole::Plain,
                format!("{} expected to be real", format_expected(report.meta.expected_paths)),
            ),
            (TextRole::Plain, format!("ranked by {}", self.plain_label(options.sort.label()))),
        ]);
        row.finish(out)?;
        self.write_limits(&report.meta, out)?;
        if report.patterns.is_empty() {
            self.write_no_paths(&report.meta, out)?;
        }
        Ok(())
    }

    /// Writes the trace in a few numbers.
    pub(super) fn write_trace(&self, meta: &TraceMeta, out: &mut dyn Write) -> io::Result<()> {
        let mut row = self.new_row();
        row.push_text(TextRole::Strong, &to_printable(&meta.source));
        let (amount, of) = match meta.requests {
            None => (
                count_noun(meta.messages, "message", "messages"),
                count_noun(meta.processes, "process", "processes"),
            ),
            Some(RequestCounts { requests, steps }) => {
                let requests = count_noun(requests, "request", "requests");
                (format!("{} of {requests}", count_noun(steps, "step", "steps")), String::new())
            }
        };
        // The hosts of spans may be unknown.
        let hosts = match (meta.hosts, meta.requests) {
            (0, Some(_)) => String::new(),
            (hosts, _) => count_noun(hosts, "host", "hosts"),
        };
        row.push_items([
            (TextRole::Plain, amount),
            (TextRole::Plain, of),
            (TextRole::Plain, hosts),
            (
                TextRole::Plain,
                if meta.span > 0 {
                    format!("over {}", self.duration_text(format_duration(meta.span as f64)))
                } else {
                    String::new()
                },
            ),
        ]);
        row.finish(out)?;
        if let Some(other) = &meta.other {
            let mut row = self.new_row();
            row.push_text(TextRole::Plain, &to_printable(other));
            row.finish(out)?;
        }
        Ok(())
    }

    /// Writes the filter, what decided the causes of calls, and the unseen parts.
    pub(super) fn write_limits(&self, meta: &TraceMeta, out: &mut dyn Write) -> io::Result<()> {
        if let Some(filtered) = &meta.filtered {
            let mut row = self.new_row();
            row.push_text(TextRole::Warn, "only:");
            row.push_items(
                filtered
                    .condition_words()
                    .into_iter()
                    .map(|word| (TextRole::Warn, to_printable(&word))),
            );
            row.push_items([(
                TextRole::Warn,
                format!(
                    "of {} in {}",
                    count_noun(filtered.of_instances, "instance", "instances"),
                    count_noun(filtered.of_patterns, "pattern", "patterns")
                ),
            )]);
            row.finish(out)?;
        }
        self.write_evidence(meta, out)?;
        let notes: Vec<(TextRole, String)> = meta
            .notes
            .iter()
            .filter(|note| note.count > 0)
            .map(|note| {
                (
                    TextRole::Warn,
                    format!("{} {}", format_count(note.count), to_printable(&note.label)),
                )
            })
            .collect();
        if !notes.is_empty() {
            let mut row = self.new_row();
            row.push_text(TextRole::Warn, "not seen:");
            row.push_items(notes);
            row.finish(out)?;
        }
        Ok(())
    }

    /// Writes what decided for which requests calls were made, and why calls are inferred.
    fn write_evidence(&self, meta: &TraceMeta, out: &mut dyn Write) -> io::Result<()> {
        let shares = meta.decided.share_words();
        if !shares.is_empty() {
            let mut row = self.new_row();
            row.push_text(TextRole::Plain, "causes of calls by:");
            row.push_items(
                shares
                    .into_iter()
                    .chain([meta.decided.count_words()])
                    .map(|share| (TextRole::Plain, share)),
            );
            row.finish(out)?;
        }
        for limit in meta.decided.limit_texts() {
            let mut row = self.new_row();
            row.push_text(TextRole::Warn, "inferred:");
            row.push_words(TextRole::Warn, &to_printable(&limit));
            row.finish(out)?;
        }
        Ok(())
    }

    /// Writes that there are no paths to show.
    pub(super) fn write_no_paths(&self, meta: &TraceMeta, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out)?;
        match meta.filtered {
            Some(_) => writeln!(out, "No path matches the filter."),
            None => writeln!(out, "No path was found."),
        }
    }
}
