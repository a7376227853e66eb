//! The event loop of the server: all connections wait in it, so that a slow client does not occupy
//! a thread. Threads only compute answers.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::answer::HttpAnswer;
use crate::connection::{ServerConnection, StepOutcome};
use crate::request::HttpRequest;
use crate::tuning::{
    ANSWER_THREADS, HEAD_DEADLINE, MAX_ACCEPTED_AT_ONCE, MAX_ANSWERED, MAX_ANSWERED_OF_NETWORK,
    MAX_IDLE, MAX_IDLE_OF_NETWORK, NO_DESCRIPTORS_PAUSE, STOP_CHECK_INTERVAL,
};
use crate::waiting_connections::WaitingConnections;

/// A request without an answer yet.
struct PendingRequest {
    number: u64,
    head: String,
    reached: SocketAddr,
}

/// Serves `listener` until `stop` is set. `wake` is a pair of sockets by which threads wake the
/// loop.
pub(crate) fn serve_connections(
    listener: &TcpListener,
    wake: &(UnixStream, UnixStream),
    deadline: Duration,
    reply: &(impl Fn(&HttpRequest<'_>) -> HttpAnswer + Sync),
    stop: &AtomicBool,
) {
    let (request_sender, requests) = mpsc::channel::<PendingRequest>();
    let (answer_sender, answers) = mpsc::channel();
    let requests = &Mutex::new(requests);
    thread::scope(|scope| {
        let mut threads = 0;
        for _ in 0..ANSWER_THREADS {
            let answer_sender = answer_sender.clone();
            let work = move || answer_requests(requests, &answer_sender, &wake.1, reply);
            // If no more threads can be started, the existing ones serve.
            let thread = thread::Builder::new().name("http".to_owned()).spawn_scoped(scope, work);
            threads += usize::from(thread.is_ok());
        }
        let (idle, answered) = (
            WaitingConnections::new(MAX_IDLE, MAX_IDLE_OF_NETWORK),
            WaitingConnections::new(MAX_ANSWERED, MAX_ANSWERED_OF_NETWORK),
        );
        let mut served = ServedConnections { deadline, idle, answered, request_sender, answers };
        while !stop.load(Relaxed) {
            served.poll_once(listener, &wake.0);
            if threads == 0
                && let Ok(request) =
                    requests.lock().unwrap_or_else(PoisonError::into_inner).try_recv()
            {
                let _ = answer_sender.send((request.number, answer_request(&request, reply)));
            }
        }
    });
}

/// Answers requests until the channel is closed.
fn answer_requests(
    requests: &Mutex<Receiver<PendingRequest>>,
    answer_sender: &Sender<(u64, HttpAnswer)>,
    wake: &UnixStream,
    reply: &impl Fn(&HttpRequest<'_>) -> HttpAnswer,
) {
    loop {
        let next = requests.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(request) = next else { return };
        if answer_sender.send((request.number, answer_request(&request, reply))).is_err() {
            return;
        }
        // If the socket is full, the loop wakes anyway.
        let _ = (&*wake).write(&[1]);
    }
}

fn answer_request(
    request: &PendingRequest,
    reply: &impl Fn(&HttpRequest<'_>) -> HttpAnswer,
) -> HttpAnswer {
    match HttpRequest::parse_head(&request.head, request.reached) {
        Ok(request) => reply(&request),
        Err(refusal) => refusal,
    }
}

/// The connections of a server.
struct ServedConnections {
    deadline: Duration,
    /// Connections without a complete request yet, or with a completely written answer.
    idle: WaitingConnections<ServerConnection>,
    /// Connections with a request and an answer that is being computed or written.
    answered: WaitingConnections<ServerConnection>,
    request_sender: Sender<PendingRequest>,
    answers: Receiver<(u64, HttpAnswer)>,
}

impl ServedConnections {
    /// Waits for events and handles them.
    fn poll_once(&mut self, listener: &TcpListener, wake: &UnixStream) {
        let now = Instant::now();
        let (idle, answered) = (self.idle.iter(), self.answered.iter());
        let all: Vec<(bool, u64, &ServerConnection)> = idle
            .map(|(number, connection)| (true, number, connection))
            .chain(answered.map(|(number, connection)| (false, number, connection)))
            .collect();
        let ends = all.iter().map(|(_, _, connection)| connection.time_left(now));
        let wait = ends.fold(STOP_CHECK_INTERVAL, Duration::min);
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
                (*is_idle, *number, *is_ready, connection.time_left(now).is_zero())
            })
            .filter(|(_, _, is_ready, is_over)| *is_ready || *is_over)
            .map(|(is_idle, number, is_ready, _)| (is_idle, number, !is_ready))
            .collect();
        let is_new = is_ready.first() == Some(&true);
        for (is_idle, number, is_over) in due {
            match (is_idle, is_over) {
                (true, true) => self.expire_idle(number),
                (true, false) => self.step_idle(number),
                (false, true) => drop(self.answered.remove(number)),
                (false, false) => self.step_answered(number),
            }
        }
        while (&*wake).read(&mut [0; 64]).is_ok_and(|read| read > 0) {}
        while let Ok((number, answer)) = self.answers.try_recv() {
            if let Some(connection) = self.answered.get_mut(number) {
                connection.begin_answer(answer, Instant::now() + self.deadline);
                self.step_answered(number);
            }
        }
        if is_new {
            self.accept_connections(listener);
        }
    }

    /// Accepts new connections.
    fn accept_connections(&mut self, listener: &TcpListener) {
        for _ in 0..MAX_ACCEPTED_AT_ONCE {
            match listener.accept() {
                Ok((stream, peer)) => {
                    let connection =
                        ServerConnection::new(stream, peer, Instant::now(), self.deadline);
                    let Ok(connection) = connection else { continue };
                    let (number, evicted) = self.idle.add(peer.ip(), connection);
                    if let Some(evicted) = evicted.filter(ServerConnection::is_reading) {
                        evicted.answer_and_close(HttpAnswer::refusal(
                            503,
                            "there are too many connections",
                        ));
                    }
                    self.step_idle(number);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // If no descriptors are left, a connection without a request makes room for the new
                // one. Otherwise the client closed the connection before it was accepted.
                Err(_) => {
                    if self.idle.evict_oldest().is_none() {
                        thread::sleep(NO_DESCRIPTORS_PAUSE);
                    }
                    return;
                }
            }
        }
    }

    /// Advances a connection of `idle`: it has no complete request yet, or its answer is written.
    fn step_idle(&mut self, number: u64) {
        let Some(connection) = self.idle.get_mut(number) else { return };
        match connection.advance_step() {
            StepOutcome::Pending | StepOutcome::Answered => {}
            StepOutcome::Over => drop(self.idle.remove(number)),
            StepOutcome::TooLong => {
                let end = Instant::now() + self.deadline;
                connection.begin_answer(HttpAnswer::refusal(431, "the request is too long"), end);
                self.step_idle(number);
            }
            StepOutcome::Asked(head) => {
                let Some(connection) = self.idle.remove(number) else { return };
                let Ok(reached) = connection.stream.local_addr() else { return };
                // If there is no room, the connection that has waited longest for its answer, or
                // has been receiving it longest, is evicted.
                let (number, _) = self.answered.add(connection.peer.ip(), connection);
                let _ = self.request_sender.send(PendingRequest { number, head, reached });
            }
        }
    }

    /// Advances a connection with a request: its answer is being computed or written.
    fn step_answered(&mut self, number: u64) {
        let Some(connection) = self.answered.get_mut(number) else { return };
        match connection.advance_step() {
            StepOutcome::Pending | StepOutcome::Asked(_) | StepOutcome::TooLong => {
                // No events are polled for while an answer is computed, so this event is the end of
                // the connection.
                if connection.waits_for().is_empty() {
                    drop(self.answered.remove(number));
                }
            }
            StepOutcome::Over => drop(self.answered.remove(number)),
            StepOutcome::Answered => {
                let Some(mut connection) = self.answered.remove(number) else { return };
                connection.wait_until(Instant::now() + self.deadline.min(HEAD_DEADLINE));
                self.idle.add(connection.peer.ip(), connection);
            }
        }
    }

    /// Handles the deadline of a connection of `idle`.
    fn expire_idle(&mut self, number: u64) {
        if let Some(connection) = self.idle.remove(number).filter(ServerConnection::is_reading) {
            connection
                .answer_and_close(HttpAnswer::refusal(408, "the request did not arrive in time"));
        }
    }
}
