//! Dependence schemes: when a task is ready ([TG](crate#sources) §4).
//!
//! A scheme orders the accesses to *one version* of one datum. The front end issues a task's accesses one by one, on
//! the one thread that owns the scope; releases come from any worker at any time (TG §3.1).

use std::cell::UnsafeCell;
use std::ptr::NonNull;

pub use tracker::AnyScheme;

pub use crate::task::{Record, TaskRef};

/// Makes each of some generic functions a test of every scheme, run by `$run::<Scheme>`.
#[cfg(test)]
macro_rules! tests_of_every_scheme {
    ($run:ident; $($test:ident)*) => {
        tests_of_every_scheme! { $run; parked: parked::Parked; $($test)* }
        tests_of_every_scheme! { $run; graph: graph::Graph; $($test)* }
        tests_of_every_scheme! { $run; embedded_graph: graph::EmbeddedGraph; $($test)* }
        tests_of_every_scheme! { $run; hypergraph: hypergraph::Hypergraph; $($test)* }
        tests_of_every_scheme! { $run; embedded_hypergraph: hypergraph::EmbeddedHypergraph; $($test)* }
        tests_of_every_scheme! { $run; list: list::List; $($test)* }
        tests_of_every_scheme! { $run; two_locks: two_locks::TwoLocks; $($test)* }
        tests_of_every_scheme! { $run; tickets: tickets::Tickets; $($test)* }
    };
    ($run:ident; $name:ident: $file:ident :: $scheme:ident; $($test:ident)*) => {
        mod $name {
            $(#[test] fn $test() { super::$run::<crate::depend::$file::$scheme>(super::$test::<crate::depend::$file::$scheme>) })*
        }
    };
}

#[cfg(all(test, not(loom)))]
mod figure_tests;
#[cfg(feature = "stack")]
pub(crate) mod in_order;
#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(feature = "catalogue")]
mod paper;
pub mod parked;
#[cfg(all(test, millpond_counted))]
mod rmw_tests;
mod store;
pub(crate) mod tracker;

#[cfg(feature = "catalogue")]
pub use paper::{graph, hypergraph, list, tickets, two_locks};

/// Takes the locks of the schemes' stores, for a fork.
pub(crate) fn take_locks() -> Box<dyn std::any::Any> {
    #[cfg(feature = "catalogue")]
    let others = paper::take_locks();
    #[cfg(not(feature = "catalogue"))]
    let others = ();
    Box::new((parked::take_lock(), others))
}

/// How the accesses of a generation behave among themselves; what a scheme sees of an access mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// `read`: members run at once.
    Read = 1,
    /// `write`: alone in its generation and first of its version, so it never waits ([TG](crate#sources) §3.3); unless it goes
    /// in place of a value in use, and is ordered as an `inout`.
    Write = 2,
    /// `inout`: alone in its generation.
    Inout = 3,
    /// `commutative`: members in any order; the exclusion is not the scheme's business ([TG](crate#sources) §3.2, "none(x)").
    Commutative = 4,
    /// `concurrent`: members run at once.
    Concurrent = 5,
    /// `reduce`: members run at once, on private copies ([TG](crate#sources) §3.2, "none(r)").
    Reduce = 6,
}

impl Mode {
    /// All of them.
    pub const ALL: &[Mode] = &[Mode::Read, Mode::Write, Mode::Inout, Mode::Commutative, Mode::Concurrent, Mode::Reduce];

    /// Whether consecutive accesses of this mode form one generation ([TG](crate#sources) §3.2).
    ///
    /// ```
    /// use millpond::depend::Mode;
    ///
    /// assert!(Mode::Read.shares() && Mode::Commutative.shares());
    /// assert!(!Mode::Inout.shares());
    /// ```
    #[inline]
    pub fn shares(self) -> bool {
        !matches!(self, Mode::Write | Mode::Inout)
    }

    /// Whether one task may declare two accesses of this mode to one datum. The scheme gets both, one after the other, as
    /// members of one generation.
    ///
    /// ```
    /// use millpond::depend::Mode;
    ///
    /// let repeat: Vec<_> = Mode::ALL.iter().filter(|mode| mode.repeats()).collect();
    /// assert_eq!(repeat, [&Mode::Read, &Mode::Concurrent]);
    /// ```
    #[inline]
    pub fn repeats(self) -> bool {
        matches!(self, Mode::Read | Mode::Concurrent)
    }

    /// The mode of a number.
    #[inline]
    pub(crate) fn of(number: u32) -> Mode {
        match number {
            1 => Mode::Read,
            2 => Mode::Write,
            3 => Mode::Inout,
            4 => Mode::Commutative,
            5 => Mode::Concurrent,
            _ => Mode::Reduce,
        }
    }
}

