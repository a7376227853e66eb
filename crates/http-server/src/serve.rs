//! The server's one loop: all connections wait in it, so that a slow reader holds no thread.
//! Threads only work answers out.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::answer::Answer;
use crate::connection::{Connection, Step};
use crate::request::Request;
use crate::tuning::{
    HEAD_DEADLINE, MAX_ACCEPTED_AT_ONCE, MAX_ANSWERED, MAX_ANSWERED_OF_NETWORK, MAX_IDLE,
    MAX_IDLE_OF_NETWORK, NO_DESCRIPTORS_PAUSE, THREADS, TICK,
};
use crate::waiting::Waiting;

/// A request that is to be answered.
struct Asked {
    number: u64,
    head: String,
    reached: SocketAddr,
}

/// Serves `listener` until `stop` is set. `wake` is a pair of sockets by which threads wake the
/// loop.
pub(crate) fn serve(
    listener: &TcpListener,
    wake: &(UnixStream, UnixStream),
    deadline: Duration,
    reply: &(impl Fn(&Request<'_>) -> Answer + Sync),
    stop: &AtomicBool,
) {
    let (ask, asked) = mpsc::channel::<Asked>();
    let (tell, told) = mpsc::channel();
    let asked = &Mutex::new(asked);
    thread::scope(|scope| {
        let mut threads = 0;
        for _ in 0..THREADS {
            let tell = tell.clone();
            let work = move || work(asked, &tell, &wake.1, reply);
            // Where there is no thread to be had, those that are there serve.
            let thread = thread::Builder::new().name("http".to_owned()).spawn_scoped(scope, work);
            threads += usize::from(thread.is_ok());
        }
        let (idle, answered) = (
            Waiting::new(MAX_IDLE, MAX_IDLE_OF_NETWORK),
            Waiting::new(MAX_ANSWERED, MAX_ANSWERED_OF_NETWORK),
        );
        let mut served = Served { deadline, idle, answered, ask, told };
        while !stop.load(Relaxed) {
            served.turn(listener, &wake.0);
            if threads == 0
                && let Ok(asked) = asked.lock().unwrap_or_else(PoisonError::into_inner).try_recv()
            {
                let _ = tell.send((asked.number, answer(&asked, reply)));
            }
        }
    });
}

/// Works answers out until there is nobody who asks any more.
fn work(
    asked: &Mutex<Receiver<Asked>>,
    tell: &Sender<(u64, Answer)>,
    wake: &UnixStream,
    reply: &impl Fn(&Request<'_>) -> Answer,
) {
    loop {
        let next = asked.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(asked) = next else { return };
        if tell.send((asked.number, answer(&asked, reply))).is_err() {
            return;
        }
        // A socket that is full wakes the loop as well.
        let _ = (&*wake).write(&[1]);
    }
}

fn answer(asked: &Asked, reply: &impl Fn(&Request<'_>) -> Answer) -> Answer {
    match Request::read(&asked.head, asked.reached) {
        Ok(request) => reply(&request),
        Err(refusal) => refusal,
    }
}

/// The connections of a server.
struct Served {
    deadline: Duration,
    /// Connections whose request is coming, or whose answer is gone.
    idle: Waiting<Connection>,
    /// Connections that have asked.
    answered: Waiting<Connection>,
    ask: Sender<Asked>,
    told: Receiver<(u64, Answer)>,
}

impl Served {
    /// Waits for something to do, and does it.
    fn turn(&mut self, listener: &TcpListener, wake: &UnixStream) {
        let now = Instant::now();
        let (idle, answered) = (self.idle.iter(), self.answered.iter());
        let all: Vec<(bool, u64, &Connection)> = idle
            .map(|(number, connection)| (true, number, connection))
            .chain(answered.map(|(number, connection)| (false, number, connection)))
            .collect();
        let ends = all.iter().map(|(_, _, connection)| connection.left(now));
        let wait = ends.fold(TICK, Duration::min);
        let wait =
            Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
        let sockets = all
            .iter()
            .map(|(_, _, connection)| PollFd::new(&connection.stream, connection.waits_for()));
        let mut polled: Vec<PollFd<'_>> =
            [PollFd::new(listener, PollFlags::IN), PollFd::new(wake, PollFlags::IN)]
                .into_iter()
                .chain(sockets)
                .collect();
        if poll(&mut polled, Some(&wait)).is_err() {
            return;
        }
        let is_ready: Vec<bool> =
            polled.iter().map(|socket| !socket.revents().is_empty()).collect();
        drop(polled);
        let now = Instant::now();
        let due: Vec<(bool, u64, bool)> = all
            .iter()
            .zip(is_ready.iter().skip(2))
            .map(|((is_idle, number, connection), is_ready)| {
                (*is_idle, *number, *is_ready, connection.left(now).is_zero())
            })
            .filter(|(_, _, is_ready, is_over)| *is_ready || *is_over)
            .map(|(is_idle, number, is_ready, _)| (is_idle, number, !is_ready))
            .collect();
        let is_new = is_ready.first() == Some(&true);
        for (is_idle, number, is_over) in due {
            match (is_idle, is_over) {
                (true, true) => self.end_of_time(number),
                (true, false) => self.step_idle(number),
                (false, true) => drop(self.answered.remove(number)),
                (false, false) => self.step_answered(number),
            }
        }
        while (&*wake).read(&mut [0; 64]).is_ok_and(|read| read > 0) {}
        while let Ok((number, answer)) = self.told.try_recv() {
            if let Some(connection) = self.answered.get_mut(number) {
                connection.answer(answer, Instant::now() + self.deadline);
                self.step_answered(number);
            }
        }
        if is_new {
            self.accept(listener);
        }
    }

    /// Takes new connections in.
    fn accept(&mut self, listener: &TcpListener) {
        for _ in 0..MAX_ACCEPTED_AT_ONCE {
            match listener.accept() {
                Ok((stream, peer)) => {
                    let connection = Connection::new(stream, peer, Instant::now(), self.deadline);
                    let Ok(connection) = connection else { continue };
                    let (number, evicted) = self.idle.add(peer.ip(), connection);
                    if let Some(evicted) = evicted.filter(Connection::is_reading) {
                        evicted.say_last(Answer::refusal(503, "there are too many connections"));
                    }
                    self.step_idle(number);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // Out of descriptors: a connection that has not asked makes room for the new one.
                // Else the reader was gone before it was served.
                Err(_) => {
                    if self.idle.evict().is_none() {
                        thread::sleep(NO_DESCRIPTORS_PAUSE);
                    }
                    return;
                }
            }
        }
    }

    /// Goes on with a connection that has not asked yet, or was answered.
    fn step_idle(&mut self, number: u64) {
        let Some(connection) = self.idle.get_mut(number) else { return };
        match connection.step() {
            Step::Pending | Step::Answered => {}
            Step::Over => drop(self.idle.remove(number)),
            Step::TooLong => {
                let end = Instant::now() + self.deadline;
                connection.answer(Answer::refusal(431, "the request is too long"), end);
                self.step_idle(number);
            }
            Step::Asked(head) => {
                let Some(connection) = self.idle.remove(number) else { return };
                let Ok(reached) = connection.stream.local_addr() else { return };
                // One that makes room is one whose reader takes its answer the slowest.
                let (number, _) = self.answered.add(connection.peer.ip(), connection);
                let _ = self.ask.send(Asked { number, head, reached });
            }
        }
    }

    /// Goes on with a connection that has asked.
    fn step_answered(&mut self, number: u64) {
        let Some(connection) = self.answered.get_mut(number) else { return };
        match connection.step() {
            Step::Pending | Step::Asked(_) | Step::TooLong => {
                // Nothing is waited for while an answer is worked out, so that what is ready then
                // is the end of the connection.
                if connection.waits_for().is_empty() {
                    drop(self.answered.remove(number));
                }
            }
            Step::Over => drop(self.answered.remove(number)),
            Step::Answered => {
                let Some(mut connection) = self.answered.remove(number) else { return };
                connection.wait_until(Instant::now() + self.deadline.min(HEAD_DEADLINE));
                self.idle.add(connection.peer.ip(), connection);
            }
        }
    }

    /// The time of a connection is over that has not asked, or was answered.
    fn end_of_time(&mut self, number: u64) {
        if let Some(connection) = self.idle.remove(number).filter(Connection::is_reading) {
            connection.say_last(Answer::refusal(408, "the request did not come in time"));
        }
    }
}
