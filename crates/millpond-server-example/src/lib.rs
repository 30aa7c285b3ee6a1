//! A server whose connections are tokio tasks, and whose requests run on millpond.
//!
//! A client sends lines, and gets an answer to each:
//!
//! | request | answer |
//! |---|---|
//! | `primes 0 100` | how many primes there are from 0 to 99 |
//! | `block 20` | `done` after a body has blocked its worker for 20 ms, whatever happens meanwhile |
//! | `requests` | how many requests there were, this one included |
//!
//! The example shows:
//!
//! - **A session for each request** ([`Server::primes`]). The request's future owns the session.
//!   The future is dropped at the timeout, or when the client disconnects. Then the session cancels
//!   the tasks that have not begun, and the executor's thread continues at once.
//! - **Cancellable bodies.** The runtime does not interrupt a running body, so it checks the
//!   session's token regularly.
//! - **A bound on the work** ([`Session::reserve`]). A future awaits room in the window, where a
//!   spawn would block the executor.
//! - **A session shared by all connections** ([`Server::requests`]).
//! - **Shutdown.** The server stops its connections and closes the shared session. The caller drops
//!   the runtime, where it may block.
//!
//! All of this works on an executor with a single thread, as in `main`.
#![forbid(unsafe_code)]

/// The guide's examples, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/async.md")]
pub struct Guide;

use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use millpond::{Handle, Runtime, Session, Spawn, Sum};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// The maximum length of a line, in bytes.
const MAX_LINE_BYTES: usize = 1024;

/// The count of numbers tested by one task.
const NUMBERS_PER_TASK: u64 = 2_000;

/// The shared state of the connections.
#[derive(Debug)]
pub struct Server {
    runtime: Arc<Runtime>,
    /// The maximum time of a request.
    limit: Duration,
    statistics: Session,
    requests: Handle<u64>,
}

/// What is wrong with a request.
type Failure = Box<dyn std::error::Error + Send + Sync>;

impl Server {
    /// A server that computes on `runtime`, and ends each request after `limit`.
    pub fn new(runtime: Arc<Runtime>, limit: Duration) -> Self {
        let statistics = runtime.session();
        Server { runtime, limit, statistics, requests: Handle::new(0) }
    }

    /// Serves until `stop` is ready. Then it drops the connections, and thus cancels their work.
    ///
    /// # Errors
    ///
    /// If the listener fails.
    pub async fn serve(self, listener: TcpListener, stop: impl Future<Output = ()>) -> io::Result<()> {
        let (server, mut connections, mut stop) = (Arc::new(self), JoinSet::new(), pin!(stop));
        loop {
            // Collects the closed connections.
            while connections.try_join_next().is_some() {}
            match first_of(stop.as_mut(), listener.accept()).await {
                First::One(()) => break,
                First::Other(accepted) => {
                    let (stream, _address) = accepted?;
                    let server = Arc::clone(&server);
                    connections.spawn(async move { server.converse(stream).await });
                }
            }
        }
        connections.shutdown().await;
        let server = Arc::into_inner(server).expect("the connections are gone");
        server.statistics.close().await.map_err(io::Error::other)
    }

    /// Answers the requests of a client, in order, until it disconnects.
    async fn converse(&self, stream: TcpStream) -> io::Result<()> {
        let mut stream = BufReader::new(stream);
        while let Some(line) = read_line(&mut stream).await? {
            let answer = timeout(self.limit, self.answer(&line));
            // If the client closes its side, the computation is dropped, and thus cancelled.
            let answer = match first_of(answer, wait_for_end(&mut stream)).await {
                First::One(Ok(Ok(answer))) => answer,
                First::One(Ok(Err(failure))) => format!("error: {failure}"),
                First::One(Err(_elapsed)) => "timeout".to_owned(),
                First::Other(()) => return Ok(()),
            };
            stream.write_all(format!("{answer}\n").as_bytes()).await?;
        }
        Ok(())
    }

    async fn answer(&self, line: &str) -> Result<String, Failure> {
        let requests = self.count_request().await?;
        let words: Vec<_> = line.split_whitespace().collect();
        match words[..] {
            ["primes", from, to] => Ok(self.primes(from.parse()?..to.parse()?).await?.to_string()),
            ["block", millis] => {
                self.block(Duration::from_millis(millis.parse()?)).await?;
                Ok("done".to_owned())
            }
            ["requests"] => Ok(requests.to_string()),
            _ => Err("a request is `primes FROM TO`, `block MILLISECONDS` or `requests`".into()),
        }
    }

    /// Counts a request, on the shared session.
    async fn count_request(&self) -> Result<u64, millpond::Error> {
        let count = |requests: &mut u64| {
            *requests += 1;
            *requests
        };
        self.statistics.reserve().await.spawn(self.requests.inout(), count).await
    }

    /// Counts primes. The number of tasks depends on the range. The runtime's window bounds the
    /// tasks in flight.
    async fn primes(&self, numbers: Range<u64>) -> Result<u64, millpond::Error> {
        // Dropped with this future. Then tasks that have not begun never run.
        let session = self.runtime.session();
        let (token, total) = (session.cancel_token(), Handle::new(0_u64));
        let mut from = numbers.start;
        while from < numbers.end {
            let part = from..numbers.end.min(from.saturating_add(NUMBERS_PER_TASK));
            from = part.end;
            let token = token.clone();
            let count = move |total: &mut u64| {
                // Tasks that have begun stop soon.
                *total += part.take_while(|_| !token.is_cancelled()).filter(|&n| is_prime(n)).count() as u64;
            };
            session.reserve().await.task("primes").spawn(total.reduce(Sum), count);
        }
        session.spawn(total.read(), |total| *total).await
    }

    /// A body that ignores cancellation.
    async fn block(&self, time: Duration) -> Result<(), millpond::Error> {
        let session = self.runtime.session();
        session.task("block").spawn((), move |()| std::thread::sleep(time)).await
    }
}

fn is_prime(n: u64) -> bool {
    n >= 2 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}

/// The next line; `None` if the client has disconnected.
async fn read_line(stream: &mut BufReader<TcpStream>) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    loop {
        let there = stream.fill_buf().await?;
        if there.is_empty() {
            return Ok(None);
        }
        let end = there.iter().position(|&byte| byte == b'\n');
        line.extend_from_slice(&there[..end.unwrap_or(there.len())]);
        let used = end.map_or(there.len(), |end| end + 1);
        stream.consume(used);
        if line.len() > MAX_LINE_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the line is too long"));
        }
        if end.is_some() {
            return Ok(Some(String::from_utf8_lossy(&line).into_owned()));
        }
    }
}

/// Waits until the client has closed its side. If the client has sent its next request, this does
/// not return.
async fn wait_for_end(stream: &mut BufReader<TcpStream>) {
    let mut stream = pin!(stream);
    poll_fn(|context| match stream.as_mut().poll_fill_buf(context) {
        Poll::Ready(Ok(there)) if !there.is_empty() => Poll::Pending,
        Poll::Ready(_) => Poll::Ready(()),
        Poll::Pending => Poll::Pending,
    })
    .await;
}

/// The output of the future that was ready first.
enum First<A, B> {
    One(A),
    Other(B),
}

/// Waits for the first of two futures, and drops the other one.
async fn first_of<A: Future, B: Future>(one: A, other: B) -> First<A::Output, B::Output> {
    let (mut one, mut other) = (pin!(one), pin!(other));
    poll_fn(|context| match one.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(First::One(output)),
        Poll::Pending => other.as_mut().poll(context).map(First::Other),
    })
    .await
}
