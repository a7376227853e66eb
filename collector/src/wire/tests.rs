//! Frames come back as they were sent, however the stream was cut; anything else is refused, and
//! nothing panics.

use std::io::{self, Read};

use proptest::prelude::*;

use super::*;
use crate::identity::LogIdentity;

/// Yields its bytes in pieces of these sizes, over and over, with a timeout error between them.
struct Pieces<'a> {
    bytes: &'a [u8],
    sizes: Vec<usize>,
    next: usize,
    late: bool,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.late = !self.late;
        if self.late {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let size = self.sizes[self.next % self.sizes.len()].min(buffer.len()).min(self.bytes.len());
        self.next += 1;
        let (now, later) = self.bytes.split_at(size);
        buffer[..size].copy_from_slice(now);
        self.bytes = later;
        Ok(size)
    }
}

fn identity() -> impl Strategy<Value = LogIdentity> {
    (any::<[u8; 16]>(), any::<u32>(), any::<u64>(), any::<i64>(), any::<u64>())
        .prop_map(|(boot, pid, ticks, start, name)| LogIdentity { boot, pid, ticks, start, name })
}

fn exchange() -> impl Strategy<Value = TimeExchange> {
    any::<[i64; 4]>().prop_map(|[host_sent, collector_received, collector_sent, host_received]| {
        TimeExchange { host_sent, collector_received, collector_sent, host_received }
    })
}

const NAMES: [&str; 3] = ["", "web-1", "7-1700000000.sclog"];

fn request() -> impl Strategy<Value = (ShipperRequest<'static>, Vec<u8>)> {
    let alone = prop_oneof![
        (any::<u32>(), 0..3_usize, any::<[u8; 16]>()).prop_map(|(version, host, boot)| {
            ShipperRequest::Hello { version, host: NAMES[host], boot }
        }),
        (0..3_usize, identity())
            .prop_map(|(name, identity)| ShipperRequest::File { name: NAMES[name], identity }),
        (any::<u64>(), any::<u32>()).prop_map(|(page, pages)| ShipperRequest::Ask { page, pages }),
        any::<u64>().prop_map(|length| ShipperRequest::Length { length }),
        (any::<u64>(), any::<u64>())
            .prop_map(|(number, left)| ShipperRequest::Flush { number, left }),
        Just(ShipperRequest::Time),
        exchange().prop_map(ShipperRequest::Hint),
        Just(ShipperRequest::Bye),
    ];
    prop_oneof![
        8 => alone.prop_map(|request| (request, Vec::new())),
        2 => (any::<u64>(), any::<u32>(), prop::collection::vec(any::<u8>(), 0..2000))
            .prop_map(|(offset, length, bytes)| (ShipperRequest::Extent { offset, length }, bytes)),
    ]
}

fn answer() -> impl Strategy<Value = CollectorAnswer> {
    let shortage = prop_oneof![
        Just(StorageShortage::Disk),
        Just(StorageShortage::Quota),
        Just(StorageShortage::Files),
        Just(StorageShortage::Failure)
    ];
    prop_oneof![
        (any::<u32>(), any::<u128>())
            .prop_map(|(version, store)| CollectorAnswer::Welcome { version, store }),
        ".{0,40}".prop_map(|why| CollectorAnswer::Refused { why }),
        (any::<u64>(), prop::collection::vec(any::<u64>(), 0..300))
            .prop_map(|(length, sums)| CollectorAnswer::Have { length, sums }),
        any::<u64>().prop_map(|number| CollectorAnswer::Durable { number }),
        (any::<u64>(), shortage)
            .prop_map(|(number, shortage)| CollectorAnswer::NotStored { number, shortage }),
        (any::<i64>(), any::<i64>())
            .prop_map(|(received, sent)| CollectorAnswer::Time { received, sent }),
        Just(CollectorAnswer::Bye),
    ]
}

/// Reads the next frame, across any number of timeouts.
fn next(reader: &mut FrameReader, source: &mut Pieces<'_>) -> Result<Vec<u8>, FrameError> {
    loop {
        match reader.next_frame(source) {
            Err(FrameError::Io(error)) if error.kind() == io::ErrorKind::TimedOut => {}
            result => return result.map(<[u8]>::to_vec),
        }
    }
}

