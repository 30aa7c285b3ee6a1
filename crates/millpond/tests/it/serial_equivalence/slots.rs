//! Handles by id, whatever their rights, and the accesses of a task in one shape: a list for each
//! mode.

use millpond::{
    Access, CanWrite, Commutative, ConcOnly, Concurrent, Error, Full, Handle, In, Inout, Out, Read, ReadOnly, Reduce,
    Spawn, Write, WriteOnly,
};

use super::program::{Id, Mode, Task};
use super::value::{Add, Compose, Value, Xor};

/// A handle with the rights that the scope has.
pub enum Slot<B> {
    Full(Handle<Value, B, Full>),
    Read(Handle<Value, B, ReadOnly>),
    Write(Handle<Value, B, WriteOnly>),
    Share(Handle<Value, B, ConcOnly>),
}

/// The handles of a scope.
pub struct Slots<B>(pub Vec<(Id, Slot<B>)>);

/// What every spawn declares. All programs have one type so; arguments are numbered through all
/// lists.
pub type All<'h, B> = (
    Vec<Access<'h, Value, Read, B>>,
    Vec<Access<'h, Value, Write, B>>,
    Vec<Access<'h, Value, Inout, B>>,
    Vec<Access<'h, Value, Commutative, B>>,
    Vec<Access<'h, Value, Concurrent, B>>,
    Vec<Access<'h, Value, Reduce<Add>, B>>,
    Vec<Access<'h, Value, Reduce<Xor>, B>>,
    Vec<Access<'h, Value, Reduce<Compose>, B>>,
);

/// The same of few accesses of the usual modes, in a type that says how many: a stack lays such
/// tasks down in short form.
pub type Few<'h, B, const R: usize, const W: usize, const I: usize> =
    ([Access<'h, Value, Read, B>; R], [Access<'h, Value, Write, B>; W], [Access<'h, Value, Inout, B>; I]);

/// How many accesses there are of the usual modes, if there are no others.
pub fn usual<B>(all: &All<'_, B>) -> Option<(usize, usize, usize)> {
    let (read, write, inout, commutative, concurrent, add, xor, compose) = all;
    let others = commutative.len() + concurrent.len() + add.len() + xor.len() + compose.len();
    (others == 0).then_some((read.len(), write.len(), inout.len()))
}

pub fn few<'h, B, const R: usize, const W: usize, const I: usize>(all: All<'h, B>) -> Few<'h, B, R, W, I> {
    fn array<T, const N: usize>(list: Vec<T>) -> [T; N] {
        list.try_into().unwrap_or_else(|_| panic!("counted by `usual`"))
    }
    (array(all.0), array(all.1), array(all.2))
}

/// What a leaf of few accesses is handed.
type FewLeafs<'t, const R: usize, const W: usize, const I: usize> =
    ([&'t Value; R], [Out<'t, Value>; W], [&'t mut Value; I]);

/// What a parent of few accesses is handed.
type FewHelds<'t, const R: usize, const W: usize, const I: usize> =
    ([Handle<Value, In<'t>, ReadOnly>; R], [Handle<Value, In<'t>, WriteOnly>; W], [Handle<Value, In<'t>, Full>; I]);

pub fn leafs_of_few<'t, const R: usize, const W: usize, const I: usize>(few: FewLeafs<'t, R, W, I>) -> Leafs<'t> {
    (few.0.into(), few.1.into(), few.2.into(), vec![], vec![], vec![], vec![], vec![])
}

pub fn helds_of_few<'t, const R: usize, const W: usize, const I: usize>(few: FewHelds<'t, R, W, I>) -> Helds<'t> {
    (few.0.into(), few.1.into(), few.2.into(), vec![], vec![], vec![], vec![], vec![])
}

/// The same of at most one access of each mode, each of which may be absent.
pub type Maybe<'h, B> = (
    Option<Access<'h, Value, Read, B>>,
    Option<Access<'h, Value, Write, B>>,
    Option<Access<'h, Value, Inout, B>>,
    Option<Access<'h, Value, Commutative, B>>,
    Option<Access<'h, Value, Concurrent, B>>,
    Option<Access<'h, Value, Reduce<Add>, B>>,
    Option<Access<'h, Value, Reduce<Xor>, B>>,
    Option<Access<'h, Value, Reduce<Compose>, B>>,
);

