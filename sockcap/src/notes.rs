//! Gaps in a result, in words: for the first lines of a report, and for `info`.

use reconcile::{Counts, Hole, NOT_RECORDED, Reconciliation, is_of_the_system};
use report::Note;

use crate::tuning::MAX_HOLES_NAMED;
use crate::ways_out::with_way_out;

/// The gaps that the reader of a report can do something about. At most [`MAX_HOLES_NAMED`]
/// programs are named, and the rest is summed.
pub(crate) fn warnings(found: &Reconciliation) -> Vec<Note> {
    let mut notes = holes(found, MAX_HOLES_NAMED);
    notes.extend(logs(found));
    let (mut untraced, mut other) = (0, Counts::new());
    for (cause, count) in found.send_only.iter().chain(&found.receive_only) {
        if cause == NOT_RECORDED {
            untraced += count;
        } else if !is_of_the_system(cause) {
            *other.entry(cause.clone()).or_default() += count;
        }
    }
    let to_record = "to or from programs that are not recorded; record these, too";
    notes.push(note(untraced, MESSAGE, to_record));
    notes.extend(by_cause(&other, MESSAGE, "seen at one end only"));
    notes.push(note(found.stream_bytes.received_only, BYTE, "read that no call was seen to send"));
    notes.extend(unplaced(found));
    notes.push(note(found.datagrams.lost, DATAGRAM, "sent and never received"));
    // Of most programs these are few; where they are all there is, there is nothing else to see.
    if left_out(found) > found.total_messages() {
        notes.push(internal(found));
    }
    notes.extend(by_cause(&found.ignored, RECORD, "passed over"));
    notes.retain(|note| note.count > 0);
    notes
}

/// Messages that were left out, as who sent them received them.
fn internal(found: &Reconciliation) -> Note {
    let who =
        if left_out(found) == 1 { "of a process to itself" } else { "of processes to themselves" };
    let kept = found.internal_in_trace().messages;
    let way_out = match found.internal.between_threads.messages.saturating_sub(kept) {
        0 => "",
        _ => "; --node thread shows those between threads",
    };
    note(left_out(found), MESSAGE, &format!("{who}, left out{way_out}"))
}

/// How many of the messages that processes sent to themselves are not in the trace.
fn left_out(found: &Reconciliation) -> u64 {
    found.internal.messages.saturating_sub(found.internal_in_trace().messages)
}

/// All that could not be seen or matched, each with its count, and what the recorded system itself
/// did that makes messages have one end.
pub(crate) fn notes(found: &Reconciliation) -> Vec<Note> {
    let mut notes = holes(found, usize::MAX);
    notes.extend(logs(found));
    notes.extend(by_cause(&found.send_only, MESSAGE, "without a time of receipt"));
    notes.extend(by_cause(&found.receive_only, MESSAGE, "without a time of sending"));
    notes.extend(by_cause(&found.unmatched_streams, STREAM, "whose other end was not found"));
    notes.extend(unplaced(found));
    notes.push(note(found.stream_bytes.sent_only, BYTE, "sent on a stream and never read"));
    notes.push(note(found.stream_bytes.received_only, BYTE, "read that no call was seen to send"));
    notes.push(note(found.datagrams.lost, DATAGRAM, "sent and never received"));
    notes.push(note(found.datagrams.duplicated, DATAGRAM, "received twice"));
    notes.push(note(found.datagrams.reordered, DATAGRAM, "out of order"));
    let unchecked = "without a checksum, matched by ends, size and order";
    notes.push(note(found.datagrams.unchecked, DATAGRAM, unchecked));
    notes.push(internal(found));
    notes.extend(by_cause(&found.ignored, RECORD, "passed over"));
    notes.retain(|note| note.count > 0);
    notes
}

