//! Compound accesses: tuples of up to 20, `Vec`s, arrays and `Option`s.

use super::{Accesses, Args, ArgsOf, Visitor};
use crate::task::Form;

macro_rules! tuples {
    ($($a:ident $i:tt)*) => {
        #[diagnostic::do_not_recommend]
        impl<'t, $($a: for<'x> ArgsOf<'x>),*> ArgsOf<'t> for ($($a,)*) {
            type Leaf = ($(<$a as ArgsOf<'t>>::Leaf,)*);
            type Held = ($(<$a as ArgsOf<'t>>::Held,)*);
        }

        // SAFETY: the parts are visited in order, each as its own type.
        unsafe impl<'s, Brand, $($a: Accesses<'s, Brand>),*> Accesses<'s, Brand> for ($($a,)*) {
            type Shape = ($($a::Shape,)*);
            const FORM: Form = {
                let form = Form::NONE;
                $(let form = Form::then(form, $a::FORM);)*
                form
            };
            const REDUCES: bool = false $(|| $a::REDUCES)*;
            #[inline]
            fn count(&self) -> usize {
                0 $(+ self.$i.count())*
            }
            #[inline(always)]
            #[allow(unused_variables, clippy::unused_unit, reason = "the empty tuple uses neither")]
            fn visit(&self, visitor: &mut impl Visitor) -> Self::Shape {
                ($(self.$i.visit(visitor),)*)
            }
            #[inline(always)]
            #[allow(unused_variables, clippy::unused_unit, reason = "the empty tuple uses neither")]
            unsafe fn leaf<'t>(shape: &Self::Shape, args: &mut Args<'t>) -> <Self as ArgsOf<'t>>::Leaf
            where
                Self: 't,
            {
                // SAFETY: as the caller promises.
                ($(unsafe { $a::leaf(&shape.$i, args) },)*)
            }
            #[allow(unused_variables, clippy::unused_unit, reason = "the empty tuple uses neither")]
            unsafe fn held<'t>(shape: &Self::Shape, args: &mut Args<'t>) -> <Self as ArgsOf<'t>>::Held
            where
                Self: 't,
            {
                // SAFETY: as the caller promises.
                ($(unsafe { $a::held(&shape.$i, args) },)*)
            }
        }
    };
}
macro_rules! tuples_to_20 {
    ([$($done:ident $di:tt)*]) => { tuples! { $($done $di)* } };
    ([$($done:ident $di:tt)*] $a:ident $i:tt $($rest:tt)*) => {
        tuples! { $($done $di)* }
        tuples_to_20! { [$($done $di)* $a $i] $($rest)* }
    };
}
tuples_to_20! { [] A0 0 A1 1 A2 2 A3 3 A4 4 A5 5 A6 6 A7 7 A8 8 A9 9 A10 10 A11 11 A12 12 A13 13 A14 14 A15 15 A16 16
A17 17 A18 18 A19 19 }

/// The accesses to many data as one: `all(&cells, Handle::read)`. The body gets a `Vec` with the
/// argument for each.
///
/// `items` is any iterable, and `access` makes the access to each item. It may return any access,
/// for instance a tuple:
///
/// ```
/// use millpond::{Handle, Runtime, Spawn, all};
///
/// let rt = Runtime::new()?;
/// let cells: Vec<_> = (0..10).map(Handle::new).collect();
/// let pairs: Vec<_> = (0..3).map(|n| (Handle::new(n), Handle::new(0))).collect();
/// let total = Handle::unset();
/// rt.scope(|s| {
///     s.spawn((all(&cells, Handle::read), total.write()), |(cells, total)| total.set(cells.into_iter().sum()));
///     // Every other pair.
///     let some = all(pairs.iter().step_by(2), |(from, to)| (from.read(), to.inout()));
///     s.spawn((total.read(), some), |(total, pairs)| pairs.into_iter().for_each(|(from, to)| *to = from + total));
/// })?;
/// let sums = pairs.into_iter().map(|(_, to)| to.into_inner()).collect::<Result<Vec<i32>, _>>()?;
/// assert_eq!(sums, [45, 0, 47]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It collects the accesses into a `Vec`, like `collect`. An iterator itself is no access, because
/// a spawn visits the accesses several times, and must find the same ones each time. For a fixed
/// number of data, an array needs no separate memory: `cells.each_ref().map(Handle::read)`.
pub fn all<I: IntoIterator, A>(items: I, access: impl FnMut(I::Item) -> A) -> Vec<A> {
    items.into_iter().map(access).collect()
}

