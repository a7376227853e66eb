//! Prediction of a mixture from models of its parts (Magpie, section 6.1.1).

use super::model_error::add_demands;
use super::{DemandErrors, WorkloadModel};

impl WorkloadModel {
    /// Errors of predicting this mixture from models of single kinds of requests, each measured
    /// alone, with the number of requests of each kind in the mixture. The mean demands of the
    /// largest cluster of each model, multiplied by that number, are compared with this workload's
    /// demands (the cross-check of the paper).
    pub fn prediction_errors(&self, alone: &[(&WorkloadModel, u64)]) -> DemandErrors {
        let mut all = [0.0; 6];
        for (model, count) in alone {
            if let Some(cluster) = model.clusters.first() {
                add_demands(&mut all, &cluster.demands, *count as f64);
            }
        }
        DemandErrors::between_demands(&self.demands, &all.map(|sum| sum.round() as i64).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demands::Demands;
    use crate::model::RequestCluster;

    #[test]
    fn kinds_measured_alone_predict_a_mixture() {
        let of = |processor_ns: i64| Demands { processor_ns, ..Demands::default() };
        let alone = |processor_ns| {
            let cluster = RequestCluster { demands: of(processor_ns), ..Default::default() };
            WorkloadModel { clusters: vec![cluster], ..WorkloadModel::default() }
        };
        let (a, b) = (alone(30), alone(15));
        let mixture =
            WorkloadModel { demands: of(266 * 31 + 234 * 15), ..WorkloadModel::default() };
        // 266 * 30 + 234 * 15 = 11490 instead of 11756.
        let errors = mixture.prediction_errors(&[(&a, 266), (&b, 234)]);
        assert_eq!(errors.processor, Some(266.0 / 11_756.0));
    }
}
