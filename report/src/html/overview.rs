//! The ranked table of all patterns. Its first rows are in the page; the script makes the others, and every other
//! order, from the data that is embedded below it.

use std::collections::HashSet;
use std::io;

use analyze::paths::PathPattern;
use maud::{Markup, PreEscaped, html};
use serde::Serialize;

use super::STATIC_ROWS;
use crate::SortKey;
use crate::label::route;
use crate::summary::share;
use crate::units::{count, duration, expected, percent, plural};

/// A row of the table, as shown and as sorted.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    /// The number of the pattern's card; none if it is not drawn.
    card: Option<usize>,
    route: String,
    /// Their number, in words.
    hops: String,
    /// The length of its bar, from 0 to 100; the longest is that of the largest share.
    bar: f64,
    /// As shown, in the order of [`COLUMNS`].
    cells: Vec<String>,
    /// As sorted, in the order of [`SortKey::ALL`]; null sorts last.
    keys: Vec<Option<f64>>,
    /// What the search looks at besides the route.
    search: String,
}

/// The columns after the path, by the key that sorts them: name, explanation, and whether a phone shows them.
const COLUMNS: [(SortKey, &str, &str, bool); 7] = [
    (
        SortKey::Total,
        "share",
        "Of the total time: duration times probability, summed over all instances",
        true,
    ),
    (SortKey::Count, "count", "Instances that were built", false),
    (SortKey::Expected, "expected", "Instances expected to be real: the sum of their probabilities", false),
    (SortKey::Confidence, "confidence", "Expected / count: the mean probability of an instance", false),
    (
        SortKey::Evidence,
        "evidence",
        "Expected / √count: often seen is more credible, but not in proportion",
        false,
    ),
    (SortKey::Mean, "mean", "Mean duration of an instance", true),
    (SortKey::P99, "p99", "99th percentile of the duration", true),
];

/// The rows for `ranked`, of which `detailed` have cards.
pub(super) fn rows(ranked: &[&PathPattern], detailed: &HashSet<usize>, total_time: f64) -> Vec<Row> {
    let largest = ranked.iter().map(|pattern| pattern.total_time).fold(0.0, f64::max);
    let row = |(index, pattern): (usize, &&PathPattern)| {
        let share = share(pattern.total_time, total_time);
        let keys = SortKey::ALL.map(|key| Some(key.value(pattern)).filter(|value| value.is_finite()));
        let confidence = pattern.expected_per_count();
        Row {
            card: detailed.contains(&index).then_some(index + 1),
            route: route(&pattern.hops),
            hops: plural(pattern.hops.len() as u64, "hop", "hops"),
            bar: (crate::summary::share(pattern.total_time, largest) * 1000.0).round() / 10.0,
            cells: vec![
                percent(share),
                count(pattern.count.max(0) as u64),
                expected(pattern.expected),
                if confidence.is_finite() { percent(confidence) } else { "–".to_owned() },
                if confidence.is_finite() {
                    format!("{:.2}", pattern.expected_per_root_count())
                } else {
                    "–".to_owned()
                },
                duration(pattern.duration.mean).to_string(),
                duration(pattern.duration.p99).to_string(),
            ],
            keys: keys.to_vec(),
            search: search_text(pattern),
        }
    };
    ranked.iter().enumerate().map(row).collect()
}

/// Names, ports and protocols, each once.
fn search_text(pattern: &PathPattern) -> String {
    let mut words: Vec<&str> = Vec::new();
    for hop in pattern.hops.iter().take(200) {
        for word in [&hop.src, &hop.dst, &hop.dst_port, hop.protocol.name()] {
            if word != "*" && !words.contains(&word) {
                words.push(word);
            }
        }
    }
    words.join(" ")
}

/// The table. `hidden` patterns were left out of the report.
pub(super) fn section(rows: &[Row], hidden: u64, sort: SortKey) -> Markup {
    html! {
        section.overview aria-labelledby="overview" {
            h2 #overview { "Path patterns" }
            div.tools {
                label.search {
                    span { "Search" }
                    input #search type="search" placeholder="node, port or protocol" autocomplete="off"
                        spellcheck="false";
                }
                label {
                    span { "Sort by" }
                    select #sort {
                        @for key in SortKey::ALL { option value=(key) selected[key == sort] { (key.label()) } }
                    }
                }
                p #found role="status" aria-live="polite" {}
            }
            div.scroll {
                table #ranking {
                    caption.visually-hidden { "Path patterns by rank" }
                    thead { tr {
                        th.rank scope="col" { "#" }
                        th.path scope="col" { "path" }
                        @for (key, name, explanation, narrow) in COLUMNS {
                            th.number.wide[!narrow] scope="col" data-key=(key) title=(explanation)
                                aria-sort=[(key == sort).then_some("descending")] { (name) }
                        }
                    } }
                    tbody { @for (index, row) in rows.iter().take(STATIC_ROWS).enumerate() { (markup(index, row)) } }
                }
            }
            @if rows.len() > STATIC_ROWS {
                noscript { p.fine {
                    "The first " (count(STATIC_ROWS as u64)) " of " (count(rows.len() as u64))
                    "; the others need scripts."
                } }
            }
            p #more hidden { button type="button" { "Show more" } }
            @if hidden > 0 {
                p.fine { (count(hidden)) " patterns of lower rank were left out of this report." }
            }
        }
    }
}

fn markup(index: usize, row: &Row) -> Markup {
    html! {
        tr {
            td.rank { (index + 1) }
            th.path scope="row" {
                @match row.card {
                    Some(card) => a href={ "#p" (card) } { (row.route) },
                    None => span title="Its timeline is not part of this page" { (row.route) },
                }
                small { (row.hops) }
            }
            @for (cell, (key, _, _, narrow)) in row.cells.iter().zip(COLUMNS) {
                @if key == SortKey::Total {
                    td.number.share style=(format!("--share:{}%", row.bar)) { (cell) }
                } @else {
                    td.number.wide[!narrow] { (cell) }
                }
            }
        }
    }
}

/// What the script works with.
#[derive(Serialize)]
struct Data<'a> {
    keys: [&'static str; SortKey::ALL.len()],
    sort: &'static str,
    /// Which cells are for wide screens only.
    wide: [bool; COLUMNS.len()],
    page: usize,
    rows: &'a [Row],
}

/// The rows as a block of data that cannot end the element in which it stands.
pub(super) fn data(rows: &[Row], sort: SortKey) -> io::Result<Markup> {
    let data = Data {
        keys: SortKey::ALL.map(SortKey::name),
        sort: sort.name(),
        wide: COLUMNS.map(|(_, _, _, narrow)| !narrow),
        page: STATIC_ROWS,
        rows,
    };
    let json =
        serde_json::to_string(&data)?.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
    Ok(html! { script #data type="application/json" { (PreEscaped(json)) } })
}
