//! A server in the style of many Rust servers: one task reads requests and starts a task for each;
//! these call a back end through one task, which owns the connection, and answer through another.
//! Prints how many requests it answered, and whether the backtrace of a task leads to the runtime's
//! loop.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};

/// Number of requests.
const REQUESTS: usize = 100;

/// A request, and the channel for its response.
type TaskQuestion = (u8, oneshot::Sender<u8>);

/// Answers each byte separately, on one connection.
fn serve_bytes(listener: &TcpListener) -> io::Result<()> {
    let (mut stream, _) = listener.accept()?;
    let mut byte = [0];
    while stream.read(&mut byte)? == 1 {
        stream.write_all(&byte)?;
    }
    Ok(())
}

/// Calls the back end, one request after the other.
async fn ask_back(port: u16, mut questions: mpsc::Receiver<TaskQuestion>) -> io::Result<()> {
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await?;
    while let Some((byte, answer)) = questions.recv().await {
        stream.write_all(&[byte]).await?;
        let mut byte = [0];
        stream.read_exact(&mut byte).await?;
        let _ = answer.send(byte[0]);
    }
    Ok(())
}

/// Whether the backtrace of this task leads to the loop of the runtime that runs tasks.
fn is_whole() -> bool {
    let trace = std::backtrace::Backtrace::force_capture().to_string();
    trace.contains("is_whole") && trace.contains("multi_thread::worker::run")
}

/// Reads requests, and starts a task for each.
async fn serve_tasks(
    listener: tokio::net::TcpListener,
    back: mpsc::Sender<TaskQuestion>,
) -> io::Result<bool> {
    let (stream, _) = listener.accept().await?;
    let (mut requests, mut answers) = stream.into_split();
    let (answered, mut to_answer) = mpsc::channel::<u8>(REQUESTS);
    let writer = tokio::spawn(async move {
        while let Some(byte) = to_answer.recv().await {
            answers.write_all(&[byte]).await?;
        }
        Ok::<_, io::Error>(())
    });
    let mut whole = Vec::new();
    let mut bytes = [0; 10];
    loop {
        let count = requests.read(&mut bytes).await?;
        for byte in bytes[..count].iter().copied() {
            let (back, answered) = (back.clone(), answered.clone());
            whole.push(tokio::spawn(async move {
                let (answer, answer_of) = oneshot::channel();
                let _ = back.send((byte, answer)).await;
                if let Ok(byte) = answer_of.await {
                    let _ = answered.send(byte).await;
                }
                is_whole()
            }));
        }
        if count == 0 {
            break;
        }
    }
    drop(answered);
    let mut all = true;
    for task in whole {
        all &= task.await?;
    }
    writer.await??;
    Ok(all)
}

#[tokio::main(worker_threads = 2)]
async fn main() -> io::Result<()> {
    let back_listener = TcpListener::bind("127.0.0.1:0")?;
    let port = back_listener.local_addr()?.port();
    let back = thread::spawn(move || serve_bytes(&back_listener));
    let (to_back, questions) = mpsc::channel(REQUESTS);
    let asks = tokio::spawn(ask_back(port, questions));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let client = thread::spawn(move || {
        let mut stream = TcpStream::connect(address)?;
        let bytes: Vec<u8> = (0..REQUESTS as u8).collect();
        let mut answers = vec![0; REQUESTS];
        for (ten, answers) in bytes.chunks(10).zip(answers.chunks_mut(10)) {
            stream.write_all(ten)?;
            stream.read_exact(answers)?;
        }
        drop(stream);
        answers.sort_unstable();
        Ok::<_, io::Error>(answers == bytes)
    });
    let whole = tokio::spawn(serve_tasks(listener, to_back)).await??;
    asks.await??;
    let right = client.join().is_ok_and(|right| right.is_ok_and(|right| right));
    drop(back.join());
    println!("answered {right}, whole {whole}");
    Ok(())
}
