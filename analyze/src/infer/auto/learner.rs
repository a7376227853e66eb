//! One EM step: a model from an assignment, and the best assignment under a model.

use super::connections::ConnectionEvidence;
use super::density::Axis;
use super::discipline;
use super::events::{ServiceEvent, calls_by_request};
use super::exchanges;
use super::learn::learn;
use super::model::{BackgroundAssumption, ServiceModel};
use super::parts::search;
use super::promises::LookaheadModel;
use super::service::{RequestId, Service};
use super::shapes::Shapes;
use super::sizes::SizeEvidence;
use crate::evidence::Evidence;

/// An EM step for one service.
pub(super) struct EmStep<'a> {
    pub(super) service: &'a Service,
    pub(super) events: Vec<(i64, ServiceEvent)>,
    pub(super) axis: Axis,
    /// Number of hypotheses kept.
    pub(super) width: usize,
    /// Whether requests exchange calls after the search if that raises the log-likelihood.
    pub(super) exchanges: bool,
    /// Whether event loops are assumed to be FIFO before their order is learned.
    pub(super) assumes_fifo: bool,
}

impl EmStep<'_> {
    /// The model of an assignment.
    pub(super) fn model(
        &self,
        request_of_call: &[Option<RequestId>],
        background: BackgroundAssumption,
        shapes: &mut Shapes,
    ) -> ServiceModel {
        let mut model = self.model_without_fifo(request_of_call, background, shapes);
        if self.service.evidence.contains(Evidence::Turns) {
            discipline::learn(self.service, &self.events, request_of_call, shapes, &mut model);
        }
        model
    }

    /// The model of an assignment without the order of service, which restarts are too inaccurate
    /// to learn.
    pub(super) fn model_without_fifo(
        &self,
        request_of_call: &[Option<RequestId>],
        background: BackgroundAssumption,
        shapes: &mut Shapes,
    ) -> ServiceModel {
        let service = self.service;
        let mut model = learn(
            service,
            &calls_by_request(service, request_of_call),
            |_| true,
            shapes,
            self.axis,
        );
        model.suppose_background(service, &self.events, background);
        model.connections = ConnectionEvidence::learn(service, &self.events, request_of_call);
        model.sizes = SizeEvidence::learn(service, &self.events, request_of_call);
        model.lookaheads = LookaheadModel::learn(service, &self.events, request_of_call, self.axis);
        if self.assumes_fifo && service.evidence.contains(Evidence::Turns) {
            discipline::suppose_fifo(service, &mut model);
        }
        model
    }

    /// The best assignment under a model.
    pub(super) fn best_requests(
        &self,
        shapes: &Shapes,
        model: &ServiceModel,
    ) -> Vec<Option<RequestId>> {
        let mut request_of_call =
            search(self.service, &self.events, shapes, model, self.width, false).request_of_call;
        // Restarts do not model the order of service, and exchanges would only hide it.
        if self.exchanges && !model.overtaking.is_empty() {
            let (shapes, model) = (&mut shapes.clone(), &mut model.clone());
            exchanges::improve(self.service, &self.events, &mut request_of_call, shapes, model);
        }
        request_of_call
    }
}
