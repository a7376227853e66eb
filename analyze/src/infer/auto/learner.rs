//! One round of learning: a model from an assignment, and the best assignment by a model.

use super::connections::ConnectionEvidence;
use super::density::Axis;
use super::discipline;
use super::events::{ServiceEvent, calls_by_request};
use super::exchanges;
use super::learn::learn;
use super::model::{BackgroundAssumption, ServiceModel};
use super::parts::search;
use super::promises::LookaheadModel;
use super::service::Service;
use super::shapes::Shapes;
use super::sizes::SizeEvidence;
use crate::evidence::Evidence;

/// A learner of models of one service.
pub(super) struct EmStep<'a> {
    pub(super) service: &'a Service,
    pub(super) events: Vec<(i64, ServiceEvent)>,
    pub(super) axis: Axis,
    /// Hypotheses kept.
    pub(super) width: usize,
    /// Whether requests exchange calls after the search where that fits better.
    pub(super) exchanges: bool,
    /// Whether event loops are supposed to serve in turn before that is learned.
    pub(super) supposes: bool,
}

impl EmStep<'_> {
    /// The model of an assignment.
    pub(super) fn model(
        &self,
        owner: &[u32],
        nobody: BackgroundAssumption,
        shapes: &mut Shapes,
    ) -> ServiceModel {
        let mut model = self.model_without_fifo(owner, nobody, shapes);
        if self.service.evidence.contains(Evidence::Turns) {
            discipline::learn(self.service, &self.events, owner, shapes, &mut model);
        }
        model
    }

    /// The same without the order of service, which beginnings are too far off to tell.
    pub(super) fn model_without_fifo(
        &self,
        owner: &[u32],
        nobody: BackgroundAssumption,
        shapes: &mut Shapes,
    ) -> ServiceModel {
        let service = self.service;
        let mut model =
            learn(service, &calls_by_request(service, owner), |_| true, shapes, self.axis);
        model.suppose_background(service, &self.events, nobody);
        model.connections = ConnectionEvidence::learn(service, &self.events, owner);
        model.sizes = SizeEvidence::learn(service, &self.events, owner);
        model.lookaheads = LookaheadModel::learn(service, &self.events, owner, self.axis);
        if self.supposes && service.evidence.contains(Evidence::Turns) {
            discipline::suppose_fifo(service, &mut model);
        }
        model
    }

    /// The best assignment by a model.
    pub(super) fn best_requests(&self, shapes: &Shapes, model: &ServiceModel) -> Vec<u32> {
        let mut owner =
            search(self.service, &self.events, shapes, model, self.width, false).request_of_call;
        // Beginnings know nothing of the order of service, which exchanges would only hide.
        if self.exchanges && !model.overtaking.is_empty() {
            let (shapes, model) = (&mut shapes.clone(), &mut model.clone());
            exchanges::improve(self.service, &self.events, &mut owner, shapes, model);
        }
        owner
    }
}
