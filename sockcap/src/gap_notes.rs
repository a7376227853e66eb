//! Gaps in a result, in words: for the first lines of a report, and for `info`.

use reconcile::{NamedCounts, PEER_NOT_TRACED, ProgramGap, Reconciliation, is_of_the_system};
use report::UnseenNote;

use crate::remedies::with_remedy;
use crate::tuning::MAX_GAPS_NAMED;

/// The gaps that the reader of a report can do something about. At most [`MAX_GAPS_NAMED`] programs
/// are named, and the rest is summed up.
pub(crate) fn report_warnings(found: &Reconciliation) -> Vec<UnseenNote> {
    let mut notes = gap_notes(found, MAX_GAPS_NAMED);
    notes.extend(log_notes(found));
    let (mut untraced, mut other) = (0, NamedCounts::new());
    for (cause, count) in found.send_only.iter().chain(&found.receive_only) {
        if cause == PEER_NOT_TRACED {
            untraced += count;
        } else if !is_of_the_system(cause) {
            *other.entry(cause.clone()).or_default() += count;
        }
    }
    let to_record = "to or from programs that are not recorded; record these, too";
    notes.push(counted_note(untraced, MESSAGE, to_record));
    notes.extend(notes_by_cause(&other, MESSAGE, "seen at one end only"));
    notes.push(counted_note(
        found.stream_bytes.received_only,
        BYTE,
        "read without a recorded send",
    ));
    notes.extend(unplaced_notes(found));
    notes.push(counted_note(found.datagrams.lost, DATAGRAM, "sent and never received"));
    // Most programs send few of these messages; they are only mentioned if there is hardly anything
    // else to see.
    if left_out_internal_count(found) > found.total_messages() {
        notes.push(internal_note(found));
    }
    notes.extend(notes_by_cause(&found.ignored, RECORD, "passed over"));
    notes.retain(|note| note.count > 0);
    notes
}

/// Note about messages that were left out, as their sender also received them.
fn internal_note(found: &Reconciliation) -> UnseenNote {
    let what_sent = if left_out_internal_count(found) == 1 {
        "of a process to itself"
    } else {
        "of processes to themselves"
    };
    let kept = found.internal_in_trace().messages;
    let remedy = match found.internal.between_threads.messages.saturating_sub(kept) {
        0 => "",
        _ => "; --node thread shows those between threads",
    };
    counted_note(left_out_internal_count(found), MESSAGE, &format!("{what_sent}, left out{remedy}"))
}

/// The number of messages that processes sent to themselves and that are not in the trace.
fn left_out_internal_count(found: &Reconciliation) -> u64 {
    found.internal.messages.saturating_sub(found.internal_in_trace().messages)
}

/// Notes about everything that could not be seen or matched, each with a count, and activities of
/// the recorded system itself that leave messages with one end.
pub(crate) fn all_notes(found: &Reconciliation) -> Vec<UnseenNote> {
    let mut notes = gap_notes(found, usize::MAX);
    notes.extend(log_notes(found));
    notes.extend(notes_by_cause(&found.send_only, MESSAGE, "without a time of receipt"));
    notes.extend(notes_by_cause(&found.receive_only, MESSAGE, "without a time of sending"));
    notes.extend(notes_by_cause(&found.unmatched_streams, STREAM, "without a matching other end"));
    notes.extend(unplaced_notes(found));
    notes.push(counted_note(found.stream_bytes.sent_only, BYTE, "sent on a stream and never read"));
    notes.push(counted_note(
        found.stream_bytes.received_only,
        BYTE,
        "read without a recorded send",
    ));
    notes.push(counted_note(found.datagrams.lost, DATAGRAM, "sent and never received"));
    notes.push(counted_note(found.datagrams.duplicated, DATAGRAM, "received twice"));
    notes.push(counted_note(found.datagrams.reordered, DATAGRAM, "out of order"));
    let unchecked = "without a checksum, matched by ends, size and order";
    notes.push(counted_note(found.datagrams.unchecked, DATAGRAM, unchecked));
    notes.push(internal_note(found));
    notes.extend(notes_by_cause(&found.ignored, RECORD, "passed over"));
    notes.retain(|note| note.count > 0);
    notes
}

/// Notes about the capture gaps of programs. At most `most` programs are named.
fn gap_notes(found: &Reconciliation, most: usize) -> Vec<UnseenNote> {
    let mut notes = Vec::new();
    let (named, others) = found.holes.split_at(found.holes.len().min(most));
    for ProgramGap { program, cause, records, processes, of_children } in named {
        let lost = format!("of {program} lost while recording: {cause}");
        notes.push(counted_note(*records, RECORD, &lost));
        let of = if *of_children { "that began as" } else { "of" };
        let missing = with_remedy(format!("{of} {program}, not recorded: {cause}"), cause);
        notes.push(counted_note(*processes, PROCESS, &missing));
    }
    let sum = |of: fn(&ProgramGap) -> u64| others.iter().map(of).fold(0, u64::saturating_add);
    let lost = "of other programs lost while recording; see 'sockcap info'";
    notes.push(counted_note(sum(|hole| hole.records), RECORD, lost));
    let missing = "of other programs, not recorded; see 'sockcap info'";
    notes.push(counted_note(sum(|hole| hole.processes), PROCESS, missing));
    notes
}