proptest! {
    #[test]
    fn requests_round_trip_however_the_stream_is_cut(
        requests in prop::collection::vec(request(), 1..20),
        sizes in prop::collection::vec(1..400_usize, 1..8),
    ) {
        let mut bytes = Vec::new();
        for (request, payload) in &requests {
            bytes.extend(encode_frame_with(request, payload).unwrap());
        }
        let mut source = Pieces { bytes: &bytes, sizes, next: 0, late: false };
        let mut reader = FrameReader::default();
        for (request, payload) in &requests {
            let frame = next(&mut reader, &mut source).unwrap();
            let (read, rest) = decode_request(&frame).unwrap();
            prop_assert_eq!(&read, request);
            prop_assert_eq!(rest, &payload[..]);
        }
        prop_assert!(matches!(next(&mut reader, &mut source), Err(FrameError::Closed)));
    }

    #[test]
    fn answers_round_trip(answer in answer()) {
        let frame = encode_frame(&answer).unwrap();
        prop_assert_eq!(decode_answer(&frame[4..]).unwrap(), answer);
    }

    /// A stream cut off anywhere within a frame is reported, and yields no frame.
    #[test]
    fn a_stream_cut_off_within_a_frame_is_reported(request in request(), share in 0.0..1.0_f64) {
        let bytes = encode_frame_with(&request.0, &request.1).unwrap();
        let cut = 1 + (share * (bytes.len() - 1) as f64) as usize;
        prop_assume!(cut < bytes.len());
        let mut source = Pieces { bytes: &bytes[..cut], sizes: vec![50], next: 0, late: false };
        prop_assert!(matches!(next(&mut FrameReader::default(), &mut source), Err(FrameError::CutOff)));
    }

    /// Arbitrary bytes give frames or errors; no message takes more room than its bytes.
    #[test]
    fn garbage_is_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let mut reader = FrameReader::default();
        let mut source = &bytes[..];
        while let Ok(frame) = reader.next_frame(&mut source) {
            let _ = decode_request(frame);
            let _ = decode_answer(frame);
        }
        let _ = decode_request(&bytes);
        let _ = decode_answer(&bytes);
    }
}

#[test]
fn no_frame_exceeds_the_limit() {
    let request = ShipperRequest::Extent { offset: 0, length: 0 };
    assert!(matches!(
        encode_frame_with(&request, &vec![0; FRAME_LIMIT]),
        Err(FrameError::TooLong(_))
    ));
    let mut announced = (FRAME_LIMIT as u32 + 1).to_le_bytes().to_vec();
    announced.extend([0; 100]);
    let mut reader = FrameReader::default();
    assert!(matches!(reader.next_frame(&mut &announced[..]), Err(FrameError::TooLong(_))));
}

#[test]
fn extra_bytes_after_a_message_are_refused() {
    let frame = encode_frame_with(&ShipperRequest::Bye, b"x").unwrap();
    assert!(matches!(decode_request(&frame[4..]), Err(FrameError::Malformed)));
    let mut frame = encode_frame_with(&CollectorAnswer::Bye, b"x").unwrap();
    assert!(matches!(decode_answer(&frame[4..]), Err(FrameError::Malformed)));
    frame.truncate(5);
    assert_eq!(decode_answer(&frame[4..]).unwrap(), CollectorAnswer::Bye);
}

#[test]
fn an_exchange_gives_offset_and_round_trip() {
    // The host is 1000 ahead; 30 there, 50 back, 5 in between: request at 1000 (0 of the
    // collector's clock).
    let exchange = TimeExchange {
        host_sent: 1000,
        collector_received: 30,
        collector_sent: 35,
        host_received: 1085,
    };
    assert_eq!((exchange.clock_offset(), exchange.round_trip()), (1010, 80));
    let far = TimeExchange {
        host_sent: i64::MAX,
        collector_received: i64::MIN,
        collector_sent: i64::MIN,
        host_received: i64::MAX,
    };
    assert_eq!((far.clock_offset(), far.round_trip()), (i64::MAX, 0));
}
