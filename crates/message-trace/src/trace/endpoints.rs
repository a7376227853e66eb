//! The endpoint dictionary of a trace: each endpoint once.

use rustc_hash::FxHashMap;

use crate::endpoint::{Endpoint, EndpointId};

/// Endpoints by number, and numbers by endpoint.
#[derive(Clone, Debug, Default)]
pub(super) struct EndpointInterner {
    pub(super) values: Vec<Endpoint>,
    pub(super) ids: FxHashMap<Endpoint, EndpointId>,
}

impl EndpointInterner {
    pub(super) fn intern(&mut self, endpoint: &Endpoint) -> EndpointId {
        if let Some(id) = self.ids.get(endpoint) {
            return *id;
        }
        let id = EndpointId::from_index(self.values.len());
        self.values.push(endpoint.clone());
        self.ids.insert(endpoint.clone(), id);
        id
    }
}
