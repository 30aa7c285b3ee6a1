//! Bodies, results and values of any alignment, in blocks with a smaller alignment.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use crate::common::{builder, limit};
use millpond::{Handle, Inline, Spawn};

/// A number whose address must be a multiple of this many bytes.
macro_rules! aligned {
    ($($name:ident $align:literal)*) => {$(
        #[derive(Clone, Copy)]
        #[repr(align($align))]
        struct $name(u64);

        impl Aligned for $name {
            const ALIGN: usize = $align;

            fn of(number: u64) -> Self {
                $name(number)
            }

            fn get(&self) -> u64 {
                assert_eq!((&raw const *self).addr() % Self::ALIGN, 0);
                self.0
            }
        }
    )*};
}

trait Aligned: Copy + Send + Sync + 'static {
    const ALIGN: usize;

    fn of(number: u64) -> Self;

    /// Returns the number, if its address is a multiple of the alignment.
    fn get(&self) -> u64;
}

aligned! { Eight 8 Sixteen 16 Half 32 Line 64 Pair 128 Page 4096 }

/// Every kind of block holds a body of this type and returns a result of this type. There are
/// several of each, since the first may be aligned by chance.
fn check<T: Aligned>(inline: Inline) {
    let rt = builder(2).inline(inline).build().expect("the choices are in range");
    let handles: Vec<Handle<T>> = (0..3).map(|_| Handle::new(T::of(1))).collect();
    let session = rt.session();
    for round in 0..8 {
        let wide = T::of(round);
        let sum = rt.scope(|s| {
            let [a, b, c] = &handles[..] else { unreachable!("there are three") };
            let joins = [
                s.spawn((), move |()| T::of(wide.get())),
                s.spawn(a.read(), move |a| T::of(wide.get() + a.get())),
                s.spawn((a.read(), b.inout()), move |(a, b)| T::of(wide.get() + a.get() + b.get())),
                s.spawn((a.read(), b.read(), c.inout()), move |(a, b, c)| {
                    T::of(wide.get() + a.get() + b.get() + c.get())
                }),
                s.task("named").spawn(a.read(), move |a| T::of(wide.get() + a.get())),
                s.nest(a.read(), move |s, a| {
                    s.spawn(a.read(), move |a| assert_eq!(a.get(), 1));
                    T::of(wide.get())
                }),
            ];
            joins.into_iter().map(|join| s.wait(join).expect("it does not fail").get()).sum::<u64>()
        });
        assert_eq!(sum.expect("it does not fail"), 6 * round + 7);
        let theirs = session.spawn((), move |()| T::of(wide.get()));
        assert_eq!(session.wait(theirs).expect("it does not fail").get(), round);
        let seen = &AtomicU64::new(0);
        let pending = rt.scope(|s| drop(s.external().pending(move || seen.store(wide.get(), SeqCst))));
        pending.expect("it does not fail");
        assert_eq!(seen.load(SeqCst), round);
    }
}

fn check_all() {
    for inline in [Inline::Never, Inline::Auto, Inline::Always] {
        check::<Eight>(inline);
        check::<Sixteen>(inline);
        check::<Half>(inline);
        check::<Line>(inline);
        check::<Pair>(inline);
        check::<Page>(inline);
    }
}

#[test]
fn bodies_and_results_are_aligned_as_their_types() {
    limit(60, "bodies_and_results_are_aligned_as_their_types", || {
        // Unoptimized code copies a body at each call. A copy of a page takes two pages of stack.
        let thread = std::thread::Builder::new().stack_size(16 << 20).spawn(check_all).expect("a thread");
        thread.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload));
    });
}
