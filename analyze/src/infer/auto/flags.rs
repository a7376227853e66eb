//! The flags of `auto`.

use clap::Args;
use registry::values::one_of;

use crate::evidence::Evidence;
use crate::infer::inference::AlgorithmFlags;
use crate::infer::linking::LinkingFlags;
use crate::options::Options;

#[derive(Debug, Args)]
pub(super) struct AutoFlags {
    /// Leave out a kind of evidence that auto uses: delays, context, shapes, order, turns, nesting,
    /// threads, connections, sizes, hand-offs, operations, words (docs/accuracy.md)
    #[arg(
        long,
        value_name = "KIND",
        value_parser = one_of::<Evidence>(Evidence::ALL.map(Evidence::name)),
        hide_possible_values = true,
        value_delimiter = ','
    )]
    without: Vec<Evidence>,
    /// Messages that are not calls are linked by message linking.
    #[command(flatten)]
    linking: LinkingFlags,
}

impl AlgorithmFlags for AutoFlags {
    fn apply_to(&self, options: &mut Options) {
        if !self.without.is_empty() {
            options.without = self.without.clone();
        }
        self.linking.apply_to(options);
    }
}

#[cfg(test)]
mod tests {
    use super::super::ALGORITHM;
    use super::*;

    #[test]
    fn help_names_all_kinds_of_evidence() {
        let names: Vec<&str> = Evidence::ALL.iter().map(|kind| kind.name()).collect();
        let flags = ALGORITHM.declared_flags();
        let without = flags.iter().find(|flag| flag.get_long() == Some("without")).unwrap();
        let help = without.get_help().unwrap().to_string();
        assert!(help.contains(&names.join(", ")), "{names:?}");
    }
}
