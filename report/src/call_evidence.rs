//! What decided for which requests services made their calls, for the first lines of every output:
//! the share of each kind of evidence, and where calls are inferred although something else could
//! have decided them.

use analyze::{CallEvidence, EvidenceCounts, ServiceEvidence};
use message_trace::units::{count_noun, format_whole_percent};

use crate::tuning::MAX_LIMITS_SHOWN;

/// The kinds of evidence that decided for which requests the calls of all services were made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecidedCalls {
    /// The services that make calls while they serve requests, the one with the most inferred calls
    /// first. Empty if there are none, or if the causes of messages were not inferred by requests.
    pub services: Vec<ServiceEvidence>,
    /// Reasons why calls are inferred, and what would decide them, each with its service.
    pub limits: Vec<InferenceLimit>,
}

/// A reason why calls of a service are inferred.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InferenceLimit {
    /// The service; `None` if the reason holds for the whole recording.
    pub service: Option<String>,
    /// The reason, and the flag that would help, if one is known to.
    pub reason: String,
}

impl DecidedCalls {
    /// The calls of all services by what decided them.
    pub fn all_calls(&self) -> EvidenceCounts {
        let mut all = EvidenceCounts::default();
        self.services.iter().for_each(|service| all.absorb(&service.calls));
        all
    }

    /// The share of each kind of evidence: "tasks 91%", "words 6%", "inferred 3%". Empty if there
    /// are no calls.
    pub(crate) fn share_words(&self) -> Vec<String> {
        let share = |(evidence, share): (CallEvidence, f64)| {
            format!("{} {}", evidence.label(), format_whole_percent(share))
        };
        self.all_calls().shares().into_iter().map(share).collect()
    }

    /// The number of calls, after the shares: "of 4,000 calls".
    pub(crate) fn count_words(&self) -> String {
        format!("of {}", count_noun(self.all_calls().total(), "call", "calls"))
    }

    /// The first reasons why calls are inferred, and the number of the others.
    pub fn limit_texts(&self) -> Vec<String> {
        let first = self.limits.iter().take(MAX_LIMITS_SHOWN).map(InferenceLimit::text);
        let others = self.limits.len().saturating_sub(MAX_LIMITS_SHOWN);
        let rest = format!("{others} more; 'sockcap report --json' has all");
        first.chain((others > 0).then_some(rest)).collect()
    }

    /// The shares in one text: "tasks 91%, words 6%, inferred 3% of 4,000 calls"; `None` if there
    /// are no calls.
    pub fn share_text(&self) -> Option<String> {
        let shares = self.share_words().join(", ");
        (!shares.is_empty()).then(|| format!("{shares} {}", self.count_words()))
    }
}

impl InferenceLimit {
    /// The reason, after the name of its service.
    pub fn text(&self) -> String {
        match &self.service {
            Some(service) => format!("{service}: {}", self.reason),
            None => self.reason.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_the_calls_of_all_services() {
        let service = |counts: &[(CallEvidence, u64)]| {
            let mut of = ServiceEvidence::default();
            counts.iter().for_each(|(evidence, calls)| of.calls.add(*evidence, *calls));
            of
        };
        let services = vec![
            service(&[(CallEvidence::Tasks, 910), (CallEvidence::Inferred, 29)]),
            service(&[(CallEvidence::Words, 60), (CallEvidence::OneRequest, 1)]),
        ];
        let decided = DecidedCalls { services, limits: Vec::new() };
        let expected = "tasks 91%, words 6%, only one request open <1%, inferred 3% of 1,000 calls";
        assert_eq!(decided.share_text().as_deref(), Some(expected));
        assert_eq!(DecidedCalls::default().share_text(), None);
    }

    #[test]
    fn many_limits_are_counted() {
        let limit = |number: usize| InferenceLimit {
            service: Some(format!("app{number}")),
            reason: "Python 3.15, tasks are not followed".to_owned(),
        };
        let texts = |count: usize| {
            let decided =
                DecidedCalls { services: Vec::new(), limits: (0..count).map(limit).collect() };
            decided.limit_texts()
        };
        assert_eq!(texts(MAX_LIMITS_SHOWN).len(), MAX_LIMITS_SHOWN);
        let more = texts(MAX_LIMITS_SHOWN + 2);
        assert_eq!(more.len(), MAX_LIMITS_SHOWN + 1);
        assert_eq!(more[MAX_LIMITS_SHOWN], "2 more; 'sockcap report --json' has all");
    }

    #[test]
    fn a_limit_begins_with_its_service() {
        let limit = |service: Option<&str>| InferenceLimit {
            service: service.map(str::to_owned),
            reason: "Python 3.15, tasks are not followed".to_owned(),
        };
        let texts = [limit(Some("gateway")), limit(None)].map(|limit| limit.text());
        let reason = "Python 3.15, tasks are not followed";
        assert_eq!(texts, [format!("gateway: {reason}"), reason.to_owned()]);
    }
}
