//! One round of learning: a model from an assignment, and the best assignment by a model.

use super::connections::Connections;
use super::density::Axis;
use super::discipline;
use super::events::{Event, made_for};
use super::exchanges;
use super::learn::learn;
use super::model::{Model, Nobody};
use super::parts::search;
use super::promises::Promises;
use super::service::Service;
use super::shapes::Shapes;
use super::sizes::Sizes;
use crate::evidence::Evidence;

/// A learner of models of one service.
pub(super) struct Learner<'a> {
    pub(super) service: &'a Service,
    pub(super) events: Vec<(i64, Event)>,
    pub(super) axis: Axis,
    /// Hypotheses kept.
    pub(super) width: usize,
    /// Whether requests exchange calls after the search where that fits better.
    pub(super) exchanges: bool,
    /// Whether event loops are supposed to serve in turn before that is learned.
    pub(super) supposes: bool,
}

impl Learner<'_> {
    /// The model of an assignment.
    pub(super) fn model(&self, owner: &[u32], nobody: Nobody, shapes: &mut Shapes) -> Model {
        let mut model = self.without_turns(owner, nobody, shapes);
        if self.service.without.has(Evidence::Turns) {
            discipline::learn(self.service, &self.events, owner, shapes, &mut model);
        }
        model
    }

    /// The same without the order of service, which beginnings are too far off to tell.
    pub(super) fn without_turns(
        &self,
        owner: &[u32],
        nobody: Nobody,
        shapes: &mut Shapes,
    ) -> Model {
        let service = self.service;
        let mut model = learn(service, &made_for(service, owner), |_| true, shapes, self.axis);
        model.suppose(service, &self.events, nobody);
        model.connections = Connections::learn(service, &self.events, owner);
        model.sizes = Sizes::learn(service, &self.events, owner);
        model.promises = Promises::learn(service, &self.events, owner, self.axis);
        if self.supposes && service.without.has(Evidence::Turns) {
            discipline::suppose(service, &mut model);
        }
        model
    }

    /// The best assignment by a model.
    pub(super) fn owner(&self, shapes: &Shapes, model: &Model) -> Vec<u32> {
        let mut owner = search(self.service, &self.events, shapes, model, self.width, false).owner;
        // Beginnings know nothing of the order of service, which exchanges would only hide.
        if self.exchanges && !model.overtaking.is_empty() {
            let (shapes, model) = (&mut shapes.clone(), &mut model.clone());
            exchanges::improve(self.service, &self.events, &mut owner, shapes, model);
        }
        owner
    }
}
