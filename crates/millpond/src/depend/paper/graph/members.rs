//! The unreleased members of a generation. `graph` and `embedded-graph` differ in this list.

use std::fmt::Debug;
use std::ptr::NonNull;

use super::super::chain::{Chain, Node};
use super::tag::Tag;
use crate::depend::store::Local;
use crate::sync::Guarded;
use crate::task::Record;

/// A list of a generation's members, used under the version's lock. All zeros is an empty list.
pub trait Members: Debug + Default + 'static {
    /// The name of the scheme that uses this list.
    const NAME: &'static str;

    /// Whether the list is empty.
    fn is_empty(&self) -> bool;

    /// Adds an access that has its tag.
    fn push(&self, nodes: &mut Local<Node>, record: &Record);

    /// Removes all members (Fig. 2, line 6).
    fn clear(&self, nodes: &mut Local<Node>);

    /// Calls `with` for each member.
    fn for_each(&self, with: impl FnMut(NonNull<Record>));

    /// Removes a released access from its list, if it is on one (Fig. 2, lines 20–28).
    fn leave(lists: &[Self; 2], modes: [u8; 2], nodes: &mut Local<Node>, record: &Record);
}

impl Members for Chain {
    const NAME: &'static str = "graph";

    fn is_empty(&self) -> bool {
        self.is_empty()
    }

    fn push(&self, nodes: &mut Local<Node>, record: &Record) {
        self.push(nodes, record);
    }

    fn clear(&self, nodes: &mut Local<Node>) {
        while self.pop(nodes).is_some() {}
    }

    fn for_each(&self, with: impl FnMut(NonNull<Record>)) {
        self.for_each(with);
    }

    /// Searches each list whose generation has the access's mode. O(members).
    fn leave(lists: &[Self; 2], modes: [u8; 2], nodes: &mut Local<Node>, record: &Record) {
        for (list, mode) in lists.iter().zip(modes) {
            if mode == record.mode() as u8 {
                list.remove(nodes, record);
            }
        }
    }
}

/// A ring through the tags of its members. All operations but `for_each` are O(1).
///
/// Clearing only forgets the first member. So the members of a cleared ring leave it as usual.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Ring {
    first: Guarded<Option<NonNull<Tag>>>,
}

/// A tag in a ring.
fn tag<'a>(at: Option<NonNull<Tag>>) -> &'a Tag {
    let at = at.expect("a ring has no gap");
    // SAFETY: the tags of a ring belong to unreleased accesses, which leave it under the lock.
    unsafe { at.as_ref() }
}

impl Members for Ring {
    const NAME: &'static str = "embedded-graph";

    fn is_empty(&self) -> bool {
        self.first.get().is_none()
    }

    fn push(&self, _nodes: &mut Local<Node>, record: &Record) {
        let new = Tag::of(record);
        let Some(first) = self.first.get() else { return self.first.set(Some(new.into())) };
        let first = tag(Some(first));
        let last = tag(first.before.get());
        last.after.set(Some(new.into()));
        new.before.set(Some(last.into()));
        new.after.set(Some(first.into()));
        first.before.set(Some(new.into()));
    }

    fn clear(&self, _nodes: &mut Local<Node>) {
        self.first.set(None);
    }

    fn for_each(&self, mut with: impl FnMut(NonNull<Record>)) {
        let mut at = self.first.get();
        while let Some(here) = at {
            let here = tag(Some(here));
            here.record().into_iter().for_each(&mut with);
            at = here.after.get().filter(|&after| Some(after) != self.first.get());
        }
    }

    fn leave(lists: &[Self; 2], _modes: [u8; 2], _nodes: &mut Local<Node>, record: &Record) {
        let this = Tag::of(record);
        let (before, after) = (tag(this.before.get()), tag(this.after.get()));
        before.after.set(this.after.get());
        after.before.set(this.before.get());
        for list in lists.iter().filter(|list| this.is(list.first.get())) {
            list.first.set(Some(after.into()).filter(|&after| !this.is(Some(after))));
        }
    }
}
