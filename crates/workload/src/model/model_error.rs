//! Error of a model: the demands of its representatives, compared with those of the requests
//! (Magpie, section 6.1.1).

use serde::Serialize;

use crate::clusters::GrowingCluster;
use crate::demands::Demands;
use crate::tuning::MIN_USUAL;

/// The error of a model, for three choices of the demands that represent a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ModelError {
    /// The representative's own demands, as in the paper: the difference in resource consumption
    /// between the requests as parsed, and representatives in proportion to the sizes of their
    /// clusters.
    pub representative: DemandErrors,
    /// The mean demands of the members with exactly the representative's elements. The error comes
    /// from members with other elements, and from demands that no element was charged with.
    pub mean: DemandErrors,
    /// The mean demands of a random half of the requests, as a prediction of the other half. This
    /// is the error to expect when the model predicts other requests of the same workload. Requests
    /// in unusual clusters are left out, as nothing predicts them.
    pub held_out: DemandErrors,
}

/// Errors relative to the demands of the requests: 0.02 is 2%. `None` if there were no demands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct DemandErrors {
    /// Error of the processor time, as a share.
    pub processor: Option<f64>,
    /// Error of the bytes read from and written to disks, as a share.
    pub disk: Option<f64>,
    /// Error of the bytes sent and received, as a share.
    pub network: Option<f64>,
}

impl DemandErrors {
    /// The differences of two demands, relative to `parsed`.
    pub fn between_demands(parsed: &Demands, model: &Demands) -> DemandErrors {
        let share = |of: fn(&Demands) -> i64| {
            let (parsed, model) = (of(parsed) as f64, of(model) as f64);
            (parsed > 0.0).then(|| (model - parsed).abs() / parsed)
        };
        DemandErrors {
            processor: share(|of| of.processor_ns),
            disk: share(|of| of.disk_read_bytes.saturating_add(of.disk_written_bytes)),
            network: share(|of| of.sent_bytes.saturating_add(of.received_bytes)),
        }
    }
}

impl ModelError {
    pub(super) fn from_clusters(clusters: &[&GrowingCluster]) -> ModelError {
        let mut parsed = Demands::default();
        let mut held_out = Demands::default();
        let [mut by_representative, mut by_mean, mut by_half] = [[0.0_f64; 6]; 3];
        for cluster in clusters {
            let gathered = &cluster.gathered;
            parsed += gathered.demands;
            add_demands(&mut by_representative, &cluster.facts.demands, gathered.count as f64);
            for (_, demands) in cluster.mean_elements() {
                let all = by_mean.iter_mut().zip(demands);
                all.for_each(|(sum, demand)| *sum += demand * gathered.count as f64);
            }
            let (learnt, tested) = gathered.demands_of_halves();
            if learnt.0 > 0 && gathered.count >= MIN_USUAL {
                held_out += tested.1;
                add_demands(&mut by_half, &learnt.1, tested.0 as f64 / learnt.0 as f64);
            }
        }
        let whole = |sums: [f64; 6]| Demands::from(sums.map(|sum| sum.round() as i64));
        ModelError {
            representative: DemandErrors::between_demands(&parsed, &whole(by_representative)),
            mean: DemandErrors::between_demands(&parsed, &whole(by_mean)),
            held_out: DemandErrors::between_demands(&held_out, &whole(by_half)),
        }
    }
}

pub(super) fn add_demands(sums: &mut [f64; 6], demands: &Demands, times: f64) {
    let demands: [i64; 6] = (*demands).into();
    sums.iter_mut().zip(demands).for_each(|(sum, demand)| *sum += demand as f64 * times);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_relative_to_parsed_demands() {
        let parsed =
            Demands { processor_ns: 200, sent_bytes: 60, received_bytes: 40, ..Demands::default() };
        let model =
            Demands { processor_ns: 193, sent_bytes: 65, received_bytes: 40, ..Demands::default() };
        let errors = DemandErrors::between_demands(&parsed, &model);
        assert_eq!(
            (errors.processor, errors.disk, errors.network),
            (Some(0.035), None, Some(0.05))
        );
    }
}
