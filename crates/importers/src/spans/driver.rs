//! Importer that all kinds of spans share: it opens the files, has the format read them, has the
//! spans joined into requests, and moves the tables into place.

use std::path::PathBuf;

use clocks::{ClockModel, ClockSource};
use message_trace::{DataDir, Progress};
use out_of_core::MemoryBudget;
use request_flow::spans::{JoinSummary, SpanSink};

use super::format::SpanFormat;
use super::span_import::SpanImport;
use crate::error::Error;
use crate::importer::Importer;
use crate::summary::ImportSummary;
use crate::tuning::SPANS_IN_MEMORY_BYTES;
use crate::unfinished::{UnfinishedImport, name_of_files, nothing_imported};

/// Importer of spans in one format.
#[derive(Clone, Debug)]
pub(crate) struct SpanImporter<F> {
    /// Name of the import; `None` to use the name of the import's first file.
    pub(crate) name: Option<String>,
    /// Reader of the files' format.
    pub(crate) format: F,
}

impl<F: SpanFormat> Importer for SpanImporter<F> {
    fn input_nouns(&self) -> [&'static str; 2] {
        ["span", "spans"]
    }

    fn output_nouns(&self) -> [&'static str; 2] {
        ["step", "steps"]
    }

    fn import_files(
        &self,
        files: &[PathBuf],
        data: &DataDir,
        progress: &dyn Progress,
    ) -> Result<ImportSummary, Error> {
        let name = self.name.clone().unwrap_or_else(|| name_of_files(files));
        let unfinished = UnfinishedImport::create(&data.spans_dir(), &name)?;
        let mut summary = ImportSummary::default();
        let budget = MemoryBudget::new(SPANS_IN_MEMORY_BYTES);
        let sink = SpanSink::new(&budget, unfinished.path().as_path());
        let mut reading = SpanImport::new(&sink, progress, &mut summary);
        self.format.read_all_files(files, &mut reading)?;
        if reading.span_count() == 0 {
            return Err(nothing_imported(files, F::NONE, &summary));
        }
        let tables = DataDir::new(unfinished.path().as_path());
        let joined = sink.join_requests(tables.requests_path(), tables.steps_path(), progress)?;
        joined.clocks.write(tables.clocks_path())?;
        summary.made = joined.steps;
        summary.notes.extend(request_notes(&joined));
        unfinished.finish(&mut summary)?;
        Ok(summary)
    }
}

/// Notes on the requests for the user.
fn request_notes(joined: &JoinSummary) -> Vec<String> {
    let JoinSummary { traces, requests, torn, duplicates, parts, .. } = joined;
    let JoinSummary { broken, crowded_out, moved, late, .. } = joined;
    let mut notes = vec![format!("traces: {traces}; requests: {requests}")];
    let counted = [
        (torn, "requests without the parent of their first span in the files"),
        (duplicates, "duplicate spans, which count once"),
        (parts, "partial reports, which were merged into their spans"),
        (crowded_out, "spans that were left out, as their trace exceeds the memory"),
        (broken, "spans in cycles of parents, which were broken"),
        (moved, "steps that were moved, as their times contradict their callers'"),
        (late, "steps at other hosts that began after their parents had ended, which stay so"),
    ];
    let counted = counted.iter().filter(|(count, _)| **count > 0);
    notes.extend(counted.map(|(count, what)| format!("{what}: {count}")));
    notes.extend(clock_notes(&joined.clocks));
    notes
}

/// Notes on each host's clock offset, if spans show one.
fn clock_notes(clocks: &ClockModel) -> impl Iterator<Item = String> {
    let compared = clocks.hosts.iter().filter(|host| {
        let is_off = host.offset_ns.saturating_abs() > host.uncertainty_ns.unwrap_or(0);
        host.host != clocks.reference && host.source != ClockSource::None && is_off
    });
    compared.map(|host| {
        let within = host.uncertainty_ns.map_or_else(String::new, |within| {
            format!(" (within {} us)", format_microseconds(within))
        });
        format!(
            "clock of {}: {} us {} that of {}{within}",
            host.host,
            format_microseconds(host.offset_ns.saturating_abs()),
            if host.offset_ns < 0 { "behind" } else { "ahead of" },
            host.against,
        )
    })
}

fn format_microseconds(ns: i64) -> String {
    format!("{:.1}", ns as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use clocks::HostClock;

    use super::*;

    #[test]
    fn clocks_that_may_be_right_are_not_named() {
        let host = |host: &str, offset_ns, uncertainty_ns, source| HostClock {
            host: host.to_owned(),
            against: "web".to_owned(),
            offset_ns,
            uncertainty_ns,
            source,
            ..HostClock::default()
        };
        let hosts = vec![
            host("web", 0, Some(0), ClockSource::Reference),
            host("sure", -448_200, Some(396_400), ClockSource::Messages),
            host("within", 1_451_900, Some(6_073_200), ClockSource::Messages),
            host("just", 500, Some(500), ClockSource::Messages),
            host("one-way", 70, None, ClockSource::OneWay),
            host("nobody", 9_000, None, ClockSource::None),
        ];
        let clocks = ClockModel { reference: "web".to_owned(), hosts, ..ClockModel::default() };
        let notes: Vec<String> = clock_notes(&clocks).collect();
        assert_eq!(
            notes,
            [
                "clock of sure: 448.2 us behind that of web (within 396.4 us)",
                "clock of one-way: 0.1 us ahead of that of web",
            ]
        );
    }
}
