//! The kernel's view of a program's socket calls, by `strace`: the oracle for what the library
//! should have seen.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use socket_log::encode::Direction;

use crate::capture::{FlowTraffic, ThreadTraffic, program_path};

/// The calls that can transfer bytes of a socket. (`io_uring` can, too; its set-up is in the list
/// so that a program that uses it is noticed.)
pub(crate) const CALLS: &str = "trace=read,readv,preadv2,recvfrom,recvmsg,recvmmsg,write,writev,pwritev2,sendto,sendmsg,sendmmsg,\
                     sendfile,splice,tee,vmsplice,io_uring_setup";

/// A command that runs `traced` under strace, which writes to `output`. The option `-s` limits
/// texts and also the messages of a batch (`recvmmsg`, `sendmmsg`).
pub fn strace_command(traced: &Command, output: &Path) -> Command {
    strace_with_options(
        traced,
        &["-f", "--seccomp-bpf", "-yy", "-s", "40", "-e", "signal=none", "-e", CALLS],
        output,
    )
}

/// A command that runs `traced` under strace with these options.
pub fn strace_with_options(traced: &Command, options: &[&str], output: &Path) -> Command {
    let mut command = Command::new(program_path("strace"));
    command.args(options).arg("-o").arg(output);
    // The library is loaded into the program, not into strace.
    for (name, value) in traced.get_envs() {
        if let Some(value) = value {
            let mut setting = name.to_owned();
            setting.push("=");
            setting.push(value);
            command.arg("-E").arg(setting);
        }
    }
    if let Some(directory) = traced.get_current_dir() {
        command.current_dir(directory);
    }
    command.arg(traced.get_program()).args(traced.get_args());
    command
}

/// The messages that threads sent and received on sockets of a captured family, from `output`.
pub fn traffic_of_threads(output: &str) -> ThreadTraffic {
    let mut traffic = BTreeMap::<_, FlowTraffic>::new();
    for (tid, call) in calls_by_thread(output) {
        for (direction, bytes) in messages_of_call(&call) {
            let sum = traffic.entry((tid, direction)).or_default();
            sum.calls += 1;
            sum.bytes += bytes;
        }
    }
    traffic
}

/// A direction of a connection as a program sees it: the program's own end, the other end, and
/// whether bytes are sent or received.
pub type ConnectionDirection = (SocketAddr, SocketAddr, Direction);

/// Bytes of each message on TCP connections, from `output`.
pub fn bytes_by_connection(output: &str) -> BTreeMap<ConnectionDirection, Vec<u64>> {
    let mut moved = BTreeMap::<_, Vec<u64>>::new();
    for (_, call) in calls_by_thread(output) {
        let Some((_, arguments)) = call.split_once('(') else { continue };
        let to = if call.starts_with("splice") { 2 } else { 0 };
        for (direction, bytes) in messages_of_call(&call) {
            let place = if direction == Direction::Send { to } else { 0 };
            if let Some((own, other)) =
                arguments.split(", ").nth(place).and_then(ends_of_descriptor)
            {
                moved.entry((own, other, direction)).or_default().push(bytes);
            }
        }
    }
    moved
}

/// The ends in a descriptor's annotation, such as `5<TCP:[127.0.0.1:1->127.0.0.1:2]>`. IPv4-mapped
/// IPv6 addresses become IPv4 addresses.
fn ends_of_descriptor(argument: &str) -> Option<(SocketAddr, SocketAddr)> {
    let (_, named) = argument.split_once("<TCP")?;
    let (own, other) = named.split_once(":[")?.1.strip_suffix("]>")?.split_once("->")?;
    let parse = |end: &str| {
        let end: SocketAddr = end.parse().ok()?;
        Some(SocketAddr::new(end.ip().to_canonical(), end.port()))
    };
    Some((parse(own)?, parse(other)?))
}

