//! Observation: the retained facts of one request, and their encoding as bytes.

use crate::category::CategoryKey;
use crate::period::PeriodSide;

/// The retained facts of one request of a category.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestObservation {
    /// Begin of the request, in nanoseconds since the Unix epoch; `i64::MIN` if it is not known.
    pub begin: i64,
    /// Probability of the request, from 0 to 1.
    pub weight: f32,
    /// Response time of the request in nanoseconds; NaN if it is not known.
    pub response: f32,
    /// For each place of the request's category two times on the critical path, in nanoseconds:
    /// that of the node itself, and that of the network.
    pub shares: Vec<f32>,
}

/// Number of bytes before the shares: u128 key, u32 twice the number of shares plus the side, i64
/// begin, f32 weight, f32 response time.
const HEAD_BYTES: usize = 16 + 4 + 8 + 4 + 4;

impl RequestObservation {
    /// Appends the bytes of an observation.
    pub(crate) fn append_to(&self, key: CategoryKey, side: PeriodSide, to: &mut Vec<u8>) {
        to.extend_from_slice(&key.to_le_bytes());
        to.extend_from_slice(&((self.shares.len() as u32) << 1 | side as u32).to_le_bytes());
        to.extend_from_slice(&self.begin.to_le_bytes());
        to.extend_from_slice(&self.weight.to_le_bytes());
        to.extend_from_slice(&self.response.to_le_bytes());
        self.shares.iter().for_each(|share| to.extend_from_slice(&share.to_le_bytes()));
    }

    /// Reads the first observation from `bytes`; `None` at the end.
    pub(crate) fn read_next(
        bytes: &mut &[u8],
    ) -> Option<(CategoryKey, PeriodSide, RequestObservation)> {
        let head = bytes.get(..HEAD_BYTES)?;
        let key = u128::from_le_bytes(*head.first_chunk()?);
        let count = u32::from_le_bytes(*head.get(16..)?.first_chunk()?);
        let begin = i64::from_le_bytes(*head.get(20..)?.first_chunk()?);
        let weight = f32::from_le_bytes(*head.get(28..)?.first_chunk()?);
        let response = f32::from_le_bytes(*head.get(32..)?.first_chunk()?);
        let side = if count & 1 == 0 { PeriodSide::Before } else { PeriodSide::After };
        let end = HEAD_BYTES + 4 * (count >> 1) as usize;
        let (shares, _) = bytes.get(HEAD_BYTES..end)?.as_chunks::<4>();
        let shares = shares.iter().map(|share| f32::from_le_bytes(*share)).collect();
        *bytes = bytes.get(end..)?;
        Some((key, side, RequestObservation { begin, weight, response, shares }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_back() {
        let one =
            RequestObservation { begin: -5, weight: 0.5, response: 7.0, shares: vec![1.0, 2.0] };
        let other = RequestObservation { response: 1.0, shares: Vec::new(), ..one.clone() };
        let mut bytes = Vec::new();
        one.append_to(9, PeriodSide::After, &mut bytes);
        other.append_to(8, PeriodSide::Before, &mut bytes);
        let mut rest = bytes.as_slice();
        assert_eq!(RequestObservation::read_next(&mut rest), Some((9, PeriodSide::After, one)));
        assert_eq!(RequestObservation::read_next(&mut rest), Some((8, PeriodSide::Before, other)));
        assert_eq!(RequestObservation::read_next(&mut rest), None);
    }
}
