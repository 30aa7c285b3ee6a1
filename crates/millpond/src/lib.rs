//! A task-dataflow runtime: say what each task reads and writes, and get the serial program's
//! answer on all cores.
//!
//! # The model in five minutes
//!
//! **A handle holds one datum whose accesses the runtime orders.** Put your data into handles, as
//! coarse as your tasks: a tile of a matrix, a frame, a node. A [`Runtime`] opens a
//! [scope](Runtime::scope). In the scope you [`spawn`](Spawn::spawn) tasks: first the accesses,
//! then a closure that receives exactly these data.
//!
//! ```
//! use millpond::{Handle, Runtime, Spawn};
//!
//! let rt = Runtime::new()?;
//! let (a, b) = (Handle::new(vec![1.0, 2.0]), Handle::new(0.0));
//! rt.scope(|s| {
//!     s.spawn(a.inout(), |a| a.push(3.0));
//!     s.spawn((a.read(), b.inout()), |(a, b)| *b = a.iter().sum());
//!     s.spawn(a.inout(), |a| a.clear());
//! })?;
//! assert_eq!(b.into_inner()?, 6.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **The result is that of the serial program**, in which each task runs where it is spawned. That
//! order is the *reference order*. It defines what a program means: its result is the same with any
//! number of workers. You write no locks, no events and no edges. A closure can reach only the data
//! that it receives, so the compiler proves that a task touches only what it declared.
//!
//! **There are seven kinds of access.** Tasks that use the same handle wait for each other only if
//! they must:
//!
//! | access | the body gets | runs at once with |
//! |---|---|---|
//! | [`h.read()`](Handle::read) | `&T` | other reads |
//! | [`h.write()`](Handle::write) | [`Out<T>`](Out), to be set | everything earlier: it starts a new version (unless it is to go [in place](Handle::in_place)) |
//! | [`h.inout()`](Handle::inout) | `&mut T` | nothing |
//! | [`h.commutative()`](Handle::commutative) | `&mut T` | nothing; other commutative tasks run before or after it |
//! | [`h.concurrent()`](Handle::concurrent) | `&T` | other concurrent tasks |
//! | [`h.accumulate(Sum)`](Handle::accumulate) | [`Acc<T>`](Acc), to add to; a parent an [`Accumulator`] | other tasks that accumulate or reduce by an equal reducer; the runtime combines about one copy per worker |
//! | [`h.reduce(Sum)`](Handle::reduce) | `&mut T`, a private copy | the same; the runtime combines one copy per task |
//!
//! A task declares one access, a tuple of up to 20, an array, a `Vec` or an `Option`, nested at
//! will:
//!
//! ```
//! # use millpond::{Handle, Runtime, Spawn, all};
//! # let rt = Runtime::new()?;
//! let cells: Vec<Handle<u64>> = (0..10).map(Handle::new).collect();
//! let total = Handle::unset();
//! rt.scope(|s| {
//!     let cells = all(&cells, Handle::read);
//!     s.spawn((cells, total.write()), |(cells, total)| total.set(cells.into_iter().sum::<u64>()));
//! })?;
//! assert_eq!(total.into_inner()?, 45);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! If the order of updates does not matter, tasks need not wait for it. `commutative` tasks take
//! turns in any order. If bodies only add, use `accumulate`: a body adds to a copy, which the tasks
//! of a worker use one after the other. `reduce` gives each task a private copy that starts at the
//! identity.
//!
//! ```
//! # use millpond::{Handle, Max, Runtime, Spawn, Sum};
//! # let rt = Runtime::new()?;
//! let (total, largest, seen) = (Handle::new(0), Handle::new(0), Handle::new(Vec::new()));
//! rt.scope(|s| {
//!     for n in [3, 1, 2] {
//!         let accesses = (total.accumulate(Sum), largest.accumulate(Max));
//!         s.spawn(accesses, move |(mut total, mut largest)| {
//!             total.add(n);
//!             largest.add(n);
//!         });
//!         s.spawn(seen.commutative(), move |seen| seen.push(n));
//!     }
//!     s.spawn(seen.inout(), |seen| seen.sort());
//! })?;
//! assert_eq!((total.into_inner()?, largest.into_inner()?, seen.into_inner()?), (6, 3, vec![1, 2, 3]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **There are two kinds of task.** [`spawn`](Spawn::spawn) makes a *leaf*. It gets references, and
//! can neither spawn nor wait. [`nest`](Spawn::nest) makes a *parent*. It gets its own scope and
//! handles, with at most the declared rights, and spawns children on them. A parent is complete
//! when its descendants are. The same function serves as a whole program and as a part of one; see
//! the example of [`Spawn`].
//!
//! **A scope waits only for its own tasks.** Its end waits for all of them. Before that,
//! [`wait_on`](Spawn::wait_on) waits for a datum and [`wait`](Spawn::wait) for a task's value.
//! While a body waits, its thread runs only the body's descendants, and another thread works in its
//! place. So a wait ends on any number of workers. A lock held over a wait can prevent that in
//! [some cases](crate#what-the-proof-does-not-cover).
//!
//! ```
//! # use millpond::{Handle, Runtime, Spawn};
//! # let rt = Runtime::new()?;
//! let list = Handle::new(vec![3, 1, 2]);
//! let largest: Result<_, millpond::Error> = rt.try_scope(|s| {
//!     let join = s.nest(list.inout(), |s, mut list| {
//!         s.spawn(list.inout(), |list| list.push(9));
//!         s.wait_on(&mut list).map(|mut list| list.sort())
//!     });
//!     s.wait(join)??;
//!     s.wait(s.spawn(list.read(), |list| list.last().copied()))
//! });
//! assert_eq!(largest?, Some(9));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **A task fails** if it panics, its body returns an `Err`, it is cancelled, or it misuses a
//! handle. Then it produces nothing. A task that reads the missing value is *poisoned* and does not
//! run. A later `write` clears the error. The scope returns the first failure in reference order
//! that is no [consequence](Error) of another, with the task's label. A join returns the failure of
//! its task. A task also fails if dropping its value panics, or dropping a value that it was the
//! last to use. In this case its writes remain. [`try_spawn`](Spawn::try_spawn) and
//! [`try_nest`](Spawn::try_nest) take bodies that may fail.
//! [`cancel_on_failure`](Spawn::cancel_on_failure) stops a scope at its first failure.
//!
//! ```
//! # use millpond::{Handle, Runtime, Spawn};
//! # let rt = Runtime::new()?;
//! # std::panic::set_hook(Box::new(|_| ()));
//! let pivot = Handle::new(0.0_f64);
//! let error = rt.scope(|s| {
//!     s.task("potrf").index([3, 3]).spawn(pivot.inout(), |p| assert!(*p > 0.0, "not positive"));
//!     s.spawn(pivot.read(), |p| println!("{p}"));
//! });
//! assert_eq!(error.unwrap_err().to_string(), "task `potrf(3,3)` panicked: not positive");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # When the compiler refuses
//!
//! Most messages say what to do. Some speak of lifetimes, because lifetimes prove that a body uses
//! only its declared data, and only while it runs. The chapter "When the compiler refuses" of the
//! guide lists these messages, with what to do (`docs/guide/compiler.md` in the repository).
//!
//! # What the proof does not cover
//!
//! The runtime does not order accesses through statics, captured mutexes and atomics, interior
//! mutability inside a `T`, two handles over one `Arc`, or `unsafe`. The result is the serial
//! program's only if commutative bodies, concurrent bodies and reducers commute. (With
//! [`deterministic`](Builder::deterministic), reducers need only be associative.) A body that
//! accumulates must only add to what [`Acc::partial`] lends: its content depends on the schedule.
//!
//! A body may wait while it holds a lock, a `RefCell` borrow or a thread-local. The wait may be
//! [`join`], [`wait`](Spawn::wait), [`wait_on`](Spawn::wait_on), an inner scope or a full window.
//! Meanwhile its thread runs only the body's descendants. If there are none, it lends its seat to a
//! spare thread. This promise does not cover these cases:
//!
//! * A body takes a lock, waits, and one of its tasks takes the same lock. That task may run on top
//!   of the body, and deadlocks as in serial code. The same holds for a lock held over a spawn that
//!   runs inline.
//! * A body waits for something outside the runtime ([`block_on`](Spawn::block_on)): other bodies
//!   run on its thread meanwhile.
//! * No spare thread is free for the seat of a waiting body. There are up to 4 per worker, fewer if
//!   the system refuses to start a thread. If no body begins for 2 ms, the runtime suspends the
//!   waiting body, and other bodies run on its thread. It does so at once if the body waits for a
//!   session's datum or for room in a session.
//! * The thread has other suspended bodies. Then the runtime suspends the waiting body at once, and
//!   other bodies run on its thread.
//! * A body holds a lock while it waits for a session: for a task, a datum or room. If no body
//!   begins for 2 ms, its thread runs earlier tasks of that session, and one of them may want the
//!   lock.
//!
//! # Cargo features
//!
//! All features are off by default. Each one makes the first build longer. None changes a program
//! that compiles without it.
//!
//! | feature | brings |
//! |---|---|
//! | `stack` | the dataflow stack: `StackEngine`, the module `stack` |
//! | `catalogue` | the parts that are not the default ones, as types for [`Parts`] and by name: `catalogue`, `Catalogue`, `on_runtime!`; `depend::{Graph, EmbeddedGraph, Hypergraph, EmbeddedHypergraph, List, TwoLocks, Tickets}`; `pool::{Named, params, variants, AnyPool, Chosen}`, `with_pool!`; `memory::{Named, named, variants, AnyMemory, Chosen}`, `with_memory!`. Turns on `stack` |
//! | `signal` | `Builder::dump_on_signal` |
//! | `conformance` | the module `conformance`: tests for a part of your own. Turns on `catalogue` |
//!
//! # More
//!
//! * [`Builder`]: workers, window of tasks and bytes, renamed storage, determinism, idling,
//!   pinning.
//! * [`Session`]: `'static` tasks whose joins are `Send` futures, for async code; [`Permit`]: room
//!   in its window, awaited.
//! * [`for_each`], [`try_for_each`], [`each`]: parallel loops.
//! * [`join`], [`Joiner`]: plain fork-join.
//! * [`ExternalTasks`]: tasks whose preconditions other threads satisfy.
//! * [`item`]: values that are put once, and waited for by pending tasks and futures.
//! * [`Runtime::dump`]: what is unfinished, and what it waits for; on a signal, too
//!   (`Builder::dump_on_signal`).
//! * [`Reducer`], [`Acc`], [`Accumulator`]: how values are combined, and what tasks add to;
//!   [`Acc::for_each`], [`Acc::join`]: from several threads.
//! * [`CancelToken`].
//! * `StackEngine`: the dataflow stack. `catalogue`: the exchangeable parts, by name.
//! * [`taskpool`]: a task pool and nothing else, without handles and scopes.
//! * [`pool`], [`memory`], [`depend`]: the traits of the parts, and their members.
//!
//! # Sources
//!
//! Keys in this documentation name papers:
//!
//! - **TG**: H. Vandierendonck, G. Tzenakis, D. Nikolopoulos, *Analysis of dependence tracking
//!   algorithms for task dataflow execution*, ACM TACO 10(4), 2013.
//! - **TP**: M. Korch, T. Rauber, *A comparison of task pools for dynamic load balancing of
//!   irregular algorithms*, Concurrency and Computation: Practice and Experience 16(1), 2004.
//! - **FP**: D. Sbîrlea, A. Sbîrlea, K. Wheeler, V. Sarkar, *The flexible preconditions model for
//!   macro-dataflow execution*, DFM 2013.
//! - **DDS**: T. Gautier, J.-L. Roch, F. Wagner, *Fine grain distributed implementation of a
//!   dataflow language with provable performances*, ICCS 2007.

