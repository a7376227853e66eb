//! The report as one HTML page. It has all of its data for those who keep or send it
//! ([`Html::write`]), or none for `sockcap view`, which hands the data out in pieces
//! ([`Html::frame`]). The program of the page is in `report/web/`. What that builds is in
//! `report/assets`, so that nobody needs its tools to build sockcap.

mod clock_plot;
mod clocks;
mod document;
mod drawing;

#[cfg(test)]
mod tests;

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::page::{ComparisonPage, Page};
use crate::summary::Report;

/// A writer of HTML documents.
#[derive(Clone, Copy, Debug, Default)]
pub struct Html;

impl Html {
    /// Writes the page of `report` with the data of `page`. The page loads nothing and works from
    /// disk.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn write(&self, report: &Report<'_>, page: &Page, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(document::start(report, false).as_bytes())?;
        out.write_all(document::piece("overview", &packed(&page.overview)?).as_bytes())?;
        for (group, details) in page.details.iter().enumerate() {
            out.write_all(
                document::piece(&format!("details-{group}"), &packed(details)?).as_bytes(),
            )?;
        }
        for (name, piece) in [("contexts", &page.contexts), ("workload", &page.workload)] {
            if let Some(piece) = piece {
                out.write_all(document::piece(name, &packed(piece)?).as_bytes())?;
            }
        }
        out.write_all(document::end().as_bytes())
    }

    /// Writes the page of a comparison of two periods. It is the same program, and loads nothing
    /// either.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn write_comparison(&self, page: &ComparisonPage, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(document::start_of_comparison(page).as_bytes())?;
        out.write_all(document::piece("comparison", &packed(&page.overview)?).as_bytes())?;
        for (group, details) in page.details.iter().enumerate() {
            let name = format!("details-{group}");
            out.write_all(document::piece(&name, &packed(details)?).as_bytes())?;
        }
        out.write_all(document::end().as_bytes())
    }

    /// The page without data.
    pub fn frame(&self, report: &Report<'_>) -> String {
        document::start(report, true) + &document::end()
    }
}

/// `bytes` compressed by gzip, in base 64.
fn packed(bytes: &[u8]) -> io::Result<String> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    Ok(STANDARD.encode(encoder.finish()?))
}
