//! Storage of path instances: as bytes while paths are built ([`bytes`], [`path_log`]), and as the
//! table `paths.parquet` ([`path_table`]).

pub(crate) mod bytes;
pub(crate) mod path_log;
pub(crate) mod path_table;