/// Gives the accesses back if there are several of one mode.
pub fn maybe<B>(mut all: All<'_, B>) -> Result<Maybe<'_, B>, Box<All<'_, B>>> {
    let lengths =
        [all.0.len(), all.1.len(), all.2.len(), all.3.len(), all.4.len(), all.5.len(), all.6.len(), all.7.len()];
    if lengths.into_iter().any(|length| length > 1) {
        return Err(Box::new(all));
    }
    Ok((all.0.pop(), all.1.pop(), all.2.pop(), all.3.pop(), all.4.pop(), all.5.pop(), all.6.pop(), all.7.pop()))
}

/// What a leaf is handed for it.
type MaybeLeafs<'t> = (
    Option<&'t Value>,
    Option<Out<'t, Value>>,
    Option<&'t mut Value>,
    Option<&'t mut Value>,
    Option<&'t Value>,
    Option<&'t mut Value>,
    Option<&'t mut Value>,
    Option<&'t mut Value>,
);

/// What a parent is handed for it.
type MaybeHelds<'t> = (
    Option<Handle<Value, In<'t>, ReadOnly>>,
    Option<Handle<Value, In<'t>, WriteOnly>>,
    Option<Handle<Value, In<'t>, Full>>,
    Option<Handle<Value, In<'t>, Full>>,
    Option<Handle<Value, In<'t>, ConcOnly>>,
    Option<Handle<Value, In<'t>, Full>>,
    Option<Handle<Value, In<'t>, Full>>,
    Option<Handle<Value, In<'t>, Full>>,
);

fn list<T>(one: Option<T>) -> Vec<T> {
    one.into_iter().collect()
}

pub fn leafs_of_maybe(maybe: MaybeLeafs<'_>) -> Leafs<'_> {
    let (read, write, inout, commutative, concurrent, add, xor, compose) = maybe;
    (list(read), list(write), list(inout), list(commutative), list(concurrent), list(add), list(xor), list(compose))
}

pub fn helds_of_maybe(maybe: MaybeHelds<'_>) -> Helds<'_> {
    let (read, write, inout, commutative, concurrent, add, xor, compose) = maybe;
    (list(read), list(write), list(inout), list(commutative), list(concurrent), list(add), list(xor), list(compose))
}

/// What a leaf is handed for it.
pub type Leafs<'t> = (
    Vec<&'t Value>,
    Vec<Out<'t, Value>>,
    Vec<&'t mut Value>,
    Vec<&'t mut Value>,
    Vec<&'t Value>,
    Vec<&'t mut Value>,
    Vec<&'t mut Value>,
    Vec<&'t mut Value>,
);

/// What a parent is handed for it.
pub type Helds<'t> = (
    Vec<Handle<Value, In<'t>, ReadOnly>>,
    Vec<Handle<Value, In<'t>, WriteOnly>>,
    Vec<Handle<Value, In<'t>, Full>>,
    Vec<Handle<Value, In<'t>, Full>>,
    Vec<Handle<Value, In<'t>, ConcOnly>>,
    Vec<Handle<Value, In<'t>, Full>>,
    Vec<Handle<Value, In<'t>, Full>>,
    Vec<Handle<Value, In<'t>, Full>>,
);

/// How a body sets a value.
#[derive(Clone, Copy)]
pub enum Form {
    Waits,
    /// Without waiting, if that may be.
    Tries,
    /// The same, else by a leaf.
    Leaf,
}

impl Form {
    fn set<'s, S: Spawn<'s>, R: CanWrite>(self, s: &S, handle: &Handle<Value, S::Brand, R>, value: Value) {
        let left = if let Form::Waits = self { Err(value) } else { s.try_set(handle, value) };
        match (self, left) {
            (_, Ok(())) => {}
            (Form::Leaf, Err(value)) => drop(s.spawn(handle.write(), move |out| out.set(value))),
            (_, Err(value)) => s.set(handle, value),
        }
    }
}

const CLEAN: &str = "a clean program uses the rights that it has";

