//! The first thing to see: which nodes the time is spent at, over all patterns together.

use std::collections::HashMap;

use analyze::paths::PathPattern;
use maud::{Markup, html};

use super::palette::Palette;
use crate::summary::share;
use crate::units::{duration, percent, printable, shorten};

/// Nodes that are named; the others are one segment.
const NAMED: usize = 9;

/// A segment of the bar.
struct Segment {
    label: String,
    class: String,
    time: f64,
}

/// One bar of the time at every node and in the network, as expected, summed over `patterns`.
pub(super) fn section(patterns: &[&PathPattern], palette: &Palette) -> Markup {
    let segments = segments(patterns, palette);
    let whole: f64 = segments.iter().map(|segment| segment.time).sum();
    let percent_of = |segment: &Segment| percent(share(segment.time, whole));
    html! {
        @if whole > 0.0 {
            section.shares aria-labelledby="shares" {
                h2 #shares { "Where the time goes" }
                div.stack aria-hidden="true" {
                    @for segment in &segments {
                        @let width = format!("width:{:.2}%", share(segment.time, whole) * 100.0);
                        span class=(segment.class) style=(width)
                            title={ (segment.label) ": " (percent_of(segment)) } {}
                    }
                }
                ul.parts {
                    @for segment in &segments {
                        li title=(duration(segment.time)) {
                            span class={ "key " (segment.class) } {}
                            span.who { (segment.label) } " " b { (percent_of(segment)) }
                        }
                    }
                }
            }
        }
    }
}

fn segments(patterns: &[&PathPattern], palette: &Palette) -> Vec<Segment> {
    let mut at_nodes: HashMap<(&str, bool), f64> = HashMap::new();
    let mut network = 0.0;
    for pattern in patterns {
        for hop in &pattern.hops {
            let times = |summary: &Option<message_trace::stats::Summary>| {
                summary.map_or(0.0, |summary| summary.mean.max(0.0) * pattern.expected)
            };
            *at_nodes.entry((&hop.src, true)).or_default() += times(&hop.node);
            *at_nodes.entry((&hop.src, false)).or_default() += times(&hop.untraced);
            network += times(&hop.network);
        }
    }
    let mut nodes: Vec<Segment> = at_nodes
        .into_iter()
        .filter(|(_, time)| *time > 0.0)
        .map(|((name, traced), time)| Segment {
            label: shorten(&printable(name), 32, '…'),
            class: if traced { palette.class(name) } else { "c-untraced".to_owned() },
            time,
        })
        .collect();
    nodes.sort_by(|a, b| b.time.total_cmp(&a.time).then_with(|| a.label.cmp(&b.label)));
    let rest: Vec<Segment> = nodes.split_off(nodes.len().min(NAMED));
    if !rest.is_empty() {
        let time = rest.iter().map(|segment| segment.time).sum();
        nodes.push(Segment {
            label: format!("{} other nodes", rest.len()),
            class: "c-none".to_owned(),
            time,
        });
    }
    if network > 0.0 {
        nodes.push(Segment { label: "network".to_owned(), class: "c-network".to_owned(), time: network });
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn all_time_is_in_some_segment() {
        let patterns = samples::some();
        let patterns: Vec<&PathPattern> = patterns.iter().collect();
        let segments = segments(&patterns, &Palette::of(&patterns));
        let whole: f64 = segments.iter().map(|segment| segment.time).sum();
        let hops: f64 = patterns
            .iter()
            .map(|pattern| pattern.hops.iter().map(crate::timing::hop_time).sum::<f64>() * pattern.expected)
            .sum();
        assert!((whole - hops).abs() < 1.0);
        assert_eq!(segments[0].label, "stock");
        assert_eq!(segments.last().unwrap().label, "network");
        assert!(segments.iter().any(|segment| segment.label == "10.0.0.2" && segment.class == "c-untraced"));
    }
}
