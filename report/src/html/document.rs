//! The frame of the page: its head with looks and policy, what stands there for those without
//! scripts, the clocks, and the program of `web/`, as `report/assets` has it.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::clocks;
use crate::Report;
use message_trace::units::{count, printable};

const STYLE: &str = include_str!("../../assets/page.css");
const SCRIPT: &str = include_str!("../../assets/page.js");

/// Nothing may be loaded, whatever gets into the page; a page that is served may ask its own
/// server.
fn policy(is_served: bool) -> String {
    let connect = if is_served { " connect-src 'self';" } else { "" };
    format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:;{connect} base-uri 'none'; form-action 'none'"
    )
}

/// Everything before the data.
pub(super) fn start(report: &Report<'_>, is_served: bool) -> String {
    let head = html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta http-equiv="Content-Security-Policy" content=(policy(is_served));
            meta name="color-scheme" content="light dark";
            // Browsers ask for one otherwise.
            link rel="icon" href="data:,";
            title { "sockcap: " (printable(&report.meta.source)) }
            style { (PreEscaped(STYLE)) }
        }
    };
    let source = if is_served { "served" } else { "embedded" };
    let body = html! {
        div #app data-source=(source) { (without_script(report)) }
        template #clocks { (clocks::section(&report.meta.clocks)) }
    };
    format!(
        "{}<html lang=\"en\">{}<body>{}",
        DOCTYPE.into_string(),
        head.into_string(),
        body.into_string()
    )
}

/// What there is for those whose browser runs no scripts.
fn without_script(report: &Report<'_>) -> Markup {
    html! {
        noscript {
            h1 { "sockcap" }
            p {
                (printable(&report.meta.source)) ": " (count(report.pattern_count())) " path patterns. This page needs "
                "JavaScript, which it has with it; " code { "sockcap report" } " shows the patterns on a terminal."
            }
        }
    }
}

/// A piece of data: what `name` is, compressed.
pub(super) fn piece(name: &str, compressed: &str) -> String {
    // Neither the alphabet of base 64 nor a name of ours needs escaping.
    format!("<script type=\"application/octet-stream\" id=\"{name}\">{compressed}</script>")
}

/// Everything after the data.
pub(super) fn end() -> String {
    format!("<script>{SCRIPT}</script></body></html>\n")
}
