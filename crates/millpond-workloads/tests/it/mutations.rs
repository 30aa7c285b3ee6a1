//! No input file makes a workload panic, abort or hang. Each gives a job or a typed error.
//!
//! The files are mutations of valid ones: flipped bits, truncations, inserted and repeated bytes,
//! changed numbers and lengths. `MILLPOND_CASES` is the number of files of each format,
//! `MILLPOND_SEED` the first number. A failure prints both.

use crate::inputs::gzip;
use millpond_workloads::matrix::generate::mix;
use millpond_workloads::{Options, Stopwatch, Value, find};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// The number of files of each format.
const CASES: u64 = 400;

/// The time limit for one file: far more than any file needs.
const LIMIT: Duration = Duration::from_secs(60);

/// A sequence of numbers that depend only on the seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(1);
        mix(self.0)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// Numbers at which sums, products and conversions go wrong.
const NUMBERS: [&str; 20] = [
    "0",
    "1",
    "2",
    "-1",
    "255",
    "256",
    "65536",
    "2147483648",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "99999999999999999999999",
    "1e308",
    "-1e308",
    "1e-310",
    "1e999",
    "nan",
    "1.0D+00",
];

/// Changes a file in one to four ways.
fn mutate(file: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = file.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        let most = random.of(&[2, 9, 65]);
        let length = random.below(most).min(bytes.len() - at);
        match random.below(8) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            1 if !bytes.is_empty() => bytes[at] = random.of(&[0, 1, 0x7f, 0x80, 0xff, b'-', b' ', b'\n', b'(']),
            2 => bytes.truncate(at),
            3 => {
                let new: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
                bytes.splice(at..at, new);
            }
            4 => {
                let again = bytes[at..at + length].repeat(random.of(&[1, 2, 300]));
                bytes.splice(at..at, again);
            }
            5 => _ = bytes.drain(at..at + length),
            6 => {
                let number = random.of(&NUMBERS).bytes();
                let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                bytes.splice(at..at + digits, number);
            }
            _ => {
                let word = random.of(&[0_u32, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX]).to_be_bytes();
                let length = word.len().min(bytes.len() - at);
                bytes[at..at + length].copy_from_slice(&word[..length]);
            }
        }
    }
    bytes
}

/// Makes a mutated file.
type Mutate = fn(&[u8], &mut Random) -> Vec<u8>;

