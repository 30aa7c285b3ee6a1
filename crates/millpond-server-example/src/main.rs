//! The server, on an executor of one thread: `millpond-server-example [ADDRESS [MILLISECONDS]]`.
#![forbid(unsafe_code)]

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use millpond::Runtime;
use millpond_server_example::Server;
use tokio::net::TcpListener;

const USAGE: &str = "usage: millpond-server-example [ADDRESS [MILLISECONDS]], for example 127.0.0.1:7878 1000";

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args().skip(1).collect();
    let millis = words.get(1).map_or(Ok(1000), |word| word.parse());
    let (Ok(millis), 0..=2) = (millis, words.len()) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let address = words.first().map_or("127.0.0.1:7878", String::as_str);
    match run(address, Duration::from_millis(millis)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("millpond-server-example: {address}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(address: &str, limit: Duration) -> Result<(), Box<dyn Error>> {
    // The runtime outlives the executor. Its drop waits for running bodies, and so blocks no async
    // task.
    let runtime = Arc::new(Runtime::builder().window(256).build()?);
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    executor.block_on(async {
        let listener = TcpListener::bind(address).await?;
        println!("listening on {}", listener.local_addr()?);
        Server::new(runtime.clone(), limit).serve(listener, std::future::pending()).await?;
        Ok(())
    })
}
