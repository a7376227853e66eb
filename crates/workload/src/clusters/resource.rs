//! Resources, and the scales on which demands for them are compared.

use serde::Serialize;

use crate::demands::Demands;
use crate::tuning::{
    DISK_BYTES_FLOOR, DISK_CALLS_FLOOR, DISK_SPREAD, NETWORK_BYTES_FLOOR, NETWORK_SPREAD,
    PROCESSOR_FLOOR_NS, PROCESSOR_SPREAD,
};

/// A resource that requests demand, in the order of the fields of [`Demands`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DemandedResource {
    /// Processor time, in nanoseconds.
    Processor,
    /// Reads from and writes to files or disks.
    DiskCalls,
    /// Bytes read from files or disks.
    DiskRead,
    /// Bytes written to files or disks.
    DiskWritten,
    /// Bytes sent by network.
    Sent,
    /// Bytes received by network.
    Received,
}

impl DemandedResource {
    /// All resources, in the order of the fields of [`Demands`].
    pub const ALL: [DemandedResource; 6] = [
        DemandedResource::Processor,
        DemandedResource::DiskCalls,
        DemandedResource::DiskRead,
        DemandedResource::DiskWritten,
        DemandedResource::Sent,
        DemandedResource::Received,
    ];

    /// The demanded amount, in nanoseconds, calls or bytes.
    pub fn amount_in(self, demands: &Demands) -> i64 {
        let of: [i64; 6] = (*demands).into();
        of[self as usize]
    }

    /// Position of a demand on the scale of differences: `ln(1 + demand / floor) / spread`.
    ///
    /// Demands far below the floor are all similar. Above it, demands that differ by the usual
    /// spread of equal requests are one apart, whatever their size: with 0.2 ms and 5%, 15.0 and
    /// 15.4 ms are 0.5 apart, and 15 and 30 ms are 13.7 apart.
    pub fn scale_demand(self, demand: f64) -> f64 {
        self.scale_above(demand, 0.0)
    }

    /// Position of a demand on the scale of differences, with a floor of at least `least`, in the
    /// unit of the demand.
    pub(crate) fn scale_above(self, demand: f64, least: f64) -> f64 {
        let (floor, spread) = match self {
            DemandedResource::Processor => (PROCESSOR_FLOOR_NS, PROCESSOR_SPREAD),
            DemandedResource::DiskCalls => (DISK_CALLS_FLOOR, DISK_SPREAD),
            DemandedResource::DiskRead | DemandedResource::DiskWritten => {
                (DISK_BYTES_FLOOR, DISK_SPREAD)
            }
            DemandedResource::Sent | DemandedResource::Received => {
                (NETWORK_BYTES_FLOOR, NETWORK_SPREAD)
            }
        };
        (demand.max(0.0) / floor.max(least)).ln_1p() / spread
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doubled_time_is_far_and_one_within_the_spread_is_near() {
        let apart = |a: f64, b: f64| {
            let scale = |ms: f64| DemandedResource::Processor.scale_demand(ms * 1e6);
            (scale(a) - scale(b)).abs()
        };
        // ln((30 + 0.2) / (15 + 0.2)) / 0.05 and ln(15.6 / 15.2) / 0.05.
        assert!((apart(30.0, 15.0) - 13.731).abs() < 1e-3, "{}", apart(30.0, 15.0));
        assert!((apart(15.4, 15.0) - 0.5195).abs() < 1e-3, "{}", apart(15.4, 15.0));
        // Far below the floor nothing is distinguished: ln(1.02 / 1.01) / 0.05.
        assert!((apart(0.004, 0.002) - 0.197).abs() < 1e-3);
        assert_eq!(DemandedResource::Sent.scale_demand(-5.0), 0.0);
    }
}
