//! A simulated program: a tree of tasks. A function gives the children of each task.

use millpond::depend::Mode;

/// Work in nanoseconds at unit speed. Sums of programs saturate at the maximum, which
/// [`simulate`](crate::simulate) refuses.
pub type Work = u64;

/// The size of a task with all its descendants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// The total work of their bodies.
    pub work: Work,
    /// The number of tasks.
    pub tasks: u64,
}

impl std::ops::AddAssign for Size {
    fn add_assign(&mut self, other: Size) {
        self.work = self.work.saturating_add(other.work);
        self.tasks = self.tasks.saturating_add(other.tasks);
    }
}

impl std::iter::Sum for Size {
    fn sum<I: Iterator<Item = Size>>(sizes: I) -> Size {
        sizes.fold(Size::default(), |mut sum, size| {
            sum += size;
            sum
        })
    }
}

/// The cost of creating a task with n arguments, which its creator pays ([DDS](crate#sources) §4):
/// τ_fork + n·τ_arg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// τ_fork.
    pub task: Work,
    /// τ_arg.
    pub argument: Work,
}

impl Costs {
    /// The paper's measurements on its cluster ([DDS](crate#sources) §5): 0.23 µs and 0.16 µs.
    pub const PAPER: Costs = Costs { task: 230, argument: 160 };
    /// Creation is free.
    pub const NONE: Costs = Costs { task: 0, argument: 0 };

    /// The cost of a task with this number of arguments.
    ///
    /// ```
    /// use millpond_sim::Costs;
    ///
    /// assert_eq!(Costs::PAPER.of(2), 550);
    /// ```
    pub fn of(self, arguments: u64) -> Work {
        self.task.saturating_add(arguments.saturating_mul(self.argument))
    }
}

/// A program. A task first runs its body, which creates its children. They run after it, in the
/// order of their creation (the reference order), unless thieves take them ([DDS](crate#sources)
/// §2). A thief can take a child as soon as it is created: at the end of the body, unless
/// [`Children::at`] sets the time.
///
/// A task is a small state. Its children are computed from it, so a tree of any size takes no
/// memory.
///
/// ```
/// use millpond_sim::{Children, Config, Program, Size, simulate};
///
/// /// A binary tree of that height with a millisecond a leaf.
/// struct Binary(u32);
///
/// impl Program for Binary {
///     type Task = u32;
///
///     fn root(&self) -> u32 {
///         self.0
///     }
///     fn size(&self, &height: &u32) -> Size {
///         Size { work: 1_000_000 << height, tasks: (2 << height) - 1 }
///     }
///     fn body(&self, &height: &u32) -> u64 {
///         if height == 0 { 1_000_000 } else { 0 }
///     }
///     fn children(&self, &height: &u32, children: &mut Children<u32>) {
///         for _ in 0..2 {
///             children.spawn(height - 1, []);
///         }
///     }
///     fn span(&self) -> Option<u64> {
///         Some(1_000_000)
///     }
/// }
///
/// let outcome = simulate(&Binary(10), &Config::of(1))?;
/// assert_eq!((outcome.tasks, outcome.seconds), (2047, 1.024));
/// # Ok::<(), millpond_sim::Error>(())
/// ```
pub trait Program {
    /// A task.
    type Task: Clone;

    /// The root task.
    fn root(&self) -> Self::Task;

    /// The size of a task with all its descendants: the total of their bodies.
    fn size(&self, task: &Self::Task) -> Size;

    /// The work of its body, with the creation of its children.
    fn body(&self, task: &Self::Task) -> Work;

    /// Its children, in reference order. Not called for a task whose [`Program::size`] has one
    /// task.
    fn children(&self, task: &Self::Task, children: &mut Children<Self::Task>);

    /// The longest chain of bodies, if it is known. Each body in it waits for the previous one, or
    /// for its own creation within the previous one.
    fn span(&self) -> Option<Work>;

    /// The number of bytes that a thief needs to run the task.
    fn bytes(&self, _task: &Self::Task) -> u64 {
        256
    }

    /// The number of bytes of its results, for the message to the victim of its thief; see
    /// [`Config::send_results`](crate::Config::send_results).
    fn result_bytes(&self, _task: &Self::Task) -> u64 {
        64
    }
}

/// The children of a task, in the order of their creation.
#[derive(Debug)]
pub struct Children<T> {
    pub(crate) tasks: Vec<T>,
    pub(crate) accesses: Vec<(u64, Mode)>,
    /// The end of each child's accesses.
    pub(crate) ends: Vec<usize>,
    /// The body's work before each child's creation, ascending.
    pub(crate) created: Vec<Work>,
    now: Work,
}

impl<T> Children<T> {
    pub(crate) fn new() -> Self {
        Children { tasks: Vec::new(), accesses: Vec::new(), ends: Vec::new(), created: Vec::new(), now: Work::MAX }
    }

    /// Sets the work of the body before the creation of the following children. They are never
    /// created before earlier children. Without a call, children are created at the end of the
    /// body.
    ///
    /// ```
    /// use millpond_sim::{Children, Config, Program, Size, simulate};
    ///
    /// /// A body of 10 ms that creates a task of 10 ms, soon or at its end.
    /// struct Two {
    ///     soon: bool,
    /// }
    ///
    /// impl Program for Two {
    ///     type Task = bool;
    ///
    ///     fn root(&self) -> bool {
    ///         true
    ///     }
    ///     fn size(&self, &is_root: &bool) -> Size {
    ///         let tasks = 1 + u64::from(is_root);
    ///         Size { work: 10_000_000 * tasks, tasks }
    ///     }
    ///     fn body(&self, _: &bool) -> u64 {
    ///         10_000_000
    ///     }
    ///     fn children(&self, _: &bool, children: &mut Children<bool>) {
    ///         if self.soon {
    ///             children.at(1_000_000);
    ///         }
    ///         children.spawn(false, []);
    ///     }
    ///     fn span(&self) -> Option<u64> {
    ///         None
    ///     }
    /// }
    ///
    /// let seconds = |soon| simulate(&Two { soon }, &Config::of(2)).map(|outcome| outcome.seconds);
    /// assert!(seconds(true)? < 0.0115);
    /// assert!(seconds(false)? >= 0.02);
    /// # Ok::<(), millpond_sim::Error>(())
    /// ```
    pub fn at(&mut self, work: Work) {
        self.now = work;
    }

    /// Adds a child with its accesses. Numbers of data are arbitrary. They are valid among siblings
    /// only, because only siblings wait for each other.
    pub fn spawn(&mut self, task: T, accesses: impl IntoIterator<Item = (u64, Mode)>) {
        self.tasks.push(task);
        self.accesses.extend(accesses);
        self.ends.push(self.accesses.len());
        let last = self.created.last().copied().unwrap_or(0);
        self.created.push(self.now.max(last));
    }
}
