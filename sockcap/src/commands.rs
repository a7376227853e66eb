//! The subcommands, a file each.

pub(crate) mod analyze;
pub(crate) mod collect;
pub(crate) mod completions;
pub(crate) mod drop;
pub(crate) mod dump;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod info;
pub(crate) mod keys;
pub(crate) mod man;
pub(crate) mod reconcile;
pub(crate) mod record;
pub(crate) mod report;
pub(crate) mod score;
pub(crate) mod ship;
pub(crate) mod skew;
pub(crate) mod synth;
pub(crate) mod view;
