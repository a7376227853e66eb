//! The page of a comparison: one file that holds all of its answer.

use std::io::{BufWriter, Write};
use std::path::Path;

use compare::output::Answer;
use report::Html;
use report::page::ComparisonPage;

use crate::error::Error;
use crate::target::Target;

/// The file that the user named, tried out before anything is compared.
pub(super) struct PageFile {
    file: Target,
}

impl PageFile {
    /// Tries whether a page can be written there.
    pub(super) fn try_out(path: &Path) -> Result<PageFile, Error> {
        Ok(PageFile { file: Target::try_out(Some(path))? })
    }

    /// Writes the page of `answer`.
    pub(super) fn write(self, answer: &Answer) -> Result<(), Error> {
        let mut file = self.file;
        let mut write = || {
            let page = ComparisonPage::new(answer)?;
            let mut out = BufWriter::new(&mut file);
            Html.write_comparison(&page, &mut out)?;
            out.flush()
        };
        let written = write();
        written.map_err(|source| file.refused(source))?;
        file.finish()
    }
}