/// The holes in what was recorded of programs. At most `most` programs are named.
fn holes(found: &Reconciliation, most: usize) -> Vec<Note> {
    let mut notes = Vec::new();
    let (named, others) = found.holes.split_at(found.holes.len().min(most));
    for Hole { program, cause, records, processes, of_children } in named {
        let lost = format!("of {program} lost while recording: {cause}");
        notes.push(note(*records, RECORD, &lost));
        let of = if *of_children { "that began as" } else { "of" };
        let missing = with_way_out(format!("{of} {program}, not recorded: {cause}"), cause);
        notes.push(note(*processes, PROCESS, &missing));
    }
    let sum = |of: fn(&Hole) -> u64| others.iter().map(of).fold(0, u64::saturating_add);
    let lost = "of other programs lost while recording; see 'sockcap info'";
    notes.push(note(sum(|hole| hole.records), RECORD, lost));
    let missing = "of other programs, not recorded; see 'sockcap info'";
    notes.push(note(sum(|hole| hole.processes), PROCESS, missing));
    notes
}

/// What is wrong with logs.
fn logs(found: &Reconciliation) -> Vec<Note> {
    let mut notes =
        vec![note(found.damaged.len() as u64, LOG, "with damage, read as far as it goes")];
    let misnamed = "that say they are another host's, taken as those of";
    notes.extend(by_cause(&found.misnamed, LOG, misnamed));
    notes
}

/// Connections that are left out, as they were open before they were recorded.
fn unplaced(found: &Reconciliation) -> Vec<Note> {
    let why = "left out: open before the recording, and where it began is not certain; to";
    by_cause(&found.unplaced_streams, STREAM, why)
}

/// One of something, and several.
type Noun = [&'static str; 2];
const BYTE: Noun = ["byte", "bytes"];
const DATAGRAM: Noun = ["datagram", "datagrams"];
const LOG: Noun = ["log", "logs"];
const MESSAGE: Noun = ["message", "messages"];
const PROCESS: Noun = ["process", "processes"];
const RECORD: Noun = ["record", "records"];
const STREAM: Noun = ["stream", "streams"];

/// A note before which its number stands: "1 message", "2 messages".
fn note(count: u64, [one, many]: Noun, rest: &str) -> Note {
    let what = if count == 1 { one } else { many };
    Note { label: format!("{what} {rest}"), count }
}

fn by_cause(counts: &Counts, what: Noun, rest: &str) -> Vec<Note> {
    counts.iter().map(|(cause, count)| note(*count, what, &format!("{rest}: {cause}"))).collect()
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
        let labels: Vec<String> = notes(&found)
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
        let labels: Vec<String> = notes(&found)
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
    fn what_the_system_did_itself_is_no_warning() {
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
        let warned: Vec<String> =
            warnings(&found).iter().map(|note| format!("{} {}", note.count, note.label)).collect();
        let wanted = [
            "3 messages to or from programs that are not recorded; record these, too",
            "1 message seen at one end only: not accepted",
        ];
        assert_eq!(warned, wanted);
        let all: u64 = notes(&found).iter().map(|note| note.count).sum();
        assert_eq!(all, 3 + 2 + 5 + 7 + 2 + 1 + 1);
    }

    #[test]
    fn messages_of_processes_to_themselves_are_a_warning_where_there_are_few_others() {
        let mut found = Reconciliation::default();
        found.messages.insert("tcp".to_owned(), 1);
        found.internal.messages = 2;
        let warned: Vec<String> =
            warnings(&found).iter().map(|note| format!("{} {}", note.count, note.label)).collect();
        assert_eq!(warned, ["2 messages of processes to themselves, left out"]);
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
        let notes = warnings(&Reconciliation { holes, ..Reconciliation::default() });
        let said: Vec<&Note> = notes.iter().filter(|note| note.count > 0).collect();
        assert_eq!(said.len(), MAX_HOLES_NAMED + 2);
        let last: Vec<(u64, &str)> =
            said[MAX_HOLES_NAMED..].iter().map(|note| (note.count, note.label.as_str())).collect();
        let wanted = [
            (2, "records of other programs lost while recording; see 'sockcap info'"),
            (3, "processes of other programs, not recorded; see 'sockcap info'"),
        ];
        assert_eq!(last, wanted);
    }
}
