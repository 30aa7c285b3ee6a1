//! A generation of the hypergraph schemes, and the list of its waiting members.

use std::fmt::Debug;
use std::ptr::{self, NonNull};

use super::super::chain::{Chain, Node};
use crate::depend::store::{Kept, Local, Store, take_lock};
use crate::sync::{Guarded, Locked};
use crate::task::Record;

/// One generation of a version.
#[derive(Debug)]
#[repr(C)]
pub struct Generation<T> {
    /// The lock, and the number of unreleased members.
    pub(crate) members: Locked,
    /// No more access will be issued to the version, and this is its youngest generation.
    pub(crate) retired: Guarded<bool>,
    pub(crate) next: Guarded<Link<T>>,
    /// The preceding generation, until it is given back.
    pub(crate) before: Guarded<Link<T>>,
    /// The members that wait for the preceding generation. Used under that generation's lock.
    pub(crate) tasks: T,
}

pub(crate) type Link<T> = Option<NonNull<Generation<T>>>;

impl<T: Default> Default for Generation<T> {
    fn default() -> Self {
        Generation {
            members: Locked::default(),
            retired: Guarded::new(false),
            next: Guarded::new(None),
            before: Guarded::new(None),
            tasks: T::default(),
        }
    }
}

impl<T> Generation<T> {
    /// Begins with one member. No other thread knows the generation, and its list is empty.
    #[inline]
    pub(crate) fn begin(&self, before: Link<T>) {
        self.retired.set(false);
        self.next.set(None);
        self.before.set(before);
        self.members.unlock(1);
    }

    /// The preceding generation, if it has members. Only for the issuer, while this one is the
    /// youngest and has members.
    #[inline]
    pub(crate) fn busy_before(&self) -> Option<&Generation<T>> {
        // SAFETY: the issuer gives it back, or the thread that brings this one to 0 members when it
        // is no longer the youngest.
        let before = self.before.get().map(|before| unsafe { before.as_ref() });
        before.filter(|before| before.members.get() > 0)
    }
}

/// Takes the locks of the stores for a fork.
pub(in crate::depend) fn take_locks() -> [Box<dyn std::any::Any>; 2] {
    [take_lock::<Generation<Chain>>(), take_lock::<Generation<Threaded>>()]
}

impl<T: Tasks> Kept for Generation<T> {
    fn store() -> &'static Store<Self> {
        T::store()
    }

    fn end_model(&self) {
        self.next.set(None);
        self.before.set(None);
    }
}

/// A list of waiting members. `hypergraph` and `embedded-hypergraph` differ in it.
pub trait Tasks: Debug + Default + 'static {
    /// The name of the scheme that uses this list.
    const NAME: &'static str;

    /// The data of a worker for such lists.
    type Free: Debug + Default + Send;

    /// The store of free generations with such lists.
    fn store() -> &'static Store<Generation<Self>>;

    /// Adds an access.
    fn push(&self, free: &mut Self::Free, record: &Record);

    /// Removes all accesses. Returns a chain through their links, in issue order.
    fn take(&self, free: &mut Self::Free) -> Option<NonNull<Record>>;
}

impl Tasks for Chain {
    const NAME: &'static str = "hypergraph";

    type Free = Local<Node>;

    fn store() -> &'static Store<Generation<Self>> {
        static STORE: Store<Generation<Chain>> = Store::new();
        &STORE
    }

    fn push(&self, free: &mut Local<Node>, record: &Record) {
        self.push(free, record);
    }

    fn take(&self, free: &mut Local<Node>) -> Option<NonNull<Record>> {
        let threaded = Threaded::default();
        while let Some(record) = self.pop(free) {
            // SAFETY: the access waits, so it was not released.
            threaded.push(&mut (), unsafe { record.as_ref() });
        }
        threaded.take(&mut ())
    }
}

/// A list through the links of the records.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Threaded {
    head: Guarded<Option<NonNull<Record>>>,
    tail: Guarded<Option<NonNull<Record>>>,
}

impl Tasks for Threaded {
    const NAME: &'static str = "embedded-hypergraph";

    type Free = ();

    fn store() -> &'static Store<Generation<Self>> {
        static STORE: Store<Generation<Threaded>> = Store::new();
        &STORE
    }

    #[inline]
    fn push(&self, (): &mut (), record: &Record) {
        record.set_link(ptr::null_mut());
        match self.tail.replace(Some(record.into())) {
            // SAFETY: the access waits, so it was not released.
            Some(tail) => unsafe { tail.as_ref() }.set_link(ptr::from_ref(record).cast_mut().cast()),
            None => self.head.set(Some(record.into())),
        }
    }

    #[inline]
    fn take(&self, (): &mut ()) -> Option<NonNull<Record>> {
        self.tail.set(None);
        self.head.take()
    }
}
