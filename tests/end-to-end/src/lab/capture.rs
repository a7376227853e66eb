//! `tcpdump` on a host's interface, stopped only when all packets until then are in its file.

use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::capture::program_path;
use crate::lab::{NetworkNamespace, RunningProgram};

/// Datagram that marks the end of a capture, sent to port 9. On interfaces with address resolution,
/// the ARP request for its destination is the mark instead.
const MARKER: &[u8] = b"the capture ends here";

/// A running `tcpdump`.
pub struct PacketCapture {
    running: RunningProgram,
    namespace: NetworkNamespace,
    file: PathBuf,
    /// The address of the interface.
    address: Ipv4Addr,
}

impl PacketCapture {
    /// Starts `tcpdump`, and returns when it sees packets.
    pub(super) fn start_capture(
        namespace: &NetworkNamespace,
        interface: &str,
        address: Ipv4Addr,
        file: &Path,
        filter: &str,
    ) -> PacketCapture {
        let mut command = Command::new(program_path("tcpdump"));
        command.args([
            "-n",
            "-U",
            "-s",
            "0",
            "--immediate-mode",
            "-B",
            "65536",
            "-Z",
            "root",
            "-i",
            interface,
        ]);
        command.arg("-w").arg(file);
        if !filter.is_empty() {
            // The filter includes the mark.
            command.arg(format!("arp or udp port 9 or ({filter})"));
        }
        namespace.enter_with(&mut command);
        let running = RunningProgram::start_program("tcpdump", &mut command);
        running.wait_for("listening on");
        PacketCapture { running, namespace: namespace.clone(), file: file.to_owned(), address }
    }

    /// Ends `tcpdump` when it has written all packets that are older than this call, and checks
    /// that it lost none.
    pub fn stop_capture(self) {
        let deadline = Instant::now() + Duration::from_secs(30);
        let (to, mark) = self.marker_datagram();
        // An ARP request for an unused address is sent three times, and again after each new
        // datagram.
        loop {
            self.namespace
                .run_inside(|| {
                    UdpSocket::bind("0.0.0.0:0").and_then(|socket| socket.send_to(MARKER, to))
                })
                .unwrap();
            std::thread::sleep(Duration::from_millis(20));
            let bytes = std::fs::read(&self.file).unwrap_or_default();
            if bytes.windows(mark.len()).rev().any(|window| window == mark) {
                break;
            }
            assert!(Instant::now() < deadline, "tcpdump does not write\n{}", self.running.output());
        }
        let output = self.running.stop_by(Signal::INT);
        assert!(output.contains("0 packets dropped by kernel"), "{output}");
    }

    /// Destination of the marker datagram, and the bytes by which it shows in the file: an ARP
    /// request for the address of a missing host, which adds no message to the capture, or on the
    /// loopback interface a datagram.
    fn marker_datagram(&self) -> ((Ipv4Addr, u16), Vec<u8>) {
        if self.address.is_loopback() {
            return ((self.address, 9), MARKER.to_vec());
        }
        let [first, second, ..] = self.address.octets();
        let unused = Ipv4Addr::new(first, second, 255, 254);
        let question = [&self.address.octets()[..], &[0; 6], &unused.octets()].concat();
        ((unused, 9), question)
    }
}
