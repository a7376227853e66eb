//! What the importers of messages do alike: one import of all files. Each file is read by the
//! importer's own rules. It is apart from [`Target`], which knows what is written but not from
//! where.

use std::path::PathBuf;

use message_trace::{DataDir, Progress};

use crate::error::Error;
use crate::reading::Input;
use crate::summary::Summary;
use crate::target::Target;
use crate::unfinished::name_of;

/// Files that become one import.
pub(super) struct Tables<'a> {
    files: &'a [PathBuf],
    progress: &'a dyn Progress,
    pub(super) target: Target,
}

impl<'a> Tables<'a> {
    /// Begins the import `name` in `data`; without a name, that of the first file.
    pub(super) fn begin(
        name: Option<&str>,
        files: &'a [PathBuf],
        data: &DataDir,
        progress: &'a dyn Progress,
    ) -> Result<Tables<'a>, Error> {
        let name = name.map_or_else(|| name_of(files), str::to_owned);
        Ok(Tables { files, progress, target: Target::create(data, &name)? })
    }

    /// Has `read` read each file, and finishes the import.
    pub(super) fn import(
        self,
        mut read: impl FnMut(Input, &mut Target, &mut Summary) -> Result<(), Error>,
    ) -> Result<Summary, Error> {
        let Tables { files, progress, mut target } = self;
        let mut summary = Summary::default();
        for file in files {
            summary.begin(file, progress);
            target.begin_file(files.len());
            read(Input::open(file, progress)?, &mut target, &mut summary)?;
        }
        target.finish(files, &mut summary)?;
        Ok(summary)
    }
}
