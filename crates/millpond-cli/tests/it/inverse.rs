//! `millpond run inverse` and `run cholesky-cnc` on files. Some matrices have an answer. Others
//! have none, and some arguments and files cannot be used. These get one line on stderr that names
//! the file and the place. They get nothing on stdout, and leave no output file behind.

use crate::common::{Dir, f8, fails, json, millpond, npy};

/// Runs a workload on a file. It fails with these words after the file's name, and leaves the
/// directory as it was.
#[track_caller]
fn refused_by(workload: &str, name: &str, content: impl AsRef<[u8]>, says: &str) {
    let dir = Dir::new("bad-inverse");
    let (input, output) = (dir.file(name, content), dir.path("X.npy"));
    for mode in ["flexible", "strict", "eager"] {
        let args = ["run", workload, "--json", "--preconditions", mode, "--input", &input, "--output", &output];
        fails(&args, 1, &format!("{input}: {says}"));
    }
    assert_eq!(dir.names(), [name], "nothing is left behind");
}

#[track_caller]
fn refused(name: &str, content: impl AsRef<[u8]>, says: &str) {
    refused_by("inverse", name, content, says);
}

fn array(body: &str) -> String {
    format!("%%MatrixMarket matrix array real general\n{body}")
}

/// Numbers of a file that the command has written.
fn numbers(file: &str) -> Vec<f64> {
    let bytes = std::fs::read(file).expect("a file");
    let data = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    bytes[data..].chunks(8).map(|word| f64::from_le_bytes(word.try_into().expect("8 bytes"))).collect()
}

#[test]
fn the_inverse_is_written() {
    let dir = Dir::new("inverse");
    // The rows are (0 2) and (4 0), so the inversion takes an exchange.
    let by_rows = dir.file("a.npy", npy("<f8", false, "(2, 2)", &f8(&[0.0, 2.0, 4.0, 0.0])));
    let by_columns = dir.file("a.mtx", array("2 2\n0\n4\n2\n0\n"));
    for (input, output) in [(by_rows, dir.path("x.npy")), (by_columns, dir.path("y.npy"))] {
        let run = json(&format!("run inverse --json --input {input} --output {output}"));
        assert_eq!((run["verified"].as_bool(), run["result"]["scaled_residual"].as_f64()), (Some(true), Some(0.0)));
        // The file is written by columns, as its header says.
        assert!(String::from_utf8_lossy(&std::fs::read(&output).expect("a file")).contains("'fortran_order': True"));
        assert_eq!(numbers(&output), [0.0, 0.5, 0.25, 0.0]);
    }
}

#[test]
fn the_factor_is_that_of_cholesky() {
    let dir = Dir::new("factors");
    let file = |workload: &str| {
        let output = dir.path(&format!("{workload}.npy"));
        json(&format!("run {workload} --n 100 --tile 30 --seed 4 --json --workers 2 --output {output}"));
        numbers(&output)
    };
    assert_eq!(file("cholesky-cnc"), file("cholesky"));
}

#[test]
fn parameters_and_config() {
    for workload in ["cholesky-cnc", "inverse"] {
        let run = json(&format!("run {workload} --n 60 --tile 25 --need 2 --blocked replay --json"));
        let params = serde_json::json!({ "n": 60, "tile": 25, "seed": 1, "need": 2 });
        assert_eq!((&run["params"], run["config"]["preconditions"].as_str()), (&params, Some("flexible")));
        assert_eq!(run["config"]["blocked"], "replay");
        assert_eq!(run["tasks"], if workload == "inverse" { 27 } else { 10 });
    }
}

#[test]
fn a_tile_without_an_inverse() {
    let none = "the tile has no inverse, and rows are exchanged within a tile only";
    refused("a.mtx", array("2 2\n1\n2\n2\n4\n"), &format!("tile (0, 0), row 2: {none}"));
    refused("a.npy", npy("<f8", false, "(1, 1)", &f8(&[0.0])), &format!("tile (0, 0), row 1: {none}"));
    // The identity matrix, except for one row in the second tile of 125.
    let mut text = String::from("%%MatrixMarket matrix coordinate integer symmetric\n300 300 299\n");
    (1..=300).filter(|&i| i != 130).for_each(|i| text += &format!("{i} {i} 1\n"));
    refused("a.mtx", &text, &format!("tile (1, 1), row 130: {none}"));
}

#[test]
fn a_matrix_without_a_factor() {
    let says = "tile (0, 0), row 2: the matrix is not positive definite";
    refused_by("cholesky-cnc", "a.mtx", array("2 2\n1\n2\n2\n1\n"), says);
    let says = "row 2, column 1: the matrix is not symmetric: 1 here, 2 in the opposite entry (--lower uses the lower half only)";
    refused_by("cholesky-cnc", "a.mtx", array("2 2\n4\n1\n2\n4\n"), says);
}

