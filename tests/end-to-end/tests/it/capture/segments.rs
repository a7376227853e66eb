//! Segmentation offload of UDP: one send counts as the datagrams into which the kernel splits it,
//! and one receive as those that it has joined.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use end_to_end::capture::{ReadLog, TestRecording, run_successfully};
use end_to_end::lab::RunningProgram;
use end_to_end::{repository, target_directory};
use message_trace::{DataDir, MessageTrace};
use reconcile::{InternalMessages, Options, reconcile};
use socket_log::LogRecord;
use socket_log::encode::Direction::{self, Receive, Send};

/// The datagrams of a direction: size, checksum, and whether they were truncated, sorted.
fn datagrams_in_direction(logs: &[ReadLog], wanted: Direction) -> Vec<(u64, u32, bool)> {
    let mut found: Vec<_> = logs
        .iter()
        .flat_map(ReadLog::complete_records)
        .filter_map(|record| match record {
            LogRecord::Datagram { direction, bytes, checksum, truncated, .. }
                if *direction == wanted =>
            {
                Some((*bytes, *checksum, *truncated))
            }
            _ => None,
        })
        .collect();
    found.sort_unstable();
    found
}

/// Records a mode of the program, and returns the numbers of its datagrams and bytes.
fn record_segments(way: &str) -> (TestRecording, u64, u64) {
    let recording = TestRecording::new();
    let program = recording.compile_program("segments");
    let printed = run_successfully(recording.recorded_command(program).arg(way));
    let (count, bytes) =
        printed.trim().split_once(' ').unwrap_or_else(|| panic!("{way}: {printed}"));
    let (count, bytes) = (count.parse().unwrap(), bytes.parse().unwrap());
    assert!(count > 3, "{way}: {printed}");
    (recording, count, bytes)
}

#[test]
fn each_datagram_of_a_send_is_a_message() {
    for way in [
        "control",
        "control connected six",
        "control joined",
        "option",
        "option connected",
        "option six number",
        "option connected joined",
        "batch",
        "batch connected six joined",
    ] {
        let (recording, count, bytes) = record_segments(way);
        let logs = recording.read_logs();
        let (sent, received) =
            (datagrams_in_direction(&logs, Send), datagrams_in_direction(&logs, Receive));
        assert_eq!(sent, received, "{way}: sizes and checksums");
        assert_eq!(sent.len() as u64, count, "{way}");
        assert_eq!(sent.iter().map(|(size, ..)| size).sum::<u64>(), bytes, "{way}");

        let data = DataDir::new(recording.data_dir());
        let options = Options {
            fat_gap: Duration::from_nanos(1),
            internal: InternalMessages::Kept,
            ..Options::default()
        };
        let outcome = reconcile(&data, &options, &()).unwrap();
        let found = &outcome.datagrams;
        assert_eq!((found.matched, found.lost), (count, 0), "{way}");
        let trace = MessageTrace::read(data.messages_path(), data.nodes_path()).unwrap();
        assert_eq!(
            trace.messages().map(|message| message.bytes).sum::<i64>(),
            bytes as i64,
            "{way}"
        );
    }
}

#[test]
fn joined_datagrams_without_room_are_truncated_one_by_one() {
    let (recording, ..) = record_segments("short joined");
    let logs = recording.read_logs();
    let sent = datagrams_in_direction(&logs, Send);
    let received = datagrams_in_direction(&logs, Receive);
    assert_eq!(received.len(), 4);
    let whole: Vec<_> = received.iter().filter(|(_, _, cut)| !cut).collect();
    assert_eq!(whole.len(), 2);
    assert!(whole.into_iter().all(|one| sent.contains(one)), "{received:?} of {sent:?}");
    assert!(received.iter().all(|(size, ..)| *size == 1000));
}

/// Builds the QUIC programs of `tests/programs/quic`, with crates from the registry.
fn quic_program() -> PathBuf {
    let build = target_directory().join("quic");
    let from = repository().join("tests/programs/quic");
    std::fs::create_dir_all(build.join("src")).unwrap();
    for file in ["Cargo.toml", "src/main.rs"] {
        std::fs::copy(from.join(file), build.join(file)).unwrap();
    }
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--quiet"]).current_dir(&build);
    // The settings that the test itself was compiled with do not apply to them.
    cargo.env_remove("CARGO_TARGET_DIR").env_remove("RUSTC_WORKSPACE_WRAPPER");
    run_successfully(&mut cargo);
    build.join("target/release/quic")
}

/// QUIC sends a response of many datagrams in few calls.
#[test]
#[ignore = "crates of the registry are compiled"]
fn each_datagram_of_a_client_and_a_server_by_quic_has_both_ends() {
    let (recording, program) = (TestRecording::new(), quic_program());
    let certificate = recording.file_path("certificate");
    let certificate = certificate.to_str().unwrap();
    let mut server = recording.recorded_command(&program);
    let server = RunningProgram::start_program("quic", server.args(["server", certificate]));
    server.wait_for("\n");
    let port = server.output();
    let mut client = recording.recorded_command(&program);
    let given = run_successfully(client.args(["client", certificate, port.trim(), "20"]));
    server.wait_success();
    let bytes: u64 = (0..20).map(|request| request * 10_000).sum();
    assert_eq!(given.trim(), bytes.to_string());

    let logs = recording.read_logs();
    let (sent, received) =
        (datagrams_in_direction(&logs, Send), datagrams_in_direction(&logs, Receive));
    // A call sends up to ten datagrams, with one time.
    assert!(sent.len() > 1_000, "{} datagrams", sent.len());
    assert_eq!(sent, received, "sizes and checksums");
    assert!(sent.iter().map(|(size, ..)| size).sum::<u64>() > bytes);
    let data = DataDir::new(recording.data_dir());
    let outcome = reconcile(&data, &Options::default(), &()).unwrap();
    assert_eq!(outcome.datagrams.lost, 0, "{outcome:#?}");
    assert_eq!(outcome.datagrams.matched, sent.len() as u64);
}