/// The word by which an access is declared.
///
/// ```
/// assert_eq!(millpond::depend::Mode::Inout.to_string(), "inout");
/// ```
impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Mode::Read => "read",
            Mode::Write => "write",
            Mode::Inout => "inout",
            Mode::Commutative => "commutative",
            Mode::Concurrent => "concurrent",
            Mode::Reduce => "reduce",
        })
    }
}

/// 64 bytes beside each version, which every scheme's metadata must fit; all zeros is a version that nobody uses.
#[derive(Debug, Default)]
#[repr(C, align(8))]
pub struct Meta(UnsafeCell<[u64; 8]>);

// SAFETY: a scheme's `Meta` type is `Sync` (bound in `Scheme`), and the bytes are only reached as that type, or by
// `reset` under the condition that nobody else reaches them.
unsafe impl Sync for Meta {}

impl Meta {
    /// The bytes as the metadata of scheme `D`.
    #[inline]
    pub(crate) fn of<D: Scheme>(&self) -> &D::Meta {
        // Loom's atomics are larger; there the tables of all schemes are compiled, but models make metadata of their own.
        #[cfg(not(loom))]
        const {
            assert!(size_of::<D::Meta>() <= 64, "the scheme's metadata must fit 64 bytes");
            assert!(align_of::<D::Meta>() <= 8, "the scheme's metadata must need no more than 8-byte alignment");
        }
        #[cfg(loom)]
        assert!(size_of::<D::Meta>() <= 64 && align_of::<D::Meta>() <= 8, "the metadata of a model");
        // SAFETY: size and alignment fit (checked above), zeros and everything that `D` left are valid (trait
        // `Scheme`), and a block is not used by two schemes at once (a scope claims a handle, then resets it).
        unsafe { &*self.0.get().cast::<D::Meta>() }
    }

    /// Asks for its line, to be written soon.
    #[inline]
    pub(crate) fn prefetch(&self) {
        crate::sync::prefetch_for_write(NonNull::from(self).cast(), size_of::<Meta>());
    }

    /// Back to the unused state, for a scope that has just claimed the handle.
    ///
    /// # Safety
    ///
    /// No access to the version is outstanding and no other scope can issue one.
    pub(crate) unsafe fn reset(&self) {
        // SAFETY: nobody else reads or writes the bytes, by the condition above.
        unsafe { *self.0.get() = [0; 8] }
    }
}

/// What the release of an access entails.
#[derive(Clone, Copy, Debug, Default)]
pub struct Released {
    /// The accesses that are granted by it, as a chain by their `link`. Of each, the caller reads the link first and
    /// then calls [`Scheme::granted`].
    pub granted: Option<NonNull<Record>>,
    /// The version was retired and this was its last access: the caller frees it.
    pub last: bool,
}