#[test]
fn files_that_are_no_matrices() {
    refused("a.mtx", array("2 3\n1\n2\n3\n4\n5\n6\n"), "line 2: the matrix is not square: 2 x 3");
    refused("a.npy", npy("<f8", false, "(3, 2)", &f8(&[0.0; 6])), "byte 10: the matrix is not square: 3 x 2");
    refused("a.mtx", array("0 0\n"), "line 2: the matrix is empty: 0 x 0");
    refused("a.mtx", "", "line 1: the file is empty");
    refused("a.mtx", array("2 2\n4\n1\n"), "line 5: the file is truncated: 2 of 4 entries");
    refused("a.mtx", array("1 1\nfour\n"), "line 3: `four` is not a number");
    refused("a.mtx", array("2 2\n4\nnan\n1\n4\n"), "line 4: `nan` is not a finite number");
    refused("a.npy", "PK\x03\x04 an archive", "byte 0: not a NumPy file");
    refused("a.txt", "1 2\n2 1\n", "name: the ending must be .mtx (Matrix Market) or .npy (NumPy), and .gz may follow");
}

#[test]
fn files_that_cannot_be_used() {
    let dir = Dir::new("unusable");
    let absent = dir.path("absent.npy");
    let says = format!("{absent}: cannot read: No such file or directory (os error 2)");
    fails(&["run", "inverse", "--input", &absent], 1, &says);
    let folder = dir.path("folder.mtx");
    std::fs::create_dir(&folder).expect("a directory");
    fails(&["run", "inverse", "--input", &folder], 1, &format!("{folder}: cannot read: Is a directory (os error 21)"));
    let says = format!("{folder}: cannot write: is a directory");
    fails(&["run", "inverse", "--n", "4", "--output", &folder], 1, &says);
    let input = dir.file("a.mtx", array("1 1\n4\n"));
    let same = "--output and --input cannot be used together: they are the same file";
    fails(&["run", "inverse", "--input", &input, "--output", &input], 2, same);
    for option in ["n", "seed"] {
        let says = format!("--{option} and --input cannot be used together: the file has the matrix");
        fails(&["run", "inverse", "--input", &input, &format!("--{option}"), "4"], 2, &says);
    }
    assert_eq!(dir.names(), ["a.mtx", "folder.mtx"]);
}

#[test]
fn an_output_that_is_there_stays_when_the_run_fails() {
    let dir = Dir::new("stays");
    let (input, output) = (dir.file("a.mtx", array("1 1\n0\n")), dir.file("X.npy", "before"));
    let none = "tile (0, 0), row 1: the tile has no inverse, and rows are exchanged within a tile only";
    fails(&["run", "inverse", "--input", &input, "--output", &output], 1, &format!("{input}: {none}"));
    assert_eq!(std::fs::read(&output).expect("the old file"), b"before");
    assert_eq!(dir.names(), ["X.npy", "a.mtx"]);
}

#[test]
fn arguments_out_of_range() {
    for workload in ["inverse", "cholesky-cnc"] {
        let refused = |option: &str, value: &str, says: &str| {
            fails(&["run", workload, "--n", "10", option, value], 2, says);
        };
        refused("--tile", "0", "invalid value '0' for '--tile <N>': expected 1..=1048576");
        refused("--tile", "11", "--tile 11 is out of range: expected 1..=10 (the order of the matrix)");
        refused("--need", "some", "--need some: expected all, none, or a number");
        refused("--seed", "-1", "invalid value '-1' for '--seed <N>': expected 0..=18446744073709551615");
        let says = "invalid value '0' for '--n <N>': expected 1..=1048576";
        fails(&["run", workload, "--n", "0"], 2, says);
        let says =
            "--need and --preconditions cannot be used together: eager steps list no preconditions, strict ones all";
        fails(&["run", workload, "--need", "1", "--preconditions", "strict"], 2, says);
        let ran = millpond(&["run", workload, "--n", "1048576", "--json"]);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
        assert!(ran.stderr.starts_with("error: --n 1048576 is out of range: expected 1..="), "{ran:?}");
        assert!(ran.stderr.ends_with(" (with the memory available)\n"), "{ran:?}");
        // The memory has room for so many numbers, but not for so many steps.
        let ran = millpond(&["run", workload, "--n", "4000", "--tile", "1", "--json"]);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
        assert!(ran.stderr.starts_with("error: --tile 1 is out of range: expected "), "{ran:?}");
        assert!(ran.stderr.ends_with("..=4000 (with the memory available)\n"), "{ran:?}");
    }
}
