//! Starting threads where the system limits the addresses of a process (`ulimit -v`).
//!
//! If a thread finds no addresses for its stack of signal handlers, the process ends. So under such
//! a limit, a thread is started only if there is room for more than that. The next thread is
//! started after this one has all its memory, including the allocator's arena for the thread, which
//! briefly takes 128 MiB if it can.

use std::io;
use std::sync::Barrier;
use std::thread::{Builder, JoinHandle};

use super::current::{Enter, set_home};
use super::engine::WorkerEngine;
use super::fiber;
use super::seats::Shared;
use super::{overflow, pin};
use crate::sync::system;
use std::sync::Arc;

/// More bytes than a thread takes at its start: its stack, and its stack of signal handlers.
const BYTES_AT_START: usize = 8 << 20;

/// Starts a thread.
///
/// # Errors
///
/// Fails if the system has no thread or no addresses to give.
pub(crate) fn start(name: String, body: Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle<()>> {
    let left = system::addresses_left();
    if left.is_some_and(|left| left < BYTES_AT_START) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    let is_up = left.map(|_| Arc::new(Barrier::new(2)));
    let starts = is_up.clone();
    let thread = Builder::new().name(name).spawn(move || {
        if let Some(starts) = starts {
            drop(std::hint::black_box(Box::new(0_u8)));
            starts.wait();
        }
        body();
    })?;
    if let Some(is_up) = is_up {
        is_up.wait();
    }
    Ok(thread)
}

/// Whether the system has room for a stack of this size, and for much else. The program's allocator
/// must not fail because of a thread that the runtime does not need.
pub(crate) fn has_room_beside(size: usize) -> bool {
    const SPARE_BYTES: usize = 256 << 20;
    let size = size.saturating_add(SPARE_BYTES);
    system::addresses_left().map_or_else(|| fiber::try_stacks(1, size).is_ok(), |left| left >= size)
}

/// Starts the worker thread of a seat.
pub(crate) fn start_worker<E: WorkerEngine>(shared: &Arc<Shared<E>>, seat: usize) -> io::Result<JoinHandle<()>> {
    let (shared, inherited) = (Arc::clone(shared), pin::inherited());
    let body = move || {
        pin::release(inherited);
        // A spare thread works in place of any worker, so it is not pinned.
        if shared.config.pin && !shared.spares.has(seat) {
            pin::worker(seat);
        }
        overflow::prepare_thread();
        set_home(shared.runtime_id());
        let worker = shared.worker(seat);
        let _entered = Enter::new(worker);
        worker.live();
    };
    start(format!("millpond-{seat}"), Box::new(body))
}
