//! Recordings that are truncated, damaged, or of another version or format are refused, with the
//! place and the reason.

use millpond::{Handle, Inline, Runtime, Spawn};
use millpond_trace::{Profile, ReadReason, Recording, VERSION};

/// A recording with every kind of event that a program causes.
fn small() -> Recording {
    let rt = Runtime::builder().workers(2).inline(Inline::Never).build().unwrap();
    let (x, total) = (Handle::new(0), Handle::new(0));
    let ((), recording) = rt.record(|| {
        let scope = rt.scope(|s| {
            s.task("parent").index([1, 2]).nest(x.inout(), |s, mut x| {
                let one = s.spawn(x.read(), |x| *x + 1);
                s.set(&x, 3);
                s.wait_on(&mut x).unwrap();
                s.wait(one).unwrap();
            });
            for n in 0..3 {
                s.spawn(total.reduce(millpond::Sum), move |part| *part += n);
                s.spawn(x.commutative(), |x| *x += 1);
            }
            s.spawn(total.read(), |_| ());
            s.block_on(s.spawn((), |()| millpond::join(|| 1, || 2))).unwrap();
        });
        scope.unwrap();
    });
    recording
}

#[test]
fn it_comes_back_as_it_was() {
    let recording = small();
    let again = Recording::parse(recording.bytes().to_vec()).unwrap();
    assert_eq!((again.events(), &again.program, again.workers), (recording.events(), &recording.program, 2));
    let (one, other) = (recording.report().unwrap(), again.report().unwrap());
    assert_eq!(serde_json::to_string(&one).unwrap(), serde_json::to_string(&other).unwrap());
}

#[test]
fn cut_off_anywhere_it_is_refused() {
    let bytes = small().bytes().to_vec();
    for length in 0..bytes.len() {
        let error = Recording::parse(bytes[..length].to_vec()).unwrap_err();
        match error.reason {
            ReadReason::CutOff(_) => assert_eq!(error.offset, length as u64),
            ReadReason::NotOurs => assert_eq!(length, 0),
            other => panic!("{length} of {} bytes: {other}", bytes.len()),
        }
    }
    let error = Recording::parse(bytes[..bytes.len() - 3].to_vec()).unwrap_err();
    let says = error.to_string();
    assert!(says.starts_with(&format!("offset {}: cut off: a block of ", bytes.len() - 3)), "{says}");
}

#[test]
fn with_any_bit_wrong_it_is_refused() {
    let bytes = small().bytes().to_vec();
    for at in 0..bytes.len() {
        for bit in [1, 16, 128] {
            let mut wrong = bytes.clone();
            wrong[at] ^= bit;
            assert!(Recording::parse(wrong).is_err(), "byte {at}, bit {bit}");
        }
    }
}

#[test]
fn what_is_none_is_refused_with_the_reason() {
    let refused = |bytes: &[u8]| Recording::parse(bytes.to_vec()).unwrap_err().to_string();
    assert_eq!(refused(b""), "offset 0: not a recording of millpond's");
    assert_eq!(refused(b"{\"traceEvents\":[]}"), "offset 0: not a recording of millpond's");
    assert_eq!(refused(b"millpond"), "offset 8: cut off: before its version");
    let other = [b"millpond".as_slice(), &(VERSION + 1).to_le_bytes()].concat();
    let says = format!("offset 8: a recording of version {}; this reads version {VERSION}", VERSION + 1);
    assert_eq!(refused(&other), says);
    let mut longer = small().bytes().to_vec();
    longer.push(0);
    assert_eq!(refused(&longer), format!("offset {}: damaged: there is more after its end", longer.len() - 1));
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let error = Recording::read("/no/such/recording".as_ref()).unwrap_err().to_string();
    assert!(error.starts_with("/no/such/recording: offset 0: cannot read it: "), "{error}");
}
