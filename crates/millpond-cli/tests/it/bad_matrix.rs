//! Matrices that cannot be factored: exit status 1, and one line on stderr that names the file and
//! the place. There is nothing on stdout, and no output file remains.

use crate::common::{Dir, f8, fails, millpond, npy};

/// The command fails to factor the file, and prints these words after the file's name. The
/// directory stays unchanged.
#[track_caller]
fn refused(name: &str, content: impl AsRef<[u8]>, says: &str) {
    let dir = Dir::new("bad");
    let (input, output) = (dir.file(name, content), dir.path("L.npy"));
    fails(&["run", "cholesky", "--json", "--input", &input, "--output", &output], 1, &format!("{input}: {says}"));
    assert_eq!(dir.names(), [name], "nothing is left behind");
}

fn array(body: &str) -> String {
    format!("%%MatrixMarket matrix array real general\n{body}")
}

#[test]
fn not_square() {
    refused("a.mtx", array("2 3\n1\n2\n3\n4\n5\n6\n"), "line 2: the matrix is not square: 2 x 3");
    refused("a.npy", npy("<f8", false, "(3, 2)", &f8(&[0.0; 6])), "byte 10: the matrix is not square: 3 x 2");
}

#[test]
fn not_symmetric() {
    let says = "row 2, column 1: the matrix is not symmetric: 1 here, 2 in the opposite entry (--lower uses the lower half only)";
    refused("a.mtx", array("2 2\n4\n1\n2\n4\n"), says);
    refused("a.npy", npy("<f8", false, "(2, 2)", &f8(&[4.0, 2.0, 1.0, 4.0])), says);
    refused(
        "a.mtx",
        "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 1\n2 2 1\n3 3 1\n3 1 0.5\n",
        "row 3, column 1: the matrix is not symmetric: 0.5 here, 0 in the opposite entry (--lower uses the lower half only)",
    );
}

#[test]
fn not_positive_definite() {
    let says = "tile (0, 0), row 2: the matrix is not positive definite";
    refused("a.mtx", array("2 2\n1\n2\n2\n1\n"), says);
    // The identity, except for one pivot in the second tile of 125.
    let mut text = String::from("%%MatrixMarket matrix coordinate integer symmetric\n300 300 300\n");
    for i in 1..=300 {
        text += &format!("{i} {i} {}\n", if i == 130 { -1 } else { 1 });
    }
    refused("a.mtx", &text, "tile (1, 1), row 130: the matrix is not positive definite");
}

#[test]
fn truncated() {
    refused("a.mtx", array("2 2\n4\n1\n"), "line 5: the file is truncated: 2 of 4 entries");
    refused("a.mtx", array(""), "line 2: the file is truncated: the size line is missing");
    refused("a.mtx", "%%MatrixMar", NOT_MARKET);
    let whole = npy("<f8", false, "(2, 2)", &f8(&[4.0, 1.0, 1.0, 4.0]));
    let cut = whole.len() - 1;
    let says = format!("byte {cut}: the file is truncated: 31 bytes of data, expected 32");
    refused("a.npy", &whole[..cut], &says);
    refused("a.npy", &whole[..20], "byte 20: the file is truncated: it ends in the header");
    refused("a.npy", &whole[..3], "byte 3: the file is truncated: it ends in the header");
}

const NOT_MARKET: &str = "line 1: not a Matrix Market file: expected `%%MatrixMarket matrix LAYOUT FIELD SYMMETRY`";

#[test]
fn empty() {
    refused("a.mtx", "", "line 1: the file is empty");
    refused("a.npy", "", "byte 0: the file is empty");
    refused("a.mtx", array("0 0\n"), "line 2: the matrix is empty: 0 x 0");
    refused("a.npy", npy("<f8", false, "(0, 0)", &[]), "byte 10: the matrix is empty: 0 x 0");
}

#[test]
fn not_finite() {
    refused("a.mtx", array("2 2\n4\nnan\n1\n4\n"), "line 4: `nan` is not a finite number");
    refused("a.mtx", array("1 1\n-inf\n"), "line 3: `-inf` is not a finite number");
    refused("a.mtx", array("1 1\n1e999\n"), "line 3: `1e999` is not a finite number");
    let nan = npy("<f8", false, "(2, 2)", &f8(&[4.0, 1.0, f64::NAN, 4.0]));
    let place = nan.len() - 16;
    refused("a.npy", &nan, &format!("byte {place}: row 2, column 1: NaN is not a finite number"));
}

#[test]
fn of_a_wrong_type() {
    let pattern = "%%MatrixMarket matrix coordinate pattern symmetric\n1 1 1\n1 1\n";
    refused("a.mtx", pattern, "line 1: entries of type pattern: expected real or integer");
    let complex = "%%MatrixMarket matrix array complex hermitian\n1 1\n1 0\n";
    refused("a.mtx", complex, "line 1: entries of type complex: expected real or integer");
    refused("a.mtx", array("1 1\nfour\n"), "line 3: `four` is not a number");
    let types = "expected floats (f4, f8) or integers (i1-i8, u1-u8)";
    refused("a.npy", npy("<c16", false, "(1, 1)", &[0; 16]), &format!("byte 10: entries of type <c16: {types}"));
    refused("a.npy", npy("|O", false, "(1, 1)", &[0; 8]), &format!("byte 10: entries of type |O: {types}"));
    refused("a.npy", npy("<f8", false, "(4,)", &[0; 32]), "byte 10: the array has 1 dimensions: expected 2");
    refused("a.npy", "PK\x03\x04 an archive", "byte 0: not a NumPy file");
    refused("a.txt", "1 2\n2 1\n", "name: the ending must be .mtx (Matrix Market) or .npy (NumPy), and .gz may follow");
}

