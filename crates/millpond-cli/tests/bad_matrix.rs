//! Matrices that cannot be factored: exit status 1, one line on stderr that names the file and the place, nothing
//! on stdout, and no output file left behind.

mod common;

use common::{Dir, f8, fails, npy};

/// Factoring the file fails with these words after its name, and leaves the directory as it was.
#[track_caller]
fn refused(name: &str, content: impl AsRef<[u8]>, says: &str) {
    let dir = Dir::new(&format!("bad-{}", says.len() * 1000 + content.as_ref().len()));
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
    let says = "row 2, column 1: the matrix is not symmetric: 1 here, 2 in the opposite entry";
    refused("a.mtx", array("2 2\n4\n1\n2\n4\n"), says);
    refused("a.npy", npy("<f8", false, "(2, 2)", &f8(&[4.0, 2.0, 1.0, 4.0])), says);
    refused(
        "a.mtx",
        "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 1\n2 2 1\n3 3 1\n3 1 0.5\n",
        "row 3, column 1: the matrix is not symmetric: 0.5 here, 0 in the opposite entry",
    );
}

#[test]
fn not_positive_definite() {
    let says = "tile (0, 0), row 2: the matrix is not positive definite";
    refused("a.mtx", array("2 2\n1\n2\n2\n1\n"), says);
    // The identity but for one pivot in the second tile of 125.
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
    refused("a.txt", "1 2\n2 1\n", "name: the ending must be .mtx (Matrix Market) or .npy (NumPy)");
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
fn files_that_cannot_be_opened() {
    let dir = Dir::new("absent");
    let absent = dir.path("absent.npy");
    let says = format!("{absent}: cannot read: No such file or directory (os error 2)");
    fails(&["run", "cholesky", "--input", &absent], 1, &says);
    let output = dir.path("nowhere/L.npy");
    let says = format!("{output}: cannot write: No such file or directory (os error 2)");
    fails(&["run", "cholesky", "--n", "4", "--json", "--output", &output], 1, &says);
    assert!(dir.names().is_empty());
}