// Without the feature `stack`, some items of other modules are unused. They stay, so that tasks and
// scopes have one layout. A build with all features finds dead code.
#![cfg_attr(not(feature = "stack"), allow(dead_code, unused_imports))]

#[cfg(feature = "catalogue")]
pub mod catalogue;
mod clock;
#[cfg(all(any(test, feature = "conformance"), not(loom)))]
pub mod conformance;
mod copy_out;
pub mod depend;
pub mod each;
mod error;
mod grid;
mod handle;
#[doc(hidden)]
pub mod internals;
pub mod item;
#[cfg(all(any(test, feature = "conformance"), not(loom)))]
mod limit;
pub mod memory;
mod mode;
mod names;
mod panics;
pub mod pool;
pub mod record;
#[cfg(feature = "catalogue")]
mod rows;
mod runtime;
#[cfg(feature = "stack")]
pub mod stack;
mod sync;
mod task;
pub mod taskpool;
mod worker;

#[cfg(feature = "catalogue")]
pub use catalogue::engine::Catalogue;
pub use each::{for_each, try_for_each};
pub use error::{Error, Kind, Label};
pub use grid::Grid;
pub use handle::access::{
    Acc, Access, Accesses, Accumulate, Accumulator, ArgsOf, CanRead, CanShare, CanWrite, Commutative, ConcOnly,
    Concurrent, Contribution, Full, In, Inout, Out, Read, ReadOnly, Reduce, Root, Write, WriteOnly, all,
};
pub use handle::reduction::{And, Append, Bits, Collects, Max, Min, Number, Or, Prod, Reducer, Sum};
pub use handle::{Handle, Lent};
pub use memory::slab::DefaultMemory;
pub use names::TaskName;
pub use pool::split::DefaultPool;
pub use runtime::engine::{DefaultEngine, DefaultParts, DefaultScheme, Engine, Parts};
pub use runtime::external::scope_handle::{Closed, ScopeHandle, Stay};
pub use runtime::external::tasks::{ExternalTasks, Pending, Precondition, WaitError};
pub use runtime::join::{Join, SessionJoins};
pub use runtime::scope::Scope;
pub use runtime::session::{Close, Permit, Reserve, Session, SessionJoin};
pub use runtime::spawn::{Spawn, Task};
pub use runtime::wait_on::Ref;
pub use runtime::{BuildError, Builder, Runtime};
#[cfg(feature = "stack")]
pub use stack::engine::StackEngine;
pub use worker::WorkerCounts;
pub use worker::cancel::CancelToken;
pub use worker::config::Inline;
pub use worker::fork::{Joiner, join};
pub use worker::sleep::Idle;

/// The former name of [`ExternalTasks`].
#[deprecated(note = "renamed to `ExternalTasks`")]
pub type Door<'s, E = DefaultEngine> = ExternalTasks<'s, E>;

/// The former name of [`ScopeHandle`].
#[deprecated(note = "renamed to `ScopeHandle`")]
pub type Gate<'env> = ScopeHandle<'env>;

#[cfg(doctest)]
mod guide;
