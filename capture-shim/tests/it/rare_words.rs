//! Rare words: which words of messages are found and chosen, and their hashes.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hasher};

use proptest::prelude::*;

#[path = "../../src/flows/rare_words/choice.rs"]
mod choice;
#[path = "../../src/flows/rare_words/classes.rs"]
mod classes;
#[path = "../../src/flows/rare_words/counts.rs"]
mod counts;
#[allow(dead_code, reason = "the library has a state without a key")]
#[path = "../../src/flows/rare_words/key.rs"]
mod key;
#[path = "../../src/flows/rare_words/narrow.rs"]
mod narrow;
#[allow(dead_code, reason = "the library keeps more of a stream")]
#[path = "../../src/flows/rare_words/scan.rs"]
mod scan;
#[allow(dead_code, reason = "the library keeps more of a stream")]
#[path = "../../src/flows/rare_words/turn.rs"]
mod turn;
#[cfg(target_arch = "x86_64")]
#[path = "../../src/flows/rare_words/wide.rs"]
mod wide;

use classes::{BLOCK, BlockMasks, masks_of_block};
use counts::WordCounts;
use key::WordKey;
use scan::WordScan;
use turn::{StreamTurn, WordTail};

#[cfg(target_arch = "x86_64")]
use crate::platform::processor::{self, Instructions};

/// A process with a key that sees messages. It takes all instructions that the processor has, and
/// a second one those that every processor has.
struct Process {
    key: WordKey,
    counts: [Box<WordCounts>; 2],
    ticks: u64,
}

impl Process {
    fn new() -> Process {
        Process::with_secret([7; 16])
    }

    fn with_secret(secret: [u8; 16]) -> Process {
        #[cfg(target_arch = "x86_64")]
        processor::detect_instructions();
        let counts = [(); 2].map(|()| Box::new(WordCounts::new()));
        Process { key: WordKey::from_secret(secret), counts, ticks: 0 }
    }

    /// The logged words of a message that arrives in these pieces, piece by piece.
    fn pieces(&mut self, pieces: &[&[u8]]) -> Vec<Vec<u32>> {
        let [words, narrow] = [false, true].map(|narrow| {
            let counts = &self.counts[usize::from(narrow)];
            let (turn, mut tail, mut ticks) = (StreamTurn::new(), WordTail::NONE, self.ticks);
            let mut words: Vec<Vec<u32>> = Vec::new();
            for piece in pieces {
                ticks += 1_000_003;
                let age = counts.count_message(ticks);
                let mut scan = WordScan::new(&self.key, counts, age, true);
                for part in piece.chunks(scan::PIECE_BYTES) {
                    tail = if narrow {
                        scan.search_piece_narrow(part, &turn, tail)
                    } else {
                        scan.search_piece(part, &turn, tail)
                    };
                }
                words.push(scan.values().collect());
            }
            words
        });
        self.ticks += 1_000_003 * pieces.len() as u64;
        assert_eq!(words, narrow);
        words
    }

    /// The logged words of a message.
    fn message(&mut self, text: impl AsRef<[u8]>) -> Vec<u32> {
        self.pieces(&[text.as_ref()]).remove(0)
    }

    /// The value of a word.
    fn value(&self, word: &str) -> u32 {
        // SAFETY: the text is readable, and longer than four bytes.
        let hash = unsafe { self.key.hash_word(word.as_ptr(), word.len()) };
        let mut choice = choice::WordChoice::new();
        choice.offer(hash, 0);
        self.key.logged_value(choice.hashes().next().unwrap())
    }
}

/// Masks of a block by all instructions that this processor has.
fn all_masks(block: &[u8]) -> Vec<BlockMasks> {
    let (start, length) = (block.as_ptr(), block.len());
    // SAFETY: the bytes are readable.
    let mut all = unsafe {
        vec![
            masks_of_block::<narrow::NarrowLanes>(start, length, 0),
            masks_of_block::<narrow::Words>(start, length, 0),
        ]
    };
    #[cfg(target_arch = "x86_64")]
    if processor::has(Instructions::AVX2) {
        // SAFETY: the bytes are readable, and the processor has the instructions.
        all.push(unsafe { masks_of_block::<wide::WideLanes>(start, length, 0) });
    }
    all
}

