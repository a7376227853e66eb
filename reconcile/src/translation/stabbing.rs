//! Voting on a line: the place that lies in the heaviest set of windows.

/// A stretch of the line, both ends in it, with the weight of its vote.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stretch {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) weight: f64,
}

/// The stretch that most weight agrees on, with that weight; `None` of nothing.
pub(super) fn deepest(
    stretches: impl Iterator<Item = Stretch>,
    ends: &mut Vec<(f64, f64)>,
) -> Option<Stretch> {
    ends.clear();
    for stretch in stretches {
        ends.push((stretch.low, stretch.weight));
        ends.push((stretch.high, -stretch.weight));
    }
    // What begins where another ends overlaps it.
    ends.sort_unstable_by(|one, other| one.0.total_cmp(&other.0).then(other.1.total_cmp(&one.1)));
    let (mut depth, mut best): (f64, Option<Stretch>) = (0.0, None);
    let mut open = false;
    for (at, weight) in ends.iter() {
        if *weight < 0.0 {
            if let Some(best) = best.as_mut().filter(|_| open) {
                best.high = *at;
            }
            open = false;
        }
        depth += weight;
        if *weight >= 0.0 && best.is_none_or(|best| depth > best.weight + 1e-9) {
            best = Some(Stretch { low: *at, high: *at, weight: depth });
            open = true;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_that_most_agree_on() {
        let stretch = |low, high, weight| Stretch { low, high, weight };
        let all = [
            stretch(0.0, 10.0, 1.0),
            stretch(8.0, 20.0, 1.0),
            stretch(30.0, 31.0, 1.5),
            stretch(9.0, 9.5, 1.0),
        ];
        let best = deepest(all.into_iter(), &mut Vec::new());
        assert_eq!(best, Some(stretch(9.0, 9.5, 3.0)));
        let touching = [stretch(0.0, 5.0, 1.0), stretch(5.0, 9.0, 1.0)];
        assert_eq!(deepest(touching.into_iter(), &mut Vec::new()), Some(stretch(5.0, 5.0, 2.0)));
        assert_eq!(deepest([].into_iter(), &mut Vec::new()), None);
    }
}
