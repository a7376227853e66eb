//! Plain text of TLS libraries: its origin, and the bytes of it that are kept.

use proptest::prelude::*;

use super::records::{CallTime, TlsRecords};
use super::sink::SnippetClass;
use super::talk::{By, Talk};

/// A record of application data with this many bytes.
fn record(length: u16) -> Vec<u8> {
    let mut record = vec![23, 3, 3];
    record.extend(length.to_be_bytes());
    record.resize(5 + usize::from(length), b'x');
    record
}

fn moment(time: u64) -> CallTime {
    CallTime { begin: time, end: time + 1 }
}

/// Receives bytes in calls of their own, at the times 10, 20 and so on.
fn received(calls: &[&[u8]]) -> TlsRecords {
    let mut records = TlsRecords::NOTHING;
    for (number, bytes) in calls.iter().enumerate() {
        records.note_received(moment(10 * (number as u64 + 1)), bytes);
    }
    records
}

/// Begin of the call and the offset in it of a byte of plain text that is returned now.
fn place(records: &mut TlsRecords, offset: usize) -> (u64, u32) {
    let (moment, at) = records.take_plaintext(0, 9).unwrap().position_of(offset);
    (moment.begin, at)
}

#[test]
fn a_record_begins_with_its_header_even_if_that_arrives_alone() {
    let whole = record(100);
    let mut records = received(&[&whole[..5], &whole[5..30], &whole[30..]]);
    assert_eq!(place(&mut records, 0), (10, 0));
    assert_eq!(place(&mut records, 7), (20, 7), "the bytes after the first one came with the rest");
    records.take_plaintext(40, 40);
    assert_eq!(place(&mut records, 0), (20, 40));
    // The next one.
    records.note_received(moment(90), &whole[..5]);
    records.note_received(moment(100), &whole[5..]);
    assert_eq!(place(&mut records, 0), (90, 0));
    // Records beyond those that can be distinguished keep their order.
    let mut records = received(&[&record(30).repeat(20)]);
    let places: Vec<_> =
        (0..20).map(|_| records.take_plaintext(13, 100).unwrap().position_of(0).1).collect();
    assert!(places.is_sorted_by(|a, b| a < b), "{places:?}");
}

#[test]
fn returned_text_belongs_to_the_latest_record() {
    // The server's session tickets, and then the response.
    let (ticket, answer) = (record(250), record(80));
    let mut records = received(&[&ticket[..5], &ticket[5..], &answer[..5], &answer[5..]]);
    assert_eq!(place(&mut records, 0), (30, 0));
    // Several in one call.
    let both = [ticket.clone(), answer.clone()].concat();
    let mut records = received(&[&both]);
    assert_eq!(place(&mut records, 3), (10, 8));
    records.take_plaintext(100, 100);
    records.take_plaintext(133, 9000);
    assert_eq!(place(&mut records, 0), (10, 255), "where the next one begins");
    assert_eq!(place(&mut records, 3), (10, 263));
    // One that ends in another call belongs to the call in which it began.
    let (begun, rest) = both.split_at(300);
    let mut records = received(&[begun]);
    records.take_plaintext(233, 233);
    records.note_received(moment(20), rest);
    assert_eq!(place(&mut records, 0), (10, 255));
}

#[test]
fn unseen_records_have_no_position() {
    let mut records = TlsRecords::NOTHING;
    assert!(records.take_plaintext(10, 10).is_none());
    records.note_sent(moment(5));
    records.note_sent(moment(7));
    assert_eq!(place(&mut records, 0), (5, 0), "the first send begins it");
    assert_eq!(place(&mut records, 2), (5, 7));
    records.forget();
    assert!(records.take_plaintext(10, 10).is_none());
}

