//! The files: compressed, damaged, of several sections, several of one host, none at all; and the
//! logs that an import writes in pieces and replaces when it is repeated.

use super::bench::*;
use super::wire::*;

#[test]
fn compressed_files_are_read_as_they_are() {
    use std::io::Write;
    let mut sniffer = Sniffer::new(Link::Ethernet);
    exchange(&mut sniffer, CLIENT, SERVER);
    // Much incompressible data, so that a part of the file contains some packets.
    let mut noise = 1u64;
    for number in 0..1000 {
        let mut byte = || {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (noise >> 56) as u8
        };
        let payload: Vec<u8> = (0..500).map(|_| byte()).collect();
        sniffer.see(MS + number, &udp("10.0.0.9:1000", "239.1.1.1:1000", &payload));
    }
    let bytes = sniffer.bytes();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&bytes).unwrap();
    for packed in [gzip.finish().unwrap(), zstd::encode_all(&bytes[..], 0).unwrap()] {
        let mut bench = Bench::new();
        bench.add("x.pcap.packed", &packed);
        let outcome = bench.run();
        assert_eq!((outcome.trace.len(), outcome.summary.skipped.total()), (1002, 0));
        // A truncated file ends with its available data.
        let mut bench = Bench::new();
        bench.add("x.pcap.packed", &packed[..packed.len() / 4 * 3]);
        let summary = bench.import().unwrap();
        assert_eq!(summary.skipped.causes["cannot be read further"], 1, "{summary:?}");
        assert!(summary.read > 400 && summary.read < 1010, "{summary:?}");
    }
}

#[test]
fn damage_is_reported_by_file_and_byte_and_the_rest_is_kept() {
    let mut sniffer = Sniffer::new(Link::Ethernet);
    exchange(&mut sniffer, CLIENT, SERVER);
    for format in FORMATS {
        sniffer.format = format;
        let records: Vec<Vec<u8>> =
            sniffer.frames.iter().map(|frame| format.record(frame)).collect();
        let header = format.header(1);
        let before: usize = header.len() + records[..8].iter().map(Vec::len).sum::<usize>();
        // Cut off inside the record after the answer.
        let mut bench = Bench::new();
        bench.add("cut.pcap", &[header.clone(), records[..9].concat()].concat()[..before + 9]);
        let outcome = bench.run();
        assert_eq!(outcome.lines(), EXCHANGE, "{format:?}");
        let skipped = outcome.summary.skipped.first[0].to_string();
        assert!(
            skipped.ends_with(&format!("cut.pcap, byte {before}: the file ends inside a record")),
            "{skipped}"
        );
        // An impossible length.
        let mut wrong = records[8].clone();
        let at = if format.new { 4 } else { 8 };
        wrong[at..at + 4].copy_from_slice(&[0x7f; 4]);
        let mut bench = Bench::new();
        bench.add(
            "wrong.pcap",
            &[&header[..], &records[..8].concat(), &wrong, &records[9..].concat()].concat(),
        );
        let outcome = bench.run();
        assert_eq!(outcome.lines(), EXCHANGE, "{format:?}");
        let skipped = outcome.summary.skipped.first[0].to_string();
        assert!(skipped.contains(&format!("wrong.pcap, byte {before}: ")), "{skipped}");
        assert_eq!(outcome.summary.skipped.causes["impossible length"], 1);
        // A damaged block is skipped.
        if format.new {
            let mut wrong = records[8].clone();
            wrong[20..24].copy_from_slice(&[0xff; 4]);
            let mut bench = Bench::new();
            bench.add(
                "wrong.pcapng",
                &[&header[..], &records[..8].concat(), &wrong, &records[9..].concat()].concat(),
            );
            let summary = bench.import().unwrap();
            assert_eq!((summary.skipped.causes["damaged block"], summary.read), (1, 9));
        }
    }
}

#[test]
fn sections_of_a_file_may_differ() {
    let mut sniffer = Sniffer::new(Link::Ethernet);
    exchange(&mut sniffer, CLIENT, SERVER);
    let mut bytes = Vec::new();
    for (frame, format) in
        sniffer.frames.iter().zip([FORMATS[1], FORMATS[3], FORMATS[5], FORMATS[7]].iter().cycle())
    {
        bytes.extend(format.section(1, 1));
        bytes.extend(format.record(frame));
    }
    let mut bench = Bench::new();
    bench.add("joined.pcapng", &bytes);
    assert_eq!(bench.run().lines(), EXCHANGE);
}