#[test]
fn all_bytes_have_their_class_at_any_place() {
    #[cfg(target_arch = "x86_64")]
    processor::detect_instructions();
    for byte in 0..=u8::MAX {
        let is_word = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        for length in 1..=BLOCK {
            for at in [0, length / 3, length - 1] {
                let mut block = [b'.'; BLOCK];
                block[at] = byte;
                for masks in all_masks(&block[..length]) {
                    let mask = |has: bool| u64::from(has) << at;
                    assert_eq!(masks.word, mask(is_word), "{byte} at {at} of {length}");
                    assert_eq!(masks.digit, mask(byte.is_ascii_digit()), "{byte} at {at}");
                    assert_eq!(masks.has_high, !byte.is_ascii(), "{byte} at {at} of {length}");
                }
                let high = classes::count_high(&block[..length]);
                assert_eq!(high, u32::from(!byte.is_ascii()), "{byte} at {at} of {length}");
            }
        }
    }
}

#[test]
fn an_id_that_is_passed_on_is_logged_in_both_messages() {
    let mut process = Process::new();
    for id in
        ["4711", "c-10-ax", "user_0001", "3f2504e0-4f89-11d3-9a0c-0305e82c3301", "ada-lovelace"]
    {
        let request =
            format!("GET /orders/{id} HTTP/1.1\r\nHost: shop.example:8080\r\nAccept: */*\r\n\r\n");
        let statement = format!("SELECT * FROM orders WHERE id = '{id}'");
        let value = process.value(id);
        // The usual words become frequent.
        let mut usual = process.message(&request);
        for number in 0..12 {
            process.message(request.replace(id, "-"));
            process.message(statement.replace(id, "-"));
            usual = process
                .message(format!("{} {number}{number}{number}{number}7", request.replace(id, "-")));
        }
        assert!(usual.len() == 1 && usual[0] != value, "{usual:?}");
        assert_eq!(process.message(&request), [value], "{id}");
        assert_eq!(process.message(&statement), [value], "{id}");
    }
}

#[test]
fn constant_words_vanish_after_a_few_messages() {
    let mut process = Process::new();
    let usual = "POST /v1/charge HTTP/1.1\r\nUser-Agent: client-2.7.1\r\nContent-Length: 0\r\n\r\n";
    // First the words with digits, then the others.
    let counts: Vec<usize> = (0..20).map(|_| process.message(usual).len()).collect();
    assert_eq!((counts[0], counts[8]), (1, 2));
    assert_eq!(counts[16..], [0; 4]);
    // A word of one message in 50 stays rare, however long the process runs.
    let value = process.value("customer-17");
    let mut logged = 0;
    for number in 0..10_000 {
        let text =
            if number % 50 == 0 { format!("{usual}customer-17\r\n") } else { usual.to_owned() };
        let words = process.message(text);
        assert!(words.is_empty() || words == [value], "{number}: {words:?}");
        logged += words.len();
    }
    assert_eq!(logged, 200);
}

#[test]
fn a_word_that_is_no_longer_used_is_rare_again() {
    let mut process = Process::new();
    while !process.message("token-99 ").is_empty() {}
    for _ in 0..20_000 {
        process.message("nothing in here");
    }
    assert_eq!(process.message("token-99 "), [process.value("token-99")]);
}

#[test]
fn short_words_and_words_of_few_letters_are_not_logged() {
    let mut process = Process::new();
    assert!(process.message("a1 999 x-1 GET ok: Host, letter- 12.50; \r\n").len() == 1, "letter-");
    assert!(process.message("a1 999 x-1 GET ok: Host, 12.50; \r\n").is_empty());
    assert!(process.message("").is_empty());
}

#[test]
fn words_with_digits_take_precedence_over_letters() {
    let mut process = Process::new();
    let words = process.message("firstword secondword 7777 thirdword");
    assert_eq!(words, [process.value("7777")]);
    let words = process.message("firstword secondword thirdword");
    assert_eq!(words.len(), 2);
}

#[test]
fn a_word_that_was_seen_before_is_chosen_among_new_ones() {
    let mut process = Process::new();
    let value = process.value("order-1234");
    assert_eq!(process.message("order-1234"), [value]);
    for number in 0..6 {
        let new: Vec<String> = (10..30).map(|other| format!("{number}{other}0{other}")).collect();
        let words =
            process.message(format!("{} order-1234 {}", new[..10].join(" "), new[10..].join(" ")));
        assert!(words.len() == 2 && words.contains(&value), "{words:?}");
    }
}

#[test]
fn messages_with_many_common_words_choose_the_same() {
    let mut process = Process::new();
    let words: Vec<String> = (0..20).map(|word| format!("w{}", 1000 + 37 * word)).collect();
    let one = process.message(words.join(" "));
    let reversed: Vec<&str> = words.iter().rev().map(String::as_str).collect();
    assert_eq!(process.message(reversed.join("/")), one);
    assert_eq!(one.len(), 2);
}

