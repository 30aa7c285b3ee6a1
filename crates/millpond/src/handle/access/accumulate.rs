//! Accumulating accesses: bodies that add to a copy which they share with other tasks.

use std::marker::PhantomData;
use std::ptr::NonNull;

use super::{Access, Accesses, Args, ArgsOf, In, Operation, Visitor};
use crate::handle::reduction::{Path, Reducer, Reduction};
use crate::task::Form;

mod branch;

pub(crate) use branch::{Branch, Part};

/// Mode of [`Handle::accumulate`](crate::Handle::accumulate) with reducer `O`: a leaf gets an
/// [`Acc`], a parent an [`Accumulator`].
#[derive(Clone, Copy, Debug)]
pub struct Accumulate<O>(pub(crate) Operation<O>);

/// What a leaf adds to, if it declared [`accumulate`](crate::Handle::accumulate).
///
/// ```
/// use millpond::{Handle, Runtime, Spawn, Sum};
///
/// let (rt, total) = (Runtime::new()?, Handle::new(0));
/// rt.scope(|s| {
///     for n in 0..1000 {
///         s.spawn(total.accumulate(Sum), move |mut total| total.add(n));
///     }
/// })?;
/// assert_eq!(total.into_inner()?, 499_500);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Acc<'t, T, O> {
    copy: NonNull<T>,
    home: Home<'t>,
    reducer: O,
    _alone: PhantomData<(&'t mut (), *mut T)>,
}

// SAFETY: it behaves like a `&mut T` with a reducer. All uses end before the body does. A path has
// a lock for its part, because the body may use it at the same time.
unsafe impl<T: Send, O: Send> Send for Acc<'_, T, O> {}

/// Where a copy goes back to.
#[derive(Clone, Copy, Debug)]
enum Home<'t> {
    /// Nowhere: it is the value itself, or a part that only this body uses. `ordered` says whether
    /// the order of combinations is fixed.
    Own {
        ordered: bool,
    },
    /// To the `Acc` that has lent it.
    Lent(&'t Reduction),
    Copies(&'t Reduction),
    /// The copy of the thread that issues.
    Issuer(&'t Reduction),
    Path(&'t Path),
}

impl<T, O: Reducer<T>> Acc<'_, T, O> {
    /// Adds a value: combines it into the copy. This takes as long as the reducer's
    /// [`combine`](Reducer::combine).
    #[inline]
    pub fn add(&mut self, value: T) {
        let reducer = self.reducer;
        reducer.combine(self.partial(), value);
    }

    /// Borrows the copy. It holds the sum of what some earlier tasks added, perhaps with the
    /// datum's value. Which tasks these are depends on the schedule, so a body should only add to
    /// it: an assignment loses what was added.
    ///
    /// It serves values that a body changes in part, such as the counts of a histogram:
    ///
    /// ```
    /// use millpond::{Handle, Reducer, Runtime, Spawn};
    ///
    /// #[derive(Clone, Copy, PartialEq, Eq)]
    /// struct Counts;
    /// impl Reducer<Vec<u32>> for Counts {
    ///     const LARGE: bool = true;
    ///
    ///     fn identity(&self, like: &Vec<u32>) -> Vec<u32> {
    ///         vec![0; like.len()]
    ///     }
    ///     fn combine(&self, into: &mut Vec<u32>, part: Vec<u32>) {
    ///         into.iter_mut().zip(part).for_each(|(into, part)| *into += part);
    ///     }
    /// }
    ///
    /// let (rt, lengths) = (Runtime::new()?, Handle::new(vec![0; 8]));
    /// rt.scope(|s| {
    ///     for line in ["a heron", "an ox and a carp"] {
    ///         s.spawn(lengths.accumulate(Counts), move |mut lengths| {
    ///             line.split(' ').for_each(|word| lengths.partial()[word.len()] += 1);
    ///         });
    ///     }
    /// })?;
    /// assert_eq!(lengths.into_inner()?, [0, 2, 2, 1, 1, 1, 0, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn partial(&mut self) -> &mut T {
        // SAFETY: the body has the copy alone until this `Acc` is dropped.
        unsafe { self.copy.as_mut() }
    }
}

impl<T, O> Drop for Acc<'_, T, O> {
    #[inline]
    fn drop(&mut self) {
        match self.home {
            Home::Own { .. } | Home::Lent(_) => {}
            // The copy may be half changed. It was recorded, so it is freed all the same.
            Home::Copies(_) | Home::Issuer(_) if std::thread::panicking() => {}
            Home::Copies(reduction) => reduction.put_back(self.copy.cast()),
            Home::Issuer(reduction) => reduction.put_issuers_copy_back(self.copy.cast()),
            Home::Path(path) => path.put_back(self.copy.cast()),
        }
    }
}