#[diagnostic::do_not_recommend]
impl<'t, A: for<'x> ArgsOf<'x>> ArgsOf<'t> for Vec<A> {
    type Leaf = Vec<<A as ArgsOf<'t>>::Leaf>;
    type Held = Vec<<A as ArgsOf<'t>>::Held>;
}

// SAFETY: the elements are visited in order, each as its own type.
unsafe impl<'s, B, A: Accesses<'s, B>> Accesses<'s, B> for Vec<A> {
    type Shape = Vec<A::Shape>;
    const FORM: Form = A::FORM.repeated();
    const REDUCES: bool = A::REDUCES;
    fn count(&self) -> usize {
        self.iter().map(A::count).sum()
    }
    fn visit(&self, visitor: &mut impl Visitor) -> Self::Shape {
        self.iter().map(|a| a.visit(visitor)).collect()
    }
    unsafe fn leaf<'t>(shape: &Self::Shape, args: &mut Args<'t>) -> <Self as ArgsOf<'t>>::Leaf
    where
        Self: 't,
    {
        // SAFETY: as the caller promises.
        shape.iter().map(|shape| unsafe { A::leaf(shape, args) }).collect()
    }
    unsafe fn held<'t>(shape: &Self::Shape, args: &mut Args<'t>) -> <Self as ArgsOf<'t>>::Held
    where
        Self: 't,
    {
        // SAFETY: as the caller promises.
        shape.iter().map(|shape| unsafe { A::held(shape, args) }).collect()
    }
}

#[diagnostic::do_not_recommend]
impl<'t, A: for<'x> ArgsOf<'x>, const N: usize> ArgsOf<'t> for [A; N] {
    type Leaf = [<A as ArgsOf<'t>>::Leaf; N];
    type Held = [<A as ArgsOf<'t>>::Held; N];
}

// SAFETY: the elements are visited in order, each as its own type.
unsafe impl<'s, B, A: Accesses<'s, B>, const N: usize> Accesses<'s, B> for [A; N] {
    type Shape = [A::Shape; N];
    const FORM: Form = {
        let (mut form, mut n) = (Form::NONE, 0);
        while n < N {
            form = Form::then(form, A::FORM);
            n += 1;
        }
        form
    };
    const REDUCES: bool = A::REDUCES;
    #[inline]
    fn count(&self) -> usize {
        self.iter().map(A::count).sum()
    }
    #[inline(always)]
    fn visit(&self, visitor: &mut impl Visitor) -> Self::Shape {
        std::array::from_fn(|i| self[i].visit(visitor))
    }
    #[inline]
    unsafe fn leaf<'t>(shape: &Self::Shape, args: &mut Args<'t>) -> <Self as ArgsOf<'t>>::Leaf
    where
        Self: 't,
    {
        // SAFETY: as the caller promises.
        std::array::from_fn(|i| unsafe { A::leaf(&shape[i], args) })
    }
    unsafe fn held<'t>(shape: &Self::Shape, args: &mut Args<'t>) -> <Self as ArgsOf<'t>>::Held
    where
        Self: 't,
    {
        // SAFETY: as the caller promises.
        std::array::from_fn(|i| unsafe { A::held(&shape[i], args) })
    }
}

#[diagnostic::do_not_recommend]
impl<'t, A: for<'x> ArgsOf<'x>> ArgsOf<'t> for Option<A> {
    type Leaf = Option<<A as ArgsOf<'t>>::Leaf>;
    type Held = Option<<A as ArgsOf<'t>>::Held>;
}

// SAFETY: the access is visited as its own type if it is present. The shape says whether it is.
unsafe impl<'s, B, A: Accesses<'s, B>> Accesses<'s, B> for Option<A> {
    type Shape = Option<A::Shape>;
    const FORM: Form = A::FORM.repeated();
    const REDUCES: bool = A::REDUCES;
    #[inline]
    fn count(&self) -> usize {
        self.as_ref().map_or(0, A::count)
    }
    #[inline(always)]
    fn visit(&self, visitor: &mut impl Visitor) -> Self::Shape {
        self.as_ref().map(|a| a.visit(visitor))
    }
    #[inline]
    unsafe fn leaf<'t>(shape: &Self::Shape, args: &mut Args<'t>) -> <Self as ArgsOf<'t>>::Leaf
    where
        Self: 't,
    {
        // SAFETY: as the caller promises.
        shape.as_ref().map(|shape| unsafe { A::leaf(shape, args) })
    }
    unsafe fn held<'t>(shape: &Self::Shape, args: &mut Args<'t>) -> <Self as ArgsOf<'t>>::Held
    where
        Self: 't,
    {
        // SAFETY: as the caller promises.
        shape.as_ref().map(|shape| unsafe { A::held(shape, args) })
    }
}
