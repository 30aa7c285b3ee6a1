//! File concatenation: the digest is the digest of the bytes, and detects any difference.

use millpond_workloads::fileconcat::{Params, digest, serial};
use millpond_workloads::{Error, Options, find};

#[test]
fn the_digest_is_that_of_the_bytes_and_not_of_the_pieces() {
    let pieces = [b"ab".to_vec(), Vec::new(), b"c".to_vec()];
    // The test vector for empty input in the BLAKE3 specification.
    assert_eq!(digest([]).to_hex().as_str(), "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
    assert_eq!(digest(&pieces), digest([&b"abc".to_vec()]));
    assert_ne!(digest(&pieces), digest([&b"acb".to_vec()]));
    assert_ne!(digest(&pieces), digest([&b"ab".to_vec()]));
}

#[test]
fn files_are_made_of_all_lengths() {
    let (params, files) = Params::load(&Options::new().integer("files", 300).integer("length", 50)).expect("files");
    assert_eq!((params.files, files.len()), (300, 300));
    let lengths: Vec<_> = files.iter().map(Vec::len).collect();
    assert!(lengths.contains(&0) && lengths.iter().any(|&length| length > 80), "{lengths:?}");
    assert!(lengths.iter().all(|&length| length <= 100));
    assert_eq!(serial(&files).len(), lengths.iter().sum::<usize>());
}

#[test]
fn strict_preconditions_are_refused() {
    let options = Options::new().text("preconditions", "strict");
    let refused = (find("fileconcat").expect("a workload").prepare)(&options).map(|_| ()).expect_err("refused");
    assert!(refused.is_usage() && matches!(refused, Error::Value { option: "preconditions", .. }), "{refused}");
}
