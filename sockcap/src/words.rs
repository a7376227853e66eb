//! Results in words: the line that a stage ends with, and what could not be seen.

use analyze::AnalysisSummary;
use message_trace::DataDir;
use reconcile::{Hole, Reconciliation, TranslatedEnd, Translation};
use report::Note;
use socket_log::Header;
use socket_log::layout::source;

use crate::output::{bytes, counted};
use crate::ways_out::with_way_out;

/// Maximum number of holes that are named one by one in the first lines of a report. The rest is summed.
pub(crate) const NAMED_HOLES: usize = 6;

/// What reconcile found, in a line.
pub(crate) fn reconciliation(found: &Reconciliation) -> String {
    let share = match found.total_messages() {
        0 => 100.0,
        all => 100.0 * found.both_ends as f64 / all as f64,
    };
    let mut sources = Vec::new();
    if found.logs > 0 {
        sources.push(format!(
            "{} with {} in {}",
            counted(found.processes, "process", "processes"),
            counted(found.records, "record", "records"),
            bytes(found.log_bytes),
        ));
    }
    if !found.imported.is_empty() {
        sources.push(counted(found.imported.len() as u64, "import", "imports"));
    }
    let messages = counted(found.total_messages(), "message", "messages");
    format!("{messages} of {}; {share:.1}% seen at both ends", sources.join(" and "))
}

/// What a log was made from, where that is not the library.
pub(crate) fn source(header: &Header) -> Option<String> {
    (header.source != source::LIBRARY).then(|| match source::NAMES.get(header.source as usize) {
        Some(name) => format!("from {name}"),
        None => format!("from source {}", header.source),
    })
}

/// What a name was found to stand for.
pub(crate) fn translation(translation: &Translation) -> String {
    let Translation { end, from, to, flows, confidence } = translation;
    let how = match end {
        TranslatedEnd::Destination => "leads to",
        TranslatedEnd::Source => "is seen as",
    };
    let connections = counted(*flows, "connection", "connections");
    // What is as good as sure is not said to be sure.
    format!("{from} {how} {to}: {connections}, {:.1}% sure", (100.0 * confidence).min(99.9))
}

/// What could not be seen or matched, each with its count. At most `most` holes are named, and the rest is summed.
pub(crate) fn notes(found: &Reconciliation, most: usize) -> Vec<Note> {
    // A number stands before it: "1 message", "2 messages".
    let note = |count, [one, many]: [&str; 2], rest: &str| {
        let what = if count == 1 { one } else { many };
        Note { label: format!("{what} {rest}"), count }
    };
    let (record, log) = (["record", "records"], ["log", "logs"]);
    let (message, stream) = (["message", "messages"], ["stream", "streams"]);
    let (byte, datagram) = (["byte", "bytes"], ["datagram", "datagrams"]);
    let causes = |counts: &reconcile::Counts, what, rest: &str| -> Vec<Note> {
        counts.iter().map(|(cause, count)| note(*count, what, &format!("{rest}: {cause}"))).collect()
    };
    let mut notes = Vec::new();
    let process = ["process", "processes"];
    let (named, others) = found.holes.split_at(found.holes.len().min(most));
    for Hole { program, cause, records, processes, of_children } in named {
        let lost = format!("of {program} lost while recording: {cause}");
        notes.push(note(*records, record, &lost));
        let of = if *of_children { "that began as" } else { "of" };
        let missing = with_way_out(format!("{of} {program}, not recorded: {cause}"), cause);
        notes.push(note(*processes, process, &missing));
    }
    let sum = |of: fn(&Hole) -> u64| others.iter().map(of).fold(0, u64::saturating_add);
    notes.push(note(
        sum(|hole| hole.records),
        record,
        "of other programs lost while recording; see 'sockcap info'",
    ));
    notes.push(note(
        sum(|hole| hole.processes),
        process,
        "of other programs, not recorded; see 'sockcap info'",
    ));
    notes.push(note(found.damaged.len() as u64, log, "with damage, read as far as it goes"));
    let misnamed = "that say they are another host's, taken as those of";
    notes.extend(causes(&found.misnamed, log, misnamed));
    notes.extend(causes(&found.send_only, message, "without a time of receipt"));
    notes.extend(causes(&found.receive_only, message, "without a time of sending"));
    notes.extend(causes(&found.unmatched_streams, stream, "whose other end was not found"));
    notes.push(note(found.stream_bytes.sent_only, byte, "sent on a stream and never read"));
    notes.push(note(found.stream_bytes.received_only, byte, "read that no call was seen to send"));
    notes.push(note(found.datagrams.lost, datagram, "lost"));
    notes.push(note(found.datagrams.duplicated, datagram, "received twice"));
    notes.push(note(found.datagrams.reordered, datagram, "out of order"));
    let unchecked = "without a checksum, matched by ends, size and order";
    notes.push(note(found.datagrams.unchecked, datagram, unchecked));
    let internal =
        if found.internal.messages == 1 { "of a process to itself" } else { "of processes to themselves" };
    notes.push(note(found.internal.messages, message, &format!("{internal}, left out")));
    notes.extend(causes(&found.ignored, record, "passed over"));
    notes.retain(|note| note.count > 0);
    notes
}

