//! One request: its threads over time, the activities of each, and the hand-offs to others.

use std::io::{self, Write};

use message_trace::units::{format_bytes, format_duration, to_printable};
use out_of_core::NameInterner;
use workload::analysis::lanes::{LaneState, RequestLane, lanes_of_joined, lanes_of_steps};
use workload::analysis::{RequestRecord, SourceRequest};
use workload::demands::{Demands, WaitTimes};

use super::request_input::RequestInput;
use super::{lanes, no_requests};
use crate::error::CommandError;
use crate::output;

/// Shows the request with the number `number`.
pub(super) fn show_request(
    given: &RequestInput,
    number: u64,
    json: bool,
    names: &mut NameInterner,
) -> Result<Vec<u8>, CommandError> {
    let mut shown = None;
    let mut last = None;
    let outcome = given.request_source().for_each(names, &mut |found, names| {
        last = Some(found.facts.number);
        if found.facts.number == number {
            let mut out = Vec::new();
            let written = if json {
                serde_json::to_writer(
                    &mut out,
                    &workload::analysis::request_details::RequestDetails::from_source(found, names),
                )
                .map_err(io::Error::from)
                .and_then(|()| writeln!(out))
            } else {
                write_request(found, names, &mut out)
            };
            shown = Some(written.map(|()| out));
        }
        Ok(shown.is_none())
    })?;
    match (shown, last) {
        (Some(shown), _) => Ok(shown?),
        (None, Some(last)) => Err(CommandError::Usage(format!(
            "--request {number}: the last request is number {last}"
        ))),
        (None, None) => {
            let why = no_requests::no_request_reason(outcome.beginning.as_ref());
            Err(CommandError::Usage(format!("--request {number}: no request was found: {why}")))
        }
    }
}

fn write_request(
    found: &SourceRequest<'_>,
    names: &NameInterner,
    out: &mut impl Write,
) -> io::Result<()> {
    let facts = &found.facts;
    writeln!(
        out,
        "request {}: {}, {}",
        facts.number,
        to_printable(names.name_of(facts.name)),
        format_duration((facts.end - facts.begin) as f64),
    )?;
    writeln!(out, "  {}", usage_words(&facts.demands, &facts.waits))?;
    writeln!(out)?;
    let lanes: Vec<RequestLane> = match found.record {
        RequestRecord::Joined(request) => lanes_of_joined(request, names),
        RequestRecord::Steps(request) => lanes_of_steps(request, names),
    };
    for line in lanes::lane_lines(&lanes, facts.begin, facts.end, output::line_width()) {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "{}", lanes::lane_legend(&lanes))?;
    if let RequestRecord::Joined(request) = found.record {
        writeln!(out)?;
        write_events(request, names, facts.begin, out)?;
    }
    Ok(())
}

/// Resources used and waited for, in words.
fn usage_words(demands: &Demands, waits: &WaitTimes) -> String {
    let times = [
        ("processor", demands.processor_ns),
        (LaneState::Runnable.screen_words(), waits.runnable_ns),
        (LaneState::Disk.screen_words(), waits.disk_ns),
        (LaneState::Lock.screen_words(), waits.lock_ns),
        (LaneState::Peer.screen_words(), waits.peer_ns),
        (LaneState::Asleep.screen_words(), waits.asleep_ns),
        (LaneState::Unknown.screen_words(), waits.unknown_ns),
    ];
    let sizes = [
        ("read from files", demands.disk_read_bytes),
        ("written to files", demands.disk_written_bytes),
        ("sent", demands.sent_bytes),
        ("received", demands.received_bytes),
    ];
    let times = times.iter().map(|(what, ns)| (what, *ns, format_duration(*ns as f64).to_string()));
    let sizes = sizes.iter().map(|(what, size)| (what, *size, format_bytes(*size as f64)));
    let words: Vec<String> = times
        .chain(sizes)
        .filter(|(_, value, _)| *value > 0)
        .map(|(what, _, words)| format!("{words} {what}"))
        .collect();
    match words.is_empty() {
        true => "its resources are not known".to_owned(),
        false => words.join(", "),
    }
}

/// All events, in the order of time, each with its hand-off.
fn write_events(
    request: &workload::joined_request::JoinedRequest,
    names: &NameInterner,
    begin: i64,
    out: &mut impl Write,
) -> io::Result<()> {
    for (place, event) in request.events.iter().enumerate() {
        let signals: Vec<String> = request
            .syncs
            .iter()
            .filter(|sync| sync.source as usize == place)
            .filter_map(|sync| request.events.get(sync.destination as usize))
            .map(|to| format!("  → {} at {}", to.thread, format_ms(to.time - begin)))
            .collect();
        let used = match event.demands.processor_ns {
            0 => String::new(),
            ns => format!("  +{}", format_duration(ns as f64)),
        };
        writeln!(
            out,
            "{:>12}  cpu {:>2}  {:>7}  {}{used}{}",
            format_ms(event.time - begin),
            event.processor,
            event.thread,
            to_printable(names.name_of(event.kind)),
            signals.concat(),
        )?;
    }
    Ok(())
}

/// A time since the begin of the request, in milliseconds.
fn format_ms(nanoseconds: i64) -> String {
    format!("{:.3} ms", nanoseconds as f64 / 1e6)
}
