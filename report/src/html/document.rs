//! The frame of the page: its head with style and policy, a text for browsers without scripts, the
//! clocks, and the program from `report/assets`.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use message_trace::units::{count_noun, format_count, to_printable};

use super::clocks;
use crate::page::ComparisonPage;
use crate::summary::Report;

const STYLE: &str = include_str!("../../assets/page.css");
const SCRIPT: &str = include_str!("../../assets/page.js");

/// The content security policy: no resource may be loaded, whatever gets into the page. A served
/// page may query its own server.
fn security_policy(is_served: bool) -> String {
    let connect = if is_served { " connect-src 'self';" } else { "" };
    format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:;{connect} base-uri 'none'; form-action 'none'"
    )
}

/// The document of a report up to the data.
pub(super) fn document_start(report: &Report<'_>, is_served: bool) -> String {
    let source = if is_served { "served" } else { "embedded" };
    let body = html! {
        div #app data-source=(source) { (without_script(report)) }
        template #clocks { (clocks::clocks_section(&report.meta.clocks)) }
    };
    open_document(&report.meta.source, is_served, &body)
}

/// The document of a comparison up to the data.
pub(super) fn comparison_start(page: &ComparisonPage) -> String {
    let [before, after] = &page.names;
    let both = format!("{before} → {after}");
    let body = html! {
        div #app data-source="embedded" data-page="comparison" {
            noscript {
                h1 { "sockcap diff" }
                p {
                    (to_printable(&both)) ": " (count_noun(page.mutations as u64, "mutation", "mutations")) ". This page needs "
                    "JavaScript, which it includes; \
                     " code { "sockcap diff" } " shows them on a terminal."
                }
            }
        }
    };
    open_document(&both, false, &body)
}

/// The head of a document with the title `title`, and the beginning of its body.
fn open_document(title: &str, is_served: bool, body: &Markup) -> String {
    let head = html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta http-equiv="Content-Security-Policy" content=(security_policy(is_served));
            meta name="color-scheme" content="light dark";
            // Without an icon here, browsers request one from the server.
            link rel="icon" href="data:,";
            title { "sockcap: " (to_printable(title)) }
            style { (PreEscaped(STYLE)) }
        }
    };
    format!("{}<html lang=\"en\">{}<body>{}", DOCTYPE.into_string(), head.into_string(), body.0)
}

/// The text for browsers that run no scripts.
fn without_script(report: &Report<'_>) -> Markup {
    html! {
        noscript {
            h1 { "sockcap" }
            p {
                (to_printable(&report.meta.source)) ": " (format_count(report.pattern_count())) " path patterns. This page needs "
                "JavaScript, which it includes; \
                 " code { "sockcap report" } " shows the patterns on a terminal."
            }
        }
    }
}

/// The element that holds the batch of data `name`, compressed.
pub(super) fn data_element(name: &str, compressed: &str) -> String {
    // No escaping is needed: neither the base 64 alphabet nor our names have special characters.
    format!("<script type=\"application/octet-stream\" id=\"{name}\">{compressed}</script>")
}

/// The document from the data on.
pub(super) fn document_end() -> String {
    format!("<script>{SCRIPT}</script></body></html>\n")
}