/// Tries mutations of `files` as the option `option` of a workload.
fn try_all(workload: &str, option: &'static str, ending: &str, files: &[Vec<u8>], mutate: Mutate) {
    let number = |name, usual| std::env::var(name).map_or(usual, |text| text.parse::<u64>().expect("a number"));
    let (from, count) = (number("MILLPOND_SEED", 0), number("MILLPOND_CASES", CASES));
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mutation-{}.{ending}", std::process::id()));
    for (nth, file) in files.iter().enumerate() {
        std::fs::write(&path, file).expect("a file");
        let valid = run(workload, option, &path);
        assert_eq!(valid.expect("no panic"), Ok(()), "{workload}, file {nth}");
    }
    let (report, reports) = channel();
    let (files, workload_too, path_too) = (files.to_vec(), workload.to_owned(), path.clone());
    let tries = std::thread::spawn(move || {
        let mut refused = 0;
        for case in from..from + count {
            let mut random = Random(mix(case));
            let which = random.below(files.len());
            let bytes = mutate(&files[which], &mut random);
            std::fs::write(&path_too, bytes).expect("a file");
            let outcome = run(&workload_too, option, &path_too);
            if report.send((case, outcome.is_err())).is_err() {
                break;
            }
            refused += u64::from(matches!(outcome, Ok(Err(_))));
        }
        refused
    });
    let mut next = from;
    loop {
        match reports.recv_timeout(LIMIT) {
            Ok((case, panicked)) => {
                let file = path.display();
                assert!(
                    !panicked,
                    "{workload} panics; again: MILLPOND_SEED={case} MILLPOND_CASES=1; its file is {file}"
                );
                next = case + 1;
            }
            Err(RecvTimeoutError::Timeout) => panic!("{workload} hangs; again: MILLPOND_SEED={next} MILLPOND_CASES=1"),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let refused = tries.join().expect("the tries have ended");
    // Otherwise the mutations test nothing.
    assert!(count < 50 || refused > count / 4, "{refused} of {count} files are refused");
    std::fs::remove_file(&path).expect("the file can be removed");
}

/// Returns a workload's error for a file. If it accepts the file, the serial program runs and its
/// answer is checked.
fn run(workload: &str, option: &'static str, file: &Path) -> std::thread::Result<Result<(), String>> {
    catch_unwind(AssertUnwindSafe(|| {
        let mut options = Options::new().path(option, PathBuf::from(file));
        if workload == "grammar" {
            options = options.integer("max-tasks", 20_000).integer("max-units", 10_000_000);
        }
        if workload == "denoise" {
            options = options.integer("iterations", 2);
        }
        let mut job = (find(workload).expect("a workload").prepare)(&options).map_err(|error| error.to_string())?;
        // A large matrix or picture may take long.
        let is_small = |(name, value): &(&str, Value)| *name == "n" && matches!(value, Value::Integer(n) if *n <= 50);
        if matches!(workload, "blackscholes" | "grammar") || job.params().iter().any(is_small) {
            let ran = job.serial(&mut Stopwatch::default()).and_then(|()| job.check().map(drop));
            ran.map_err(|error| error.to_string())?;
        }
        Ok(())
    }))
}

#[test]
fn matrix_market() {
    let files = [
        "%%MatrixMarket matrix array real general\n% a comment\n3 3\n4\n1\n0.5\n1\n5\n2e-1\n.5\n0.2\n9\n",
        "%%MatrixMarket matrix array real symmetric\n3 3\n4 1\n0.5\n5 0.25 9\n",
        "%%MatrixMarket matrix coordinate integer symmetric\n4 4 6\n1 1 9\n2 2 9\n3 3 9\n4 4 9\n2 1 -3\n4 2 2\n",
        "%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 4e0\n1 2 1.0\n2 1 1\n2 2 .3e1\n",
    ];
    let files: Vec<_> = files.iter().map(|text| text.as_bytes().to_vec()).collect();
    for workload in ["cholesky", "inverse"] {
        try_all(workload, "input", "mtx", &files, mutate);
    }
}

/// Changes the contents of a gzip file, or the file.
fn mutate_gzip(file: &[u8], random: &mut Random) -> Vec<u8> {
    if random.below(2) == 0 { gzip(&mutate(file, random)) } else { mutate(&gzip(file), random) }
}

#[test]
fn compressed() {
    let text = "%%MatrixMarket matrix array real symmetric\n3 3\n4 1\n0.5\n5 0.25 9\n";
    try_all("cholesky", "input", "mtx.gz", &[text.as_bytes().to_vec()], mutate_gzip);
}

#[test]
fn numpy() {
    let file = |version: u8, descr: &str, fortran: &str, shape: &str, data: &[u8]| {
        let text = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY".to_vec();
        bytes.extend([version, 0]);
        match version {
            1 => bytes.extend((text.len() as u16).to_le_bytes()),
            _ => bytes.extend((text.len() as u32).to_le_bytes()),
        }
        bytes.extend(text.bytes().chain(data.iter().copied()));
        bytes
    };
    let numbers = [4.0, 1.0, 0.5, 1.0, 5.0, 0.25, 0.5, 0.25, 9.0];
    let files = [
        file(1, "<f8", "False", "(3, 3)", &numbers.map(f64::to_le_bytes).concat()),
        file(2, ">f4", "True", "(3, 3)", &numbers.map(|number| (number as f32).to_be_bytes()).concat()),
        file(3, "<i8", "False", "(2, 2)", &[4_i64, 1, 1, 9].map(i64::to_le_bytes).concat()),
        file(1, "|u1", "False", "(2, 2)", &[4, 1, 1, 9]),
    ];
    for workload in ["cholesky", "inverse"] {
        try_all(workload, "input", "npy", &files, mutate);
    }
}

#[test]
fn grammars() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("grammars");
    let mut files: Vec<_> = ["noise", "search", "paper"]
        .iter()
        .map(|name| std::fs::read(folder.join(name).with_extension("grammar")).expect("a grammar"))
        .collect();
    files.push(b"param n = 3\nshared s = -2\ninit A(n)\nA(0) -> {7} B <s = s + 1>\nA(i) -> {2} [3: A(i-1) | B] for s < 4 and not i = 9\nA(i) -> B\nB -> {uniform(5, 5)}\n".to_vec());
    try_all("grammar", "file", "grammar", &files, mutate);
}

#[test]
fn options_in_the_format_of_parsec() {
    let file =
        b"3\n42 40 0.1 0 0.2 0.5 C 0 4.759423\n100.00 110.00 0.05 0.00 0.25 1.00 P 0.00 12.6\n1 1 0 0 1 1 C 0 .38\n";
    try_all("blackscholes", "input", "txt", &[file.to_vec()], mutate);
}

mod pictures {
    use super::{Random, mutate, try_all};
    use png::{BitDepth, ColorType, Encoder};

    /// The start of each chunk, and the number of its data bytes.
    fn chunks(file: &[u8]) -> Vec<(usize, usize)> {
        let (mut at, mut all) = (8, Vec::new());
        while let Some(length) = file.get(at..at + 4) {
            let length = u32::from_be_bytes(length.try_into().expect("four bytes")) as usize;
            if file.len() < at + 12 + length {
                break;
            }
            all.push((at, length));
            at += 12 + length;
        }
        all
    }

    fn checksum(bytes: &[u8]) -> u32 {
        let step = |sum: u32, _| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
        !bytes.iter().fold(u32::MAX, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), step))
    }

    /// Gives a chunk another length, or changes the file elsewhere. Then most checksums are
    /// corrected, so that the decoder reads the data.
    fn mutate_chunks(file: &[u8], random: &mut Random) -> Vec<u8> {
        let mut file = if random.below(2) == 0 { resized(file, random) } else { mutate(file, random) };
        if random.below(8) > 0 {
            for (at, length) in chunks(&file) {
                let sum = checksum(&file[at + 4..at + 8 + length]).to_be_bytes();
                file[at + 8 + length..at + 12 + length].copy_from_slice(&sum);
            }
        }
        file
    }

    fn resized(file: &[u8], random: &mut Random) -> Vec<u8> {
        let mut file = file.to_vec();
        let (at, length) = random.of(&chunks(&file));
        let new = random.of(&[length.saturating_sub(1), length + 1, length + 2, length + 3, 0, 1, 3, 255, 4 * length]);
        let mut data = file[at + 8..at + 8 + length].to_vec();
        data.resize(new, 0x55);
        file.splice(at + 8..at + 8 + length, data);
        file[at..at + 4].copy_from_slice(&(new as u32).to_be_bytes());
        file
    }

    fn picture(color: ColorType, depth: BitDepth, transparent: bool) -> Vec<u8> {
        let (mut file, width, height) = (Vec::new(), 13, 6);
        let mut encoder = Encoder::new(&mut file, width, height);
        encoder.set_color(color);
        encoder.set_depth(depth);
        if color == ColorType::Indexed {
            encoder.set_palette((0..=199).flat_map(|grey: u8| [grey, 255 - grey, grey / 2]).collect::<Vec<u8>>());
        }
        if transparent {
            encoder.set_trns(match color {
                ColorType::Indexed => vec![7; 16],
                ColorType::Grayscale => vec![0, 3],
                _ => vec![0, 3, 0, 4, 0, 5],
            });
        }
        encoder.add_ztxt_chunk("Comment".to_owned(), "words ".repeat(20)).expect("a text");
        let row = (width as usize * color.samples() * depth as usize).div_ceil(8);
        let data: Vec<u8> = (0..row * height as usize).map(|at| 100 + (at * at * 7 % 61) as u8).collect();
        let mut writer = encoder.write_header().expect("a header");
        writer.write_image_data(&data).expect("a picture");
        writer.finish().expect("a file");
        file
    }

    #[test]
    fn png() {
        use BitDepth::{Eight, Four, One, Sixteen};
        use ColorType::{Grayscale, GrayscaleAlpha, Indexed, Rgb, Rgba};
        let files = [
            (Grayscale, Eight, false),
            (Grayscale, One, true),
            (Grayscale, Sixteen, true),
            (GrayscaleAlpha, Eight, false),
            (Rgb, Eight, true),
            (Rgb, Sixteen, true),
            (Rgba, Eight, false),
            (Indexed, Eight, false),
            (Indexed, Eight, true),
            (Indexed, Four, true),
        ];
        let files: Vec<_> = files.into_iter().map(|(color, depth, trns)| picture(color, depth, trns)).collect();
        try_all("denoise", "input", "png", &files, mutate_chunks);
    }
}
