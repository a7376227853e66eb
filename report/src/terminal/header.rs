//! The lines above the patterns: the trace, the number of paths, and what was not seen.

use std::io::{self, Write};

use message_trace::units::{count, duration, expected, plural, printable};

use super::paint::Role;
use super::screen::Screen;
use crate::options::Options;
use crate::summary::{Meta, Report, RequestCounts};

impl Screen {
    /// Writes the trace, the number of paths, and what was not seen.
    pub(super) fn header(
        &self,
        report: &Report<'_>,
        options: &Options,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.trace(&report.meta, out)?;
        let mut row = self.row();
        row.push(Role::Strong, &plural(report.pattern_count(), "path pattern", "path patterns"));
        row.items([
            (Role::Plain, plural(report.instances(), "instance", "instances")),
            (Role::Plain, format!("{} expected to be real", expected(report.meta.expected_paths))),
            (Role::Plain, format!("ranked by {}", self.plain(options.sort.label()))),
        ]);
        row.finish(out)?;
        self.limits(&report.meta, out)?;
        if report.patterns.is_empty() {
            self.nothing(&report.meta, out)?;
        }
        Ok(())
    }

    /// Writes the trace in a few numbers.
    pub(super) fn trace(&self, meta: &Meta, out: &mut dyn Write) -> io::Result<()> {
        let mut row = self.row();
        row.push(Role::Strong, &printable(&meta.source));
        let (amount, of) = match meta.requests {
            None => (
                plural(meta.messages, "message", "messages"),
                plural(meta.processes, "process", "processes"),
            ),
            Some(RequestCounts { requests, steps }) => {
                let requests = plural(requests, "request", "requests");
                (format!("{} of {requests}", plural(steps, "step", "steps")), String::new())
            }
        };
        // The hosts of spans need not be known.
        let hosts = match (meta.hosts, meta.requests) {
            (0, Some(_)) => String::new(),
            (hosts, _) => plural(hosts, "host", "hosts"),
        };
        row.items([
            (Role::Plain, amount),
            (Role::Plain, of),
            (Role::Plain, hosts),
            (
                Role::Plain,
                if meta.span > 0 {
                    format!("over {}", self.text(duration(meta.span as f64)))
                } else {
                    String::new()
                },
            ),
        ]);
        row.finish(out)?;
        if let Some(other) = &meta.other {
            let mut row = self.row();
            row.push(Role::Plain, &printable(other));
            row.finish(out)?;
        }
        Ok(())
    }

    /// Writes the filter, and what was not seen.
    pub(super) fn limits(&self, meta: &Meta, out: &mut dyn Write) -> io::Result<()> {
        if let Some(filtered) = &meta.filtered {
            let mut row = self.row();
            row.push(Role::Warn, "only:");
            row.items(filtered.words().into_iter().map(|word| (Role::Warn, printable(&word))));
            row.items([(
                Role::Warn,
                format!(
                    "of {} in {}",
                    plural(filtered.of_instances, "instance", "instances"),
                    plural(filtered.of_patterns, "pattern", "patterns")
                ),
            )]);
            row.finish(out)?;
        }
        let notes: Vec<(Role, String)> = meta
            .notes
            .iter()
            .filter(|note| note.count > 0)
            .map(|note| (Role::Warn, format!("{} {}", count(note.count), printable(&note.label))))
            .collect();
        if !notes.is_empty() {
            let mut row = self.row();
            row.push(Role::Warn, "not seen:");
            row.items(notes);
            row.finish(out)?;
        }
        Ok(())
    }

    /// Writes that there is nothing to show.
    pub(super) fn nothing(&self, meta: &Meta, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out)?;
        match meta.filtered {
            Some(_) => writeln!(out, "No path is left of what was asked for."),
            None => writeln!(out, "No path was found."),
        }
    }
}
