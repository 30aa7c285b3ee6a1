use millpond::{Handle, Inline, Runtime, Spawn};
use millpond_trace::{Profile, Recording};
use std::time::{Duration, Instant};

fn work(micros: u64) {
    let until = Instant::now() + Duration::from_micros(micros);
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

fn leafy(n: u32) {
    if n == 0 {
        return work(20);
    }
    millpond::join(|| leafy(n - 1), || leafy(n - 1));
}

fn rich() -> Recording {
    let rt = Runtime::builder().workers(2).window(8).inline(Inline::Always).build().unwrap();
    let (a, mut b, c) = (Handle::new(0_u64), Handle::new(0_u64), Handle::new(0_u64));
    let (result, recording) = rt.record(|| {
        rt.scope(|s| {
            for n in 0..12 {
                s.task("chain").index([n]).nest(a.inout(), |s, a| {
                    s.task("kid").spawn(a.inout(), |a| {
                        work(30);
                        *a += 1
                    });
                });
            }
            for n in 0..6 {
                s.task("turn").index([n]).spawn(c.commutative(), |c| {
                    work(200);
                    *c += 1
                });
                s.task("other").index([n]).nest(c.commutative(), |_, _| work(100));
            }
            let join = s.task("outer").nest(b.inout(), |s, mut b| {
                for n in 0..4 {
                    s.task("inner").index([n, 1]).spawn(b.inout(), |b| {
                        work(50);
                        *b += 1
                    });
                }
                *s.wait_on(&mut b).unwrap() += 1;
                let join = s.task("last").nest(b.read(), |_, _| {
                    work(100);
                    3
                });
                s.wait(join).unwrap()
            });
            s.wait(join).unwrap();
            s.wait_on(&mut b).unwrap();
            s.task("fork").spawn((), |()| leafy(4));
            s.task("write \"quoted\" <&>").spawn(a.write(), |a| a.set(7));
        })
    });
    result.unwrap();
    recording
}

#[test]
fn dump() {
    let recording = rich();
    let rep = recording.report().unwrap();
    println!("{rep}");
    recording.write_trace(&mut std::fs::File::create("/tmp/w3x-out.json").unwrap()).unwrap();
    recording.write_schedule(&mut std::fs::File::create("/tmp/w3x-out.svg").unwrap()).unwrap();
    recording.write_dot(&mut std::fs::File::create("/tmp/w3x-out.dot").unwrap()).unwrap();
    rep.write_speedup(
        &[(1, rep.work * 1.1), (2, rep.seconds)],
        &mut std::fs::File::create("/tmp/w3x-speed.svg").unwrap(),
    )
    .unwrap();
}
