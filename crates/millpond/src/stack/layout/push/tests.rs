//! Which tasks are compact.

use std::sync::Mutex;

use super::super::frames::closure;
use crate::handle::access::Root;
use crate::runtime::scope::Scope;
use crate::{Handle, Inline, Runtime, Spawn, StackEngine, all};

type RootScope<'s, 'env> = Scope<'s, 'env, Root, StackEngine>;

fn runtime() -> Runtime<StackEngine> {
    Runtime::builder().workers(1).inline(Inline::Never).build_with().expect("the choices are in range")
}

/// Whether the next task of this scope is compact.
fn is_compact<'s, 'env>(s: &RootScope<'s, 'env>, spawn: impl FnOnce(&RootScope<'s, 'env>)) -> bool {
    let at = s.frames().expect("its tasks are in a stack").top();
    spawn(s);
    closure(at).header().is_compact()
}

/// Checks that the tasks are compact, or that they are not.
macro_rules! check {
    ($s:ident, $compact:literal: $($spawn:expr;)*) => {$(
        assert_eq!(is_compact($s, |$s| drop($spawn)), $compact, "{}", stringify!($spawn));
    )*};
}

#[test]
fn tasks_of_any_number_of_accesses_are_compact() {
    let (rt, x, y) = (runtime(), Handle::new(0_u64), Handle::<u64>::unset());
    let many: Vec<_> = (0..40).map(Handle::new).collect();
    let array: [Handle<u64>; 25] = std::array::from_fn(|n| Handle::new(n as u64));
    rt.scope(|s| {
        check! { s, true:
            s.spawn((x.inout(), y.write()), |(x, y)| y.set(*x));
            s.spawn(all(&many, Handle::read), |all| assert_eq!(all.len(), 40));
            s.spawn((x.inout(), all(&many[..2], Handle::read)), |(x, all)| *x += all.into_iter().sum::<u64>());
            s.spawn(all([&x], |x| (Some(x.read()), y.read())), |all| assert_eq!(all[0], (Some(&1), &0)));
            s.spawn((None::<&Handle<u64>>.map(Handle::read), y.write()), |(none, y)| {
                assert_eq!(none, None);
                y.set(7);
            });
            s.spawn(array.each_ref().map(Handle::inout), |all| all.into_iter().for_each(|x| *x += 1));
            s.spawn(vec![vec![x.read()], vec![]], |all| assert_eq!(all, [vec![&1], vec![]]));
            s.nest(all(&many, Handle::inout), |s, all| {
                s.spawn(all[3].inout(), |x| *x = 0);
            });
        }
        check! { s, false:
            s.spawn(all([&x, &x], |x| x.read()), |all| assert_eq!(all, [&1, &1]));
            s.spawn(all(&many, Handle::commutative), |all| assert_eq!(all.len(), 40));
            s.spawn(all(&many, Handle::read), |all| all.len());
        }
    })
    .unwrap();
    assert_eq!(array.map(|x| x.into_inner().unwrap()), std::array::from_fn(|n| n as u64 + 1));
    assert_eq!((x.into_inner().unwrap(), y.into_inner().unwrap(), many[3].get().map(|x| *x).unwrap()), (1, 7, 0));
}

#[test]
fn tasks_with_names_are_compact() {
    let (rt, x, log) = (runtime(), Handle::new(0_u64), Mutex::new(Vec::new()));
    rt.scope(|s| {
        check! { s, true:
            s.task("name").spawn(x.inout(), |x| *x += 1);
            s.task("indices").index([1, 2, 3, 4]).priority(3).spawn((), |()| log.lock().unwrap().push(1));
            s.task(format!("built {}", 1)).spawn(vec![x.inout()], |all| all.into_iter().for_each(|x| *x += 1));
            s.task("parent").nest(x.inout(), |s, x| {
                s.task("child").spawn(x.inout(), |x| *x += 1);
            });
        }
        check! { s, false:
            s.task("bytes").bytes(1).spawn(x.inout(), |x| *x += 1);
            s.task("value").spawn(x.read(), |x| *x);
        }
    })
    .unwrap();
    assert_eq!((x.into_inner().unwrap(), log.into_inner().unwrap().len()), (4, 1));
}

/// The captures lie where their type demands, before a name and behind any number of accesses.
#[test]
fn captures_are_aligned() {
    #[derive(Clone, Copy)]
    #[repr(align(64))]
    struct Line(u64);
    fn check(line: &Line, is: usize) {
        assert_eq!(((&raw const *line).addr() % 64, line.0), (0, is as u64));
    }
    let (rt, data): (_, Vec<_>) = (runtime(), (0..20).map(Handle::new).collect());
    rt.scope(|s| {
        for n in 0..data.len() {
            let line = Line(n as u64);
            check! { s, true:
                s.spawn(all(&data[..n], Handle::read), move |_| check(&line, n));
                s.task("line").index([n]).spawn(all(&data[..n], Handle::read), move |_| check(&line, n));
                s.task("line").nest(all(&data[..n], Handle::inout), move |_, _| check(&line, n));
            }
        }
    })
    .unwrap();
}

/// Children that contribute to the result of a parent are compact, and need no handles.
#[test]
fn tasks_below_a_parent_that_accumulates_are_compact() {
    let (rt, total) = (runtime(), Handle::new(0_u64));
    rt.scope(|s| {
        s.nest(total.accumulate(crate::Sum), |s, total| {
            let frames = s.frames().expect("its tasks are in a stack");
            let leaf = frames.top();
            s.task("leaf").spawn(total.accumulate(), |mut total| total.add(1));
            let parent = frames.top();
            s.nest(total.accumulate(), |s, total| {
                s.spawn(all([1, 2], |_| total.accumulate()), |all| all.into_iter().for_each(|mut one| one.add(1)));
            });
            assert!([leaf, parent].into_iter().all(|at| closure(at).header().is_compact()));
        });
    })
    .unwrap();
    assert_eq!(total.into_inner().unwrap(), 3);
}
