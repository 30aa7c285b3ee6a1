//! A memory manager chosen at run time: this crate's, or any other type that implements [`Memory`].
//!
//! Needs the Cargo feature `catalogue`.

use std::fmt;
use std::sync::Arc;

use super::{Block, Memory, Slabs};

/// The methods of a manager that need the worker's local part.
trait Part: Send {
    fn alloc(&mut self, size: usize) -> Block;

    /// # Safety
    ///
    /// As for [`Memory::free`].
    unsafe fn free(&mut self, block: Block);

    fn idle(&mut self);
}

struct PartOf<M: Memory> {
    // Declared first: Rust drops a manager's local parts before the manager.
    local: M::Local,
    manager: Arc<M>,
}

impl<M: Memory> Part for PartOf<M> {
    fn alloc(&mut self, size: usize) -> Block {
        self.manager.alloc(&mut self.local, size)
    }

    unsafe fn free(&mut self, block: Block) {
        // SAFETY: by the caller.
        unsafe { self.manager.free(&mut self.local, block) }
    }

    fn idle(&mut self) {
        self.manager.idle(&mut self.local);
    }
}

/// A memory manager chosen at run time ([`Chosen`]).
///
/// ```
/// use millpond::memory::{AnyMemory, Memory, variants::by_name};
///
/// let (manager, mut workers) = AnyMemory::with(1, &by_name("clf").unwrap());
/// let block = manager.alloc(&mut workers[0], 100);
/// // SAFETY: the block is this manager's, and nothing uses it.
/// unsafe { manager.free(&mut workers[0], block) };
/// ```
pub struct AnyMemory {
    largest_stable: usize,
    /// Identifies the manager. Its local parts have the same number.
    number: u64,
    /// Keeps stable blocks mapped.
    _manager: Arc<dyn Send + Sync>,
}

/// A worker's local part of an [`AnyMemory`].
pub struct AnyLocal {
    part: Box<dyn Part>,
    number: u64,
}

/// The choice of a memory manager. The default is the default manager.
#[derive(Clone)]
pub struct Chosen {
    name: &'static str,
    make: Arc<dyn Fn(usize) -> (AnyMemory, Vec<AnyLocal>) + Send + Sync>,
}

impl Chosen {
    /// The memory manager of type `M` with its parameters.
    ///
    /// ```
    /// use millpond::memory::{Chosen, Slabs};
    ///
    /// assert_eq!(Chosen::of::<Slabs>(()).name(), "default");
    /// ```
    pub fn of<M: Memory>(choice: M::Choice) -> Chosen {
        let make = move |workers| {
            let (manager, locals) = M::with(workers, &choice);
            let (manager, number) = (Arc::new(manager), crate::sync::unique_number());
            let part = |local| AnyLocal { part: Box::new(PartOf { local, manager: manager.clone() }), number };
            let locals = locals.into_iter().map(part).collect();
            (AnyMemory { largest_stable: manager.largest_stable(), number, _manager: manager }, locals)
        };
        Chosen { name: M::NAME, make: Arc::new(make) }
    }

    /// The name of the manager ([`Memory::NAME`]).
    pub fn name(&self) -> &'static str {
        self.name
    }
}

impl Default for Chosen {
    fn default() -> Self {
        Chosen::of::<Slabs>(())
    }
}

impl fmt::Debug for Chosen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Chosen").field(&self.name).finish()
    }
}

impl AnyMemory {
    #[inline]
    fn check(&self, local: &AnyLocal) {
        assert!(self.number == local.number, "a local part of another manager");
    }
}

// SAFETY: blocks come from the manager that made the worker's local part, which is this one
// (`check`). This value and each local part keep that manager alive. So the memory of stable blocks
// stays mapped at least as long as this value exists.
unsafe impl Memory for AnyMemory {
    type Local = AnyLocal;
    type Choice = Chosen;

    const NAME: &'static str = "chosen by name";

    fn with(seats: usize, choice: &Chosen) -> (Self, Vec<AnyLocal>) {
        (choice.make)(seats)
    }

    #[inline]
    fn largest_stable(&self) -> usize {
        self.largest_stable
    }

    #[inline]
    fn alloc(&self, local: &mut AnyLocal, size: usize) -> Block {
        self.check(local);
        local.part.alloc(size)
    }

    #[inline]
    unsafe fn free(&self, local: &mut AnyLocal, block: Block) {
        // SAFETY: by the caller. The local part belongs to this manager.
        unsafe { local.part.free(block) }
    }

    fn idle(&self, local: &mut AnyLocal) {
        self.check(local);
        local.part.idle();
    }
}
