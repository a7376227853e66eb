//! The library compared with the kernel's own view, as in `servers.rs`: programs that are both
//! server and client, each with the sockets of another language.

use std::fs;

use end_to_end::capture::{ECHO, program_path, python_path};
use end_to_end::oracle::StracedRecording;
use socket_log::encode::Direction;

#[test]
fn python_programs() {
    let mut witnessed = StracedRecording::new();
    let script = r#"
import socket, threading, subprocess, os, sys
echo(7, 20)
def pairs():
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        a, b = socket.socketpair(socket.AF_UNIX, kind)
        for n in range(1, 200): a.sendall(b"z" * n); b.recv(n)
threads = [threading.Thread(target=pairs) for _ in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
a, b = socket.socketpair()
for n in range(5):
    if os.fork() == 0: a.send(b"from a child"); os._exit(0)
    os.wait(); b.recv(100)
subprocess.run([sys.executable, "-c", "import os; os.write(1, b'to a socket')"], stdout=a, env={}); b.recv(100)
"#;
    let mut command = witnessed.recording.recorded_command(python_path());
    witnessed.run_command(command.arg("-c").arg(ECHO.to_owned() + script));
    assert!(witnessed.compare_logs(&[]).calls > 8 * 3 * 199 + 2 * 7 * 20 + 5);
}

#[test]
fn node_programs() {
    let mut witnessed = StracedRecording::new();
    let script = witnessed.recording.file_path("program.js");
    fs::write(
        &script,
        r#"
const net = require('net'), http = require('http'), dgram = require('dgram'), { spawn } = require('child_process');
const done = [];
const server = http.createServer((request, response) => {
  let size = 0;
  request.on('data', data => size += data.length).on('end', () => response.end('got ' + size + 'x'.repeat(size)));
});
done.push(new Promise(end => server.listen(0, '127.0.0.1', () => {
  const agent = new http.Agent({ keepAlive: true });
  let left = 30;
  const next = () => {
    if (left-- == 0) { agent.destroy(); server.close(end); return; }
    http.request({ port: server.address().port, host: '127.0.0.1', method: 'POST', agent }, answer => {
      answer.resume().on('end', next);
    }).end('y'.repeat(1000 * left));
  };
  next();
})));
done.push(new Promise(end => {
  const pipe = net.createServer(socket => socket.pipe(socket)).listen('pipe.sock', () => {
    const client = net.connect('pipe.sock', () => client.write('z'.repeat(500000)));
    let got = 0;
    client.on('data', data => { got += data.length; if (got == 500000) { client.end(); pipe.close(end); } });
  });
}));
done.push(new Promise(end => {
  const a = dgram.createSocket('udp4'), b = dgram.createSocket('udp4');
  let got = 0;
  a.on('message', (message, from) => { if (++got == 50) { a.close(); b.close(); end(); } else send(); });
  const send = () => b.send(Buffer.alloc(10 + got), a.address().port, '127.0.0.1');
  a.bind(0, '127.0.0.1', send);
}));
done.push(new Promise(end => {
  const child = spawn(process.execPath, ['-e', 'process.stdin.pipe(process.stdout)']);
  let got = 0;
  child.stdout.on('data', data => got += data.length);
  child.on('close', () => { if (got != 300000) throw new Error('got ' + got); end(); });
  child.stdin.end('w'.repeat(300000));
}));
Promise.all(done).then(() => console.log('done'));
"#,
    )
    .unwrap();
    let mut command = witnessed.recording.recorded_command(program_path("node"));
    assert_eq!(witnessed.run_command(command.arg(&script)), "done\n");
    assert!(witnessed.compare_logs(&[]).bytes > 2 * 500_000 + 300_000);
}

#[test]
fn java_programs() {
    let mut witnessed = StracedRecording::new();
    let source = witnessed.recording.file_path("Program.java");
    fs::write(
        &source,
        r#"
import java.net.*;
import java.nio.ByteBuffer;
import java.nio.channels.*;
public class Program {
    public static void main(String[] arguments) throws Exception {
        InetAddress here = InetAddress.getByName("127.0.0.1");
        ServerSocket listener = new ServerSocket(0, 10, here);
        Thread server = new Thread(() -> {
            try {
                for (int n = 0; n < 4; n++) {
                    Socket socket = listener.accept();
                    byte[] buffer = new byte[5000];
                    for (int size; (size = socket.getInputStream().read(buffer)) > 0; )
                        socket.getOutputStream().write(buffer, 0, size);
                    socket.close();
                }
            } catch (Exception error) { throw new RuntimeException(error); }
        });
        server.start();
        for (int n = 0; n < 3; n++) {
            Socket socket = new Socket(here, listener.getLocalPort());
            for (int size = 1; size < 3000; size += 100) {
                socket.getOutputStream().write(new byte[size]);
                socket.getInputStream().readNBytes(size);
            }
            socket.close();
        }
        SocketChannel channel = SocketChannel.open(new InetSocketAddress(here, listener.getLocalPort()));
        ByteBuffer[] parts = { ByteBuffer.allocate(100), ByteBuffer.allocate(200) };
        channel.write(parts);
        for (ByteBuffer got = ByteBuffer.allocate(300); got.hasRemaining(); ) channel.read(got);
        channel.close();
        server.join();
        DatagramSocket a = new DatagramSocket(0, here), b = new DatagramSocket(0, here);
        for (int size = 1; size < 50; size++) {
            b.send(new DatagramPacket(new byte[size], size, here, a.getLocalPort()));
            DatagramPacket got = new DatagramPacket(new byte[20], 20);
            a.receive(got);
        }
        new ProcessBuilder("/bin/echo", "a child").inheritIO().start().waitFor();
        System.out.println("done");
    }
}
"#,
    )
    .unwrap();
    let mut command = witnessed.recording.recorded_command(program_path("java"));
    assert_eq!(witnessed.run_command(command.arg(&source)), "a child\ndone\n");
    assert!(witnessed.compare_logs(&[]).calls > 2 * 3 * 30 + 49);
}

#[test]
fn tokio_programs() {
    let mut witnessed = StracedRecording::new();
    let command = witnessed.recording.recorded_command(env!("CARGO_BIN_EXE_tokio"));
    assert_eq!(witnessed.run_command(&command), "done\n");
    assert!(witnessed.compare_logs(&[]).bytes > 2 * 8 * 20 * 1000);
}

#[test]
fn only_bytes_that_libc_sends_by_itself_are_missing() {
    // The only query to a name server. The text of a file over a socket, which `fclose` sends, is
    // seen.
    for (way, missing) in [("files", &[][..]), ("resolve", &[(Direction::Send, 30)])] {
        let mut witnessed = StracedRecording::new();
        let binary = witnessed.recording.compile_program("hidden");
        let mut command = witnessed.recording.recorded_command(binary);
        assert_eq!(witnessed.run_command(command.arg(way)), "right\n");
        witnessed.compare_logs(missing);
    }
}
