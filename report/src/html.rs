//! The report as one HTML page. It contains all of its data, so that it can be kept or sent
//! ([`HtmlWriter::write_page`]), or none for `sockcap view`, which serves the data in batches
//! ([`HtmlWriter::page_frame`]). The program of the page is in `report/web/`. Its build output is
//! in `report/assets`, so that its tools are not needed to build sockcap.

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

use crate::page::{ComparisonPage, PageData};
use crate::summary::Report;

/// A writer of HTML documents.
#[derive(Clone, Copy, Debug, Default)]
pub struct HtmlWriter;

impl HtmlWriter {
    /// Writes the page of `report` with the data of `page`. The page loads nothing and works from
    /// disk.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn write_page(
        &self,
        report: &Report<'_>,
        page: &PageData,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        out.write_all(document::document_start(report, false).as_bytes())?;
        out.write_all(
            document::data_element("overview", &pack_base64(&page.overview)?).as_bytes(),
        )?;
        for (group, details) in page.details.iter().enumerate() {
            out.write_all(
                document::data_element(&format!("details-{group}"), &pack_base64(details)?)
                    .as_bytes(),
            )?;
        }
        for (name, piece) in [("contexts", &page.contexts), ("workload", &page.workload)] {
            if let Some(piece) = piece {
                out.write_all(document::data_element(name, &pack_base64(piece)?).as_bytes())?;
            }
        }
        out.write_all(document::document_end().as_bytes())
    }

    /// Writes the page of a comparison of two periods. The page has the same program as a report,
    /// and loads no other resources either.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn write_comparison(&self, page: &ComparisonPage, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(document::comparison_start(page).as_bytes())?;
        out.write_all(
            document::data_element("comparison", &pack_base64(&page.overview)?).as_bytes(),
        )?;
        for (group, details) in page.details.iter().enumerate() {
            let name = format!("details-{group}");
            out.write_all(document::data_element(&name, &pack_base64(details)?).as_bytes())?;
        }
        out.write_all(document::document_end().as_bytes())
    }

    /// The page without data.
    pub fn page_frame(&self, report: &Report<'_>) -> String {
        document::document_start(report, true) + &document::document_end()
    }
}

/// `bytes` compressed with gzip, in base 64.
fn pack_base64(bytes: &[u8]) -> io::Result<String> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    Ok(STANDARD.encode(encoder.finish()?))
}