#[test]
fn too_large_to_be_true() {
    refused(
        "a.mtx",
        array("18446744073709551615 18446744073709551615\n"),
        "line 2: the matrix is too large: order 18446744073709551615, at most 1048576",
    );
    refused("a.mtx", array("99999999999999999999 1\n"), "line 2: `99999999999999999999` is not a size");
}

#[test]
fn entries_in_wrong_places() {
    let entries = |symmetry: &str, entries: &str| {
        format!("%%MatrixMarket matrix coordinate real {symmetry}\n2 2 {}\n{entries}", entries.lines().count())
    };
    refused("a.mtx", entries("general", "0 1 4\n"), "line 3: index 0 is out of range: expected 1..=2");
    refused("a.mtx", entries("general", "1 3 4\n"), "line 3: index 3 is out of range: expected 1..=2");
    refused("a.mtx", entries("general", "-1 1 4\n"), "line 3: `-1` is not an index");
    refused("a.mtx", entries("general", "1 1 4\n2 2 4\n1 1 5\n"), "line 5: entry (1, 1) is given twice");
    refused("a.mtx", entries("symmetric", "1 1 4\n1 2 1\n2 1 1\n"), "line 5: entry (2, 1) is given twice");
    refused("a.mtx", entries("general", "1 1\n"), "line 3: expected `row column value`, found 2 words");
    let skew = "line 1: symmetry skew-symmetric: expected general or symmetric";
    refused("a.mtx", entries("skew-symmetric", "2 1 1\n"), skew);
}

#[test]
fn headers_that_promise_too_much() {
    let coordinate = |sizes: &str| format!("%%MatrixMarket matrix coordinate real symmetric\n{sizes}\n1 1 1\n");
    let order = 1_000_000_000_000_u64;
    let large = format!("the matrix is too large: order {order}, at most 1048576");
    refused("a.mtx", coordinate(&format!("{order} {order} 1")), &format!("line 2: {large}"));
    refused("a.npy", npy("<f8", false, &format!("({order}, {order})"), &[]), &format!("byte 10: {large}"));
    let says = format!("line 4: the file is truncated: 1 of {order} entries");
    refused("a.mtx", coordinate(&format!("2 2 {order}")), &says);
    let mut long = b"\x93NUMPY\x02\x00".to_vec();
    long.extend(u32::MAX.to_le_bytes());
    refused("a.npy", &long, "byte 12: the file is truncated: it ends in the header");
    // Four zeros are not a matrix of 2^20 x 2^20, and the command does not allocate memory for one.
    let dir = Dir::new("memory");
    let file = dir.file("a.mtx", coordinate("1048576 1048576 1"));
    let ran = millpond(&["run", "cholesky", "--json", "--input", &file]);
    assert_eq!((ran.status, ran.stdout.as_str()), (1, ""));
    let says = format!("error: {file}: line 2: the matrix is too large: order 1048576, at most ");
    assert!(ran.stderr.starts_with(&says) && ran.stderr.ends_with(" with the memory available\n"), "{ran:?}");
}

#[test]
fn outputs_that_cannot_be_written() {
    let dir = Dir::new("outputs");
    let refused = |output: &str, status, says: &str| {
        fails(&["run", "cholesky", "--n", "4", "--json", "--output", output], status, &format!("{output}: {says}"));
    };
    std::fs::create_dir(dir.path("L.npy")).expect("a directory");
    refused(&dir.path("L.npy"), 1, "cannot write: is a directory");
    refused("/dev/null", 1, "cannot write: not a regular file");
    refused(&dir.path("no/L.npy"), 1, "cannot write: No such file or directory (os error 2)");
    let file = dir.file("file", "");
    refused(&format!("{file}/L.npy"), 1, "cannot write: Not a directory (os error 20)");
    assert_eq!(dir.names(), ["L.npy", "file"]);
}

#[test]
fn an_output_that_is_there_stays_when_the_run_fails() {
    let dir = Dir::new("stays");
    let (input, output) = (dir.file("a.mtx", array("1 1\n-4\n")), dir.file("L.npy", "before"));
    let says = format!("{input}: tile (0, 0), row 1: the matrix is not positive definite");
    fails(&["run", "cholesky", "--json", "--input", &input, "--output", &output], 1, &says);
    assert_eq!(std::fs::read(&output).expect("the old file"), b"before");
    let says = "--output and --input cannot be used together: they are the same file";
    let link = dir.path("link.mtx");
    std::os::unix::fs::symlink(&input, &link).expect("a link");
    fails(&["run", "cholesky", "--json", "--input", &input, "--output", &link], 2, says);
    assert_eq!(dir.names(), ["L.npy", "a.mtx", "link.mtx"]);
}

#[test]
fn files_that_cannot_be_opened() {
    let dir = Dir::new("absent");
    let absent = dir.path("absent.npy");
    let says = format!("{absent}: cannot read: No such file or directory (os error 2)");
    fails(&["run", "cholesky", "--input", &absent], 1, &says);
    let folder = dir.path("folder.mtx");
    std::fs::create_dir(&folder).expect("a directory");
    fails(&["run", "cholesky", "--input", &folder], 1, &format!("{folder}: cannot read: Is a directory (os error 21)"));
    let endless = dir.path("endless.npy");
    std::os::unix::fs::symlink("/dev/zero", &endless).expect("a link");
    fails(
        &["run", "cholesky", "--input", &endless],
        1,
        &format!("{endless}: cannot read: not a regular file or a pipe"),
    );
    assert_eq!(dir.names(), ["endless.npy", "folder.mtx"]);
}