/// What a parent adds to, if it declared [`accumulate`](crate::Handle::accumulate), and passes on
/// to the tasks that it spawns.
///
/// These tasks add to the same copies. So their access orders nothing, and costs no more than a few
/// words in the task. If one of them fails, so does the parent, and the datum is
/// [poisoned](crate::Kind::Poisoned). No task of the parent can read the total, or wait for it.
///
/// Only the thread of the parent's body may use it. The halves of a join and the items of a loop
/// add to what [`acc`](Accumulator::acc) returns ([`Acc::join`], [`Acc::for_each`]).
///
/// ```
/// use millpond::{Accumulator, Handle, Runtime, Spawn, Sum};
///
/// /// Counts the ways to write `n` as a sum of 1 and 2, in any order.
/// fn count<'s, S: Spawn<'s>>(s: &S, n: u32, ways: &Accumulator<u64, Sum, S::Brand>) {
///     if n == 0 {
///         return ways.add(1);
///     }
///     for step in 1..=n.min(2) {
///         s.nest(ways.accumulate(), move |s, ways| count(s, n - step, &ways));
///     }
/// }
///
/// let (rt, ways) = (Runtime::new()?, Handle::new(0));
/// rt.scope(|s| {
///     s.nest(ways.accumulate(Sum), |s, ways| count(s, 10, &ways));
/// })?;
/// assert_eq!(ways.into_inner()?, 89);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Accumulator<T, O, B> {
    member: Member,
    reducer: O,
    _of: PhantomData<(fn(T) -> T, fn(B) -> B)>,
    _alone: PhantomData<TasksMustDeclareAccumulate>,
}

/// Keeps tasks from capturing an accumulator. Its name is in the compiler's message.
struct TasksMustDeclareAccumulate(#[expect(dead_code, reason = "only a type")] *const ());

/// A body that accumulates below others.
#[derive(Clone, Copy, Debug)]
struct Member {
    reduction: NonNull<Reduction>,
    /// Of this body, if its tasks need parts of their own.
    path: Option<NonNull<Path>>,
}

// SAFETY: all threads may use a reduction. Only the accumulator of one body has the path, and stays
// on its thread.
unsafe impl Send for Member {}
// SAFETY: as above.
unsafe impl Sync for Member {}

impl<T, O, B> Accumulator<T, O, B> {
    fn new(member: Member, reducer: O) -> Self {
        Accumulator { member, reducer, _of: PhantomData, _alone: PhantomData }
    }
}

impl<T, O: Copy, B> Accumulator<T, O, B> {
    /// Declares that a task accumulates, too: a leaf or a parent of this parent's scope.
    ///
    /// The access has no position among those in errors ([`Kind`](crate::Kind)).
    #[inline]
    pub fn accumulate(&self) -> Contribution<'_, T, O, B> {
        Contribution { member: self.member, reducer: self.reducer, _of: PhantomData }
    }
}

impl<T, O: Reducer<T>, B> Accumulator<T, O, B> {
    /// Adds a value to a copy. Each call takes a copy and puts it back, usually by two atomic
    /// read-modify-writes. For several additions, use [`acc`](Accumulator::acc).
    pub fn add(&self, value: T) {
        self.acc().add(value);
    }

    /// Takes a copy, until the result is dropped. The body can add to it several times, and share
    /// it with the halves of a [`join`](Acc::join) and the items of a [loop](Acc::for_each).
    pub fn acc(&self) -> Acc<'_, T, O> {
        // SAFETY: the reduction lives until its datum's next other access, which waits for this
        // body.
        let reduction = unsafe { self.member.reduction.as_ref() };
        // SAFETY: paths live as long as the reduction.
        match self.member.path.map(|path| unsafe { path.as_ref() }) {
            Some(path) => Acc::new(reduction.part_of(path), Home::Path(path), self.reducer),
            None => Acc::of_copies(reduction, self.reducer),
        }
    }
}

impl<'t, T, O> Acc<'t, T, O> {
    fn new(copy: NonNull<()>, home: Home<'t>, reducer: O) -> Self {
        Acc { copy: copy.cast(), home, reducer, _alone: PhantomData }
    }

    /// Of a leaf that is a member of a reduction.
    fn of_member(args: &mut Args<'t>, reducer: O) -> Self {
        match args.shared_reduction() {
            Some((reduction, false)) => Acc::of_copies(reduction, reducer),
            Some((reduction, true)) => Acc::new(reduction.issuers_copy(), Home::Issuer(reduction), reducer),
            None => Acc::new(args.place().1, Home::Own { ordered: true }, reducer),
        }
    }

    fn of_copies(reduction: &'t Reduction, reducer: O) -> Self {
        Acc::new(reduction.copy(), Home::Copies(reduction), reducer)
    }
}