impl<B> Slot<B> {
    fn full(&self) -> &Handle<Value, B, Full> {
        match self {
            Slot::Full(handle) => handle,
            _ => panic!("{CLEAN}"),
        }
    }

    fn read(&self) -> Access<'_, Value, Read, B> {
        match self {
            Slot::Full(handle) => handle.read(),
            Slot::Read(handle) => handle.read(),
            Slot::Share(handle) => handle.read(),
            Slot::Write(_) => panic!("{CLEAN}"),
        }
    }

    fn write(&self) -> Access<'_, Value, Write, B> {
        match self {
            Slot::Full(handle) => handle.write(),
            Slot::Write(handle) => handle.write(),
            _ => panic!("{CLEAN}"),
        }
    }

    fn concurrent(&self) -> Access<'_, Value, Concurrent, B> {
        match self {
            Slot::Full(handle) => handle.concurrent(),
            Slot::Share(handle) => handle.concurrent(),
            _ => panic!("{CLEAN}"),
        }
    }

    pub fn set<'s, S: Spawn<'s, Brand = B>>(&self, s: &S, value: Value, form: Form) {
        match self {
            Slot::Full(handle) => form.set(s, handle, value),
            Slot::Write(handle) => form.set(s, handle, value),
            _ => panic!("{CLEAN}"),
        }
    }

    /// Waits, calls `change` if the value may be changed, and `look` before that.
    pub fn wait_on<'s, S: Spawn<'s, Brand = B>, R>(
        &mut self,
        s: &S,
        look: impl FnOnce(&Value) -> R,
        change: impl FnOnce(&mut Value, &R),
    ) -> Result<R, Error> {
        match self {
            Slot::Full(handle) => {
                let mut value = s.wait_on(handle)?;
                let seen = look(&value);
                change(&mut value, &seen);
                Ok(seen)
            }
            Slot::Read(handle) => Ok(look(&*s.wait_on(handle)?)),
            Slot::Share(handle) => Ok(look(&*s.wait_on(handle)?)),
            Slot::Write(_) => panic!("{CLEAN}"),
        }
    }
}

impl<B> Slots<B> {
    pub fn get(&mut self, id: Id) -> &mut Slot<B> {
        let found = self.0.iter_mut().find(|slot| slot.0 == id);
        &mut found.expect("a clean program names what it has").1
    }

    /// The accesses that a task declares.
    pub fn accesses(&self, task: &Task) -> All<'_, B> {
        let of = |mode| {
            task.of(mode).enumerate().map(move |(at, one)| {
                // A parent that reads a datum twice has two handles; both serve.
                let same = || self.0.iter().filter(|slot| slot.0 == one.slot);
                let nth = if mode == Mode::Read { at % same().count() } else { 0 };
                &same().nth(nth).expect("as in `get`").1
            })
        };
        (
            of(Mode::Read).map(Slot::read).collect(),
            of(Mode::Write).map(Slot::write).collect(),
            of(Mode::Inout).map(|slot| slot.full().inout()).collect(),
            of(Mode::Commutative).map(|slot| slot.full().commutative()).collect(),
            of(Mode::Concurrent).map(Slot::concurrent).collect(),
            of(Mode::Add).map(|slot| slot.full().reduce(Add)).collect(),
            of(Mode::Xor).map(|slot| slot.full().reduce(Xor)).collect(),
            of(Mode::Compose).map(|slot| slot.full().reduce(Compose)).collect(),
        )
    }
}

impl<'t> Slots<In<'t>> {
    /// The handles of a parent, under the ids of what it declared.
    pub fn held(task: &Task, helds: Helds<'t>) -> Self {
        let (read, write, inout, commutative, concurrent, add, xor, compose) = helds;
        let all = (read.into_iter().map(Slot::Read))
            .chain(write.into_iter().map(Slot::Write))
            .chain(inout.into_iter().chain(commutative).map(Slot::Full))
            .chain(concurrent.into_iter().map(Slot::Share))
            .chain(add.into_iter().chain(xor).chain(compose).map(Slot::Full));
        Slots(task.uses.iter().map(|one| one.slot).zip(all).collect())
    }
}