/// When a task is ready.
///
/// Members of the catalogue implement it (`catalogue::SCHEMES`, Cargo feature `catalogue`), and so can other crates.
/// Only the runtime calls the functions. A task is issued access by access, then as a whole:
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
/// The *issuer* of a version is the thread that runs the body whose scope owns the handle. There is one at a time.
/// Another thread becomes the issuer only after the runtime has synchronized the two.
///
/// | function | thread | at the same time as |
/// |---|---|---|
/// | `is_idle`, `is_ready`, `issue`, `enter` | the issuer | `release` of earlier accesses, on workers |
/// | `release`, then `granted` for each granted record | any worker, or the issuer | `issue`, and other releases |
/// | `prefetch` | the worker that is about to run the task | `issue` and `release` |
/// | `find`, `has_ready` | any worker | everything |
/// | `retire`, `forget` | the issuer, or the thread that drops the handle; no worker's `Local` is there | `retire`: releases |
///
/// `Local` belongs to the worker context of the calling thread, so that only one thread uses it at a time. No function may
/// call back into the runtime, or run code of the user.
///
/// # The life of a `Meta`
///
/// 1. It begins as 64 zeroed bytes. No constructor runs: zeroed bytes are a valid `Meta` of an unused version. So a
///    field is a number, an atomic, an `Option<NonNull<_>>` or an `Option<Box<_>>`, and no `Mutex<Vec<_>>`.
/// 2. The scheme changes it through `&Meta`. It stays at its address. Only its own scheme looks at it.
/// 3. It is never dropped. Before the bytes are used for something else, or freed, the runtime calls exactly one of:
///    - [`forget`](Scheme::forget), if the version is idle and stays: another scope, perhaps of another scheme, takes
///      the handle. Then the bytes are zeroed.
///    - [`retire`](Scheme::retire), if no further access will be issued: the handle is dropped, or a `write` has started
///      a new version. If it returns `true`, the caller frees the version. If `false`, the release that returns
///      [`Released::last`] is the last access to the bytes, and its caller frees the version.
///
///    So a `Meta` that owns memory frees it in `forget`, in a `retire` that returns `true`, and in a release that
///    returns `last`.
///
/// # The two words of a record
///
/// A [`Record`] has a *link*, to chain accesses that wait, and a word of the scheme's *own*. See there.
///
/// # Order
///
/// Consecutive accesses that [share](Mode::shares) a mode form a *generation*. An access is granted when all accesses of
/// earlier generations are released. A task may have several accesses to one version if their mode [repeats](Mode::repeats):
/// they are issued one after the other, so they are members of one generation. A `write` is issued only if the version is idle. The scheme does not check the
/// exclusion of `commutative` accesses; the runtime does.
///
/// ```
/// use millpond::depend::{Mode, Scheme, parked::Parked};
///
/// assert!(millpond::catalogue::SCHEMES.iter().any(|row| row.name == Parked::NAME));
/// // A version that nobody uses.
/// let version = <Parked as Scheme>::Meta::default();
/// assert!(Parked::is_idle(&version) && Parked::is_ready(&version, Mode::Inout));
/// ```
///
/// # Safety
///
/// A task becomes ready once, when every earlier access that conflicts with one of its own was released; and what
/// happened before those releases happens before that. The provided [`enter`](Scheme::enter) and
/// [`granted`](Scheme::granted) count a task's accesses that wait, with a guard while it is issued: without them, a
/// scheme must see to it. Zeroed bytes are a valid `Meta` that nobody uses.
pub unsafe trait Scheme: Send + Sync + 'static {
    /// What the scheme keeps beside a version: at most 64 bytes, aligned to at most 8. Zeroed bytes are a valid one. It is
    /// never dropped.
    type Meta: Send + Sync;

    /// What the scheme keeps with a worker.
    type Local: Default + Send;

    /// What the scheme keeps with a runtime.
    type Shared: Default + Send + Sync;

    /// Whether a release finds no tasks, and idle workers look for them ([`find`](Scheme::find)).
    const SEARCHES: bool = false;

    /// The name by which the command line chooses it.
    const NAME: &'static str;

    /// The modes that it orders; `read` and `inout` are always among them. A task that declares another fails at its
    /// spawn, as [`Kind::Refused`](crate::Kind::Refused).
    const MODES: &'static [Mode] = Mode::ALL;

    /// Whether no access to the version is outstanding. Only for the thread that issues.
    fn is_idle(meta: &Self::Meta) -> bool;

    /// Whether an access of `mode` that were issued now would be granted at once. Only for the thread that issues:
    /// nothing can be issued meanwhile, so `true` stays true until it issues.
    fn is_ready(meta: &Self::Meta, mode: Mode) -> bool;

    /// Asks the processor for the lines that the release of an access will touch. A hint, before the body runs.
    fn prefetch(meta: &Self::Meta, record: &Record);

    /// Adds an access behind the earlier ones. True if it is granted at once.
    ///
    /// # Safety
    ///
    /// Only the thread that owns the scope issues; `record` stays valid until it is released.
    unsafe fn issue(local: &mut Self::Local, meta: &Self::Meta, record: &Record) -> bool;

    /// The accesses of a task were issued, of which `waiting` were not granted. True if the task is ready; else it will
    /// be, by [`granted`](Scheme::granted), and may be already, so that the caller does not touch it again.
    ///
    /// # Safety
    ///
    /// Only the thread that issued them, once.
    #[inline]
    unsafe fn enter(shared: &Self::Shared, task: TaskRef, waiting: usize) -> bool {
        _ = shared;
        task.header().unguard(waiting as u32)
    }

    /// An access was granted: true if its task is ready, which the caller has then. Else the task may be ready by
    /// another's doing, and the caller does not touch it again.
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

    /// A task that is ready, which the caller has then.
    fn find(shared: &Self::Shared) -> Option<TaskRef> {
        _ = shared;
        None
    }

    /// Whether [`find`](Scheme::find) might find a task. It may err towards `true`. It does not towards `false`, if a task is
    /// ready by a release whose last SeqCst operation comes before a SeqCst fence of the caller's, in their one order.
    fn has_ready(shared: &Self::Shared) -> bool {
        _ = shared;
        false
    }

    /// Frees what the scheme keeps of past accesses. The caller then zeroes the bytes of `meta`, for another scope and
    /// perhaps another scheme. The provided one is a [`retire`](Scheme::retire) whose result is not needed.
    ///
    /// # Safety
    ///
    /// No access to the version is outstanding. Only the issuer calls it. No function uses `meta` before it is zeroed.
    unsafe fn forget(meta: &Self::Meta) {
        // SAFETY: the caller's; nothing is issued before the bytes are new.
        let _idle = unsafe { Self::retire(meta) };
    }

    /// Tells the scheme that no further access will be issued. True if no access is outstanding: the scheme has freed
    /// what it keeps, and the caller frees the version. Otherwise the release of the last access does so, and returns
    /// [`Released::last`].
    ///
    /// # Safety
    ///
    /// Only the issuer calls it, or the thread that drops the handle. It is called once, and nothing is issued on this
    /// version afterwards.
    unsafe fn retire(meta: &Self::Meta) -> bool;
}
