//! The resources on which slow contexts spend their time, compared with the other contexts.

use message_trace::units::format_duration;
use request_flow::StepResource;

use crate::result::{ContextProfile, SlowReason, SpentMore};
use crate::statistics::SpentSums;
use crate::tuning::{MAX_SPENT_NAMED, MIN_SPENT_SHARE};

/// The mean time of each resource in the slow contexts and in the others, in descending order of
/// the difference. Empty if resources were not recorded for both.
pub(super) fn compare_spent(of_level: &[&ContextProfile], slow: &[u32]) -> Vec<SpentMore> {
    let side = |is_slow: bool| {
        let of = of_level.iter().filter(|context| slow.contains(&context.id) == is_slow);
        let mut sums = SpentSums::default();
        of.filter_map(|context| context.summary.spent.as_ref()).for_each(|of| sums.add_means(of));
        sums.means()
    };
    let (Some(slow), Some(rest)) = (side(true), side(false)) else { return Vec::new() };
    let mut all = StepResource::ALL.map(|resource| SpentMore {
        resource,
        slow: slow.mean_of(resource),
        rest: rest.mean_of(resource),
    });
    all.sort_by(|a, b| b.extra_time().total_cmp(&a.extra_time()));
    all.to_vec()
}

/// The resources that account for most of the difference of the means, in words that begin with a
/// semicolon; empty if no resource accounts for much of the difference.
pub(super) fn spent_phrase(reason: &SlowReason) -> String {
    let more = reason.slow_mean - reason.rest_mean;
    let named = reason.spent.iter().filter(|of| of.extra_time() >= MIN_SPENT_SHARE * more);
    let named: Vec<String> = named
        .take(MAX_SPENT_NAMED)
        .map(|of| {
            format!("{} more {}", format_duration(of.extra_time()), of.resource.sentence_words())
        })
        .collect();
    match named.is_empty() || more <= 0.0 {
        true => String::new(),
        false => format!("; slow calls have {}", named.join(" and ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::equivalence::ContextLevel;
    use crate::result::{ContextSummary, PerLevel, ReasonMeasure};
    use crate::statistics::MeanSpent;

    fn context(id: u32, spent: Option<MeanSpent>) -> ContextProfile {
        ContextProfile {
            id,
            level: ContextLevel::Caller,
            name: String::new(),
            class: None,
            step: None,
            summary: ContextSummary { spent, ..ContextSummary::default() },
            decrease: PerLevel::default(),
            contexts: Vec::new(),
            further: None,
        }
    }

    fn reason(slow_mean: f64, rest_mean: f64, spent: Vec<SpentMore>) -> SlowReason {
        SlowReason {
            level: ContextLevel::Caller,
            measure: ReasonMeasure::Deviation,
            slow: vec![0],
            contexts: 3,
            slow_calls: 1.0,
            calls: 3.0,
            slow_mean,
            slow_median: slow_mean,
            rest_mean,
            rest_median: rest_mean,
            spent,
            sentence: String::new(),
        }
    }

    /// 10 ms are 9 for a lock and 1 for the processor; otherwise 1 and 3 ms, once and twice.
    #[test]
    fn the_resource_of_most_of_the_difference_is_named() {
        let of = |weight, lock, processor| {
            Some(MeanSpent { weight, lock, processor, ..MeanSpent::default() })
        };
        let all = [context(0, of(5.0, 9e6, 1e6)), context(1, of(1.0, 0.0, 1e6))];
        let last = context(2, of(2.0, 0.0, 2.5e6));
        let refs: Vec<&ContextProfile> = all.iter().chain([&last]).collect();
        let found = compare_spent(&refs, &[0]);
        assert_eq!((found.len(), found[0].resource), (7, StepResource::Lock));
        assert_eq!((found[0].slow, found[0].rest, found[6].extra_time()), (9e6, 0.0, -1e6));
        let phrase = spent_phrase(&reason(10e6, 2e6, found));
        assert_eq!(phrase, "; slow calls have 9.00 ms more wait for locks and threads");
        // Resources of one side were not recorded, or none accounts for much of the difference.
        assert_eq!(compare_spent(&[&all[0], &context(1, None)], &[0]), []);
        assert_eq!(spent_phrase(&reason(10e6, 2e6, compare_spent(&[&all[1], &last], &[1]))), "");
    }
}
