//! Flags that importers of several kinds share.

use registry::{Flag, values};

/// Name of the import.
pub(crate) static NAME: Flag<String> = Flag::text(
    "name",
    "NAME",
    values::parse_text,
    "The name of the import [default: after the first file]",
);
