//! Lanes: the activities of each thread or step during a request, drawn with characters (Magpie,
//! Figure 6).

use message_trace::units::{format_duration, to_printable};
use workload::analysis::lanes::{LaneState, RequestLane};

/// Minimum and maximum width of the drawing, in characters.
const WIDTHS: std::ops::RangeInclusive<usize> = 20..=80;

/// The character of a state.
fn state_character(state: LaneState) -> char {
    match state {
        LaneState::Running => '█',
        LaneState::Runnable => '▒',
        LaneState::Disk => 'D',
        LaneState::Lock => 'L',
        LaneState::Peer => 'P',
        LaneState::Asleep => 'z',
        LaneState::Unknown => '?',
        LaneState::Calls => '·',
    }
}

/// The meaning of the marks that occur.
pub(super) fn lane_legend(lanes: &[RequestLane]) -> String {
    let occurs = |state: &LaneState| {
        lanes.iter().any(|lane| lane.slices.iter().any(|slice| slice.state == *state))
    };
    let words: Vec<String> = LaneState::ALL
        .into_iter()
        .filter(occurs)
        .map(|state| format!("{} {}", state_character(state), state.screen_words()))
        .collect();
    words.join("   ")
}

/// The lanes as lines: a name, the drawing, and the running time of the lane.
pub(super) fn lane_lines(lanes: &[RequestLane], begin: i64, end: i64, width: usize) -> Vec<String> {
    let labels: Vec<String> = lanes.iter().map(|lane| to_printable(&lane.name)).collect();
    let longest = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let room = width.saturating_sub(longest + 14).clamp(*WIDTHS.start(), *WIDTHS.end());
    lanes
        .iter()
        .zip(&labels)
        .map(|(lane, label)| {
            let drawn = draw_lane(lane, begin, end, room);
            let running: i64 = lane.time_in_state(LaneState::Running);
            let blanks = " ".repeat(longest - label.chars().count());
            format!("{label}{blanks}  {drawn}  {}", format_duration(running as f64))
        })
        .collect()
}

/// Draws a lane in `room` characters: each shows the state with the most time in its interval.
fn draw_lane(lane: &RequestLane, begin: i64, end: i64, room: usize) -> String {
    let whole = (end - begin).max(1) as f64;
    let edge = |place: usize| begin as f64 + whole * place as f64 / room as f64;
    (0..room)
        .map(|place| {
            let (from, to) = (edge(place), edge(place + 1));
            let mut sums = [0.0; LaneState::ALL.len()];
            for slice in &lane.slices {
                let shared = (slice.end as f64).min(to) - (slice.begin as f64).max(from);
                if shared > 0.0 {
                    sums[slice.state as usize] += shared;
                }
            }
            let most = LaneState::ALL
                .into_iter()
                .max_by(|one, other| sums[*one as usize].total_cmp(&sums[*other as usize]));
            most.filter(|state| sums[*state as usize] > 0.0).map_or(' ', state_character)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::analysis::lanes::LaneSlice;

    #[test]
    fn each_character_shows_the_most_frequent_state() {
        let slice = |begin, end, state| LaneSlice { begin, end, state };
        let lane = RequestLane {
            name: "web 7".to_owned(),
            slices: vec![
                slice(0, 400, LaneState::Running),
                slice(400, 500, LaneState::Lock),
                slice(520, 1000, LaneState::Runnable),
            ],
        };
        assert_eq!(draw_lane(&lane, 0, 1000, 10), "████L▒▒▒▒▒");
        assert_eq!(draw_lane(&lane, 0, 2000, 4), "█▒  ");
        let lines = lane_lines(std::slice::from_ref(&lane), 0, 1000, 60);
        assert!(lines[0].starts_with("web 7  ██") && lines[0].ends_with("400 ns"), "{lines:?}");
        let legend = lane_legend(&[lane]);
        assert_eq!(legend, "█ running   ▒ ready, without a processor   L waiting for a lock");
    }
}
