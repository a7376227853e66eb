//! Schemas that ship, by name.

use std::path::Path;

use crate::schema::check::check;
use crate::schema::error::SchemaError;
use crate::schema::parse::parse;
use crate::schema::statements::Schema;

/// A schema that ships.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shipped {
    /// Its name.
    pub name: &'static str,
    /// What it is for, in one line.
    pub about: &'static str,
    /// Its text.
    pub text: &'static str,
}

const SHIPPED: [Shipped; 5] = [
    Shipped {
        name: "linux",
        about: "servers on Linux, by tracepoints of system calls and of the scheduler",
        text: include_str!("shipped/linux.schema"),
    },
    Shipped {
        name: "sockcap",
        about: "servers that sockcap record --resources recorded",
        text: include_str!("shipped/sockcap.schema"),
    },
    Shipped {
        name: "postgresql",
        about: "statements, by the log of a PostgreSQL server",
        text: include_str!("shipped/postgresql.schema"),
    },
    Shipped {
        name: "nginx",
        about: "requests, by the access log of an nginx server",
        text: include_str!("shipped/nginx.schema"),
    },
    Shipped {
        name: "iis",
        about: "the example of the Magpie paper: Figures 4 and 8",
        text: include_str!("shipped/iis.schema"),
    },
];

/// The schemas that ship.
pub fn shipped() -> &'static [Shipped] {
    &SHIPPED
}

impl Shipped {
    /// The schema.
    ///
    /// # Errors
    /// None, as tests read each of them.
    pub fn schema(&self) -> Result<Schema, SchemaError> {
        let file = Path::new(self.name);
        let schema = parse(self.text, file)?;
        check(&schema, file)?;
        Ok(schema)
    }
}