/// Each call of an output, with its thread.
fn calls_by_thread(output: &str) -> Vec<(u32, String)> {
    let mut calls = Vec::new();
    let mut unfinished = HashMap::new();
    for line in output.lines() {
        // "1234  write(5<TCP:[127.0.0.1:1->127.0.0.1:2]>, ""..., 10) = 10"; with several threads, a
        // call may be split into two lines.
        let Some((tid, call)) = line.split_once(' ') else { continue };
        let mut call = call.trim_start().to_owned();
        if let Some(begin) = call.strip_suffix("<unfinished ...>") {
            unfinished.insert(tid.to_owned(), begin.to_owned());
            continue;
        }
        if call.starts_with("<... ") {
            let Some((_, end)) = call.split_once(" resumed>") else { continue };
            let Some(begin) = unfinished.remove(tid) else { continue };
            call = begin + end;
        }
        calls.push((tid.parse().expect("a thread's id"), call));
    }
    calls
}

/// The messages of one call, with their bytes.
fn messages_of_call(call: &str) -> Vec<(Direction, u64)> {
    let Some((name, arguments)) = call.split_once('(') else { return Vec::new() };
    let Some(result) =
        call.rsplit_once(" = ").and_then(|(_, result)| result.split_whitespace().next())
    else {
        return Vec::new();
    };
    let result: i64 = result.parse().unwrap_or(-1);
    assert!(name != "io_uring_setup" || result < 0, "this program uses io_uring");
    let of_socket = |argument: &str| {
        argument.split_once('<').is_some_and(|(fd, what)| {
            fd.trim().chars().all(|digit| digit.is_ascii_digit())
                && ["TCP", "UDP", "UNIX", "socket:["].iter().any(|family| what.starts_with(family))
        })
    };
    if result <= 0 || arguments.contains("MSG_PEEK") || arguments.contains("MSG_ERRQUEUE") {
        return Vec::new();
    }
    let direction = match name {
        "read" | "readv" | "preadv2" | "recvfrom" | "recvmsg" | "recvmmsg" => Direction::Receive,
        "write" | "writev" | "pwritev2" | "sendto" | "sendmsg" | "sendmmsg" | "sendfile" => {
            Direction::Send
        }
        "splice" => {
            // From the first descriptor to the third argument; one of the two is a pipe.
            let to = arguments.splitn(3, ", ").nth(2).unwrap_or("");
            let from = of_socket(arguments).then_some((Direction::Receive, result as u64));
            return from
                .into_iter()
                .chain(of_socket(to).then_some((Direction::Send, result as u64)))
                .collect();
        }
        _ => return Vec::new(),
    };
    if !of_socket(arguments) {
        return Vec::new();
    }
    if !name.ends_with("mmsg") {
        return vec![(direction, result as u64)];
    }
    let lengths = arguments.split("msg_len=").skip(1).take(result as usize);
    let length =
        |text: &str| text.split(|c: char| !c.is_ascii_digit()).next().and_then(|n| n.parse().ok());
    lengths.map(|text| (direction, length(text).expect("a message's length"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_assigned_to_connections() {
        let output = "1 read(8<TCPv6:[[::ffff:127.0.0.1]:1->[::ffff:127.0.0.1]:2]>, \"\"..., 9) = 8\n\
            2 splice(3<pipe:[5]>, NULL, 4<TCP:[127.0.0.1:1->127.0.0.1:2]>, NULL, 9, 0 <unfinished ...>\n\
            1 write(8<TCP:[17]>, \"\"..., 9) = 9\n\
            2 <... splice resumed>) = 7\n";
        let [own, other] = ["127.0.0.1:1", "127.0.0.1:2"].map(|end| end.parse().unwrap());
        let expected =
            [((own, other, Direction::Send), vec![7]), ((own, other, Direction::Receive), vec![8])];
        assert_eq!(bytes_by_connection(output), BTreeMap::from(expected));
    }
}
