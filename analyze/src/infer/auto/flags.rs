//! The flags of `auto`.

use registry::{Flag, FlagChoice, FlagValues};

use crate::evidence::Evidence;
use crate::infer::{flags, linking};
use crate::options::Options;

/// Kinds of evidence that are switched off.
pub(in crate::infer) static WITHOUT: Flag<Evidence> = Flag::one_of(
    "without",
    "KIND",
    || Evidence::ALL.map(|kind| FlagChoice::without_help(kind.name())).to_vec(),
    str::parse,
    "Leave out a kind of evidence that auto uses: delays, context, shapes, order, turns, nesting, \
     threads, connections, sizes, hand-offs, operations (docs/accuracy.md)",
)
.unlisted()
.delimited(',');

/// Sets the `options` of the flags that the user gave. Messages that are not calls are linked by
/// message linking, so its constants count, too.
pub(super) fn apply_flags(given: &FlagValues, options: &mut Options) {
    if given.is_given(&WITHOUT) {
        options.without = given.all_values(&WITHOUT);
    }
    flags::set_window(given, options);
    linking::apply_flags(given, options);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_all_kinds_of_evidence() {
        let names: Vec<&str> = Evidence::ALL.iter().map(|kind| kind.name()).collect();
        assert!(WITHOUT.spec.help.contains(&names.join(", ")), "{names:?}");
    }
}
