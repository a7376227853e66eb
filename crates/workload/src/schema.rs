//! Event schema: which attributes join which events, and what events use (Magpie, sections 3.1 to
//! 3.5). The language is described in `docs/event-schema.md`.

mod check;
mod error;
mod parse;
mod part_lines;
mod shipped;
mod statements;
mod tokens;
mod values;

pub(crate) use check::{ANY, INTERRUPTED, SIBLING};
pub use error::SchemaError;
pub(crate) use part_lines::number;
pub use shipped::{Shipped, shipped};
pub use statements::{
    Affect, Begin, BeginBy, Binding, Comparison, Condition, Mark, Mode, Part, ProcessorUse,
    Resource, ResourceKind, Schema, SyncRule, Values, Why,
};

use std::path::Path;

impl Schema {
    /// Reads a schema from `text`; `file` is what errors call it.
    ///
    /// # Errors
    /// The first line that is wrong, with what to do.
    pub fn parse(text: &str, file: &Path) -> Result<Schema, SchemaError> {
        let schema = parse::parse(text, file)?;
        check::check(&schema, file)?;
        Ok(schema)
    }
}
