//! The tree of a pattern as a table: a row for each hop with the delays of node and network.

use analyze::paths::PathPattern;
use maud::{Markup, html};
use message_trace::stats::Summary;

use super::palette::Palette;
use crate::label::{Label, UNICODE};
use crate::summary::share;
use crate::timing::{Critical, Part, Timing, hop_time};
use crate::tree::{self, Guide, Line, Mark};
use crate::units::{bytes, duration, printable, whole_percent};

/// Hops that are listed; the JSON has all.
const MOST: usize = 500;

/// The table of `pattern`.
pub(super) fn table(pattern: &PathPattern, timing: &Timing, palette: &Palette) -> Markup {
    let lines = tree::lines(&pattern.hops, timing);
    html! {
        div.scroll {
            table.hops {
                caption.visually-hidden { "Delays of each hop" }
                thead {
                    tr {
                        th scope="col" rowspan="2" { "hop" }
                        th.group scope="colgroup" colspan="3" { "node" }
                        th.group scope="colgroup" colspan="3" { "network" }
                        th.number scope="col" rowspan="2" { "size" }
                        th.number scope="col" rowspan="2" { "share" }
                    }
                    tr { @for group in ["node", "network"] {
                        @for name in ["mean", "p50", "p99"] {
                            th.number scope="col" { span.visually-hidden { (group) " " } (name) }
                        }
                    } }
                }
                tbody { @for line in lines.iter().take(MOST) { (row(line, pattern, timing.critical, palette)) } }
            }
        }
        @if lines.len() > MOST {
            p.fine { (lines.len() - MOST) " further hops are in the JSON output." }
        }
    }
}

fn row(line: &Line, pattern: &PathPattern, critical: Option<Critical>, palette: &Palette) -> Markup {
    let hop = &pattern.hops[line.hop];
    let critical = critical.filter(|critical| critical.hop == line.hop);
    let is_critical = |part| critical.is_some_and(|critical| critical.part == part);
    let label = Label::of(hop, UNICODE);
    let chip = if hop.src_traced { palette.class(&hop.src) } else { "c-untraced".to_owned() };
    let share = share(hop_time(hop), pattern.duration.mean);
    html! {
        tr.critical[critical.is_some()] {
            th scope="row" {
                div.branch {
                    @for guide in &line.guides { span class={ "guide " (guide_class(*guide)) } {} }
                    span class={ "guide " (mark_class(line.mark)) } {}
                    @for _ in 0..line.calls { span.guide {} }
                    span.hop {
                        span class={ "chip " (chip) } {}
                        (printable(&hop.src)) span.arrow { " → " } (label.dst) span.port { (label.port) }
                        @if !label.protocol.is_empty() { span.protocol { (label.protocol.trim()) } }
                        @if critical.is_some() { span.badge { "critical" } }
                    }
                }
            }
            @if let Some(untraced) = hop.untraced {
                (delays(Some(untraced), is_critical(Part::Untraced), true))
            } @else {
                (delays(hop.node, is_critical(Part::Node), false))
            }
            (delays(hop.network, is_critical(Part::Network), false))
            td.number { (bytes(hop.bytes)) }
            td.number.share style=(format!("--share:{:.1}%", share.clamp(0.0, 1.0) * 100.0)) {
                @if share > 0.0 { (whole_percent(share)) }
            }
        }
    }
}

fn delays(summary: Option<Summary>, critical: bool, untraced: bool) -> Markup {
    html! {
        @match summary {
            Some(summary) => {
                td.number.mean.largest[critical] title=[untraced.then_some("not traced: node and network both ways")] {
                    @if untraced { "◇ " }
                    (duration(summary.mean))
                }
                td.number { (duration(summary.p50)) }
                td.number { (duration(summary.p99)) }
            },
            None => { td {} td {} td {} }
        }
    }
}

fn guide_class(guide: Guide) -> &'static str {
    match guide {
        Guide::Through => "through",
        Guide::Blank => "blank",
        Guide::Branch => "fork",
        Guide::LastBranch => "fork last",
    }
}

fn mark_class(mark: Mark) -> &'static str {
    match mark {
        Mark::First => "first",
        Mark::Only => "first only",
        Mark::Middle => "through",
        Mark::Last => "end",
    }
}
