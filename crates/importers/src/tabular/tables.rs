//! Common part of the importers of messages: one import of all files. Each file is read by the
//! importer's own rules. It is separate from [`MessageTarget`], which handles the output and not
//! the input.

use std::path::PathBuf;

use message_trace::{DataDir, Progress};

use crate::error::Error;
use crate::import_input::ImportInput;
use crate::summary::ImportSummary;
use crate::target::MessageTarget;
use crate::unfinished::name_of_files;

/// Files that become one import.
pub(super) struct TableImport<'a> {
    files: &'a [PathBuf],
    progress: &'a dyn Progress,
    pub(super) target: MessageTarget,
}

impl<'a> TableImport<'a> {
    /// Begins the import `name` in `data`; without a name, that of the first file.
    pub(super) fn begin_import(
        name: Option<&str>,
        files: &'a [PathBuf],
        data: &DataDir,
        progress: &'a dyn Progress,
    ) -> Result<TableImport<'a>, Error> {
        let name = name.map_or_else(|| name_of_files(files), str::to_owned);
        Ok(TableImport { files, progress, target: MessageTarget::create(data, &name)? })
    }

    /// Reads each file with `read`, and finishes the import.
    pub(super) fn import_tables(
        self,
        mut read: impl FnMut(ImportInput, &mut MessageTarget, &mut ImportSummary) -> Result<(), Error>,
    ) -> Result<ImportSummary, Error> {
        let TableImport { files, progress, mut target } = self;
        let mut summary = ImportSummary::default();
        for file in files {
            summary.begin_file(file, progress);
            target.begin_file(files.len());
            read(ImportInput::open(file, progress)?, &mut target, &mut summary)?;
        }
        target.finish(files, &mut summary)?;
        Ok(summary)
    }
}
