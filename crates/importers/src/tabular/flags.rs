//! Flags that only importers of tables share.

use clap::Args;
use registry::ShownDefault;
use registry::values::one_of;

use super::values::TimeUnit;
use crate::flags::NameFlag;

/// `--unit UNIT`: the unit of the times in the files.
#[derive(Args)]
pub(crate) struct UnitFlag {
    /// The unit of the times: s, ms, us or ns
    #[arg(
        long,
        value_name = "UNIT",
        value_parser = one_of::<TimeUnit>(TimeUnit::ALL.map(|unit| unit.to_string())),
        hide_possible_values = true,
        add = ShownDefault::new(format_args!(
            "{}; project5: {}; events: by digits",
            TableFlags::UNIT,
            TableFlags::UNIT_OF_PROJECT5
        ))
    )]
    pub(crate) unit: Option<TimeUnit>,
}

/// The flags of an importer of tables.
#[derive(Args)]
pub(crate) struct TableFlags {
    #[command(flatten)]
    pub(crate) name: NameFlag,
    #[command(flatten)]
    pub(crate) unit: UnitFlag,
}

impl TableFlags {
    /// The unit of the times unless the user chooses another.
    pub(crate) const UNIT: TimeUnit = TimeUnit::Nanoseconds;

    /// The unit of the times in traces of Project 5 unless the user chooses another.
    pub(super) const UNIT_OF_PROJECT5: TimeUnit = TimeUnit::Seconds;
}
