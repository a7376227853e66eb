//! The page of a comparison: one file that holds all of its answer.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use compare::output::Answer;
use report::Html;
use report::page::ComparisonPage;

use crate::error::Error;
use crate::output::Target;

/// The file that the user named, tried out before anything is compared.
pub(super) struct PageFile {
    path: PathBuf,
    file: Target,
}

impl PageFile {
    /// Tries whether a page can be written there.
    pub(super) fn try_out(path: &Path) -> Result<PageFile, Error> {
        match Target::try_out(path) {
            Ok(file) => Ok(PageFile { path: path.to_owned(), file }),
            Err(source) => Err(Error::file(path, source)),
        }
    }

    /// Writes the page of `answer`.
    pub(super) fn write(self, answer: &Answer) -> Result<(), Error> {
        let PageFile { path, file } = self;
        let write = || {
            let page = ComparisonPage::new(answer)?;
            let mut out = BufWriter::new(file.create()?);
            Html.write_comparison(&page, &mut out)?;
            out.flush()
        };
        write().map_err(|source| Error::file(&path, source))
    }
}
