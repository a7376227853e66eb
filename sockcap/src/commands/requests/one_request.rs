//! One request: its threads over time, what each did, and what it let others do.

use std::io::{self, Write};

use message_trace::units::{bytes, duration, printable};
use out_of_core::Names;
use workload::analysis::lanes::{Lane, State, of_joined, of_steps};
use workload::analysis::{Found, Told};
use workload::demands::{Demands, Waits};

use super::given::Given;
use super::{lanes, nothing};
use crate::error::Error;
use crate::output;

/// What is shown of the request with that number.
pub(super) fn of(
    given: &Given,
    number: u64,
    json: bool,
    names: &mut Names,
) -> Result<Vec<u8>, Error> {
    let mut shown = None;
    let mut last = None;
    let outcome = given.source().for_each(names, &mut |found, names| {
        last = Some(found.facts.number);
        if found.facts.number == number {
            let mut out = Vec::new();
            let written = if json {
                serde_json::to_writer(&mut out, &workload::analysis::one::One::of(found, names))
                    .map_err(io::Error::from)
                    .and_then(|()| writeln!(out))
            } else {
                write(found, names, &mut out)
            };
            shown = Some(written.map(|()| out));
        }
        Ok(shown.is_none())
    })?;
    match (shown, last) {
        (Some(shown), _) => Ok(shown?),
        (None, Some(last)) => {
            Err(Error::Usage(format!("--request {number}: the last request is number {last}")))
        }
        (None, None) => {
            let why = nothing::why(outcome.beginning.as_ref());
            Err(Error::Usage(format!("--request {number}: no request was found: {why}")))
        }
    }
}

fn write(found: &Found<'_>, names: &Names, out: &mut impl Write) -> io::Result<()> {
    let facts = &found.facts;
    writeln!(
        out,
        "request {}: {}, {}",
        facts.number,
        printable(names.text(facts.name)),
        duration((facts.end - facts.begin) as f64),
    )?;
    writeln!(out, "  {}", used(&facts.demands, &facts.waits))?;
    writeln!(out)?;
    let lanes: Vec<Lane> = match found.told {
        Told::Joined(request) => of_joined(request, names),
        Told::Steps(request) => of_steps(request, names),
    };
    for line in lanes::lines(&lanes, facts.begin, facts.end, output::width()) {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "{}", lanes::legend(&lanes))?;
    if let Told::Joined(request) = found.told {
        writeln!(out)?;
        events(request, names, facts.begin, out)?;
    }
    Ok(())
}

/// What was used and waited for, in words.
fn used(demands: &Demands, waits: &Waits) -> String {
    let times = [
        ("processor", demands.processor_ns),
        (State::Runnable.words(), waits.runnable_ns),
        (State::Disk.words(), waits.disk_ns),
        (State::Lock.words(), waits.lock_ns),
        (State::Peer.words(), waits.peer_ns),
        (State::Asleep.words(), waits.asleep_ns),
        (State::Unknown.words(), waits.unknown_ns),
    ];
    let sizes = [
        ("read from files", demands.disk_read_bytes),
        ("written to files", demands.disk_written_bytes),
        ("sent", demands.sent_bytes),
        ("received", demands.received_bytes),
    ];
    let times = times.iter().map(|(what, ns)| (what, *ns, duration(*ns as f64).to_string()));
    let sizes = sizes.iter().map(|(what, size)| (what, *size, bytes(*size as f64)));
    let words: Vec<String> = times
        .chain(sizes)
        .filter(|(_, value, _)| *value > 0)
        .map(|(what, _, words)| format!("{words} {what}"))
        .collect();
    match words.is_empty() {
        true => "what it used is not known".to_owned(),
        false => words.join(", "),
    }
}

/// All events, in the order of time, each with what it lets go on.
fn events(
    request: &workload::joined::JoinedRequest,
    names: &Names,
    begin: i64,
    out: &mut impl Write,
) -> io::Result<()> {
    for (place, event) in request.events.iter().enumerate() {
        let signals: Vec<String> = request
            .syncs
            .iter()
            .filter(|sync| sync.source as usize == place)
            .filter_map(|sync| request.events.get(sync.destination as usize))
            .map(|to| format!("  → {} at {}", to.thread, ms(to.time - begin)))
            .collect();
        let used = match event.demands.processor_ns {
            0 => String::new(),
            ns => format!("  +{}", duration(ns as f64)),
        };
        writeln!(
            out,
            "{:>12}  cpu {:>2}  {:>7}  {}{used}{}",
            ms(event.time - begin),
            event.processor,
            event.thread,
            printable(names.text(event.kind)),
            signals.concat(),
        )?;
    }
    Ok(())
}

/// A time since the begin of the request, in milliseconds.
fn ms(nanoseconds: i64) -> String {
    format!("{:.3} ms", nanoseconds as f64 / 1e6)
}
