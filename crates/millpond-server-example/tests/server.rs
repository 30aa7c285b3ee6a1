//! Clients that wait, that disconnect, and that request more work than the time limit allows.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use millpond::Runtime;
use millpond_server_example::Server;
use tokio::net::TcpListener;

/// Work for hours.
const ENDLESS: &str = "primes 0 1000000000000000";

/// A server on an executor of one thread.
struct Running {
    runtime: Arc<Runtime>,
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    fn start(workers: usize, limit: Duration) -> Running {
        let runtime = Arc::new(Runtime::builder().workers(workers).window(16).build().unwrap());
        let (stop, (send, receive)) = (Arc::new(AtomicBool::new(false)), channel());
        let (theirs, stopped) = (runtime.clone(), stop.clone());
        let thread = thread::spawn(move || {
            let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            executor.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                send.send(listener.local_addr().unwrap()).unwrap();
                let stop = async {
                    while !stopped.load(Relaxed) {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                };
                Server::new(theirs, limit).serve(listener, stop).await.unwrap();
            });
        });
        Running { runtime, address: receive.recv().unwrap(), stop, thread: Some(thread) }
    }

    fn client(&self) -> Client {
        let stream = TcpStream::connect(self.address).unwrap();
        // A hang is a failure.
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Client(BufReader::new(stream))
    }

    fn bodies(&self) -> u64 {
        self.runtime.counts().iter().map(|worker| worker.tasks).sum()
    }

    /// Waits until tasks run, or no task runs any more.
    fn wait_until(&self, works: bool) {
        let started = Instant::now();
        loop {
            let before = self.bodies();
            thread::sleep(Duration::from_millis(100));
            if (self.bodies() != before) == works {
                return;
            }
            assert!(started.elapsed() < Duration::from_secs(60), "works: {}", !works);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        let ended = self.thread.take().expect("joined once").join();
        if !thread::panicking() {
            ended.unwrap();
        }
    }
}

struct Client(BufReader<TcpStream>);

impl Client {
    fn send(&mut self, request: &str) {
        self.0.get_mut().write_all(format!("{request}\n").as_bytes()).unwrap();
    }

    fn receive(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn ask(&mut self, request: &str) -> String {
        self.send(request);
        self.receive()
    }
}

/// Far longer than a test takes.
const LONG: Duration = Duration::from_secs(600);

#[test]
fn requests_are_answered() {
    for workers in [1, 2] {
        let server = Running::start(workers, LONG);
        let mut client = server.client();
        assert_eq!(client.ask("primes 0 100"), "25");
        assert_eq!(client.ask("primes 0 200000"), "17984");
        assert_eq!(client.ask("primes 7 7"), "0");
        assert_eq!(client.ask("block 1"), "done");
        assert_eq!(client.ask("requests"), "5");
        assert_eq!(client.ask("primes 0 many"), "error: invalid digit found in string");
        assert!(client.ask("what").starts_with("error: a request is"));
        // Several at once, before the first answer.
        (0..3).for_each(|_| client.send("primes 0 1000"));
        (0..3).for_each(|_| assert_eq!(client.receive(), "168"));
        assert_eq!(client.ask("requests"), "11");
    }
}

/// The window holds 16 tasks. Clients wait for room, and the executor serves the others meanwhile.
#[test]
fn many_clients_share_the_window() {
    let server = Running::start(2, LONG);
    thread::scope(|threads| {
        for _ in 0..16 {
            threads.spawn(|| {
                let mut client = server.client();
                (0..3).for_each(|_| assert_eq!(client.ask("primes 0 100000"), "9592"));
            });
        }
    });
    assert_eq!(server.client().ask("requests"), "49");
}

#[test]
fn a_timeout_cancels_the_work() {
    for workers in [1, 2] {
        let server = Running::start(workers, Duration::from_millis(50));
        let (mut client, started) = (server.client(), Instant::now());
        assert_eq!(client.ask(ENDLESS), "timeout");
        assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
        server.wait_until(false);
    }
}

/// The body continues for seconds. Neither its own client nor the others wait for that.
#[test]
fn a_timeout_does_not_wait_for_a_body() {
    let server = Running::start(3, Duration::from_millis(50));
    let (mut client, mut other, started) = (server.client(), server.client(), Instant::now());
    client.send("block 8000");
    assert_eq!(client.receive(), "timeout");
    assert_eq!(client.ask("requests"), "2");
    assert_eq!(other.ask("primes 0 100"), "25");
    assert!(started.elapsed() < Duration::from_secs(6), "{:?}", started.elapsed());
}

#[test]
fn a_client_that_is_gone_cancels_its_work() {
    for workers in [1, 2] {
        let server = Running::start(workers, LONG);
        let mut client = server.client();
        client.send(ENDLESS);
        server.wait_until(true);
        drop(client);
        server.wait_until(false);
        assert_eq!(server.client().ask("primes 0 100"), "25");
    }
}

/// Dropping a computation does not block the executor's only thread.
#[test]
fn a_client_that_is_gone_blocks_no_other() {
    let server = Running::start(3, LONG);
    let (mut client, mut other) = (server.client(), server.client());
    client.send("block 8000");
    while server.bodies() < 2 {
        thread::sleep(Duration::from_millis(1));
    }
    let started = Instant::now();
    drop(client);
    for _ in 0..20 {
        assert_eq!(other.ask("primes 0 100"), "25");
        thread::sleep(Duration::from_millis(5));
    }
    assert!(started.elapsed() < Duration::from_secs(6), "{:?}", started.elapsed());
}

#[test]
fn a_server_stops_while_it_works() {
    let server = Running::start(2, LONG);
    let mut clients: Vec<_> = (0..4).map(|_| server.client()).collect();
    clients.iter_mut().for_each(|client| client.send(ENDLESS));
    server.wait_until(true);
    let (runtime, started) = (server.runtime.clone(), Instant::now());
    drop(server);
    // Running bodies check their token.
    drop(Arc::into_inner(runtime).expect("no other thread has it"));
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    clients.iter_mut().for_each(|client| assert_eq!(client.receive(), ""));
}
