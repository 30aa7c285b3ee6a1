//! Handles by id, whatever their rights, and the accesses of a task in one shape: a list for each
//! mode.

use std::rc::Rc;

use millpond::each::InChunks;
use millpond::{
    Access, CanRead, CanWrite, Commutative, ConcOnly, Concurrent, Error, Full, Grid, Handle, In, Inout, Out, Read,
    ReadOnly, Reduce, Spawn, Write, WriteOnly, all,
};

use super::accumulate::Totals;
use super::program::{Id, Loop, Mode, Over, Task};
use super::value::{Add, Compose, Element, Value, Xor};

/// A handle with the rights that the scope has.
pub enum Slot<B> {
    Full(Handle<Value, B, Full>),
    Read(Handle<Value, B, ReadOnly>),
    Write(Handle<Value, B, WriteOnly>),
    Share(Handle<Value, B, ConcOnly>),
}

/// The handles of a scope: single ones, and those in grids.
pub struct Slots<B> {
    single: Vec<(Id, Slot<B>)>,
    grids: Vec<Tiles<B>>,
    /// What the parent accumulates. Its body may use that while its scope spawns.
    pub totals: Rc<Totals<B>>,
}

/// A grid, and the ids of its tiles.
struct Tiles<B> {
    ids: Vec<Id>,
    grid: Grid<Value, B>,
}

/// A handle of a scope, wherever it is stored.
enum Found<'a, B> {
    Full(&'a Handle<Value, B, Full>),
    Read(&'a Handle<Value, B, ReadOnly>),
    Write(&'a Handle<Value, B, WriteOnly>),
    Share(&'a Handle<Value, B, ConcOnly>),
}

/// What every spawn declares. So all programs have one type. Arguments are numbered through all
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

/// The same of few accesses of the usual modes, in a type that says how many: a stack stores such
/// tasks as compact tasks.
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

/// The same of at most one access of each mode, each of them optional.
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

/// The same for the task of a tile that reads its neighbours.
pub type Stencil<'h, B> = ([Option<Access<'h, Value, Read, B>>; 4], Access<'h, Value, Inout, B>);

pub fn leafs_of_stencil<'t>((around, tile): ([Option<&'t Value>; 4], &'t mut Value)) -> Leafs<'t> {
    let around = around.into_iter().flatten().collect();
    (around, vec![], vec![tile], vec![], vec![], vec![], vec![], vec![])
}

/// What a parent is handed for it.
type StencilHelds<'t> = ([Option<Handle<Value, In<'t>, ReadOnly>>; 4], Handle<Value, In<'t>, Full>);

pub fn helds_of_stencil((around, tile): StencilHelds<'_>) -> Helds<'_> {
    let around = around.into_iter().flatten().collect();
    (around, vec![], vec![tile], vec![], vec![], vec![], vec![], vec![])
}

/// The accesses of a loop, in the order of [`Loop`].
pub struct OfLoop<'h, B> {
    pub changed: Option<InChunks<Access<'h, Value, Inout, B>, Element>>,
    pub chunks: Option<InChunks<Access<'h, Value, Read, B>, Element>>,
    pub read: Option<Access<'h, Value, Read, B>>,
    pub shared: Option<Access<'h, Value, Concurrent, B>>,
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
    /// Without waiting, if that is possible.
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

impl<'a, B> Found<'a, B> {
    fn full(self) -> &'a Handle<Value, B, Full> {
        match self {
            Found::Full(handle) => handle,
            _ => panic!("{CLEAN}"),
        }
    }

    fn read(self) -> Access<'a, Value, Read, B> {
        match self {
            Found::Full(handle) => handle.read(),
            Found::Read(handle) => handle.read(),
            Found::Share(handle) => handle.read(),
            Found::Write(_) => panic!("{CLEAN}"),
        }
    }

    fn chunks(self, size: usize) -> InChunks<Access<'a, Value, Read, B>, Element> {
        match self {
            Found::Full(handle) => handle.chunks(size),
            Found::Read(handle) => handle.chunks(size),
            Found::Share(handle) => handle.chunks(size),
            Found::Write(_) => panic!("{CLEAN}"),
        }
    }

    fn write(self) -> Access<'a, Value, Write, B> {
        match self {
            Found::Full(handle) => handle.write(),
            Found::Write(handle) => handle.write(),
            _ => panic!("{CLEAN}"),
        }
    }

    fn concurrent(self) -> Access<'a, Value, Concurrent, B> {
        match self {
            Found::Full(handle) => handle.concurrent(),
            Found::Share(handle) => handle.concurrent(),
            _ => panic!("{CLEAN}"),
        }
    }
}

impl<B> Slot<B> {
    fn found(&self) -> Found<'_, B> {
        match self {
            Slot::Full(handle) => Found::Full(handle),
            Slot::Read(handle) => Found::Read(handle),
            Slot::Write(handle) => Found::Write(handle),
            Slot::Share(handle) => Found::Share(handle),
        }
    }
}

