//! Requests that are joined from tables of events.

use std::path::PathBuf;

use events::{EventBatch, EventReader};
use out_of_core::{DataPath, NameInterner, PathError};

use crate::analysis::join_stream::JoinStream;
use crate::analysis::request_source::{RequestSource, SourceOutcome, SourceRequest};
use crate::join::JoinOptions;
use crate::schema::EventSchema;

/// Tables of events, and how to join them.
#[derive(Clone, Debug)]
pub struct JoinedSource {
    /// Tables of events, which are read as one stream.
    pub tables: Vec<DataPath>,
    /// Schema of the join.
    pub schema: EventSchema,
    /// Origin of the schema, for errors: a file, or the name of a shipped one.
    pub schema_path: PathBuf,
    /// Bounds of the join.
    pub options: JoinOptions,
}

impl RequestSource for JoinedSource {
    fn for_each(
        &self,
        names: &mut NameInterner,
        each: &mut dyn FnMut(&SourceRequest<'_>, &NameInterner) -> Result<bool, PathError>,
    ) -> Result<SourceOutcome, PathError> {
        let mut reader = EventReader::open(&self.tables)?;
        let mut stream = JoinStream::new(&self.schema, self.options, names)
            .map_err(|error| PathError::malformed(&self.schema_path, error.to_string()))?;
        let mut batch = EventBatch::default();
        let mut more = true;
        while more && reader.read_next(names, &mut batch)? {
            more = stream.push_batch(&batch, names, each)?;
        }
        if more {
            stream.finish(names, each)?;
        }
        Ok(stream.outcome())
    }
}