/// What analyze found, in a line.
pub(crate) fn analysis(summary: &AnalysisSummary) -> String {
    let totals = &summary.totals;
    let mut line = format!(
        "{} in {} ({:.1} expected), by {} with {} as nodes",
        counted(totals.patterns, "path pattern", "path patterns"),
        counted(totals.instances, "instance", "instances"),
        totals.instances_expected,
        summary.options.algorithm,
        match summary.options.grain {
            message_trace::Grain::Host => "hosts",
            message_trace::Grain::Process => "processes",
            message_trace::Grain::Command => "commands",
            message_trace::Grain::Thread => "threads",
        },
    );
    if summary.options.roles {
        line.push_str(", told apart by roles");
    }
    for (count, one, many, rest) in [
        (
            totals.roots_bounded,
            "path",
            "paths",
            "with more uncertain links than were tried both ways (--try-both)",
        ),
        (totals.instances_cut, "instance", "instances", "cut off at the largest size"),
        (
            totals.circles,
            "circle",
            "circles",
            "of messages that seemed to cause each other, broken at the first",
        ),
    ] {
        if count > 0 {
            line.push_str(&format!("; {} {rest}", counted(count, one, many)));
        }
    }
    line
}

/// The `-d` that a further command needs to find `data`.
pub(crate) fn same_directory(data: &DataDir) -> String {
    match data.path() == std::path::Path::new(crate::cli::DEFAULT_DIRECTORY) {
        true => String::new(),
        false => format!(" -d {}", data.path().display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_many() {
        let mut found = Reconciliation::default();
        found.datagrams.lost = 1;
        found.stream_bytes.sent_only = 2;
        found.send_only.insert("why".to_owned(), 1);
        let labels: Vec<String> = notes(&found, usize::MAX)
            .into_iter()
            .map(|note| format!("{} {}", note.count, note.label))
            .collect();
        let wanted = [
            "1 message without a time of receipt: why",
            "2 bytes sent on a stream and never read",
            "1 datagram lost",
        ];
        assert_eq!(labels, wanted);
    }

    #[test]
    fn a_program_that_is_not_recorded_is_named_with_a_way_out() {
        let hole = |of_children, cause: &str| Hole {
            program: "server".to_owned(),
            cause: cause.to_owned(),
            processes: 1 + u64::from(of_children),
            of_children,
            ..Hole::default()
        };
        let holes = vec![hole(false, "statically linked"), hole(true, "no room for its log")];
        let found = Reconciliation { holes, ..Reconciliation::default() };
        let labels: Vec<String> = notes(&found, usize::MAX)
            .into_iter()
            .map(|note| format!("{} {}", note.count, note.label))
            .collect();
        let wanted = [
            "1 process of server, not recorded: statically linked; run it under strace, then \
             'sockcap import strace'",
            "2 processes that began as server, not recorded: no room for its log",
        ];
        assert_eq!(labels, wanted);
    }

    #[test]
    fn many_holes_are_summed() {
        let hole = |number| Hole {
            program: format!("server{number}"),
            records: u64::from(number < 2),
            processes: 1,
            ..Hole::default()
        };
        let holes = (0..9).rev().map(hole).collect();
        let notes = notes(&Reconciliation { holes, ..Reconciliation::default() }, NAMED_HOLES);
        let said: Vec<&Note> = notes.iter().filter(|note| note.count > 0).collect();
        assert_eq!(said.len(), NAMED_HOLES + 2);
        let last: Vec<(u64, &str)> =
            said[NAMED_HOLES..].iter().map(|note| (note.count, note.label.as_str())).collect();
        let wanted = [
            (2, "records of other programs lost while recording; see 'sockcap info'"),
            (3, "processes of other programs, not recorded; see 'sockcap info'"),
        ];
        assert_eq!(last, wanted);
    }
}
