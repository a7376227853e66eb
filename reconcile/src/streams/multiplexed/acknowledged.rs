//! Detection of few messages that are sent and acknowledged one by one, though not turn by turn.
//! How far the number of open messages, not acknowledged yet, strays over many turns (`detection`)
//! is hardly known from a hundred turns (a turn is all that one side sends until the other does).
//! But if messages have usual sizes, the number in each turn is known, and other
//! messages, such as the messages of a connection setup, can be left out. Then the whole sequence
//! is better evidence: the number of open messages stays near its start, while a random walk of the
//! same steps would have strayed far, even one that comes back in the end.

use crate::streams::multiplexed::pipelined::TurnSizes;
use crate::streams::multiplexed::usual_sizes::UsualSizes;
use crate::tuning::{
    ACKNOWLEDGED_A_DIFFERENCE, MAX_PIPELINED_BYTES, MIN_ACKNOWLEDGED_TURNS, MIN_OPEN_CHANGE,
    STEPS_TO_RANGE,
};

/// Whether equally many usual messages went in both directions in these turns, and the number of
/// open ones stayed near its start.
pub(crate) fn is_acknowledged(turns: &[TurnSizes; 2], units: &[UsualSizes; 2]) -> bool {
    if units.iter().any(|units| units.largest_size() > MAX_PIPELINED_BYTES) {
        return false;
    }
    let (mut open, mut least, mut most, mut squares) = (0_i64, 0, 0, 0);
    let (mut all, mut usual) = (0_i64, 0_usize);
    for (there, back) in turns[0].bytes.iter().zip(&turns[1].bytes) {
        let counts = units[0].count_messages(*there).zip(units[1].count_messages(*back));
        let Some([there, back]) = counts.map(|(there, back)| [there as i64, back as i64]) else {
            continue;
        };
        open += there - back;
        (least, most) = (open.min(least), open.max(most));
        squares += (there - back) * (there - back);
        all += there + back;
        usual += 1;
    }
    let range = most - least;
    usual >= MIN_ACKNOWLEDGED_TURNS
        && squares as f64 >= MIN_OPEN_CHANGE * usual as f64
        && ACKNOWLEDGED_A_DIFFERENCE * open.abs() <= all
        && STEPS_TO_RANGE * range * range <= squares
}
