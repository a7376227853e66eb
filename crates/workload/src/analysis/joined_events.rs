//! Requests that are joined from tables of events.

use std::path::PathBuf;

use events::{EventReader, Piece};
use out_of_core::{DataPath, Names, PathError};

use crate::analysis::join_stream::JoinStream;
use crate::analysis::source::{Found, Outcome, Source};
use crate::join::JoinOptions;
use crate::schema::Schema;

/// Tables of events, and how they are joined.
#[derive(Clone, Debug)]
pub struct JoinedSource {
    /// Tables of events, which are read as one stream.
    pub tables: Vec<DataPath>,
    /// The schema.
    pub schema: Schema,
    /// Where the schema is from, for errors: a file, or the name of one that ships.
    pub schema_path: PathBuf,
    /// Bounds of the join.
    pub options: JoinOptions,
}

impl Source for JoinedSource {
    fn for_each(
        &self,
        names: &mut Names,
        each: &mut dyn FnMut(&Found<'_>, &Names) -> Result<bool, PathError>,
    ) -> Result<Outcome, PathError> {
        let mut reader = EventReader::open(&self.tables)?;
        let mut stream = JoinStream::new(&self.schema, self.options, names)
            .map_err(|error| PathError::malformed(&self.schema_path, error.to_string()))?;
        let mut piece = Piece::default();
        let mut more = true;
        while more && reader.next(names, &mut piece)? {
            more = stream.push(&piece, names, each)?;
        }
        if more {
            stream.finish(names, each)?;
        }
        Ok(stream.outcome())
    }
}
