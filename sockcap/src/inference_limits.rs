//! Reasons why calls of a service are inferred, for the end of `analyze` and the first lines of a
//! report, with the flag of `record` that would help where the recording shows that it would.

use analyze::{AnalysisSummary, CallEvidence, ServiceEvidence};
use reconcile::{LeftOutEvidence, Reconciliation};
use report::{DecidedCalls, InferenceLimit};

/// The kinds of evidence that decided for which requests calls were made, in an analysis of
/// messages. `found` is the outcome of their reconciliation, if it is known.
pub(crate) fn decided_calls(
    summary: &AnalysisSummary,
    found: Option<&Reconciliation>,
) -> DecidedCalls {
    let left_out = found.map(|found| found.left_out).unwrap_or_default();
    let services = &summary.evidence;
    let words = unseen_words(services, left_out);
    let words = words.map(|reason| InferenceLimit { service: None, reason });
    let mut limits: Vec<InferenceLimit> = words.into_iter().collect();
    for service in services {
        let of_service = |reason| InferenceLimit { service: Some(service.service.clone()), reason };
        limits.extend(unfollowed_tasks(service).map(of_service));
        limits.extend(unseen_handoffs(service, left_out).map(of_service));
    }
    DecidedCalls { services: services.clone(), limits }
}

/// The reason that tasks of a service's runtimes are not followed; `None` if it does not apply.
fn unfollowed_tasks(service: &ServiceEvidence) -> Option<String> {
    let runtimes = Some(service.unfollowed.join(", ")).filter(|runtimes| !runtimes.is_empty())?;
    Some(format!(
        "{runtimes}, tasks are not followed; calls at more than one request at a time are inferred"
    ))
}

/// The reason that hand-offs of work between threads were not recorded; `None` if it does not
/// apply.
fn unseen_handoffs(service: &ServiceEvidence, left_out: LeftOutEvidence) -> Option<String> {
    let is_meant = left_out.handoffs > 0 && service.is_mostly_of_workers();
    is_meant.then(|| {
        format!(
            "{} of {} calls are inferred, since other threads make them than receive requests; \
             record with --resources to see which thread hands work to which",
            service.calls.count(CallEvidence::Inferred),
            service.calls.total(),
        )
    })
}

/// The reason that shared words were not recorded; `None` if it does not apply.
fn unseen_words(services: &[ServiceEvidence], left_out: LeftOutEvidence) -> Option<String> {
    let inferred = services.iter().map(|of| of.calls.count(CallEvidence::Inferred)).sum::<u64>();
    (left_out.words > 0 && inferred > 0).then(|| {
        "recorded with --no-words, so ids that messages share could not decide; record without it"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(inferred: u64, of_workers: u64, unfollowed: &[&str]) -> ServiceEvidence {
        let mut of = ServiceEvidence {
            service: "gateway".to_owned(),
            inferred_of_workers: of_workers,
            unfollowed: unfollowed.iter().map(|name| (*name).to_owned()).collect(),
            ..ServiceEvidence::default()
        };
        of.calls.add(CallEvidence::Inferred, inferred);
        of.calls.add(CallEvidence::Words, 10);
        of
    }

    /// The limits of one service, in a recording that left this out.
    fn limits(service: ServiceEvidence, handoffs: u64, words: u64) -> Vec<String> {
        let summary = AnalysisSummary { evidence: vec![service], ..AnalysisSummary::default() };
        let left_out = LeftOutEvidence { handoffs, words };
        let found = Reconciliation { left_out, ..Reconciliation::default() };
        let decided = decided_calls(&summary, Some(&found));
        decided.limits.iter().map(InferenceLimit::text).collect()
    }

    #[test]
    fn services_with_unfollowed_tasks_are_named() {
        let expected = "gateway: Python 3.15, tasks are not followed; calls at more than one \
                        request at a time are inferred";
        assert_eq!(limits(service(5, 0, &["Python 3.15"]), 3, 0), [expected]);
        // Nothing need be inferred while requests come one at a time, but the reader is warned.
        assert_eq!(limits(service(0, 0, &["Python 3.15"]), 3, 0), [expected]);
    }

    #[test]
    fn a_flag_is_named_only_if_it_would_help() {
        let [of_workers] = &limits(service(50, 40, &[]), 1, 0)[..] else { panic!("one limit") };
        assert!(of_workers.contains("50 of 60 calls are inferred"), "{of_workers}");
        assert!(of_workers.contains("--resources"), "{of_workers}");
        assert_eq!(limits(service(50, 40, &[]), 0, 0), [""; 0], "they were recorded");
        assert_eq!(limits(service(50, 10, &[]), 1, 0), [""; 0], "few are of workers");
        assert_eq!(limits(service(3, 3, &[]), 1, 0), [""; 0], "few are inferred");
        let [words] = &limits(service(3, 0, &[]), 1, 2)[..] else { panic!("one limit") };
        assert!(words.contains("--no-words"), "{words}");
        assert_eq!(limits(service(0, 0, &[]), 1, 2), [""; 0], "nothing is inferred");
    }
}
