//! The accesses of a task in a type that says only which modes they may have, not how many there
//! are. A stack stores such tasks as compact tasks, and counts their accesses at the spawn.

use millpond::{Access, Full, Handle, In, Inout, Out, Read, ReadOnly, Write, WriteOnly};

use super::slots::{All, Helds, Leafs, usual};
use super::value::Value;

/// Any number of accesses of the usual modes, the first `write` as an `Option`.
pub type Counted<'h, B> = (
    Vec<Access<'h, Value, Read, B>>,
    (Option<Access<'h, Value, Write, B>>, Vec<Access<'h, Value, Write, B>>),
    Vec<Access<'h, Value, Inout, B>>,
);

/// Gives the accesses back if there are others.
pub fn counted<B>(all: All<'_, B>) -> Result<Counted<'_, B>, Box<All<'_, B>>> {
    if usual(&all).is_none() {
        return Err(Box::new(all));
    }
    let mut write = all.1.into_iter();
    Ok((all.0, (write.next(), write.collect()), all.2))
}

/// What a leaf is handed for it.
type CountedLeafs<'t> = (Vec<&'t Value>, (Option<Out<'t, Value>>, Vec<Out<'t, Value>>), Vec<&'t mut Value>);

/// What a parent is handed for it.
type CountedHelds<'t> = (
    Vec<Handle<Value, In<'t>, ReadOnly>>,
    (Option<Handle<Value, In<'t>, WriteOnly>>, Vec<Handle<Value, In<'t>, WriteOnly>>),
    Vec<Handle<Value, In<'t>, Full>>,
);

pub fn leafs_of_counted<'t>((read, (first, write), inout): CountedLeafs<'t>) -> Leafs<'t> {
    let write = first.into_iter().chain(write).collect();
    (read, write, inout, vec![], vec![], vec![], vec![], vec![])
}

pub fn helds_of_counted<'t>((read, (first, write), inout): CountedHelds<'t>) -> Helds<'t> {
    let write = first.into_iter().chain(write).collect();
    (read, write, inout, vec![], vec![], vec![], vec![], vec![])
}
