//! Flags that importers of tables share, and no others.

use registry::{Choice, Flag, Given};

use super::values::Unit;

/// The unit of the times in the files.
pub(crate) static UNIT: Flag<Unit> = Flag::one_of(
    "unit",
    "UNIT",
    units,
    str::parse,
    "The unit of the times: s, ms, us or ns [default: ns; project5: s; events: by digits]",
)
.unlisted();

fn units() -> Vec<Choice> {
    ["s", "ms", "us", "ns"].map(Choice::plain).to_vec()
}

/// The unit that the user chose, or the importer's own.
pub(crate) fn unit(given: &Given, own: Unit) -> Unit {
    given.get(&UNIT).unwrap_or(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_units_are_offered() {
        let names: Vec<String> = units().iter().map(|unit| unit.name.to_owned()).collect();
        assert_eq!(names, Unit::ALL.map(|unit| unit.to_string()));
    }
}
