//! Segmentation offload of UDP, on lines as strace 6.1 prints them and in other forms.

use super::imported::lines;

/// A socket 3 on port 53 and a socket 4 on port 54, and these lines.
fn with(more: &str) -> Vec<(i64, i8, i64, bool)> {
    let bind = |fd: u32, port: u32, at: u32| {
        format!(
            "5 1700000000.00000{at} socket(AF_INET, SOCK_DGRAM, IPPROTO_IP) = {fd} <0.000001>\n\
             5 1700000000.00001{at} bind({fd}, {{sa_family=AF_INET, sin_port=htons({port}), \
             sin_addr=inet_addr(\"127.0.0.1\")}}, 16) = 0 <0.000001>\n"
        )
    };
    let text = bind(3, 53, 1) + &bind(4, 54, 2) + more;
    let imported = lines(&text);
    assert_eq!(imported.summary.skipped.total(), 0, "{:?}", imported.summary.skipped.first);
    let mut messages = imported.messages();
    // The order of messages of equal time does not matter here.
    messages.sort_by_key(|(.., bytes, _)| std::cmp::Reverse(*bytes));
    messages
}

const TO: &str = "{sa_family=AF_INET, sin_port=htons(54), sin_addr=inet_addr(\"127.0.0.1\")}";

/// Receives of parts of "aaaabbbbcc" on socket 4.
const PARTS: &str = "\
5 1700000000.002000 recvfrom(4, \"aaaa\", 100, 0, NULL, NULL) = 4 <0.000001>
5 1700000000.003000 recvfrom(4, \"bbbb\", 100, 0, NULL, NULL) = 4 <0.000001>
5 1700000000.004000 recvfrom(4, \"cc\", 100, 0, NULL, NULL) = 2 <0.000001>
";

const BOTH_ENDS: [(i64, i8, i64, bool); 3] = [(0, 0, 4, true), (0, 0, 4, true), (0, 0, 2, true)];

#[test]
fn the_option_sets_the_size_of_datagrams() {
    for option in [
        "setsockopt(3, SOL_UDP, UDP_SEGMENT, [4], 4)",
        "setsockopt(3, SOL_UDP, 0x67 /* UDP_??? */, [4], 4)",
        "setsockopt(3, 0x11 /* SOL_UDP */, 0x67 /* UDP_SEGMENT */, [4], 4)",
        "setsockopt(3, 0x11, 0x67, \"\\4\\0\\0\\0\", 4)",
        "getsockopt(3, SOL_UDP, UDP_SEGMENT, [4], [4])",
    ] {
        // Without a receiver: it is three by itself.
        let send = format!(
            "5 1700000000.000500 {option} = 0 <0.000001>\n\
             5 1700000000.001000 sendto(3, \"aaaabbbbcc\", 10, 0, {TO}, 16) = 10 <0.000001>\n"
        );
        let sent: Vec<_> = with(&send).iter().map(|(.., bytes, _)| *bytes).collect();
        assert_eq!(sent, [4, 4, 2], "{option}");
        assert_eq!(with(&(send + PARTS)), BOTH_ENDS, "{option}");
    }
    // A call that failed, or was reverted, has no effect.
    for options in [
        "5 1700000000.000500 setsockopt(3, SOL_UDP, UDP_SEGMENT, [4], 4) = -1 EINVAL (Invalid argument)\n",
        "5 1700000000.000500 setsockopt(3, SOL_UDP, UDP_SEGMENT, [4], 4) = 0 <0.000001>\n\
         5 1700000000.000600 setsockopt(3, SOL_UDP, UDP_SEGMENT, [0], 4) = 0 <0.000001>\n",
        "5 1700000000.000500 setsockopt(3, SOL_SOCKET, 0x67, [4], 4) = 0 <0.000001>\n",
    ] {
        let send = format!(
            "{options}5 1700000000.001000 sendto(3, \"aaaabbbbcc\", 10, 0, {TO}, 16) = 10\n"
        );
        let sent: Vec<_> = with(&send).iter().map(|(.., bytes, _)| *bytes).collect();
        assert_eq!(sent, [10], "{options}");
    }
}

#[test]
fn the_receiver_has_the_size_if_control_data_are_not_printed() {
    for control in ["cmsg_level=SOL_UDP, cmsg_type=0x67", "cmsg_level=0x11, cmsg_type=0x67"] {
        let send = format!(
            "5 1700000000.001000 sendmsg(3, {{msg_name={TO}, msg_namelen=16, \
             msg_iov=[{{iov_base=\"aaaabb\", iov_len=6}}, {{iov_base=\"bbcc\", iov_len=4}}], \
             msg_iovlen=2, msg_control=[{{cmsg_len=18, {control}}}], msg_controllen=24, \
             msg_flags=0}}, 0) = 10 <0.000001>\n"
        );
        assert_eq!(with(&(send + PARTS)), BOTH_ENDS, "{control}");
    }
    let batch = format!(
        "5 1700000000.001000 sendmmsg(3, [{{msg_hdr={{msg_name={TO}, msg_namelen=16, \
         msg_iov=[{{iov_base=\"aaaabbbbcc\", iov_len=10}}], msg_iovlen=1, \
         msg_control=[{{cmsg_len=18, cmsg_level=SOL_UDP, cmsg_type=0x67}}], msg_controllen=24, \
         msg_flags=0}}, msg_len=10}}], 1, 0) = 1 <0.000001>\n"
    );
    assert_eq!(with(&(batch + PARTS)), BOTH_ENDS);
}

#[test]
fn the_sender_shows_what_a_receive_has_joined() {
    let sends = format!(
        "5 1700000000.000500 setsockopt(3, SOL_UDP, UDP_SEGMENT, [4], 4) = 0 <0.000001>\n\
         5 1700000000.001000 sendto(3, \"aaaabbbbcc\", 10, 0, {TO}, 16) = 10 <0.000001>\n"
    );
    let message = "{msg_name=NULL, msg_namelen=0, msg_iov=[{iov_base=\"aaaabbbbcc\", \
                   iov_len=100}], msg_iovlen=1, CONTROLmsg_flags=0}";
    // With the size that came with it, without, and without an option set by the program.
    for (control, option) in [
        ("msg_control=[{cmsg_len=20, cmsg_level=SOL_UDP, cmsg_type=0x68}], ", ""),
        (
            "msg_control=[{cmsg_len=20, cmsg_level=SOL_UDP, cmsg_type=UDP_GRO, \
             cmsg_data=[4]}], msg_controllen=24, ",
            "",
        ),
        ("", "5 1700000000.000400 setsockopt(4, SOL_UDP, UDP_GRO, [1], 4) = 0 <0.000001>\n"),
    ] {
        let message = message.replace("CONTROL", control);
        let receive = format!("5 1700000000.002000 recvmsg(4, {message}, 0) = 10 <0.000001>\n");
        assert_eq!(with(&format!("{option}{sends}{receive}")), BOTH_ENDS, "{control}");
        let batch = format!(
            "5 1700000000.002000 recvmmsg(4, [{{msg_hdr={message}, msg_len=10}}], 1, 0, NULL) \
             = 1 <0.000001>\n"
        );
        assert_eq!(with(&format!("{option}{sends}{batch}")), BOTH_ENDS, "{control}");
    }
}
