//! Resources that a piece has met, so that the sink is asked once for each and not with every span.

use request_flow::spans::{Resource, ResourceId};
use rustc_hash::FxHashMap;

use crate::tuning::MAX_KNOWN_RESOURCES;

/// The numbers of resources by what they are.
#[derive(Debug, Default)]
pub(super) struct Resources {
    known: FxHashMap<Box<str>, ResourceId>,
    key: String,
}

impl Resources {
    /// The number of `resource`, which `ask` gives where it is not known.
    pub(super) fn number(
        &mut self,
        resource: &Resource<'_>,
        ask: impl FnOnce() -> ResourceId,
    ) -> ResourceId {
        self.key.clear();
        let parameters = resource.parameters.iter().flat_map(|(name, value)| [*name, value]);
        for text in [resource.node, resource.host].into_iter().chain(parameters) {
            // With its length in front, no text can be taken for two.
            self.key.push_str(&text.len().to_string());
            self.key.push(':');
            self.key.push_str(text);
        }
        if let Some(number) = self.known.get(self.key.as_str()) {
            return *number;
        }
        if self.known.len() >= MAX_KNOWN_RESOURCES {
            self.known.clear();
        }
        let number = ask();
        self.known.insert(self.key.as_str().into(), number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_asked_for_once() {
        let of = |node, host, value: &'static str| Resource {
            node,
            host,
            parameters: vec![("name", value.into())],
        };
        let (mut resources, mut asked) = (Resources::default(), 0);
        let mut number = |resource: Resource<'_>| {
            resources.number(&resource, || {
                asked += 1;
                asked
            })
        };
        let numbers = [of("a", "b", "c"), of("ab", "", "c"), of("a", "b", "d"), of("a", "b", "c")]
            .map(&mut number);
        assert_eq!(numbers, [1, 2, 3, 1]);
    }
}
