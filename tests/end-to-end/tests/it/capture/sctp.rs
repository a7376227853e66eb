//! One-to-one SCTP on real sockets: recorded at both ends and matched like TCP. Most kernels of the
//! tests lack SCTP, so `tests/programs/sctp_kernel.c` stands in for one that has it: it answers the
//! system calls below the library, which sees sockets that the kernel reports as SCTP.

use std::process::Command;

use end_to_end::capture::{ReadLog, TestRecording, python_path, run_successfully};
use end_to_end::{repository, sockcap_program};
use message_trace::{DataDir, Message, MessageTrace, TransportProtocol};
use reconcile::{Options, reconcile};
use socket_log::LogRecord;

/// Sizes of the requests and responses on each connection, in turn.
const SIZES: [i64; 8] = [1, 5, 20, 60, 300, 700, 4000, 8000];

#[test]
fn a_connection_over_sctp_is_recorded_and_matched_next_to_one_over_tcp() {
    let recording = TestRecording::new();
    let mut command = Command::new(recording.compile_program("sctp_kernel"));
    command.arg(sockcap_program()).args(["record", "--host", "host", "-d"]);
    command.arg(recording.data_dir()).arg("--").arg(python_path());
    let printed = run_successfully(command.arg(repository().join("tests/programs/sctp.py")));
    let ends: Vec<(&str, &str)> =
        printed.lines().map(|line| line.split_once(' ').unwrap()).collect();
    assert_eq!(ends.len(), 2, "{printed}");

    let logs = recording.read_logs();
    let records = || logs.iter().flat_map(ReadLog::complete_records);
    let count_flows = |protocol: u16| {
        let is_flow =
            |record: &&LogRecord| matches!(record, LogRecord::Flow(of) if of.protocol == protocol);
        records().filter(is_flow).count()
    };
    // The listener in both processes, and both ends of the connection.
    let [sctp, tcp] = [libc::IPPROTO_SCTP, libc::IPPROTO_TCP].map(|number| number as u16);
    assert_eq!((count_flows(sctp), count_flows(tcp)), (4, 4));

    let data = DataDir::new(recording.data_dir());
    let outcome = reconcile(&data, &Options::default(), &()).unwrap();
    let trace = MessageTrace::read(data.messages_path(), data.nodes_path()).unwrap();
    for (protocol, (client, server)) in
        [TransportProtocol::Sctp, TransportProtocol::Tcp].into_iter().zip(ends)
    {
        let messages: Vec<Message> =
            trace.messages().filter(|message| message.protocol == protocol).collect();
        let name = |endpoint| trace.endpoint(endpoint).unwrap().to_string();
        let found: Vec<(i64, [String; 2])> = messages
            .iter()
            .map(|message| (message.bytes, [message.src_endpoint, message.dst_endpoint].map(name)))
            .collect();
        let expected: Vec<(i64, [String; 2])> = (0..)
            .zip(SIZES)
            .map(|(turn, bytes)| {
                let ends = if turn % 2 == 0 { [client, server] } else { [server, client] };
                (bytes, ends.map(str::to_owned))
            })
            .collect();
        assert_eq!(found, expected, "{protocol:?}");
        let is_whole = |message: &Message| {
            message.send_first.is_some()
                && message.recv_last.is_some()
                && message.src != message.dst
        };
        assert!(messages.iter().all(is_whole), "{messages:#?}");
    }
    assert_eq!((outcome.messages["sctp"], outcome.messages["tcp"], outcome.both_ends), (8, 8, 16));
    let unmatched = (outcome.send_only.len(), outcome.receive_only.len());
    assert_eq!((unmatched, outcome.unmatched_streams.len()), ((0, 0), 0), "{outcome:#?}");
}