#[diagnostic::do_not_recommend]
impl<'t, T, O, B> ArgsOf<'t> for Access<'_, T, Accumulate<O>, B> {
    type Leaf = Acc<'t, T, O>;
    type Held = Accumulator<T, O, In<'t>>;
}

// SAFETY: one access, one record, typed as the handle's `T`.
unsafe impl<'s, T: 's, O: Copy + Send, B> Accesses<'s, B> for Access<'_, T, Accumulate<O>, B> {
    type Shape = O;
    const FORM: Form = Form::Other;
    const REDUCES: bool = false;
    fn count(&self) -> usize {
        1
    }
    #[inline(always)]
    fn visit(&self, visitor: &mut impl Visitor) -> O {
        visitor.accumulate(self.datum, self.mode.0.erased());
        self.mode.0.reducer
    }
    #[inline(always)]
    unsafe fn leaf<'t>(reducer: &O, args: &mut Args<'t>) -> Acc<'t, T, O>
    where
        Self: 't,
    {
        match args.value_at_spawn() {
            Some(value) => Acc::new(value, Home::Own { ordered: false }, *reducer),
            None => Acc::of_member(args, *reducer),
        }
    }
    unsafe fn held<'t>(reducer: &O, args: &mut Args<'t>) -> Accumulator<T, O, In<'t>>
    where
        Self: 't,
    {
        let (reduction, path) = args.pass_on();
        Accumulator::new(Member { reduction: reduction.into(), path }, *reducer)
    }
}

/// The access of a task that accumulates below a parent. [`Accumulator::accumulate`] returns it,
/// and a spawn takes it.
#[must_use = "an access does nothing until it is passed to a spawn"]
#[derive(Debug)]
pub struct Contribution<'h, T, O, B> {
    member: Member,
    reducer: O,
    _of: PhantomData<(&'h (), fn(T) -> T, fn(B) -> B)>,
}

/// What a task keeps of its [`Contribution`].
#[doc(hidden)]
#[derive(Debug)]
pub struct Contributor<O> {
    reduction: NonNull<Reduction>,
    /// The path of the parent, and the number of the task.
    above: Option<(NonNull<Path>, u32)>,
    reducer: O,
}

// SAFETY: all threads may use a reduction. A path is used by the body that made this, and the
// number was taken there.
unsafe impl<O: Send> Send for Contributor<O> {}

impl<O: Copy> Contributor<O> {
    /// The reduction, and the place of the task.
    ///
    /// # Safety
    ///
    /// The task runs.
    unsafe fn parts<'t>(&self) -> (&'t Reduction, Option<(&'t Path, u32)>) {
        // SAFETY: the access of a parent of this task is outstanding, so the reduction lives.
        let reduction = unsafe { self.reduction.as_ref() };
        // SAFETY: paths live as long as the reduction.
        (reduction, self.above.map(|(path, number)| (unsafe { path.as_ref() }, number)))
    }
}

#[diagnostic::do_not_recommend]
impl<'t, T, O, B> ArgsOf<'t> for Contribution<'_, T, O, B> {
    type Leaf = Acc<'t, T, O>;
    type Held = Accumulator<T, O, In<'t>>;
}

// SAFETY: it visits nothing, and takes no argument from the records.
unsafe impl<'s, T: 's, O: Copy + Send, B> Accesses<'s, B> for Contribution<'_, T, O, B> {
    type Shape = Contributor<O>;
    const FORM: Form = Form::NONE;
    const REDUCES: bool = false;
    #[inline]
    fn count(&self) -> usize {
        0
    }
    #[inline]
    fn visit(&self, _visitor: &mut impl Visitor) -> Contributor<O> {
        let Contribution { member: Member { reduction, path }, reducer, .. } = *self;
        // SAFETY: paths live as long as the reduction, and this is the parent's body.
        let above = path.map(|path| (path, unsafe { path.as_ref() }.next()));
        Contributor { reduction, above, reducer }
    }
    #[inline]
    unsafe fn leaf<'t>(shape: &Contributor<O>, _args: &mut Args<'t>) -> Acc<'t, T, O>
    where
        Self: 't,
    {
        // SAFETY: the task runs.
        match unsafe { shape.parts() } {
            (reduction, None) => Acc::of_copies(reduction, shape.reducer),
            (reduction, Some((above, number))) => {
                Acc::new(reduction.part_below(above, number), Home::Own { ordered: true }, shape.reducer)
            }
        }
    }
    #[inline]
    unsafe fn held<'t>(shape: &Contributor<O>, _args: &mut Args<'t>) -> Accumulator<T, O, In<'t>>
    where
        Self: 't,
    {
        // SAFETY: the task runs.
        let (reduction, above) = unsafe { shape.parts() };
        let path = above.map(|(above, number)| reduction.path_below(above, number));
        Accumulator::new(Member { reduction: shape.reduction, path }, shape.reducer)
    }
}
