//! The commands, one file each. A new one needs a new file and a line in [`COMMANDS`].

mod analyze;
mod collect;
mod completions;
mod contexts;
mod diff;
mod drop;
mod dump;
mod export;
mod import;
mod info;
mod keys;
mod man;
mod names;
mod reconcile;
mod record;
mod report;
mod requests;
mod score;
mod ship;
mod skew;
mod synth;
mod view;

use crate::command::Subcommand;

/// All commands, in the order of `sockcap --help`.
pub(crate) const COMMANDS: &[Subcommand] = &[
    record::COMMAND,
    ship::COMMAND,
    collect::COMMAND,
    import::COMMAND,
    reconcile::COMMAND,
    analyze::COMMAND,
    report::COMMAND,
    view::COMMAND,
    diff::COMMAND,
    contexts::COMMAND,
    requests::COMMAND,
    export::COMMAND,
    info::COMMAND,
    names::COMMAND,
    keys::COMMAND,
    dump::COMMAND,
    synth::COMMAND,
    skew::COMMAND,
    drop::COMMAND,
    score::COMMAND,
    completions::COMMAND,
    man::COMMAND,
    #[cfg(test)]
    crate::toys::command::COMMAND,
];

#[cfg(test)]
pub(crate) use {
    analyze::AnalyzeCommand, record::RecordCommand, report::ReportCommand, ship::ShipCommand,
    skew::SkewCommand,
};
