//! A pattern in full: headline, timeline, and the tree with its delays.

use analyze::paths::PathPattern;
use maud::{Markup, html};

use super::drawing::Drawing;
use super::hops;
use super::palette::Palette;
use super::timeline::Timeline;
use crate::label::route;
use crate::timing::{Part, Timing};
use crate::units::{count, duration, expected, percent, printable};

/// How many cards are open at first.
const OPEN: usize = 3;

/// The card of `pattern`, at position `index` of the ranking.
pub(super) fn card(index: usize, pattern: &PathPattern, share: f64, palette: &Palette) -> Markup {
    let timing = Timing::of(pattern);
    let timeline = Timeline::of(pattern, &timing);
    let drawing = Drawing::of(&timeline, palette);
    let route = route(&pattern.hops);
    let id = format!("p{}", index + 1);
    let facts = [
        ("of time", percent(share)),
        ("seen", count(pattern.count.max(0) as u64)),
        ("expected", expected(pattern.expected)),
        ("mean", duration(pattern.duration.mean).to_string()),
        ("p50", duration(pattern.duration.p50).to_string()),
        ("p99", duration(pattern.duration.p99).to_string()),
    ];
    html! {
        details.card id=(id) data-card=(index + 1) open[index < OPEN] {
            summary {
                span.rank { (index + 1) }
                h3 { (route) }
                span.facts { @for (label, value) in &facts { span { b { (value) } " " (label) } } }
            }
            div.scroll tabindex="0" role="group" aria-label={ "Timeline of pattern " (index + 1) } {
                (drawing.markup(&id, &format!("Timeline of {route}"), &description(pattern, &timing)))
            }
            (hops::table(pattern, &timing, palette))
        }
    }
}

/// The timeline in words.
fn description(pattern: &PathPattern, timing: &Timing) -> String {
    let mut text =
        format!("{} messages in {} on average.", pattern.hops.len(), duration(pattern.duration.mean));
    if let Some(critical) = timing.critical {
        let hop = &pattern.hops[critical.hop];
        let (place, summary) = match critical.part {
            Part::Node => (format!("at {}", hop.src), hop.node),
            Part::Network => (format!("in the network from {} to {}", hop.src, hop.dst), hop.network),
            Part::Untraced => (format!("at {} with its network", hop.src), hop.untraced),
        };
        let mean = summary.map_or(0.0, |summary| summary.mean);
        text.push_str(&format!(" The largest delay is {} {}.", duration(mean), printable(&place)));
    }
    text
}
