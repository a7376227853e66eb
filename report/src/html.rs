//! The report as one self-contained HTML page: it loads nothing, works from disk, and says the same without its
//! script, which only sorts and searches.
//!
//! The page is written piece by piece. So that ten thousand patterns do not make it unusable, the table begins with
//! [`STATIC_ROWS`] rows and lets the script make the others from data, and timelines are drawn for the patterns that
//! rank high by any of the metrics, up to [`DETAIL_HOPS`] hops in all.

mod clock_plot;
mod clocks;
mod detail;
mod drawing;
mod flags;
mod hops;
mod overview;
mod page;
mod palette;
mod shares;
mod timeline;

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::io::{self, Write};

use analyze::paths::PathPattern;

use crate::{Options, Output, Report, SortKey};
use palette::Palette;

/// Rows of the table that are there without the script.
const STATIC_ROWS: usize = 50;
/// Timelines for this many of the patterns by the chosen rank…
const DETAILS: usize = 200;
/// …and for this many by each other metric, since the reader may sort by that…
const DETAILS_BY_OTHER_KEYS: usize = 25;
/// …as long as they have no more hops than this together.
const DETAIL_HOPS: usize = 8_000;

/// Writes one HTML document.
#[derive(Clone, Copy, Debug, Default)]
pub struct Html;

impl Output for Html {
    fn write(&self, report: &Report<'_>, options: &Options, out: &mut dyn Write) -> io::Result<()> {
        let ranked = report.ranked(options);
        let detailed = detailed(&ranked);
        let palette = Palette::of(&ranked);
        let total_time = report.total_time();
        out.write_all(page::head(report).as_bytes())?;
        out.write_all(page::header(report).into_string().as_bytes())?;
        out.write_all(b"<main>")?;
        if ranked.is_empty() {
            out.write_all(page::nothing().into_string().as_bytes())?;
        } else {
            out.write_all(shares::section(&ranked, &palette).into_string().as_bytes())?;
            let rows = overview::rows(&ranked, &detailed, total_time);
            let hidden = report.pattern_count() - ranked.len() as u64;
            out.write_all(overview::section(&rows, hidden, options.sort).into_string().as_bytes())?;
            out.write_all(page::details_start(detailed.len(), ranked.len()).as_bytes())?;
            let with_details = ranked.iter().enumerate().filter(|(index, _)| detailed.contains(index));
            for (index, pattern) in with_details {
                let card = detail::card(
                    index,
                    pattern,
                    crate::summary::share(pattern.total_time, total_time),
                    &palette,
                );
                out.write_all(card.into_string().as_bytes())?;
            }
            out.write_all(page::details_end().as_bytes())?;
            out.write_all(overview::data(&rows, options.sort)?.into_string().as_bytes())?;
        }
        out.write_all(clocks::section(&report.meta.clocks).into_string().as_bytes())?;
        out.write_all(page::tail().as_bytes())
    }
}

/// The positions in `ranked` of the patterns that are shown in full.
fn detailed(ranked: &[&PathPattern]) -> HashSet<usize> {
    let mut wanted: Vec<usize> = (0..ranked.len().min(DETAILS)).collect();
    for key in SortKey::ALL {
        let mut order: Vec<usize> = (0..ranked.len()).collect();
        order.sort_by(|a, b| key.compare(ranked[*a], ranked[*b]));
        wanted.extend(order.into_iter().take(DETAILS_BY_OTHER_KEYS));
    }
    let mut detailed = HashSet::new();
    let mut hops = 0;
    for index in wanted {
        let more = hops + ranked[index].hops.len();
        // The first is always shown, however long.
        if !detailed.contains(&index) && (more <= DETAIL_HOPS || detailed.is_empty()) {
            detailed.insert(index);
            hops = more;
        }
    }
    detailed
}
