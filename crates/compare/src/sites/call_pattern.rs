//! Call pattern: which operations a step calls, and about how often each. A node that returns early
//! or takes another code path has another pattern.

use request_flow::NameId;

/// Calls of one operation by one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PatternCall {
    /// The called node.
    pub node: NameId,
    /// The called operation.
    pub operation: NameId,
    /// Number of calls, as a power of two: 0 for one, 1 for two, 2 for three or four and so on. The
    /// exact number often depends on the request's content.
    pub times: u8,
}

impl PatternCall {
    /// Approximate number of calls: the midpoint of the range that `times` stands for.
    pub fn typical_count(&self) -> f64 {
        let most = 2.0_f64.powi(i32::from(self.times));
        if self.times < 2 { most } else { f64::midpoint(most / 2.0 + 1.0, most) }
    }
}

/// All calls of a step, regardless of their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallPattern(pub Vec<PatternCall>);

impl CallPattern {
    /// The pattern of calls, each as node and operation. Sorts `calls`.
    pub(super) fn from_calls(calls: &mut [[NameId; 2]]) -> CallPattern {
        calls.sort_unstable();
        let runs = calls.chunk_by(|one, other| one == other);
        CallPattern(
            runs.filter_map(|run| {
                let [node, operation] = *run.first()?;
                let times = run.len().next_power_of_two().trailing_zeros() as u8;
                Some(PatternCall { node, operation, times })
            })
            .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn about_as_many_calls_are_the_same() {
        let of = |numbers: &[usize]| {
            let ids = |number: &usize| [1, *number].map(NameId::from_index);
            let mut calls: Vec<[NameId; 2]> = numbers.iter().map(ids).collect();
            CallPattern::from_calls(&mut calls)
        };
        assert_eq!(of(&[5, 6, 5, 5]), of(&[6, 5, 5, 5, 5]));
        assert_ne!(of(&[5, 6]), of(&[5, 5, 6]));
        assert_eq!(of(&[6, 5]).0.iter().map(|call| call.times).collect::<Vec<_>>(), [0, 0]);
    }
}
