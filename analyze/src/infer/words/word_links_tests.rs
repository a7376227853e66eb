use super::*;
use crate::fixture::Fixture;
use crate::naming::Naming;
use crate::options::Options;
use message_trace::{MessageTrace, mix_bits};

/// Groups of eight messages that a broker receives, and sends on in another order; `words` returns
/// the words of a received and of a sent message with that number.
fn forwarded(words: impl Fn(u64) -> [Vec<u32>; 2]) -> MessageTrace {
    let mut trace = Fixture::new();
    for group in 0..40_u64 {
        let time = 1_000_000 * group as i64;
        for of in 0..8 {
            let [received, sent] = words(8 * group + of);
            let at = time + 100 * of as i64;
            trace.send("x", "broker", at, at + 10).ports(5000, 81).on(1).words(&received);
            let at = time + 100_000 + 100 * ((5 * of + mix_bits(group)) % 8) as i64;
            trace.send("broker", "y", at, at + 10).ports(81, 5001).accepting().on(2).words(&sent);
        }
    }
    trace.trace()
}

/// Number of sent messages with the right cause by words, with a wrong one, and of all.
fn causes(trace: &MessageTrace) -> [usize; 3] {
    let options = Options::default();
    let naming = Naming::new(trace, &options);
    let links = WordLinks::from_input(&InferenceInput::without_progress(trace, &naming, &options));
    let mut counts = [0; 3];
    for row in trace.ids().filter(|row| trace.flow(*row).number() == 2) {
        counts[2] += 1;
        if let Some((cause, sure)) = links.cause(row).filter(|(_, sure)| *sure > 0.5) {
            let [own, of_cause] = [row, cause].map(|row| sent_words(trace, row));
            let is_right = own.first() == of_cause.first() && sure > 0.98;
            counts[usize::from(!is_right)] += 1;
        }
    }
    counts
}

#[test]
fn messages_are_forwarded_with_their_words() {
    let unique = |number: u64| [vec![number as u32, 999_999], vec![number as u32, 999_999]];
    assert_eq!(causes(&forwarded(unique)), [320, 0, 320]);
}

#[test]
fn constants_and_random_words_are_no_causes() {
    assert_eq!(causes(&forwarded(|_| [vec![1, 2], vec![1, 2]]))[..2], [0, 0]);
    for (seed, count) in (0..8).flat_map(|seed| [4, 40, 400, 4000].map(|count| (seed, count))) {
        let random = |number: u64| {
            [0, 1].map(|end| vec![mix_bits(number << 8 | end << 7 | seed) as u32 % count])
        };
        assert_eq!(causes(&forwarded(random))[..2], [0, 0], "{seed} {count}");
    }
}

#[test]
fn a_match_adds_to_the_probability_of_its_message() {
    let id = MessageId::from_index;
    let causes = [(id(2), (id(1), 0.9)), (id(3), (id(1), 0.5))];
    let words = WordLinks { causes: causes.into_iter().collect() };
    let mut links = Links::spontaneous_only(4);
    links.set_parent_rows(2, &[(0, 0.6), (1, 0.2)], 0.2);
    words.link_all(&mut links);
    let near = |found: Vec<(usize, f64)>, wanted: &[(usize, f64)]| {
        found.len() == wanted.len()
            && found.iter().zip(wanted).all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 1e-12)
    };
    // 0.9 + 0.1 * 0.2, and a tenth of the others.
    assert!(near(links.parent_rows(2), &[(1, 0.92), (0, 0.06)]));
    assert!((links.spontaneous_probability(id(2)) - 0.02).abs() < 1e-12);
    assert!(near(links.parent_rows(3), &[(1, 0.5)]));
    assert_eq!(links.spontaneous_probability(id(0)), 1.0);
}
