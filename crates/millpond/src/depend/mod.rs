//! Dependence schemes: they decide when a task is ready ([TG](crate#sources) §4).
//!
//! A scheme orders the accesses to *one version* of one datum. The thread that owns the scope
//! issues a task's accesses one by one. Any worker may release an access at any time (TG §3.1).

use std::ptr::NonNull;

#[cfg(feature = "catalogue")]
pub(crate) use any::AnyScheme;
pub(crate) use meta::Meta;
#[cfg(feature = "catalogue")]
pub use paper::graph::{EmbeddedGraph, Graph, GraphOf};
#[cfg(feature = "catalogue")]
pub use paper::hypergraph::{EmbeddedHypergraph, Hypergraph, HypergraphOf};
#[cfg(feature = "catalogue")]
pub use paper::{list::List, tickets::Tickets, two_locks::TwoLocks};
pub use parked::Parked;

pub use crate::mode::Mode;
pub use crate::task::{Record, TaskRef};

/// Makes some generic functions into tests of every scheme. `$run::<Scheme>` runs them.
#[cfg(test)]
macro_rules! tests_of_every_scheme {
    ($run:ident; $($test:ident)*) => {
        tests_of_every_scheme! { $run; parked: Parked; $($test)* }
        tests_of_every_scheme! { $run; graph: Graph; $($test)* }
        tests_of_every_scheme! { $run; embedded_graph: EmbeddedGraph; $($test)* }
        tests_of_every_scheme! { $run; hypergraph: Hypergraph; $($test)* }
        tests_of_every_scheme! { $run; embedded_hypergraph: EmbeddedHypergraph; $($test)* }
        tests_of_every_scheme! { $run; list: List; $($test)* }
        tests_of_every_scheme! { $run; two_locks: TwoLocks; $($test)* }
        tests_of_every_scheme! { $run; tickets: Tickets; $($test)* }
    };
    ($run:ident; $name:ident: $scheme:ident; $($test:ident)*) => {
        mod $name {
            $(#[test] fn $test() { super::$run::<crate::depend::$scheme>(super::$test::<crate::depend::$scheme>) })*
        }
    };
}

#[cfg(feature = "catalogue")]
mod any;
#[cfg(all(test, not(loom)))]
mod figure_tests;
#[cfg(all(test, loom))]
mod loom_tests;
mod meta;
#[cfg(feature = "catalogue")]
mod paper;
mod parked;
#[cfg(all(test, millpond_counted))]
mod rmw_tests;
mod store;
pub(crate) mod tracker;

/// Takes the locks of the schemes' stores for a fork.
pub(crate) fn take_locks() -> Box<dyn std::any::Any> {
    #[cfg(feature = "catalogue")]
    let others = paper::take_locks();
    #[cfg(not(feature = "catalogue"))]
    let others = ();
    Box::new((parked::take_lock(), others))
}

/// The result of releasing an access.
#[derive(Clone, Copy, Debug, Default)]
pub struct Released {
    /// The accesses that the release grants, as a chain through their `link`. For each, the caller
    /// first reads the link and then calls [`Scheme::granted`].
    pub granted: Option<NonNull<Record>>,
    /// Whether the version was retired and this was its last access. The caller then frees the
    /// version.
    pub last: bool,
}

/// A dependence scheme: it decides when a task is ready.
///
/// Members of the catalogue implement it (`catalogue::SCHEMES`, Cargo feature `catalogue`), and so
/// can other crates. Only the runtime calls the functions. A task is issued access by access, then
/// as a whole:
///
/// ```text
///   issue(access) … issue(access)  enter(task) ─── true ────────────────────────────▶ ready
///                                      └── false ─▶ release of another access
///                                                      ├─▶ granted(access) ── true ─▶ ready
///                                                      └─▶ has_ready, find() ──────▶ ready   (a scheme that searches)
/// ```
///
/// # Which thread calls what
///
/// The *issuer* of a version is the thread that runs the body whose scope owns the handle, or the
/// first one that borrows the value outside of scopes ([`Handle::get`](crate::Handle::get)). There
/// is one at a time. Another thread becomes the issuer only after the runtime has synchronized the
/// two.
///
/// | function | thread | at the same time as |
/// |---|---|---|
/// | `is_idle`, `is_ready`, `issue`, `enter` | the issuer | `release` of earlier accesses, on workers |
/// | `release`, then `granted` for each granted record | any worker, or the issuer | `issue`, and other releases |
/// | `prefetch` | the worker that is about to run the task | `issue` and `release` |
/// | `find`, `has_ready` | any worker | everything |
/// | `retire`, `forget` | the issuer, or the thread that drops the handle; no worker's `Local` is there | `retire`: releases |
///
/// Each worker context has a `Local`, so only one thread uses it at a time. No function may call
/// back into the runtime, or run user code.
///
/// # The life of a `Meta`
///
/// 1. It begins as 64 zeroed bytes. No constructor runs: zeroed bytes are a valid `Meta` of an
///    unused version. So a field is a number, an atomic, an `Option<NonNull<_>>` or an
///    `Option<Box<_>>`, but no `Mutex<Vec<_>>`.
/// 2. The scheme changes it through `&Meta`. It stays at its address. Only its own scheme reads it.
/// 3. It is never dropped. Before the runtime reuses or frees the bytes, it calls exactly one of:
///    - [`forget`](Scheme::forget), if the version is idle and stays: another scope, perhaps of
///      another scheme, takes the handle. Then the bytes are zeroed.
///    - [`retire`](Scheme::retire), if no further access will be issued: the handle is dropped, or
///      a `write` has started a new version. If it returns `true`, the caller frees the version. If
///      `false`, the release that returns [`Released::last`] is the last access to the bytes, and
///      its caller frees the version.
///
///    So a `Meta` that owns memory frees it in `forget`, in a `retire` that returns `true`, and in
///    a release that returns `last`.
///
/// # The two words of a record
///
/// A [`Record`] has a *link*, to chain waiting accesses, and a word of the scheme's *own*. See
/// there.
///
/// # Order
///
/// Consecutive accesses whose modes [share](Mode::shares) form a *generation*. The scheme grants an
/// access when all accesses of earlier generations are released. A task may have several accesses
/// to one version if their mode [repeats](Mode::repeats). They are issued one after the other, so
/// they are members of one generation. A `write` is issued only if the version is idle. The scheme
/// does not check the exclusion of `commutative` accesses; the runtime does.
///
/// ```
/// use millpond::depend::{Mode, Parked, Scheme};
///
/// assert!(millpond::catalogue::SCHEMES.iter().any(|row| row.name == Parked::NAME));
/// // An unused version.
/// let version = <Parked as Scheme>::Meta::default();
/// assert!(Parked::is_idle(&version) && Parked::is_ready(&version, Mode::Inout));
/// ```
///
/// # Safety
///
/// A task becomes ready once, when every earlier access that conflicts with one of its own was
/// released. Everything before those releases happens before the task. The provided
/// [`enter`](Scheme::enter) and [`granted`](Scheme::granted) count a task's waiting accesses. A
/// guard covers the time while the task is issued. A scheme without them must ensure this itself.
/// Zeroed bytes are a valid `Meta` of an unused version.
pub unsafe trait Scheme: Send + Sync + 'static {
    /// The scheme's data in a version: at most 64 bytes, aligned to at most 8. Zeroed bytes are a
    /// valid value. It is never dropped.
    type Meta: Send + Sync;

    /// The scheme's data in a worker.
    type Local: Default + Send;

    /// The scheme's data in a runtime.
    type Shared: Default + Send + Sync;

    /// Whether idle workers search for ready tasks ([`find`](Scheme::find)), because releases do
    /// not find them.
    const SEARCHES: bool = false;

    /// The name that selects it on the command line.
    const NAME: &'static str;

    /// The modes that it orders; they always include `read` and `inout`. A task that declares
    /// another mode fails at its spawn, as [`Kind::Refused`](crate::Kind::Refused).
    const MODES: &'static [Mode] = Mode::ALL;

    /// Whether no access to the version is outstanding. Only for the issuing thread.
    fn is_idle(meta: &Self::Meta) -> bool;

    /// Whether an access of `mode` would be granted at once if it were issued now. Only for the
    /// issuing thread. No other access can be issued meanwhile, so `true` stays true until this
    /// thread issues.
    fn is_ready(meta: &Self::Meta, mode: Mode) -> bool;

    /// Prefetches the lines that the release of an access will touch. A hint, before the body runs.
    fn prefetch(meta: &Self::Meta, record: &Record);

    /// Adds an access after the earlier ones. Returns true if it is granted at once.
    ///
    /// # Safety
    ///
    /// Only the thread that owns the scope issues. `record` stays valid until it is released.
    unsafe fn issue(local: &mut Self::Local, meta: &Self::Meta, record: &Record) -> bool;

    /// Called after all accesses of a task were issued; `waiting` of them were not granted. Returns
    /// true if the task is ready. Otherwise [`granted`](Scheme::granted) makes it ready, perhaps
    /// already now, so the caller does not touch it again.
    ///
    /// # Safety
    ///
    /// Only the thread that issued the accesses calls it, once.
    #[inline]
    unsafe fn enter(shared: &Self::Shared, task: TaskRef, waiting: usize) -> bool {
        _ = shared;
        task.header().unguard(waiting as u32)
    }

    /// Called for each granted access. Returns true if its task is ready; the caller then owns the
    /// task. Otherwise another thread may already have made the task ready, so the caller does not
    /// touch it again.
    ///
    /// # Safety
    ///
    /// The record came from [`Released::granted`], once.
    #[inline]
    unsafe fn granted(record: &Record) -> bool {
        record.task().header().meet()
    }

    /// Removes a granted access.
    ///
    /// # Safety
    ///
    /// `record` was issued on this version, granted, and not released before.
    unsafe fn release(shared: &Self::Shared, local: &mut Self::Local, meta: &Self::Meta, record: &Record) -> Released;

    /// Takes a ready task, if there is one. The caller then owns it.
    fn find(shared: &Self::Shared) -> Option<TaskRef> {
        _ = shared;
        None
    }

    /// Whether [`find`](Scheme::find) might find a task. It may return `true` if there is none. It
    /// must not return `false` if a release made a task ready, and the release's last SeqCst
    /// operation precedes a SeqCst fence of the caller in the single total order.
    fn has_ready(shared: &Self::Shared) -> bool {
        _ = shared;
        false
    }

    /// Frees the scheme's data about past accesses. The caller then zeroes the bytes of `meta`, for
    /// another scope and perhaps another scheme. The provided version is a
    /// [`retire`](Scheme::retire) whose result is not needed.
    ///
    /// # Safety
    ///
    /// No access to the version is outstanding. Only the issuer calls it. No function uses `meta`
    /// before it is zeroed.
    unsafe fn forget(meta: &Self::Meta) {
        // SAFETY: as the caller promises. No access is issued before the bytes are zeroed.
        let _idle = unsafe { Self::retire(meta) };
    }

    /// Tells the scheme that no further access will be issued. Returns true if no access is
    /// outstanding: the scheme has freed its data, and the caller frees the version. Otherwise the
    /// release of the last access does so, and returns [`Released::last`].
    ///
    /// # Safety
    ///
    /// Only the issuer calls it, or the thread that drops the handle. It is called once, and no
    /// access is issued on this version afterwards.
    unsafe fn retire(meta: &Self::Meta) -> bool;
}
