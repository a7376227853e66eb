//! The kernel's view of a program's socket calls, by `strace`: the oracle for what the library should have seen.

use std::path::Path;
use std::process::Command;

use socket_log::encode::Direction;

use crate::capture::{Traffic, program};

/// The calls that move bytes and that the tests count.
const CALLS: &str = "trace=read,readv,recvfrom,recvmsg,write,writev,sendto,sendmsg,sendfile,splice,\
                     sendmmsg,recvmmsg";

/// A command that runs `traced` under strace, which writes to `output`.
pub fn under(traced: &Command, output: &Path) -> Command {
    let mut command = Command::new(program("strace"));
    command.args(["-f", "-yy", "-s", "0", "-e", "signal=none", "-e", CALLS, "-o"]).arg(output);
    // The library goes into the program, not into strace.
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

/// The calls with a result on sockets of a captured family, and their bytes, in one direction.
pub fn traffic(output: &str, wanted: Direction) -> Traffic {
    let mut traffic = Traffic::default();
    let mut unfinished = std::collections::HashMap::new();
    for line in output.lines() {
        // "1234  write(5<TCP:[127.0.0.1:1->127.0.0.1:2]>, ""..., 10) = 10"; with several processes, a call may be
        // told in two lines.
        let Some((pid, call)) = line.split_once(' ') else { continue };
        let mut call = call.trim_start().to_owned();
        if let Some(begin) = call.strip_suffix("<unfinished ...>") {
            unfinished.insert(pid.to_owned(), begin.to_owned());
            continue;
        }
        if call.starts_with("<... ") {
            let Some((_, end)) = call.split_once(" resumed>") else { continue };
            let Some(begin) = unfinished.remove(pid) else { continue };
            call = begin + end;
        }
        if let Some(bytes) = socket_bytes(&call, wanted) {
            traffic.calls += 1;
            traffic.bytes += bytes;
        }
    }
    traffic
}

fn socket_bytes(call: &str, wanted: Direction) -> Option<u64> {
    let (name, rest) = call.split_once('(')?;
    let direction = match name {
        "read" | "readv" | "recvfrom" | "recvmsg" => Direction::Receive,
        "write" | "writev" | "sendto" | "sendmsg" | "sendfile" => Direction::Send,
        _ => return None,
    };
    if direction != wanted || call.contains("MSG_PEEK") {
        return None;
    }
    let descriptor = rest.split_once('<')?.1;
    if !["TCP", "UDP", "UNIX", "socket:["].iter().any(|family| descriptor.starts_with(family)) {
        return None;
    }
    let bytes: i64 = call.rsplit_once(" = ")?.1.split_whitespace().next()?.parse().ok()?;
    (bytes > 0).then_some(bytes as u64)
}
