//! The reason why no request was found, and advice.

use message_trace::units::{count_noun, format_count};
use workload::join::SeedCounts;

/// Maximum number of kinds of events that are named.
const MAX_KINDS: usize = 4;

/// The reason why there is no request: if requests are joined from events, by the counts of events
/// that could begin one.
pub(super) fn no_request_reason(beginning: Option<&SeedCounts>) -> String {
    let Some(SeedCounts { kinds, events, without_process, missing }) = beginning else {
        return "no path was inferred; see 'sockcap report'".to_owned();
    };
    let mut named = kinds.iter().take(MAX_KINDS).cloned().collect::<Vec<String>>();
    if kinds.len() > MAX_KINDS {
        named.push(format!("{} more", format_count((kinds.len() - MAX_KINDS) as u64)));
    }
    let named = named.join(", ");
    if *events == 0 {
        return format!("there is no event that begins one by the schema: {named}");
    }
    let found = count_noun(*events, "event", "events");
    let begins =
        format!("none of {found} of the kinds that begin one ({named}) is what the schema");
    if *without_process > 0 {
        let without = format_count(*without_process);
        return format!(
            "{begins} asks for: {without} of them name no process; print it by 'perf script -F +pid'"
        );
    }
    match missing.as_slice() {
        [] => format!("{begins} asks for; --json shows what happened to the events"),
        missing => format!(
            "{begins} asks for: no event said what is {}; if that was before the recording began, \
             record from the start of the server or of new connections on",
            missing.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make_beginning(events: u64, without_process: u64, missing: &[&str]) -> SeedCounts {
        let kinds = ["a/read", "a/recv"].map(str::to_owned).to_vec();
        let missing = missing.iter().map(|mark| (*mark).to_owned()).collect();
        SeedCounts { kinds, events, without_process, missing }
    }

    #[test]
    fn the_reason_is_the_first_thing_that_is_missing() {
        let of = |events, without, missing: &[&str]| {
            no_request_reason(Some(&make_beginning(events, without, missing)))
        };
        let marks = ["client(process, fd)"];
        assert!(of(0, 0, &marks).ends_with("by the schema: a/read, a/recv"));
        assert!(
            of(7, 5, &marks).contains("5 of them name no process; print it by 'perf script -F")
        );
        assert!(
            of(7, 0, &marks).contains("no event said what is client(process, fd); if that was")
        );
        assert!(of(7, 0, &[]).ends_with("--json shows what happened to the events"));
        assert!(no_request_reason(None).contains("sockcap report"));
    }
}
