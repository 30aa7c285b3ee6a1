//! Tag collections: each put tag prescribes a step of each step collection in its list.

use std::fmt::{self, Debug, Formatter};
use std::sync::OnceLock;

use crate::current::{self, Done, PutTag};
use crate::error::Kind;
use crate::key::Key;
use crate::origin::{self, Shown, Tag};
use crate::shared::Shared;
use crate::steps::{Prescribed, Steps};

/// A tag collection of a graph: a handle, `Copy`.
pub struct Tags<'x, K> {
    core: &'x TagsCore<'x, K>,
}

impl<K> Clone for Tags<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for Tags<'_, K> {}

/// The maximum number of step collections prescribed by one tag collection.
const MAX_STEP_COLLECTIONS: usize = 16;

/// The data of a tag collection. Its arena drops nothing, so this must not need a drop.
pub(crate) struct TagsCore<'x, K> {
    graph: &'x Shared,
    name: &'static str,
    steps: [OnceLock<&'x (dyn Prescribed<'x, K> + 'x)>; MAX_STEP_COLLECTIONS],
}

impl<'x, K> TagsCore<'x, K> {
    pub(crate) fn new(graph: &'x Shared, name: &'static str) -> Self {
        TagsCore { graph, name, steps: [const { OnceLock::new() }; MAX_STEP_COLLECTIONS] }
    }
}

impl<'x, K: Key> Tags<'x, K> {
    pub(crate) fn new(core: &'x TagsCore<'x, K>) -> Self {
        Tags { core }
    }

    /// Makes each tag put from now on prescribe a step of this collection. At most 16 collections
    /// can be prescribed; one more fails the graph with
    /// [`Kind::TooManyPrescribed`](crate::Kind::TooManyPrescribed).
    ///
    /// ```
    /// use millpond::Runtime;
    /// use millpond_cnc::graph;
    ///
    /// let error = graph(&Runtime::new()?, |g| {
    ///     let tags = g.tags::<u32>("tags");
    ///     for _ in 0..17 {
    ///         tags.prescribes(g.steps("step").execute(|_| async {}));
    ///     }
    /// });
    /// let text = "tag collection `tags` prescribes 16 step collections already, and step collection `step` is one too many";
    /// assert_eq!(error.unwrap_err().to_string(), text);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prescribes(self, steps: Steps<'x, K>) {
        let TagsCore { graph, name, steps: prescribed } = self.core;
        if !prescribed.iter().any(|step| step.set(steps.core()).is_ok()) {
            let (tags, step) = ((*name).to_owned(), steps.core().name().to_owned());
            graph.fail(Kind::TooManyPrescribed { tags, step, most: MAX_STEP_COLLECTIONS });
        }
    }

    /// Puts a tag, which prescribes its steps at once. If the collection prescribes nothing, the
    /// graph fails with [`Kind::NothingPrescribed`](crate::Kind::NothingPrescribed).
    pub fn put(self, tag: K) {
        let mut steps = self.core.steps.iter().map_while(OnceLock::get).peekable();
        if steps.peek().is_none() {
            return self.refuse(&tag);
        }
        current::note(self.core.graph.id(), |own| self.done(&tag, own));
        while let Some(step) = steps.next() {
            if steps.peek().is_none() {
                return step.prescribe(tag);
            }
            step.prescribe(tag.clone());
        }
    }

    #[cold]
    fn refuse(self, tag: &K) {
        let TagsCore { graph, name, .. } = self.core;
        let (tags, tag, by) = ((*name).to_owned(), format!("{tag:?}"), current::by(graph.id()));
        graph.fail(Kind::NothingPrescribed { tags, tag, by });
    }

    /// The effect of a put of this tag.
    fn done(self, tag: &K, own: bool) -> Done {
        let (collection, tag, show) = (self.core.name, Tag::of(tag), origin::show::<K>);
        match own {
            true => Done::Tag(Box::new(PutTag { collection, tag, show })),
            false => Done::Outside(format!("put tag `{collection}` {}", Shown(&tag, show)).into()),
        }
    }

    /// Puts each of these tags, like [`put`](Tags::put).
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
