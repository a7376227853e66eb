//! The page of a comparison: one file that contains the whole result.

use std::io::{BufWriter, Write};
use std::path::Path;

use compare::output::ComparisonReport;
use report::HtmlWriter;
use report::page::ComparisonPage;

use crate::error::CommandError;
use crate::target::ResultTarget;

/// The file that the user named, tried out before the comparison.
pub(super) struct ComparisonPageFile {
    file: ResultTarget,
}

impl ComparisonPageFile {
    /// Checks whether a page can be written at `path`.
    pub(super) fn try_out(path: &Path) -> Result<ComparisonPageFile, CommandError> {
        Ok(ComparisonPageFile { file: ResultTarget::try_out(Some(path))? })
    }

    /// Writes the page of `answer`.
    pub(super) fn write_page(self, answer: &ComparisonReport) -> Result<(), CommandError> {
        let mut file = self.file;
        let mut write = || {
            let page = ComparisonPage::new(answer)?;
            let mut out = BufWriter::new(&mut file);
            HtmlWriter.write_comparison(&page, &mut out)?;
            out.flush()
        };
        let written = write();
        written.map_err(|source| file.write_error(source))?;
        file.finish_target()
    }
}