#[test]
fn several_files_of_a_host_are_put_together_by_time() {
    let mut sniffer = Sniffer::new(Link::Ethernet);
    exchange(&mut sniffer, CLIENT, SERVER);
    let mut bench = Bench::new();
    for (name, odd) in [("even.pcap", 0), ("odd.pcap", 1)] {
        let frames = sniffer
            .frames
            .iter()
            .enumerate()
            .filter(|(at, _)| at % 2 == odd)
            .map(|(_, frame)| frame.clone());
        let part = Sniffer { frames: frames.collect(), ..sniffer.clone() };
        let file = part.write(bench.directory.path(), name);
        bench.packets.hosts.push(("both".into(), file));
    }
    let outcome = bench.run();
    assert_eq!(outcome.lines(), EXCHANGE);
    assert!(
        outcome.summary.notes.iter().all(|note| !note.contains("more than once")),
        "{:?}",
        outcome.summary
    );
}

#[test]
fn logs_that_are_written_piece_by_piece_are_whole() {
    let (mut client, mut server) =
        (Sniffer::new(Link::Sll).on(&["10.0.0.9"]), Sniffer::new(Link::Sll).on(&["10.0.0.1"]));
    const MANY: u16 = 12_000;
    for number in 0..MANY {
        let packet =
            Packet { id: number, ..udp("10.0.0.9:4000", "10.0.0.1:5000", &number.to_be_bytes()) };
        client.see(i64::from(number) * MS, &packet);
        server.see(i64::from(number) * MS + MS / 2, &packet);
    }
    let bench = Bench::from_sniffers(&[("client.pcap", &client), ("server.pcap", &server)]);
    let outcome = bench.run();
    // More than is held in memory, so that it was written in several pieces.
    assert!(
        bench.data().log_paths().unwrap().iter().all(|log| log.metadata().unwrap().len() > 150_000)
    );
    assert_eq!((outcome.counts.damaged.len(), outcome.counts.both_ends), (0, MANY.into()));
}

#[test]
fn a_file_that_is_no_capture_is_an_error_and_an_empty_one_a_warning() {
    let mut sniffer = Sniffer::new(Link::Ethernet);
    exchange(&mut sniffer, CLIENT, SERVER);
    for (bytes, expected) in [
        (&b"timestamp,source"[..], "neither pcap nor pcapng"),
        (&b"\x0a\x0d\x0d\x0a\x00\x00"[..], "neither pcap nor pcapng"),
        (&b""[..], "it is empty"),
        (&PLAIN.header(1)[..], "there is no packet"),
    ] {
        let mut bench = Bench::new();
        bench.add("x.pcap", bytes);
        let error = bench.import().unwrap_err().to_string();
        assert!(error.contains("x.pcap") && error.contains(expected), "{error}");
        assert!(!bench.data().hosts_dir().exists());
    }
    let mut bench = Bench::from_sniffers(&[("x.pcap", &sniffer)]);
    bench.add("empty.pcap", b"");
    let outcome = bench.run();
    assert_eq!(outcome.lines(), EXCHANGE);
    assert_eq!(outcome.summary.skipped.causes["empty file"], 1);
    bench.files.push(bench.directory.path().join("missing.pcap"));
    assert!(bench.import().unwrap_err().to_string().contains("missing.pcap"));
}

#[test]
fn importing_again_replaces_the_previous_logs() {
    let mut sniffer = Sniffer::new(Link::Sll2).on(&["10.0.0.1"]);
    exchange(&mut sniffer, CLIENT, "10.0.0.1:80");
    exchange(&mut sniffer, CLIENT, "10.0.0.1:443");
    let mut bench = Bench::from_sniffers(&[("web.pcap", &sniffer)]);
    assert!(!bench.import().unwrap().replaced);
    let logs: Vec<Vec<u8>> =
        bench.data().log_paths().unwrap().iter().map(|log| std::fs::read(log).unwrap()).collect();
    assert!(bench.import().unwrap().replaced);
    let again: Vec<Vec<u8>> =
        bench.data().log_paths().unwrap().iter().map(|log| std::fs::read(log).unwrap()).collect();
    assert!(logs == again && logs.len() == 3);
    // Nodes that have changed leave nothing; other logs stay.
    let other = bench.data().hosts_dir().join("web/1-2.sclog");
    std::fs::write(&other, b"").unwrap();
    exchange(&mut sniffer, "10.0.0.1:40000", "10.0.0.2:5432");
    bench.files.clear();
    bench.add("web.pcap", &sniffer.bytes());
    assert!(bench.import().unwrap().replaced);
    let logs = [
        "10.0.0.2/packets-web-all.sclog",
        "10.0.0.9/packets-web-all.sclog",
        "web/1-2.sclog",
        "web/packets-web-all.sclog",
    ];
    assert_eq!(bench.logs(), logs);
}