impl<B> Tiles<B> {
    /// The row and the column of a datum.
    fn place(&self, id: Id) -> Option<(usize, usize)> {
        let at = self.ids.iter().position(|tile| *tile == id)?;
        Some((at / self.grid.cols(), at % self.grid.cols()))
    }
}

fn looked_at<'s, S: Spawn<'s>, Q: CanRead, R>(
    s: &S,
    handle: &mut Handle<Value, S::Brand, Q>,
    look: impl FnOnce(&Value) -> R,
) -> Result<R, Error> {
    Ok(look(&*s.wait_on(handle)?))
}

fn changed<'s, S: Spawn<'s>, R>(
    s: &S,
    handle: &mut Handle<Value, S::Brand>,
    look: impl FnOnce(&Value) -> R,
    change: impl FnOnce(&mut Value, &R),
) -> Result<R, Error> {
    let mut value = s.wait_on(handle)?;
    let seen = look(&value);
    change(&mut value, &seen);
    Ok(seen)
}

impl<B> Slots<B> {
    pub fn new() -> Self {
        Slots { single: Vec::new(), grids: Vec::new(), totals: Rc::default() }
    }

    pub fn push(&mut self, id: Id, handle: Handle<Value, B>) {
        self.single.push((id, Slot::Full(handle)));
    }

    pub fn push_grid(&mut self, rows: usize, tiles: Vec<(Id, Handle<Value, B>)>) {
        let cols = tiles.len() / rows;
        let (ids, handles): (Vec<_>, Vec<_>) = tiles.into_iter().unzip();
        self.grids.push(Tiles { ids, grid: Grid::from_handles(rows, cols, handles) });
    }

    /// Drops a datum, or the whole grid that it belongs to.
    pub fn drop(&mut self, id: Id) {
        self.single.retain(|one| one.0 != id);
        self.grids.retain(|tiles| !tiles.ids.contains(&id));
    }

    /// Drops all data but these.
    pub fn keep(&mut self, kept: &[(Id, bool)]) {
        self.single.retain(|one| kept.iter().any(|keep| keep.0 == one.0));
        self.grids.retain(|tiles| kept.iter().any(|keep| keep.0 == tiles.ids[0]));
    }

    /// All handles that have all rights.
    pub fn full(&self) -> impl Iterator<Item = (Id, &Handle<Value, B>)> {
        let single = self.single.iter().filter_map(|(id, slot)| match slot {
            Slot::Full(handle) => Some((*id, handle)),
            _ => None,
        });
        single.chain(self.grids.iter().flat_map(|tiles| tiles.ids.iter().copied().zip(&tiles.grid)))
    }

    /// The same, taken out.
    pub fn into_full(self) -> impl Iterator<Item = (Id, Handle<Value, B>)> {
        let single = self.single.into_iter().filter_map(|(id, slot)| match slot {
            Slot::Full(handle) => Some((id, handle)),
            _ => None,
        });
        single.chain(self.grids.into_iter().flat_map(|tiles| tiles.ids.into_iter().zip(tiles.grid)))
    }

