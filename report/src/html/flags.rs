//! Labels of things too small to hold them: each stands to the right of a thin line that goes up (or down) from its
//! element, as a flag on its pole. They are stacked in lanes so that no label is crossed by a pole or covers another.

/// A label that needs a flag.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flag {
    /// Where its pole stands.
    pub(super) x: f64,
    /// The width of its text.
    pub(super) width: f64,
    /// How much it matters: the smallest go first when there is no room for all.
    pub(super) weight: f64,
}

/// The lane of each flag, 0 nearest to the element, or none where there was no room within `most` lanes.
pub(super) fn lanes(flags: &[Flag], most: usize) -> Vec<Option<usize>> {
    let mut order: Vec<usize> = (0..flags.len()).collect();
    order.sort_by(|a, b| flags[*b].weight.total_cmp(&flags[*a].weight));
    // More than these cannot be told apart on a screen anyway.
    order.truncate(24 * most);
    order.sort_by(|a, b| flags[*a].x.total_cmp(&flags[*b].x));
    loop {
        let lanes = stack(flags, &order);
        if lanes.iter().all(|lane| *lane < most) {
            let mut of_flag = vec![None; flags.len()];
            for (flag, lane) in order.iter().zip(lanes) {
                of_flag[*flag] = Some(lane);
            }
            return of_flag;
        }
        // Only a flag of the crowd around the highest lane makes room there.
        let crowded = crowd(&lanes, most);
        let least = crowded.min_by(|a, b| flags[order[*a]].weight.total_cmp(&flags[order[*b]].weight));
        match least {
            Some(position) => order.remove(position),
            None => return vec![None; flags.len()],
        };
    }
}

/// The positions of the first flag that is too high and of those on which it stands.
fn crowd(lanes: &[usize], most: usize) -> std::ops::Range<usize> {
    let Some(top) = lanes.iter().rposition(|lane| *lane >= most) else {
        return 0..0;
    };
    let ground =
        lanes[top..].iter().position(|lane| *lane == 0).map_or(lanes.len(), |offset| top + offset + 1);
    top..ground
}

/// Lanes for the flags at the positions `order`, from left to right. From the right, so that each flag, whose text
/// reaches to the right, stands above all poles that it reaches.
fn stack(flags: &[Flag], order: &[usize]) -> Vec<usize> {
    const GAP: f64 = 8.0;
    let mut lanes = vec![0; order.len()];
    for position in (0..order.len()).rev() {
        let flag = flags[order[position]];
        let end = flag.x + flag.width + GAP;
        let reached = (position + 1..order.len()).take_while(|other| flags[order[*other]].x < end);
        lanes[position] = reached.map(|other| lanes[other] + 1).max().unwrap_or(0);
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(at: &[(f64, f64)]) -> Vec<Flag> {
        at.iter()
            .enumerate()
            .map(|(index, (x, width))| Flag { x: *x, width: *width, weight: index as f64 })
            .collect()
    }

    #[test]
    fn flags_apart_share_a_lane() {
        assert_eq!(lanes(&flags(&[(0.0, 40.0), (100.0, 40.0)]), 3), [Some(0), Some(0)]);
    }

    #[test]
    fn a_flag_stands_above_the_poles_it_reaches() {
        let flags = flags(&[(0.0, 100.0), (20.0, 30.0), (90.0, 100.0), (300.0, 10.0)]);
        assert_eq!(lanes(&flags, 9), [Some(1), Some(0), Some(0), Some(0)]);
    }

    #[test]
    fn no_text_meets_another_or_a_pole() {
        let all: Vec<(f64, f64)> = (0..200)
            .map(|index| (f64::from(index * 7919 % 900), 60.0 + f64::from(index % 5) * 20.0))
            .collect();
        let flags = flags(&all);
        let lanes = lanes(&flags, 6);
        assert!(lanes.iter().flatten().count() > 20);
        for (a, lane_a) in flags.iter().zip(&lanes) {
            for (b, lane_b) in flags.iter().zip(&lanes) {
                if let (Some(lane_a), Some(lane_b)) = (lane_a, lane_b) {
                    let text_of_a_at_pole_of_b = a.x < b.x && b.x < a.x + a.width;
                    assert!(!text_of_a_at_pole_of_b || lane_b < lane_a);
                }
            }
        }
    }

    #[test]
    fn where_room_lacks_the_largest_stay() {
        let flags = flags(&[(0.0, 50.0), (1.0, 50.0), (2.0, 50.0), (3.0, 50.0)]);
        assert_eq!(lanes(&flags, 2), [None, None, Some(1), Some(0)]);
        assert_eq!(lanes(&flags, 0), [None; 4]);
    }
}