proptest! {
    /// Positions of one text never go back, and are in calls that were made.
    #[test]
    fn positions_of_any_bytes_in_any_calls_are_ordered(
        calls in prop::collection::vec(
            (prop::collection::vec(any::<u8>(), 0..40), 0usize..30), 0..30,
        ),
        lengths in prop::collection::vec(0u16..60, 0..30),
        damage in any::<bool>(),
    ) {
        let stream: Vec<u8> = lengths.iter().flat_map(|length| record(*length)).collect();
        let mut stream = stream.as_slice();
        let (mut records, mut times) = (TlsRecords::NOTHING, vec![0]);
        for (number, (bytes, given)) in calls.iter().enumerate() {
            let (next, rest) = stream.split_at(stream.len().min(bytes.len()));
            stream = rest;
            let time = 10 * (number as u64 + 1);
            times.push(time);
            records.note_received(moment(time), if damage { bytes } else { next });
            if let Some(origin) = records.take_plaintext(*given, 29) {
                let mut latest = None;
                for offset in [0, 1, given / 2 + 1, given + 1] {
                    let (moment, at) = origin.position_of(offset);
                    prop_assert!(times.contains(&moment.begin));
                    prop_assert!(latest.is_none_or(|latest| latest <= (moment.begin, at)));
                    latest = Some((moment.begin, at));
                }
            }
        }
    }
}

const HELLO: &[u8] = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";
const GET: &str = "GET /a HTTP/1.1\r\nhost: b\r\n\r\n";

#[test]
fn plain_text_belongs_to_one_session_and_begins_anew() {
    let mut talk = Talk::new();
    talk.say(By::Client, b"\0\0\0\x08\x04\xd2\x16\x2f").say(By::Server, "S");
    assert!(!talk.decrypt(16), "nothing is encrypted so far");
    talk.say(By::Client, HELLO).say(By::Server, HELLO);
    assert!(talk.decrypt(16));
    assert!(!talk.decrypt(32), "another one's");
    talk.say(By::Client, GET).say(By::Server, "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    talk.say(By::Client, GET);
    assert!(talk.decrypt(16));
    assert_eq!(talk.http1(By::Client), [GET, GET]);
    assert_eq!(talk.http1(By::Server).len(), 1);
    assert_eq!(talk.heads(By::Client)[0].0, SnippetClass::Other, "what was said before");
}

#[test]
fn tls_after_the_response_of_a_proxy_is_recognised() {
    let mut talk = Talk::new();
    talk.say(By::Client, "CONNECT a:443 HTTP/1.1\r\n\r\n");
    talk.say(By::Server, "HTTP/1.1 200 OK\r\n\r\n");
    assert!(!talk.decrypt(16));
    talk.say(By::Client, &HELLO[..2]).say(By::Client, &HELLO[2..]);
    assert!(talk.decrypt(16));
    talk.say(By::Client, GET).say(By::Server, "HTTP/1.1 204 Fine\r\n\r\n");
    talk.say(By::Client, GET);
    assert_eq!(talk.http1(By::Client)[1..], [GET, GET]);
}

/// Where a head of plain text begins, in bytes of the encrypted stream: in the log of its sender,
/// which writes the text in records of these lengths, and in that of its receiver, which reads each
/// record's header separately and returns its text in pieces of these lengths.
fn places(text: &[u8], records: &[usize], reads: &[usize]) -> [Vec<u64>; 2] {
    let mut sizes = records.iter().cycle();
    let mut reads = reads.iter().cycle();
    let mut rest = text;
    let (mut begin, mut sent, mut received) = (0, TlsRecords::NOTHING, TlsRecords::NOTHING);
    let mut talks = [Talk::new(), Talk::new()];
    while !rest.is_empty() {
        let (part, after) = rest.split_at(rest.len().min(*sizes.next().unwrap()));
        rest = after;
        let encrypted = record(part.len() as u16 + 17);
        // The time of a call is the position of its first byte, from 1 on.
        sent.note_sent(moment(begin + 1));
        talks[0].give(sent.take_plaintext(part.len(), part.len()).unwrap(), part);
        sent.forget();
        received.note_received(moment(begin + 1), &encrypted[..5]);
        received.note_received(moment(begin + 6), &encrypted[5..]);
        let mut left = part;
        while !left.is_empty() {
            let most = *reads.next().unwrap();
            let (given, after) = left.split_at(left.len().min(most));
            talks[1].give(received.take_plaintext(given.len(), most).unwrap(), given);
            left = after;
        }
        begin += encrypted.len() as u64;
    }
    talks.map(|talk| talk.given)
}

proptest! {
    #[test]
    fn both_ends_agree_on_the_position_of_plain_text(
        records in prop::collection::vec(1..90usize, 1..6),
        reads in prop::collection::vec(1..90usize, 1..6),
    ) {
        let [sent, received] = places(GET.repeat(5).as_bytes(), &records, &reads);
        prop_assert_eq!(sent.len(), 5);
        prop_assert_eq!(sent, received);
    }
}
