//! The ground truth of a synthetic trace as a table that [`crate::ground_truth::GroundTruth`]
//! reads.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use crate::error::Error;

/// A truth that can be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TruthTable {
    /// `call_id,parent_call_id`, one row per call.
    Calls(Vec<(String, Option<String>)>),
    /// `child,parent`, one row per row of the trace.
    Messages(Vec<Option<u64>>),
}

impl TruthTable {
    /// Writes the table to `path`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let file = File::create(path).map_err(|error| Error::io(path, error))?;
        self.write_to(file).map_err(|error| Error::io(path, error.into()))
    }

    fn write_to(&self, output: impl Write) -> csv::Result<()> {
        let mut writer = csv::Writer::from_writer(output);
        match self {
            TruthTable::Calls(rows) => {
                writer.write_record(["call_id", "parent_call_id"])?;
                for (call, parent) in rows {
                    writer.write_record([call.as_str(), parent.as_deref().unwrap_or_default()])?;
                }
            }
            TruthTable::Messages(causes) => {
                writer.write_record(["child", "parent"])?;
                for (child, cause) in causes.iter().enumerate() {
                    let cause = cause.map(|cause| cause.to_string()).unwrap_or_default();
                    writer.write_record([child.to_string(), cause])?;
                }
            }
        }
        Ok(writer.flush()?)
    }
}
