//! Runs the command, and checks its output and files.

mod program;

pub use program::{Dir, Ran, fails, json, run as millpond, words};

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_millpond");

impl Dir {
    /// Writes a file. Returns its path.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, content).expect("a file");
        path
    }

    /// The names of all files in the directory.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path("")).expect("the directory");
        let mut names: Vec<_> =
            entries.map(|e| e.expect("an entry").file_name().into_string().expect("a name")).collect();
        names.sort();
        names
    }
}

/// A NumPy file of version 1.
pub fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let text = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.extend(data);
    bytes
}

/// Numbers as NumPy stores them.
pub fn f8(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}
