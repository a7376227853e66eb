//! Cache of the resources in a batch, so that the sink is asked once for each and not for every
//! span.

use request_flow::spans::{ResourceId, SpanResource};
use rustc_hash::FxHashMap;

use crate::tuning::MAX_KNOWN_RESOURCES;

/// Numbers of resources by their content.
#[derive(Debug, Default)]
pub(super) struct ResourceCache {
    known: FxHashMap<Box<str>, ResourceId>,
    /// Buffer for the key of a resource: all its texts.
    key: String,
}

impl ResourceCache {
    /// Number of `resource`, which `ask` provides if it is not cached.
    pub(super) fn get_or_ask(
        &mut self,
        resource: &SpanResource<'_>,
        ask: impl FnOnce() -> ResourceId,
    ) -> ResourceId {
        self.key.clear();
        let parameters = resource.parameters.iter().flat_map(|(name, value)| [*name, value]);
        for text in [resource.node, resource.host].into_iter().chain(parameters) {
            // With the length in front of each text, different texts cannot make the same key.
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
        let of = |node, host, value: &'static str| SpanResource {
            node,
            host,
            parameters: vec![("name", value.into())],
        };
        let (mut resources, mut asked) = (ResourceCache::default(), 0);
        let mut number = |resource: SpanResource<'_>| {
            resources.get_or_ask(&resource, || {
                asked += 1;
                ResourceId::from_index(asked)
            })
        };
        let numbers = [of("a", "b", "c"), of("ab", "", "c"), of("a", "b", "d"), of("a", "b", "c")]
            .map(&mut number);
        assert_eq!(numbers, [1, 2, 3, 1].map(ResourceId::from_index));
    }
}
