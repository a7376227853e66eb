//! Event schema: which attributes join which events, and the resources that events use (Magpie,
//! sections 3.1 to 3.5). The language is described in `docs/event-schema.md`.

mod check;
mod error;
mod parse;
mod rule_lines;
mod rule_words;
mod rules;
mod shipped;
mod tokens;

pub(crate) use check::{ANY, INTERRUPTED, SIBLING};
pub use error::SchemaError;
pub(crate) use rule_lines::parse_number;
pub use rules::{
    AttributeBinding, AttributeValues, BeginBy, BindMode, EventCondition, EventRule, EventSchema,
    IntervalEffect, ProcessorUse, ResourceKind, ResourceUse, SyncRule, SyntheticBegin,
    ValueComparison, ValueMark, WaitReason,
};
pub use shipped::{ShippedSchema, shipped_schemas};

use std::path::Path;

impl EventSchema {
    /// Parses a schema from `text`; errors refer to it as `file`.
    ///
    /// # Errors
    /// The first invalid line, with what to do.
    pub fn parse(text: &str, file: &Path) -> Result<EventSchema, SchemaError> {
        let schema = parse::parse_schema(text, file)?;
        check::check_schema(&schema, file)?;
        Ok(schema)
    }
}
