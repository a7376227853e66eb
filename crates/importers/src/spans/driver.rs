//! The importer that all kinds of spans share: it opens the files, has the format read them, has
//! the spans joined into requests, and puts the tables into their place.

use std::path::PathBuf;

use clocks::{Clocks, Source};
use message_trace::{DataDir, Progress};
use out_of_core::MemoryBudget;
use request_flow::spans::{Joined, SpanSink};

use super::format::Format;
use super::reading::Reading;
use crate::error::Error;
use crate::importer::Importer;
use crate::summary::Summary;
use crate::tuning::SPANS_IN_MEMORY_BYTES;
use crate::unfinished::{Unfinished, name_of, nothing};

/// The importer of spans in one format.
#[derive(Clone, Debug)]
pub(crate) struct SpanImporter<F> {
    /// What the import is called; `None`: after its first file.
    pub(crate) name: Option<String>,
    /// How its files are read.
    pub(crate) format: F,
}

impl<F: Format> Importer for SpanImporter<F> {
    fn reads(&self) -> [&'static str; 2] {
        ["span", "spans"]
    }

    fn makes(&self) -> [&'static str; 2] {
        ["step", "steps"]
    }

    fn import(
        &self,
        files: &[PathBuf],
        data: &DataDir,
        progress: &dyn Progress,
    ) -> Result<Summary, Error> {
        let name = self.name.clone().unwrap_or_else(|| name_of(files));
        let unfinished = Unfinished::create(&data.spans(), &name)?;
        let mut summary = Summary::default();
        let budget = MemoryBudget::new(SPANS_IN_MEMORY_BYTES);
        let sink = SpanSink::new(&budget, unfinished.path().as_path());
        let mut reading = Reading::new(&sink, progress, &mut summary);
        self.format.read_all(files, &mut reading)?;
        if reading.kept() == 0 {
            return Err(nothing(files, F::NONE, &summary));
        }
        let tables = DataDir::new(unfinished.path().as_path());
        let joined = sink.finish(tables.requests(), tables.steps(), progress)?;
        joined.clocks.write(tables.clocks())?;
        summary.made = joined.steps;
        summary.notes.extend(notes(&joined));
        unfinished.finish(&mut summary)?;
        Ok(summary)
    }
}

/// What is worth knowing of the requests.
fn notes(joined: &Joined) -> Vec<String> {
    let Joined { traces, requests, torn, duplicates, parts, .. } = joined;
    let Joined { broken, crowded_out, moved, late, .. } = joined;
    let mut notes = vec![format!("traces: {traces}; requests: {requests}")];
    let counted = [
        (torn, "requests whose first span is part of one that is not in the files"),
        (duplicates, "spans that were there before, and count once"),
        (parts, "reports that are parts of spans, and were merged with them"),
        (crowded_out, "spans that were left out, as their trace has more than memory holds"),
        (broken, "spans that are part of themselves, and were parted"),
        (moved, "steps whose times contradict those of their callers, and were moved"),
        (
            late,
            "steps that began at other hosts when those that they are of had ended, and stay so",
        ),
    ];
    let counted = counted.iter().filter(|(count, _)| **count > 0);
    notes.extend(counted.map(|(count, what)| format!("{what}: {count}")));
    notes.extend(of_clocks(&joined.clocks));
    notes
}

/// How far each host's clock was off, where spans tell that it was.
fn of_clocks(clocks: &Clocks) -> impl Iterator<Item = String> {
    let compared = clocks.hosts.iter().filter(|host| {
        let is_off = host.offset_ns.saturating_abs() > host.uncertainty_ns.unwrap_or(0);
        host.host != clocks.reference && host.source != Source::None && is_off
    });
    compared.map(|host| {
        let within = host
            .uncertainty_ns
            .map_or_else(String::new, |within| format!(" (within {} us)", in_microseconds(within)));
        format!(
            "clock of {}: {} us {} that of {}{within}",
            host.host,
            in_microseconds(host.offset_ns.saturating_abs()),
            if host.offset_ns < 0 { "behind" } else { "ahead of" },
            host.against,
        )
    })
}

fn in_microseconds(ns: i64) -> String {
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
            host("web", 0, Some(0), Source::Reference),
            host("sure", -448_200, Some(396_400), Source::Messages),
            host("within", 1_451_900, Some(6_073_200), Source::Messages),
            host("just", 500, Some(500), Source::Messages),
            host("one-way", 70, None, Source::OneWay),
            host("nobody", 9_000, None, Source::None),
        ];
        let clocks = Clocks { reference: "web".to_owned(), hosts, ..Clocks::default() };
        let notes: Vec<String> = of_clocks(&clocks).collect();
        assert_eq!(
            notes,
            [
                "clock of sure: 448.2 us behind that of web (within 396.4 us)",
                "clock of one-way: 0.1 us ahead of that of web",
            ]
        );
    }
}
