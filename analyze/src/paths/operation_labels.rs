//! The operations of hops in paths. The number of distinct operations of a hop is limited to about
//! as many as a system has routes, so that a scan of a server does not make thousands of patterns.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::tuning::paths::operations::MAX_OF_HOP;

/// The operations seen with each hop.
#[derive(Debug, Default)]
pub(super) struct OperationLabels {
    /// The hops with the operations that were seen.
    met: FxHashSet<(u32, u32)>,
    /// Number of operations by hop.
    of_hop: FxHashMap<u32, usize>,
}

impl OperationLabels {
    /// Returns the number of the label in paths for the operation `name` of `hop`: its own, or that
    /// of all others (0) if the hop already has too many operations.
    pub(super) fn label_operation(&mut self, hop: u32, name: u32) -> u32 {
        if self.met.contains(&(hop, name)) {
            return name;
        }
        let of_hop = self.of_hop.entry(hop).or_default();
        if *of_hop >= MAX_OF_HOP {
            return 0;
        }
        *of_hop += 1;
        self.met.insert((hop, name));
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operations_of_each_hop_are_limited_separately() {
        let mut labels = OperationLabels::default();
        let most = MAX_OF_HOP as u32;
        for _ in 0..2 {
            assert!((1..=most).all(|name| labels.label_operation(7, name) == name));
            assert_eq!(
                (labels.label_operation(7, most + 1), labels.label_operation(8, most + 1)),
                (0, most + 1)
            );
        }
    }
}
