//! The hosts' clocks: a table of what each differs by, how all of them drift, and what each line
//! rests on.

use maud::{Markup, html};

use super::clock_plot::{Drift, Rest};
use crate::clocks::{Clock, ClockStep, contradiction, offset, ppm, within};
use message_trace::units::{count, duration, printable};

/// Clocks that get a drawing of their own.
const DRAWN: usize = 24;

/// The section; nothing where there is one clock only.
pub(super) fn section(clocks: &[Clock]) -> Markup {
    if clocks.len() < 2 {
        return html! {};
    }
    let begin = clocks
        .iter()
        .flat_map(|clock| clock.fastest.iter().flatten())
        .map(|message| message[0])
        .min();
    let end = clocks
        .iter()
        .flat_map(|clock| clock.fastest.iter().flatten())
        .map(|message| message[0])
        .max();
    let known: Vec<(usize, &Clock)> = clocks
        .iter()
        .enumerate()
        .filter(|(_, clock)| {
            !clock.is_reference() && clock.fastest.iter().any(|messages| !messages.is_empty())
        })
        .collect();
    html! {
        section.clocks aria-labelledby="clocks" {
            h2 #clocks { "Clocks" }
            p.lead {
                "All times of this page are on one clock. What each host's own clock differs from it was found from the "
                "messages between hosts: none arrives before it was sent, so the fastest ones in both directions leave "
                "little room."
            }
            (table(clocks))
            @if let Some(line) = contradiction(clocks) { p.lead role="note" { (line) "." } }
            @if !known.is_empty() {
                ul.legend aria-label="Legend" {
                    li { span.key.dot.received {} "message received: what it took" }
                    li { span.key.dot.sent {} "message sent: the same, below" }
                    li { span.key.band {} "how far the line may be off" }
                    li { span.key.step {} "the clock was set" }
                }
            }
            @if let (Some(begin), Some(end)) = (begin, end) {
                @if known.len() > 1 { (Drift { clocks: &known, begin, end }.markup()) }
                div.plots {
                    @for (number, clock) in known.iter().take(DRAWN) {
                        (Rest { clock, number: *number, begin, end }.markup())
                    }
                }
                @if known.len() > DRAWN {
                    p.fine { (count((known.len() - DRAWN) as u64)) " further clocks are not drawn." }
                }
            }
        }
    }
}

fn table(clocks: &[Clock]) -> Markup {
    html! {
        div.scroll {
            table {
                caption.visually-hidden { "The clock of each host" }
                thead { tr {
                    th scope="col" { "host" }
                    th.number scope="col" title="This clock minus the one it is compared with, when the trace began" { "offset" }
                    th.number scope="col" title="How far the corrected times may be off" { "may be off" }
                    th.number.wide scope="col" title="How much faster it runs" { "skew" }
                    th.wide scope="col" { "found by" }
                } }
                tbody { @for clock in clocks { (row(clock)) } }
            }
        }
    }
}

fn row(clock: &Clock) -> Markup {
    let is_compared = !clock.is_reference();
    html! {
        tr {
            th scope="row" {
                b { (printable(&clock.host)) }
                @for step in &clock.steps { small.step { (happened(step, clock.at)) } }
            }
            td.number { @if is_compared { (offset(clock.offset_ns)) } @else { "–" } }
            td.number { @if is_compared { (within(clock.uncertainty_ns)) } @else { "–" } }
            td.number.wide {
                @if is_compared {
                    (ppm(clock.skew_ppm))
                    @if let Some(uncertainty) = clock.skew_uncertainty_ppm.filter(|uncertainty| *uncertainty > 0.0) {
                        small { "±" (format!("{uncertainty:.2}")) }
                    }
                } @else { "–" }
            }
            td.wide { (printable(&clock.found)) }
        }
    }
}

/// A step, and when it was since the trace began.
fn happened(step: &ClockStep, begin: i64) -> String {
    let at = duration(step.at.saturating_sub(begin) as f64);
    match step.within_ns {
        0 => format!("{} after {at}", step.what()),
        within => format!("{} after {at} ± {}", step.what(), duration(within as f64)),
    }
}
