//! Files that are made to fill memory: each import has an address space of 2 GiB, and either reads
//! the file or reports what is wrong with it. Before the fix, the first of them took 12.9 GB.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::Command;

/// Address space of an import, in bytes. Threads reserve some of it without using it.
const ADDRESS_SPACE: u64 = 2 << 30;

/// Imports a file as a kind and returns the messages. The command must end by itself, and not for
/// lack of memory.
fn import_file(directory: &Path, kind: &[&str], file: &Path) -> String {
    let output = Command::new("prlimit")
        .arg(format!("--as={ADDRESS_SPACE}"))
        .arg(env!("CARGO_BIN_EXE_sockcap"))
        .arg("import")
        .args(kind)
        .arg(file)
        .current_dir(directory)
        .env("XDG_CONFIG_HOME", directory)
        .output()
        .expect("prlimit of util-linux");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code().is_some_and(|code| code < 100), "{kind:?}: {output:?}");
    assert!(!said.contains("memory allocation") && !said.contains("annot allocate"), "{said}");
    said
}

/// Writes `head`, and then `more` repeatedly, compressed; the content has `length` bytes.
fn write_bomb(path: &Path, head: &[u8], more: &[u8], length: u64) {
    let repeated = more.repeat((1 << 16) / more.len() + 1);
    let mut encoder =
        zstd::stream::write::Encoder::new(fs::File::create(path).unwrap(), 1).unwrap();
    encoder.write_all(head).unwrap();
    let mut written = head.len() as u64;
    while written < length {
        encoder.write_all(&repeated).unwrap();
        written += repeated.len() as u64;
    }
    encoder.finish().unwrap();
}

/// Kinds that read text or bytes of any form.
const KINDS: [&[&str]; 14] = [
    &["otlp"],
    &["jaeger"],
    &["zipkin"],
    &["kieker"],
    &["spans"],
    &["messages"],
    &["calls"],
    &["project5"],
    &["strace"],
    &["pcap"],
    &["perf"],
    &["ctf"],
    &["events"],
    &["events", "--schema", "none"],
];

#[test]
fn zeros_take_no_memory() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("zeros.zst");
    let zeros = io::repeat(0).take(1 << 30);
    fs::write(&file, zstd::encode_all(zeros, 1).unwrap()).unwrap();
    for kind in KINDS {
        import_file(directory.path(), kind, &file);
    }
}

#[test]
fn many_empty_elements_take_no_memory() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("bomb.zst");
    let jaeger = br#"{"data":[{"traceID":"1","spans":["#;
    let attributes =
        br#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"01","attributes":["#;
    let zipkin = br#"[{"traceId":"1","id":"1","tags":{"#;
    let csv = b"trace,span,operation,begin\n";
    let calls = b"call_id,caller,callee,t_call_send\n";
    let pcapng: &[u8] = &[
        0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 0xff, 0xff, 0xff,
        0xff, 0xff, 0xff, 0xff, 0xff, 28, 0, 0, 0,
    ];
    let block: &[u8] = &[6, 0, 0, 0, 12, 0, 0, 0, 12, 0, 0, 0];
    // Formats that are read item by item take time, and their content is short.
    let cases: [(&str, &[u8], &[u8], u64); 22] = [
        // A request with a resource, and then empty ones.
        ("otlp", b"\x04\x0a\x02\x0a\x00", b"\x00", 60),
        ("otlp", b"\x0a\x00", b"\x0a\x00", 60),
        // One request with empty spans; and with one span of empty attributes.
        ("otlp", b"\x0a\xff\xff\xff\x1f\x12\xf0\xff\xff\x1f", b"\x12\x00", 2),
        ("otlp", b"\x0a\xff\xff\xff\x1f\x12\xf0\xff\xff\x1f\x12\xe0\xff\xff\x1f", b"\x4a\x00", 60),
        // The smallest span, in one trace.
        (
            "otlp",
            b"\x0a\x02\x12\x00",
            b"\x0a\x18\x12\x16\x12\x14\x0a\x08aaaaaaaa\x12\x08bbbbbbbb",
            2,
        ),
        ("otlp", attributes, br#"{},"#, 60),
        ("otlp", br#"{"resourceSpans":["#, b"{},", 2),
        ("otlp", b"", br#"{"resourceSpans":"#, 60),
        ("otlp", b"[", b"[", 60),
        ("otlp", b"{}\n", b"{}\n", 2),
        ("jaeger", jaeger, br#"{"spanID":1},"#, 60),
        ("jaeger", br#"[{"spanID":"1","operationName":"x","tags":["#, br#"{"key":1},"#, 60),
        ("jaeger", br#"[{"spanID":"1","operationName":["#, b"0,", 60),
        ("jaeger", b"{\"spans\":[", b"x\n{", 60),
        ("zipkin", zipkin, br#""a":1,"#, 60),
        ("zipkin", b"[", b"{},", 2),
        ("zipkin", b"[", br#"{"traceId":"1","id":"1"},"#, 2),
        ("spans", csv, b"1,1,x,1\n", 2),
        ("spans", csv, b"\"x", 60),
        ("calls", calls, b",", 60),
        ("pcap", pcapng, block, 2),
        ("strace", b"1 read(3, \"", b"xxxxxxxx", 60),
    ];
    for (kind, head, more, mebibytes) in cases {
        write_bomb(&file, head, more, mebibytes << 20);
        let size = fs::metadata(&file).unwrap().len();
        assert!(size < 1 << 20, "{kind}: {size}");
        import_file(directory.path(), &[kind], &file);
    }
}

#[test]
fn each_compression_has_its_limit() {
    let directory = tempfile::tempdir().unwrap();
    // A message of 98 KB that contains compressed zeros, and a file of such messages.
    let inner = zstd::encode_all(io::repeat(0).take(2 << 30), 1).unwrap();
    let mut framed = Vec::new();
    for _ in 0..3 {
        framed.extend_from_slice(&(inner.len() as u32).to_be_bytes());
        framed.extend_from_slice(&inner);
    }
    let file = directory.path().join("framed");
    fs::write(&file, framed).unwrap();
    import_file(directory.path(), &["otlp"], &file);
}
