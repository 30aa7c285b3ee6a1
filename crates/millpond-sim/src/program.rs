//! What is simulated: a tree of tasks, given by how a task's children follow from it.

use millpond::depend::Mode;

/// Work in nanoseconds at unit speed. What programs add up stops at the largest number, which [`simulate`](crate::simulate)
/// refuses.
pub type Work = u64;

/// How much a task and all its descendants are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// The work of their bodies.
    pub work: Work,
    /// How many they are.
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

/// What creating a task costs its creator ([DDS](crate#sources) §4): τ_fork + n·τ_arg with n arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// τ_fork.
    pub task: Work,
    /// τ_arg.
    pub argument: Work,
}

impl Costs {
    /// What the paper measured on its cluster ([DDS](crate#sources) §5): 0.23 µs and 0.16 µs.
    pub const PAPER: Costs = Costs { task: 230, argument: 160 };
    /// Creation is free.
    pub const NONE: Costs = Costs { task: 0, argument: 0 };

    /// The cost of a task with so many arguments.
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

/// A program: a task first runs its body, which creates its children; these run after it, in the order in which they
/// were created (the reference order), unless they are stolen ([DDS](crate#sources) §2). That can be as soon as they are
/// created: at the end of the body, if [`Children::at`] does not say when.
///
/// A task is a small state from which its children follow, so that a tree of any size takes no memory.
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

    /// The first one.
    fn root(&self) -> Self::Task;

    /// A task with all its descendants: their bodies, added up.
    fn size(&self, task: &Self::Task) -> Size;

    /// What its body takes, creating its children included.
    fn body(&self, task: &Self::Task) -> Work;

    /// Its children, in reference order. Not asked of a task that is alone in its [`Program::size`].
    fn children(&self, task: &Self::Task, children: &mut Children<Self::Task>);

    /// The longest chain of bodies of which each waits for the one before, or for its creation in the middle of that, if it is known.
    fn span(&self) -> Option<Work>;

    /// What a thief must be sent for it to run elsewhere.
    fn bytes(&self, _task: &Self::Task) -> u64 {
        256
    }
}

/// The children of a task, as they are created.
#[derive(Debug)]
pub struct Children<T> {
    pub(crate) tasks: Vec<T>,
    pub(crate) accesses: Vec<(u64, Mode)>,
    /// Where the accesses of each end.
    pub(crate) ends: Vec<usize>,
    /// What the body has done when each is created, ascending.
    pub(crate) created: Vec<Work>,
    now: Work,
}

impl<T> Children<T> {
    pub(crate) fn new() -> Self {
        Children { tasks: Vec::new(), accesses: Vec::new(), ends: Vec::new(), created: Vec::new(), now: Work::MAX }
    }

    /// Those that follow are created when the body has done so much work, and not before those that were spawned so far.
    /// As long as nothing is said they are created at its end.
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

    /// One more child, with what it does to which data. Data are numbered as the program likes, for the children of one
    /// task at a time: only siblings wait for one another.
    pub fn spawn(&mut self, task: T, accesses: impl IntoIterator<Item = (u64, Mode)>) {
        self.tasks.push(task);
        self.accesses.extend(accesses);
        self.ends.push(self.accesses.len());
        let last = self.created.last().copied().unwrap_or(0);
        self.created.push(self.now.max(last));
    }
}