/// Notes about problems of logs.
fn log_notes(found: &Reconciliation) -> Vec<UnseenNote> {
    let mut notes =
        vec![counted_note(found.damaged.len() as u64, LOG, "with damage, read as far as possible")];
    let misnamed = "that name another host, treated as logs of";
    notes.extend(notes_by_cause(&found.misnamed, LOG, misnamed));
    notes
}

/// Notes about connections that are left out, as they were open before the recording.
fn unplaced_notes(found: &Reconciliation) -> Vec<UnseenNote> {
    let why = "left out: open before the recording, with an uncertain position; to";
    notes_by_cause(&found.unplaced_streams, STREAM, why)
}

/// Singular and plural of a noun.
type CountedNoun = [&'static str; 2];
const BYTE: CountedNoun = ["byte", "bytes"];
const DATAGRAM: CountedNoun = ["datagram", "datagrams"];
const LOG: CountedNoun = ["log", "logs"];
const MESSAGE: CountedNoun = ["message", "messages"];
const PROCESS: CountedNoun = ["process", "processes"];
const RECORD: CountedNoun = ["record", "records"];
const STREAM: CountedNoun = ["stream", "streams"];

/// A note that follows its number: "1 message", "2 messages".
fn counted_note(count: u64, [one, many]: CountedNoun, rest: &str) -> UnseenNote {
    let what = if count == 1 { one } else { many };
    UnseenNote { label: format!("{what} {rest}"), count }
}

fn notes_by_cause(counts: &NamedCounts, what: CountedNoun, rest: &str) -> Vec<UnseenNote> {
    counts
        .iter()
        .map(|(cause, count)| counted_note(*count, what, &format!("{rest}: {cause}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn singular_and_plural_differ() {
        let mut found = Reconciliation::default();
        found.datagrams.lost = 1;
        found.stream_bytes.sent_only = 2;
        found.send_only.insert("why".to_owned(), 1);
        let labels: Vec<String> = all_notes(&found)
            .into_iter()
            .map(|note| format!("{} {}", note.count, note.label))
            .collect();
        let wanted = [
            "1 message without a time of receipt: why",
            "2 bytes sent on a stream and never read",
            "1 datagram sent and never received",
        ];
        assert_eq!(labels, wanted);
    }

    #[test]
    fn an_unrecorded_program_is_named_with_a_remedy() {
        let hole = |of_children, cause: &str| ProgramGap {
            program: "server".to_owned(),
            cause: cause.to_owned(),
            processes: 1 + u64::from(of_children),
            of_children,
            ..ProgramGap::default()
        };
        let holes = vec![hole(false, "statically linked"), hole(true, "no room for its log")];
        let found = Reconciliation { holes, ..Reconciliation::default() };
        let labels: Vec<String> = all_notes(&found)
            .into_iter()
            .map(|note| format!("{} {}", note.count, note.label))
            .collect();
        let wanted = [
            "1 process of server, not recorded: statically linked; record with --inject (x86-64), \
             or run it under strace, then 'sockcap import strace'",
            "2 processes that began as server, not recorded: no room for its log",
        ];
        assert_eq!(labels, wanted);
    }

    #[test]
    fn activities_of_the_system_itself_are_no_warning() {
        let mut found = Reconciliation::default();
        found.messages.insert("tcp".to_owned(), 2);
        found.datagrams.reordered = 3;
        found.internal.messages = 2;
        found.stream_bytes.sent_only = 5;
        for (cause, count) in
            [("not read by the receiver", 7), ("peer not traced", 2), ("not accepted", 1)]
        {
            found.send_only.insert(cause.to_owned(), count);
        }
        found.receive_only.insert("peer not traced".to_owned(), 1);
        let warned: Vec<String> = report_warnings(&found)
            .iter()
            .map(|note| format!("{} {}", note.count, note.label))
            .collect();
        let wanted = [
            "3 messages to or from programs that are not recorded; record these, too",
            "1 message seen at one end only: not accepted",
        ];
        assert_eq!(warned, wanted);
        let all: u64 = all_notes(&found).iter().map(|note| note.count).sum();
        assert_eq!(all, 3 + 2 + 5 + 7 + 2 + 1 + 1);
    }

    #[test]
    fn messages_of_processes_to_themselves_are_a_warning_if_there_are_few_others() {
        let mut found = Reconciliation::default();
        found.messages.insert("tcp".to_owned(), 1);
        found.internal.messages = 2;
        let warned: Vec<String> = report_warnings(&found)
            .iter()
            .map(|note| format!("{} {}", note.count, note.label))
            .collect();
        assert_eq!(warned, ["2 messages of processes to themselves, left out"]);
    }

    #[test]
    fn many_gaps_are_summed_up() {
        let hole = |number| ProgramGap {
            program: format!("server{number}"),
            records: u64::from(number < 2),
            processes: 1,
            ..ProgramGap::default()
        };
        let holes = (0..9).rev().map(hole).collect();
        let notes = report_warnings(&Reconciliation { holes, ..Reconciliation::default() });
        let said: Vec<&UnseenNote> = notes.iter().filter(|note| note.count > 0).collect();
        assert_eq!(said.len(), MAX_GAPS_NAMED + 2);
        let last: Vec<(u64, &str)> =
            said[MAX_GAPS_NAMED..].iter().map(|note| (note.count, note.label.as_str())).collect();
        let wanted = [
            (2, "records of other programs lost while recording; see 'sockcap info'"),
            (3, "processes of other programs, not recorded; see 'sockcap info'"),
        ];
        assert_eq!(last, wanted);
    }
}
