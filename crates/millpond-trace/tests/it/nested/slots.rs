//! Handles with any rights, and the accesses of a task.

use millpond::{
    Access, Commutative, ConcOnly, Concurrent, Full, Handle, In, Inout, Max, Read, ReadOnly, Reduce, Spawn, Sum, Write,
    WriteOnly,
};

use super::program::{Mode, Task};

/// A handle with the right that the scope has.
pub enum Slot<B> {
    Full(Handle<u64, B, Full>),
    Read(Handle<u64, B, ReadOnly>),
    Write(Handle<u64, B, WriteOnly>),
    Share(Handle<u64, B, ConcOnly>),
}

const RIGHTS: &str = "a program uses the rights that it has";

impl<B> Slot<B> {
    fn full(&self) -> &Handle<u64, B> {
        let Slot::Full(handle) = self else { panic!("{RIGHTS}") };
        handle
    }

    fn read(&self) -> Access<'_, u64, Read, B> {
        match self {
            Slot::Full(handle) => handle.read(),
            Slot::Read(handle) => handle.read(),
            Slot::Share(handle) => handle.read(),
            Slot::Write(_) => panic!("{RIGHTS}"),
        }
    }

    fn write(&self) -> Access<'_, u64, Write, B> {
        match self {
            Slot::Full(handle) => handle.write(),
            Slot::Write(handle) => handle.write(),
            Slot::Read(_) | Slot::Share(_) => panic!("{RIGHTS}"),
        }
    }

    fn concurrent(&self) -> Access<'_, u64, Concurrent, B> {
        match self {
            Slot::Full(handle) => handle.concurrent(),
            Slot::Share(handle) => handle.concurrent(),
            Slot::Read(_) | Slot::Write(_) => panic!("{RIGHTS}"),
        }
    }

    pub fn set<'s, S: Spawn<'s, Brand = B>>(&self, s: &S) {
        match self {
            Slot::Full(handle) => s.set(handle, 0),
            Slot::Write(handle) => s.set(handle, 0),
            Slot::Read(_) | Slot::Share(_) => panic!("{RIGHTS}"),
        }
    }

    pub fn wait_on<'s, S: Spawn<'s, Brand = B>>(&mut self, s: &S) {
        let value = match self {
            Slot::Full(handle) => s.wait_on(handle).map(|value| *value),
            Slot::Read(handle) => s.wait_on(handle).map(|value| *value),
            Slot::Share(handle) => s.wait_on(handle).map(|value| *value),
            Slot::Write(_) => panic!("{RIGHTS}"),
        };
        value.expect("it has a value");
    }
}

/// The accesses of every task: a list for each mode, so that all have one type.
pub type Accesses<'h, B> = (
    Vec<Access<'h, u64, Read, B>>,
    Vec<Access<'h, u64, Write, B>>,
    Vec<Access<'h, u64, Inout, B>>,
    Vec<Access<'h, u64, Commutative, B>>,
    Vec<Access<'h, u64, Concurrent, B>>,
    Vec<Access<'h, u64, Reduce<Sum>, B>>,
    Vec<Access<'h, u64, Reduce<Max>, B>>,
);

/// The handles that a parent gets for it.
pub type Held<'t> = (
    Vec<Handle<u64, In<'t>, ReadOnly>>,
    Vec<Handle<u64, In<'t>, WriteOnly>>,
    Vec<Handle<u64, In<'t>>>,
    Vec<Handle<u64, In<'t>>>,
    Vec<Handle<u64, In<'t>, ConcOnly>>,
    Vec<Handle<u64, In<'t>>>,
    Vec<Handle<u64, In<'t>>>,
);

/// The accesses of a task, in the order of [`Mode`].
pub fn accesses<'h, B>(task: &Task, slots: &'h [Slot<B>]) -> Accesses<'h, B> {
    let of = |mode: Mode| {
        let accesses = task.accesses.iter().filter(move |access| access.mode == mode);
        accesses.map(|access| &slots[access.datum])
    };
    (
        of(Mode::Read).map(Slot::read).collect(),
        of(Mode::Write).map(Slot::write).collect(),
        of(Mode::Inout).map(|slot| slot.full().inout()).collect(),
        of(Mode::Commutative).map(|slot| slot.full().commutative()).collect(),
        of(Mode::Concurrent).map(Slot::concurrent).collect(),
        of(Mode::Sum).map(|slot| slot.full().reduce(Sum)).collect(),
        of(Mode::Max).map(|slot| slot.full().reduce(Max)).collect(),
    )
}

/// The handles of a parent, in the order of its accesses.
pub fn held_slots<'t>((read, write, inout, commutative, concurrent, sum, max): Held<'t>) -> Vec<Slot<In<'t>>> {
    (read.into_iter().map(Slot::Read))
        .chain(write.into_iter().map(Slot::Write))
        .chain(inout.into_iter().chain(commutative).map(Slot::Full))
        .chain(concurrent.into_iter().map(Slot::Share))
        .chain(sum.into_iter().chain(max).map(Slot::Full))
        .collect()
}
