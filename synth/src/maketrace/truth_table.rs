//! The truth about a made trace as a table: what [`crate::truth::Truth`] reads.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::error::Error;

/// A truth that can be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TruthTable {
    /// `call_id,parent_call_id`, a row a call.
    Calls(Vec<(String, Option<String>)>),
    /// `child,parent`, a row for each row of the trace.
    Messages(Vec<Option<u64>>),
}

impl TruthTable {
    /// Writes the table to `path`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let file = File::create(path).map_err(|error| Error::io(path, error))?;
        self.write_to(BufWriter::new(file)).map_err(|error| Error::io(path, error))
    }

    fn write_to(&self, mut output: impl Write) -> std::io::Result<()> {
        match self {
            TruthTable::Calls(rows) => {
                writeln!(output, "call_id,parent_call_id")?;
                for (call, parent) in rows {
                    writeln!(output, "{call},{}", parent.as_deref().unwrap_or_default())?;
                }
            }
            TruthTable::Messages(causes) => {
                writeln!(output, "child,parent")?;
                for (child, cause) in causes.iter().enumerate() {
                    let cause = cause.map(|cause| cause.to_string()).unwrap_or_default();
                    writeln!(output, "{child},{cause}")?;
                }
            }
        }
        output.flush()
    }
}
