//! A web service with reader threads, a pool of workers, and optionally a writer. A reader has one
//! connection, and gives its requests to the workers through a channel with a shared receiver. A
//! worker calls the stock service, for some requests also the price service, and responds, or
//! leaves the response to the writer.
//!
//! usage: pool PORT STOCK PRICE WORKERS worker|writer

use std::io::{Read, Result, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::spawn;

type Item = (TcpStream, String);

fn ask(service: &mut TcpStream, path: &str) -> Result<String> {
    service.write_all(format!("GET {path} HTTP/1.1\r\nHost: service\r\n\r\n").as_bytes())?;
    let mut buffer = [0; 2000];
    let size = service.read(&mut buffer)?;
    let answer = String::from_utf8_lossy(&buffer[..size]).into_owned();
    Ok(answer.split_once("\r\n\r\n").map_or(String::new(), |(_, body)| body.to_owned()))
}

fn work(
    requests: &Mutex<Receiver<Item>>,
    answers: Option<SyncSender<Item>>,
    ports: [u16; 2],
) -> Result<()> {
    let connect = |port| {
        let service = TcpStream::connect(("127.0.0.1", port))?;
        service.set_nodelay(true)?;
        Ok::<_, std::io::Error>(service)
    };
    let (mut stock, mut price) = (connect(ports[0])?, connect(ports[1])?);
    loop {
        let taken = requests.lock().unwrap().recv();
        let Ok((mut connection, path)) = taken else { return Ok(()) };
        let name = path.rsplit('/').next().unwrap_or_default();
        let mut body = ask(&mut stock, &format!("/stock/{name}"))?;
        if name[4..11].parse::<u32>().unwrap_or(0) % 3 != 0 {
            body += &ask(&mut price, &format!("/price/{name}"))?;
        }
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        match &answers {
            Some(answers) => answers.send((connection, answer)).unwrap(),
            None => connection.write_all(answer.as_bytes())?,
        }
    }
}

fn read(mut connection: TcpStream, requests: SyncSender<Item>) -> Result<()> {
    let mut buffer = [0; 4000];
    loop {
        let size = connection.read(&mut buffer)?;
        if size == 0 {
            return Ok(());
        }
        let head = String::from_utf8_lossy(&buffer[..size]).into_owned();
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        requests.send((connection.try_clone()?, path)).unwrap();
    }
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Vec<u16> = words[..4].iter().map(|word| word.parse().unwrap()).collect();
    let (give, take) = sync_channel::<Item>(1000);
    let take = Arc::new(Mutex::new(take));
    let answers = (words[4] == "writer").then(|| {
        let (give, take) = sync_channel::<Item>(1000);
        spawn(move || {
            for (mut connection, answer) in take {
                let _ = connection.write_all(answer.as_bytes());
            }
        });
        give
    });
    for _ in 0..numbers[3] {
        let (take, answers, ports) = (take.clone(), answers.clone(), [numbers[1], numbers[2]]);
        spawn(move || work(&take, answers, ports));
    }
    for connection in TcpListener::bind(("127.0.0.1", numbers[0]))?.incoming() {
        let (connection, give) = (connection?, give.clone());
        connection.set_nodelay(true)?;
        spawn(move || read(connection, give));
    }
    Ok(())
}
