//! Flags that only importers of tables share.

use registry::{Flag, FlagChoice, FlagValues};

use super::values::TimeUnit;

/// Unit of the times in the files.
pub(crate) static UNIT: Flag<TimeUnit> = Flag::one_of(
    "unit",
    "UNIT",
    unit_choices,
    str::parse,
    "The unit of the times: s, ms, us or ns [default: ns; project5: s; events: by digits]",
)
.unlisted();

fn unit_choices() -> Vec<FlagChoice> {
    ["s", "ms", "us", "ns"].map(FlagChoice::without_help).to_vec()
}

/// Unit that the user chose, or the importer's own.
pub(crate) fn chosen_unit(given: &FlagValues, own: TimeUnit) -> TimeUnit {
    given.get(&UNIT).unwrap_or(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_units_are_offered() {
        let names: Vec<String> = unit_choices().iter().map(|unit| unit.name.to_owned()).collect();
        assert_eq!(names, TimeUnit::ALL.map(|unit| unit.to_string()));
    }
}