#[test]
fn the_ids_of_a_trace_context_are_words_of_their_own() {
    let mut process = Process::new();
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let of = |span: &str| format!("traceparent: 00-{trace}-{span}-01\r\n");
    let first = process.message(of("00f067aa0ba902b7"));
    let second = process.message(of("b9c7c989f97918e1"));
    assert!(first.contains(&process.value(trace)) && second.contains(&process.value(trace)));
    assert_eq!((first.len(), second.len()), (2, 2));
}

#[test]
fn windows_of_binary_data_are_words() {
    let mut process = Process::new();
    let mut state = 1u64;
    let mut random = |count: usize| -> Vec<u8> {
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        (0..count).map(|_| next()).collect()
    };
    let mut shared = 0;
    for _ in 0..40 {
        let id = random(64);
        let one = process.message([random(3), id.clone()].concat());
        let other = process.message([vec![0; 30], id, vec![0; 11]].concat());
        shared += usize::from(one.iter().any(|word| other.contains(word)));
        assert!(one.len() <= 2 && other.len() <= 2);
    }
    assert!(shared >= 30, "{shared} of 40");
}

#[test]
fn equal_words_have_other_values_under_another_key() {
    let [one, other] = [[1; 16], [2; 16]].map(Process::with_secret);
    for length in 4..100 {
        let word = "a1-".repeat(40)[..length].to_owned();
        assert_ne!(one.value(&word), other.value(&word));
    }
    let mut near = [1; 16];
    near[15] ^= 0x80;
    assert_ne!(one.value("order-1234"), Process::with_secret(near).value("order-1234"));
}

#[test]
fn every_byte_of_a_word_counts() {
    let process = Process::new();
    for length in 4..=64 {
        let word = "b2_".repeat(30)[..length].to_owned();
        let mut values = BTreeSet::from([process.value(&word)]);
        for at in 0..length {
            let mut changed = word.clone().into_bytes();
            changed[at] = b'X';
            values.insert(process.value(std::str::from_utf8(&changed).unwrap()));
        }
        values.insert(process.value(&format!("{word}b")));
        assert_eq!(values.len(), length + 2, "{word}");
    }
}

#[test]
fn logged_values_are_of_siphash_1_3() {
    for number in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef] {
        // The standard library's hasher is SipHash-1-3 with a key of zeros.
        let mut hasher = DefaultHasher::new();
        hasher.write(&number.to_le_bytes());
        assert_eq!(key::siphash([0; 2], number), hasher.finish());
    }
}

proptest! {
    /// Of a word that the end of a piece divides, at most [`turn::TAIL_BYTES`] bytes are kept.
    #[test]
    fn a_word_is_found_at_any_place(
        before in "[ ./:;,a-c\u{e9}\r\n]{0,300}",
        word in "[A-Za-z0-9_-]{2,36}[0-9][A-Za-z0-9_-]{3,19}",
        after in "[ ./:;,a-c\u{e9}\r\n]{0,150}",
    ) {
        prop_assume!(word.split(['-', '_']).all(|part| part.len() < 16));
        let mut process = Process::new();
        let text = format!("{before} {word} {after}");
        let value = process.value(&word);
        let words = process.message(&text);
        prop_assert!(words.contains(&value), "{:?} in {:?}", word, text);
    }

    #[test]
    fn a_word_is_found_however_its_message_is_cut(
        before in "[ ./:;]{0,70}",
        word in "[a-z]{0,9}[0-9][a-z0-9]{3,30}",
        after in "[./:;][ ./:;a-z]{0,70}",
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut process = Process::new();
        let text = format!("{before}{word}{after}");
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len())).collect();
        places.extend([0, text.len()]);
        places.sort_unstable();
        let pieces: Vec<&[u8]> = places.windows(2).map(|cut| &text.as_bytes()[cut[0]..cut[1]]).collect();
        let value = process.value(&word);
        let words = process.pieces(&pieces);
        prop_assert!(words.iter().any(|words| words.contains(&value)), "{:?} in {:?}", word, pieces);
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        let words = Process::new().pieces(&bytes);
        prop_assert!(words.concat().contains(&value), "{:?} byte by byte", text);
        prop_assert!(words.iter().flatten().count() <= 1 + after.len() / 6, "no beginning of a word");
    }

    #[test]
    fn any_bytes_in_any_pieces_are_read_within_their_bounds(
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'a'), Just(b'7')], 0..1500),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut process = Process::new();
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        places.extend([0, bytes.len()]);
        places.sort_unstable();
        // Each piece is an allocation of its own, so that a checker sees reads beyond it.
        let pieces: Vec<Vec<u8>> = places.windows(2).map(|cut| bytes[cut[0]..cut[1]].to_vec()).collect();
        let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
        prop_assert!(process.pieces(&pieces).iter().all(|words| words.len() <= 2));
    }
}
