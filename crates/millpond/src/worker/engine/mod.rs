//! The parts of an engine for workers. The rest is about spawns (`runtime::engine`).

use crate::depend::tracker::Tracker;
use crate::memory::Memory;
use crate::pool::Pool;

pub(crate) mod linked;
pub(crate) mod store;

use linked::Linked;
use store::TaskStore;

/// The parts of an engine that its workers use.
pub trait WorkerEngine: Linked + Sized + 'static {
    /// Where task blocks come from.
    type Memory: Memory;
    /// Where ready tasks wait.
    type Pool: Pool;
    /// How the engine reaches its scheme.
    #[doc(hidden)]
    type Tracker: Tracker;
    /// Where the tasks of a scope stay until they run.
    #[doc(hidden)]
    type Tasks: TaskStore<Self>;
}

/// The choices that the types of an engine leave open.
pub(crate) struct Choices<E: WorkerEngine> {
    pub(crate) memory: <E::Memory as Memory>::Choice,
    pub(crate) pool: <E::Pool as Pool>::Choice,
    pub(crate) tracker: E::Tracker,
}

impl<E: WorkerEngine> Default for Choices<E> {
    fn default() -> Self {
        Choices { memory: Default::default(), pool: Default::default(), tracker: Default::default() }
    }
}

impl<E: WorkerEngine> Clone for Choices<E> {
    fn clone(&self) -> Self {
        Choices { memory: self.memory.clone(), pool: self.pool.clone(), tracker: self.tracker }
    }
}
