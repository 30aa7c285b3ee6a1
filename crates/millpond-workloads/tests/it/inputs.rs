//! Matrices as other programs write them: compressed, with their own marks, exponents and shapes.

use flate2::Compression;
use flate2::write::GzEncoder;
use millpond_workloads::{Options, Stopwatch, Value, find};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

const TEXT: &str = "%%MatrixMarket matrix array real general\n2 2\n4\n2\n2\n10\n";

/// A gzip file.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("bytes");
    encoder.finish().expect("a file")
}

/// Writes a file that no other test uses, even if its name is the same.
fn file(name: &str, content: &[u8]) -> PathBuf {
    static FILES: AtomicUsize = AtomicUsize::new(0);
    let (process, number) = (std::process::id(), FILES.fetch_add(1, Ordering::Relaxed));
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("input-{process}-{number}-{name}"));
    std::fs::write(&path, content).expect("a file");
    path
}

/// Reads a matrix, factors it and checks the factor. Returns its error, without the file's name.
fn factored(name: &str, content: &[u8]) -> Result<(), String> {
    let path = file(name, content);
    let prepared = (find("cholesky").expect("a workload").prepare)(&Options::new().path("input", &path));
    std::fs::remove_file(&path).expect("the file can be removed");
    let short = |error: String| error.trim_start_matches(&format!("{}: ", path.display())).to_owned();
    let mut job = prepared.map_err(|error| short(error.to_string()))?;
    assert!(job.params().contains(&("n", Value::Integer(2))));
    job.serial(&mut Stopwatch::default()).expect("a factor");
    assert!(job.check().expect("a check").verified, "{name}");
    Ok(())
}

#[test]
fn compressed_matrices_are_read() {
    let mut npy = b"\x93NUMPY\x01\x00".to_vec();
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (2L, 2L), }\n";
    npy.extend((header.len() as u16).to_le_bytes());
    npy.extend(header.bytes().chain([4.0_f64, 2.0, 2.0, 10.0].into_iter().flat_map(f64::to_le_bytes)));
    let text = TEXT.as_bytes();
    for (name, content) in [
        ("a.mtx.gz", gzip(text)),
        ("A.MTX.GZ", gzip(text)),
        ("a.npy.gz", gzip(&npy)),
        ("a.gz", gzip(text)),
        ("b.gz", gzip(&npy)),
        ("plain", text.to_vec()),
        ("marked", format!("\u{feff}{TEXT}").into_bytes()),
        ("numbers", npy.clone()),
        // Two members, as `cat a.gz b.gz` makes them.
        ("c.mtx.gz", [gzip(&text[..20]), gzip(&text[20..])].concat()),
        ("renamed.mtx", gzip(text)),
    ] {
        assert_eq!(factored(name, &content), Ok(()), "{name}");
    }
}

#[test]
fn compressed_files_that_are_no_good_are_refused() {
    let good = gzip(TEXT.as_bytes());
    let refused = |name, content: &[u8]| factored(name, content).expect_err("a refusal");
    assert_eq!(refused("a.mtx.gz", &good[..good.len() - 9]), "gzip: the file is truncated");
    assert_eq!(refused("a.mtx.gz", &good[..4]), "gzip: the file is truncated");
    let mut damaged = good.clone();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    assert!(refused("a.mtx.gz", &damaged).starts_with("gzip: "));
    assert_eq!(refused("a", b"1 2\n2 1\n"), "byte 0: neither a Matrix Market file nor a NumPy file");
    let ending = "name: the ending must be .mtx (Matrix Market) or .npy (NumPy), and .gz may follow";
    assert_eq!(refused("a.txt.gz", &good), ending);
    assert_eq!(refused("a.mtx.gz", &gzip(b"no")), factored("a.mtx", b"no").expect_err("a refusal"));
}
