//! Tag collections: each tag that is put prescribes a step of every collection that was said.

use std::fmt::{self, Debug, Formatter};
use std::sync::OnceLock;

use crate::current::{self, Done, PutTag};
use crate::key::Key;
use crate::origin::{self, Shown, Tag};
use crate::shared::Shared;
use crate::steps::{Prescribed, Steps};

/// A tag collection of a graph: a name for it, to be copied at will.
pub struct Tags<'x, K> {
    core: &'x TagsCore<'x, K>,
}

impl<K> Clone for Tags<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for Tags<'_, K> {}

/// Step collections that one tag collection prescribes at most.
const MOST: usize = 16;

/// What a tag collection consists of. It lies where nothing is dropped, so it has nothing to drop.
pub(crate) struct TagsCore<'x, K> {
    graph: &'x Shared,
    name: &'static str,
    steps: [OnceLock<&'x (dyn Prescribed<'x, K> + 'x)>; MOST],
}

impl<'x, K> TagsCore<'x, K> {
    pub(crate) fn new(graph: &'x Shared, name: &'static str) -> Self {
        TagsCore { graph, name, steps: [const { OnceLock::new() }; MOST] }
    }
}

impl<'x, K: Key> Tags<'x, K> {
    pub(crate) fn new(core: &'x TagsCore<'x, K>) -> Self {
        Tags { core }
    }

    /// From now on each tag that is put here prescribes a step of that collection.
    ///
    /// # Panics
    ///
    /// If there are 16 already.
    pub fn prescribes(self, steps: Steps<'x, K>) {
        let free = self.core.steps.iter().find(|step| step.set(steps.core()).is_ok());
        assert!(free.is_some(), "tag collection `{}` prescribes {MOST} step collections already", self.core.name);
    }

    /// Puts a tag: prescribes its steps, each at once.
    ///
    /// # Panics
    ///
    /// If the graph has ended; or nothing is prescribed here.
    pub fn put(self, tag: K) {
        let mut steps = self.core.steps.iter().map_while(OnceLock::get).peekable();
        assert!(
            steps.peek().is_some(),
            "tag collection `{}` prescribes nothing, and tag {tag:?} is put",
            self.core.name
        );
        current::note(self.core.graph.id(), |own| self.done(&tag, own));
        while let Some(step) = steps.next() {
            if steps.peek().is_none() {
                return step.prescribe(tag);
            }
            step.prescribe(tag.clone());
        }
    }

    /// A tag is put: what a step has done by that.
    fn done(self, tag: &K, own: bool) -> Done {
        let (collection, tag, show) = (self.core.name, Tag::of(tag), origin::show::<K>);
        match own {
            true => Done::Tag(Box::new(PutTag { collection, tag, show })),
            false => Done::Outside(format!("put tag `{collection}` {}", Shown(&tag, show)).into()),
        }
    }

    /// Puts a range of tags.
    ///
    /// # Panics
    ///
    /// As [`put`](Tags::put).
    pub fn put_all(self, tags: impl IntoIterator<Item = K>) {
        tags.into_iter().for_each(|tag| self.put(tag));
    }

    /// The collection's name.
    pub fn name(self) -> &'static str {
        self.core.name
    }
}

impl<K> Debug for Tags<'_, K> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tags").field(&self.core.name).finish()
    }
}
