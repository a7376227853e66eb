//! The clocks of the hosts: a table of their differences, the drift of all of them, and the
//! messages that support each line.

use maud::{Markup, html};
use message_trace::units::{format_count, format_duration, to_printable};

use super::clock_plot::{DriftPlot, LinePlot};
use crate::clocks::{
    ClockStep, ComparedClock, contradiction_line, format_offset, format_ppm, format_uncertainty,
};
use crate::tuning::MAX_CLOCKS_DRAWN;

/// The section of the page; empty if there is only one clock.
pub(super) fn clocks_section(clocks: &[ComparedClock]) -> Markup {
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
    let known: Vec<(usize, &ComparedClock)> = clocks
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
                "All times of this page are on one clock. The difference of each host's own clock \
                 was estimated from the "
                "messages between hosts: none arrives before it was sent, so the fastest ones in both directions leave "
                "little room."
            }
            (clocks_table(clocks))
            @if let Some(line) = contradiction_line(clocks) { p.lead role="note" { (line) "." } }
            @if !known.is_empty() {
                ul.legend aria-label="Legend" {
                    li { span.key.dot.received {} "message received: its latency" }
                    li { span.key.dot.sent {} "message sent: the same, below" }
                    li { span.key.band {} "uncertainty of the line" }
                    li { span.key.step {} "the clock was set" }
                }
            }
            @if let (Some(begin), Some(end)) = (begin, end) {
                @if known.len() > 1 { (DriftPlot { clocks: &known, begin, end }.markup()) }
                div.plots {
                    @for (number, clock) in known.iter().take(MAX_CLOCKS_DRAWN) {
                        (LinePlot { clock, number: *number, begin, end }.markup())
                    }
                }
                @if known.len() > MAX_CLOCKS_DRAWN {
                    p.fine { (format_count((known.len() - MAX_CLOCKS_DRAWN) as u64)) " further clocks are not drawn." }
                }
            }
        }
    }
}

fn clocks_table(clocks: &[ComparedClock]) -> Markup {
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
                tbody { @for clock in clocks { (clock_row(clock)) } }
            }
        }
    }
}

fn clock_row(clock: &ComparedClock) -> Markup {
    let is_compared = !clock.is_reference();
    html! {
        tr {
            th scope="row" {
                b { (to_printable(&clock.host)) }
                @for step in &clock.steps { small.step { (step_phrase(step, clock.at)) } }
            }
            td.number { @if is_compared { (format_offset(clock.offset_ns)) } @else { "–" } }
            td.number { @if is_compared { (format_uncertainty(clock.uncertainty_ns)) } @else { "–" } }
            td.number.wide {
                @if is_compared {
                    (format_ppm(clock.skew_ppm))
                    @if let Some(uncertainty) = clock.skew_uncertainty_ppm.filter(|uncertainty| *uncertainty > 0.0) {
                        small { "±" (format!("{uncertainty:.2}")) }
                    }
                } @else { "–" }
            }
            td.wide { (to_printable(&clock.found)) }
        }
    }
}

/// A step in words, with its time since the start of the trace.
fn step_phrase(step: &ClockStep, begin: i64) -> String {
    let at = format_duration(step.at.saturating_sub(begin) as f64);
    match step.within_ns {
        0 => format!("{} after {at}", step.describe_step()),
        within => {
            format!("{} after {at} ± {}", step.describe_step(), format_duration(within as f64))
        }
    }
}
