//! Shipped schemas, by name.

use std::path::Path;

use crate::schema::check::check_schema;
use crate::schema::error::SchemaError;
use crate::schema::parse::parse_schema;
use crate::schema::rules::EventSchema;

/// A shipped schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShippedSchema {
    /// Name of the schema.
    pub name: &'static str,
    /// Purpose of the schema, in one line.
    pub about: &'static str,
    /// Text of the schema.
    pub text: &'static str,
}

const SHIPPED: [ShippedSchema; 5] = [
    ShippedSchema {
        name: "linux",
        about: "servers on Linux, by tracepoints of system calls and of the scheduler",
        text: include_str!("shipped/linux.schema"),
    },
    ShippedSchema {
        name: "sockcap",
        about: "servers that sockcap record --resources recorded",
        text: include_str!("shipped/sockcap.schema"),
    },
    ShippedSchema {
        name: "postgresql",
        about: "statements, by the log of a PostgreSQL server",
        text: include_str!("shipped/postgresql.schema"),
    },
    ShippedSchema {
        name: "nginx",
        about: "requests, by the access log of an nginx server",
        text: include_str!("shipped/nginx.schema"),
    },
    ShippedSchema {
        name: "iis",
        about: "the example of the Magpie paper: Figures 4 and 8",
        text: include_str!("shipped/iis.schema"),
    },
];

/// The shipped schemas.
pub fn shipped_schemas() -> &'static [ShippedSchema] {
    &SHIPPED
}

impl ShippedSchema {
    /// Parses the schema.
    ///
    /// # Errors
    /// Fails if the text is not a schema; tests parse each shipped one, so that this never happens.
    pub fn parse_schema(&self) -> Result<EventSchema, SchemaError> {
        let file = Path::new(self.name);
        let schema = parse_schema(self.text, file)?;
        check_schema(&schema, file)?;
        Ok(schema)
    }
}
