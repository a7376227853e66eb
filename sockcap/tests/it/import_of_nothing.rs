//! Files without usable content: each import fails, reports what it looked for and what it found
//! instead, and leaves earlier imports unchanged.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A capture of these frames, one second apart, on a link of this type.
fn make_capture(link: u32, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut words = |words: &[u32], more: &[u8]| {
        words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes.extend(more);
    };
    words(&[0xa1b2_c3d4, 0x0004_0002, 0, 0, 262_144, link], &[]);
    for (frame, second) in frames.iter().zip(1_700_000_000..) {
        let length = frame.len() as u32;
        words(&[second, 0, length, length], frame);
    }
    bytes
}

/// An Ethernet frame with an IPv4 packet of this protocol.
fn ethernet_frame(protocol: u8, [from, to]: [[u8; 4]; 2], payload: &[u8]) -> Vec<u8> {
    let mut frame = [&[0; 12][..], &[8, 0, 0x45, 0, 0, 20 + payload.len() as u8]].concat();
    frame.extend([0, 1, 0, 0, 64, protocol, 0, 0]);
    frame.extend([from, to].concat());
    frame.extend(payload);
    frame
}

/// The first segment of a connection, from port 40000 to 80.
fn opening_segment() -> Vec<u8> {
    let mut segment = vec![0x9c, 0x40, 0, 80];
    segment.extend([0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 0xff, 0xff, 0, 0, 0, 0]);
    ethernet_frame(6, [[10, 0, 0, 1], [10, 0, 0, 2]], &segment)
}

fn import_in(arguments: &[&str], directory: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sockcap"))
        .arg("import")
        .args(arguments)
        .args(["-d", "data"])
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// All files below `directory`, with their sizes.
fn list_files(directory: &Path) -> Vec<(std::path::PathBuf, u64)> {
    let (mut found, mut open) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            match entry.file_type().unwrap().is_dir() {
                true => open.push(entry.path()),
                false => found.push((entry.path(), entry.metadata().unwrap().len())),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn an_empty_import_fails_and_names_what_it_looked_for() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let dhcp = [&[0, 68, 0, 67, 0, 28, 0, 0][..], &[0; 20]].concat();
    let arp = [&[0xff; 12][..], &[8, 6], &[0; 46]].concat();
    let no_tcp = "no TCP connection with data and no UDP datagram";
    let quiet = "74 1787734451.075961 execve(\"/bin/sh\", [\"sh\"], 0x7f /* 4 vars */) = 0 <0.0012>\n\
                 74 1787734451.095961 exit_group(0) = ?\n\
                 74 1787734451.096961 +++ exited with 0 +++\n";
    let cases: [(&str, Vec<u8>, &[&str]); 19] = [
        (
            "pcap",
            make_capture(105, &[vec![0; 60]]),
            &[no_tcp, "link type 105 (IEEE 802.11) is not supported"],
        ),
        ("pcap", make_capture(9, &[vec![0; 60]]), &["link type 9 (PPP)", "unknown link type: 1"]),
        (
            "pcap",
            make_capture(147, &[vec![0; 60], vec![0; 9]]),
            &["link type 147 is not supported", ": 2"],
        ),
        ("pcap", make_capture(1, &[arp]), &[no_tcp, "not IP: 1"]),
        (
            "pcap",
            make_capture(1, &[ethernet_frame(17, [[0; 4], [255; 4]], &dhcp)]),
            &[no_tcp, "broadcast packets, or packets between addresses without a host: 1"],
        ),
        (
            "pcap",
            make_capture(1, &[ethernet_frame(1, [[10, 0, 0, 1], [10, 0, 0, 2]], &[0; 8])]),
            &["ICMP: 1"],
        ),
        ("pcap", make_capture(1, &[opening_segment()]), &[no_tcp, "connections without data: 1"]),
        ("pcap", make_capture(1, &[]), &["there is no packet"]),
        ("pcap", Vec::new(), &["there is no packet", "it is empty"]),
        ("strace", quiet.into(), &["there is no call on a socket"]),
        ("messages", "src,dst,send_ts\n".into(), &["there is no row with a message"]),
        ("messages", "src,dst,send_ts\na,b,\n".into(), &["message without a time: 1"]),
        ("calls", "call_id,caller,callee,t_call_send\n1,a,b,\n".into(), &["without a time: 1"]),
        ("project5", "# nothing\n".into(), &["there is no row with a message"]),
        ("spans", "trace,span,operation,begin\n".into(), &["there is no row with a span"]),
        ("otlp", "{\"resourceSpans\":[]}".into(), &["no spans below 'resourceSpans'"]),
        ("jaeger", "{\"data\":[]}".into(), &["no traces, which are objects with 'spans'"]),
        ("zipkin", "[]".into(), &["no objects with a 'traceId' and an 'id'"]),
        ("events", "time,event\n".into(), &["no row with a time and the name of an event"]),
    ];
    // Earlier imports stay.
    fs::write(path.join("x.table"), "src,dst,send_ts\na,b,1\n").unwrap();
    assert!(import_in(&["messages", "x.table"], path).status.success());
    fs::write(
        path.join("x.pcap"),
        make_capture(1, &[ethernet_frame(17, [[10; 4], [11; 4]], &dhcp)]),
    )
    .unwrap();
    assert!(import_in(&["pcap", "x.pcap"], path).status.success());
    let mut faults = Vec::new();
    for (number, (kind, content, expected)) in cases.into_iter().enumerate() {
        let name = format!("x.{}", if kind == "pcap" { "pcap" } else { "file" });
        fs::write(path.join(&name), content).unwrap();
        let before = list_files(&path.join("data"));
        let output = import_in(&[kind, &name], path);
        let said = String::from_utf8_lossy(&output.stderr);
        let mut check = |holds: bool, fault: String| {
            if !holds {
                faults.push(format!("case {number}, {kind}: {fault}: {said}"));
            }
        };
        check(output.status.code() == Some(1), format!("{}, instead of 1", output.status));
        for words in expected {
            check(said.contains(words), format!("lacks '{words}'"));
        }
        check(said.contains(&name), format!("lacks the name {name}"));
        let has_result = said.contains("next:") || said.contains("are in");
        check(!has_result, "names a result".to_owned());
        check(list_files(&path.join("data")) == before, "changes other files".to_owned());
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// The valid half of a file, or one of two files, is enough.
#[test]
fn usable_parts_are_imported_without_the_rest() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let datagram = ethernet_frame(
        17,
        [[10; 4], [11; 4]],
        &[&[0, 68, 0, 67, 0, 28, 0, 0][..], &[0; 20]].concat(),
    );
    fs::write(path.join("one.pcap"), make_capture(105, &[vec![0; 60]])).unwrap();
    fs::write(path.join("two.pcap"), make_capture(1, &[vec![0; 60], datagram])).unwrap();
    let output = import_in(&["pcap", "one.pcap", "two.pcap"], path);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("next: sockcap report") && said.contains("IEEE 802.11"), "{said}");
}
