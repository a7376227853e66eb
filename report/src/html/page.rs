//! The frame of the page: its head with style and policy, the header with what was traced and what could not be
//! seen, and its end with the script.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::Report;
use crate::units::{count, duration, expected, printable};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// Nothing may be loaded, whatever gets into the page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; \
                      form-action 'none'";

/// Everything up to the opening of the body.
pub(super) fn head(report: &Report<'_>) -> String {
    let head = html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta http-equiv="Content-Security-Policy" content=(POLICY);
            meta name="color-scheme" content="light dark";
            title { "sockcap: " (printable(&report.meta.source)) }
            style { (PreEscaped(STYLE)) }
        }
    };
    format!("{}<html lang=\"en\">{}<body>", DOCTYPE.into_string(), head.into_string())
}

/// What was traced, what came of it, and what could not be seen.
pub(super) fn header(report: &Report<'_>) -> Markup {
    let meta = &report.meta;
    let numbered = |number: u64, one, many| (count(number), if number == 1 { one } else { many });
    let facts = [
        numbered(report.pattern_count(), "path pattern", "path patterns"),
        numbered(report.instances(), "instance", "instances"),
        (expected(meta.expected_paths), "expected to be real"),
        numbered(meta.messages, "message", "messages"),
        numbered(meta.processes, "process", "processes"),
        numbered(meta.hosts, "host", "hosts"),
        (duration(meta.span as f64).to_string(), "traced"),
    ];
    html! {
        header.page {
            div.title {
                h1 { "sockcap" }
                p.source { (printable(&meta.source)) }
            }
            dl.facts {
                @for (value, label) in &facts { div { dd { (value) } dt { (label) } } }
            }
            @if report.notes().next().is_some() {
                section.notes aria-labelledby="notes" {
                    h2 #notes { "Could not be seen" }
                    ul { @for note in report.notes() {
                        li { b { (count(note.count)) } " " (printable(&note.label)) }
                    } }
                }
            }
        }
    }
}

/// What stands in place of everything else when there are no patterns.
pub(super) fn nothing() -> Markup {
    html! {
        section.card.empty {
            h2 { "No path to show" }
            p { "The analysis found no path pattern in this trace, or none was asked for." }
        }
    }
}

/// The opening of the list of patterns, `shown` of `all`.
pub(super) fn details_start(shown: usize, all: usize) -> String {
    let heading = html! {
        h2 #timelines { "Timelines" }
        p.lead {
            "Time goes from left to right, from the sending of the first message; widths are mean delays. "
            "Branches that run at the same time are on rows of their own."
            @if shown < all {
                " Drawn for the " (count(shown as u64)) " patterns that rank highest by any metric."
            }
        }
        ul.legend aria-label="Legend" {
            li { span.key.box {} "node at work" }
            li { span.key.line {} "network" }
            li { span.key.diamond {} "untraced node with its network" }
            li { span.key.crit {} "largest delay on the longest branch" }
        }
    };
    format!(
        "<section id=\"patterns\" aria-labelledby=\"timelines\">{}<div id=\"cards\">",
        heading.into_string()
    )
}

/// The end of the list of patterns.
pub(super) fn details_end() -> &'static str {
    "</div></section>"
}

/// Everything after the last section.
pub(super) fn tail() -> String {
    let end = html! {
        script { (PreEscaped(SCRIPT)) }
    };
    format!("</main>{}</body></html>\n", end.into_string())
}