    /// The handle of a task's nth access of some kind. A misused task names one handle twice. It
    /// may name two handles of one datum.
    fn find_for(&self, task: &Task, id: Id, nth: usize) -> Found<'_, B> {
        self.find(id, if task.duplicate().is_some() { 0 } else { nth })
    }

    /// The nth handle of a datum: a parent that reads a datum twice has two handles, and may use
    /// both.
    fn find(&self, id: Id, nth: usize) -> Found<'_, B> {
        let same = || self.single.iter().filter(|slot| slot.0 == id);
        let count = same().count();
        if count > 0 {
            return same().nth(nth % count).expect("fewer than their count").1.found();
        }
        let tile = self.grids.iter().find_map(|tiles| Some(&tiles.grid[tiles.place(id)?]));
        Found::Full(tile.expect("a clean program names what it has"))
    }

    pub fn set<'s, S: Spawn<'s, Brand = B>>(&self, id: Id, s: &S, value: Value, form: Form) {
        match self.find(id, 0) {
            Found::Full(handle) => form.set(s, handle, value),
            Found::Write(handle) => form.set(s, handle, value),
            _ => panic!("{CLEAN}"),
        }
    }

    /// Waits, calls `look`, and then `change` if the value may be changed.
    pub fn wait_on<'s, S: Spawn<'s, Brand = B>, R>(
        &mut self,
        id: Id,
        s: &S,
        look: impl FnOnce(&Value) -> R,
        change: impl FnOnce(&mut Value, &R),
    ) -> Result<R, Error> {
        let Some((_, slot)) = self.single.iter_mut().find(|slot| slot.0 == id) else {
            let tile = self.grids.iter_mut().find_map(|tiles| {
                let place = tiles.place(id)?;
                Some(&mut tiles.grid[place])
            });
            return changed(s, tile.expect("as in `find`"), look, change);
        };
        match slot {
            Slot::Full(handle) => changed(s, handle, look, change),
            Slot::Read(handle) => looked_at(s, handle, look),
            Slot::Share(handle) => looked_at(s, handle, look),
            Slot::Write(_) => panic!("{CLEAN}"),
        }
    }

    /// The accesses that a task declares.
    pub fn accesses(&self, task: &Task) -> All<'_, B> {
        let of = |mode| task.of(mode).enumerate().map(move |(nth, one)| self.find_for(task, one.slot, nth));
        let grid =
            self.grids.iter().find(|tiles| task.of(Mode::Inout).map(|one| one.slot).eq(tiles.ids.iter().copied()));
        (
            of(Mode::Read).map(Found::read).collect(),
            of(Mode::Write).map(Found::write).collect(),
            match grid {
                Some(tiles) => all(&tiles.grid, Handle::inout),
                None => of(Mode::Inout).map(|found| found.full().inout()).collect(),
            },
            of(Mode::Commutative).map(|found| found.full().commutative()).collect(),
            of(Mode::Concurrent).map(Found::concurrent).collect(),
            of(Mode::Add).map(|found| found.full().reduce(Add)).collect(),
            of(Mode::Xor).map(|found| found.full().reduce(Xor)).collect(),
            of(Mode::Compose).map(|found| found.full().reduce(Compose)).collect(),
        )
    }

    /// The handles of the accesses of one mode.
    pub fn handles<'a>(&'a self, task: &'a Task, mode: Mode) -> impl Iterator<Item = &'a Handle<Value, B>> {
        task.of(mode).enumerate().map(move |(nth, one)| self.find_for(task, one.slot, nth).full())
    }

    /// The same, if the task changes a tile and reads all its neighbours.
    pub fn stencil(&self, task: &Task) -> Option<Stencil<'_, B>> {
        let mut changed = task.of(Mode::Inout);
        let (one, None) = (changed.next()?, changed.next()) else { return None };
        let (tiles, (row, col)) = self.grids.iter().find_map(|tiles| Some((tiles, tiles.place(one.slot)?)))?;
        let around = tiles.grid.neighbours(row, col);
        let is_one =
            |slot: Id, tile: &Handle<Value, B>| tiles.place(slot).is_some_and(|at| std::ptr::eq(&tiles.grid[at], tile));
        let reads = || task.of(Mode::Read);
        let tiles_around = around.iter().flatten().count();
        let same = reads().count() == tiles_around
            && task.uses.len() == 1 + tiles_around
            && reads().zip(around.iter().flatten()).all(|(read, tile)| is_one(read.slot, tile));
        same.then(|| (around.map(|tile| tile.map(Handle::read)), tiles.grid[(row, col)].inout()))
    }

    /// The accesses of a loop.
    pub fn of_loop(&self, task: &Task, one: &Loop) -> OfLoop<'_, B> {
        let uses = task.loop_uses(one);
        let size = if let Over::Chunks { size } = one.over { size } else { 1 };
        OfLoop {
            changed: uses.changed.map(|one| self.find(one.slot, 0).full().chunks_mut(size)),
            chunks: uses.chunks.map(|one| self.find(one.slot, 0).chunks(size)),
            read: uses.read.map(|one| self.find_for(task, one.slot, 1).read()),
            shared: uses.shared.map(|one| self.find(one.slot, 0).concurrent()),
        }
    }
}

impl<'t> Slots<In<'t>> {
    /// The handles of a parent, under the ids of what it declared. If it changes several data, they
    /// are a grid.
    pub fn held(task: &Task, helds: Helds<'t>) -> Self {
        let (read, write, inout, commutative, concurrent, add, xor, compose) = helds;
        let of = |mode| task.of(mode).map(|one| one.slot);
        let mut slots = Slots::new();
        slots.single.extend(of(Mode::Read).zip(read.into_iter().map(Slot::Read)));
        slots.single.extend(of(Mode::Write).zip(write.into_iter().map(Slot::Write)));
        slots.single.extend(of(Mode::Concurrent).zip(concurrent.into_iter().map(Slot::Share)));
        let others = [Mode::Commutative, Mode::Add, Mode::Xor, Mode::Compose];
        for (mode, handles) in others.into_iter().zip([commutative, add, xor, compose]) {
            slots.single.extend(of(mode).zip(handles.into_iter().map(Slot::Full)));
        }
        let inout: Vec<_> = of(Mode::Inout).zip(inout).collect();
        match inout.len() {
            0 | 1 => inout.into_iter().for_each(|(id, handle)| slots.push(id, handle)),
            many => slots.push_grid(Task::rows(many), inout),
        }
        slots
    }
}
