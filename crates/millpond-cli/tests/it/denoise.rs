//! The workload `denoise`: pictures of each kind, and errors for invalid ones.

use crate::common::{Dir, fails, json, millpond, words};
use png::{BitDepth, ColorType, Decoder, Encoder, Transformations};
use serde_json::json;
use std::fs;

/// A noisy picture of that kind.
fn picture(width: u32, height: u32, color: ColorType, depth: BitDepth) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, width, height);
    encoder.set_color(color);
    encoder.set_depth(depth);
    if color == ColorType::Indexed {
        encoder.set_palette((0..=255).flat_map(|grey: u8| [grey, 255 - grey, grey / 2]).collect::<Vec<u8>>());
    }
    let row = (width as usize * color.samples() * depth as usize).div_ceil(8);
    let data: Vec<u8> = (0..row * height as usize).map(|at| 100 + (at * at * 7 % 61) as u8).collect();
    let mut writer = encoder.write_header().expect("a header");
    writer.write_image_data(&data).expect("a picture");
    writer.finish().expect("a file");
    file
}

/// Width, height, kind and samples of a file.
fn read(file: &str) -> (u32, u32, ColorType, BitDepth, Vec<u8>) {
    let file = fs::read(file).expect("a file");
    let mut decoder = Decoder::new(std::io::Cursor::new(file));
    decoder.set_transformations(Transformations::IDENTITY);
    let mut reader = decoder.read_info().expect("a header");
    let mut data = vec![0; reader.output_buffer_size().expect("a size")];
    let info = reader.next_frame(&mut data).expect("a picture");
    (info.width, info.height, info.color_type, info.bit_depth, data)
}

#[test]
fn a_picture_that_is_made_gets_better() {
    let dir = Dir::new("made");
    let out = dir.path("out.png");
    let run = json(&format!("run denoise --size 60 --noise 20 --tile 17 --output {out} --json"));
    let params = json!({"size": 60, "noise": 20, "seed": 1, "tile": 17, "iterations": 100, "need": 1, "output": out});
    assert_eq!((&run["params"], &run["verified"]), (&params, &json!(true)));
    let ratio = |name| run["result"][name].as_f64().expect("a number");
    assert!(ratio("psnr_out") > ratio("psnr_in") + 3.0, "{run}");
    let (width, height, color, depth, _) = read(&out);
    assert_eq!((width, height, color, depth), (60, 60, ColorType::Grayscale, BitDepth::Eight));
    assert_eq!(dir.names(), ["out.png"]);
}

#[test]
fn pictures_of_every_kind_are_read_and_written() {
    use BitDepth::{Eight, Four, One, Sixteen};
    use ColorType::{Grayscale, GrayscaleAlpha, Indexed, Rgb, Rgba};
    let dir = Dir::new("kinds");
    let out = dir.path("out.png");
    for (color, depth, becomes) in [
        (Grayscale, Eight, (Grayscale, Eight)),
        (Grayscale, Sixteen, (Grayscale, Sixteen)),
        (Grayscale, One, (Grayscale, Eight)),
        (GrayscaleAlpha, Eight, (GrayscaleAlpha, Eight)),
        (Rgb, Eight, (Rgb, Eight)),
        (Rgb, Sixteen, (Rgb, Sixteen)),
        (Rgba, Eight, (Rgba, Eight)),
        (Rgba, Sixteen, (Rgba, Sixteen)),
        (Indexed, Eight, (Rgb, Eight)),
        (Indexed, Four, (Rgb, Eight)),
    ] {
        let file = dir.file("in.png", picture(19, 7, color, depth));
        let mut outputs = Vec::new();
        for choice in
            ["--tile 5", "--preconditions strict --tile 64", "--preconditions eager --blocked replay --tile 2"]
        {
            let run = json(&format!("run denoise --input {file} --iterations 9 --output {out} {choice} --json"));
            assert_eq!((&run["result"], &run["verified"]), (&json!({"psnr_in": null, "psnr_out": null}), &json!(true)));
            assert_eq!((&run["params"]["size"], &run["params"]["seed"]), (&json!(null), &json!(null)));
            outputs.push(read(&out));
        }
        let (width, height, color_out, depth_out, data) = &outputs[0];
        assert_eq!((*width, *height, (*color_out, *depth_out)), (19, 7, becomes), "{color:?} {depth:?}");
        assert!(outputs.iter().all(|output| output == &outputs[0]), "{color:?} {depth:?}");
        if color == Rgba && depth == Eight {
            let alpha = |data: &[u8]| data.iter().skip(3).step_by(4).copied().collect::<Vec<_>>();
            assert_eq!(alpha(data), alpha(&read(&file).4));
            assert_ne!(*data, read(&file).4);
        }
    }
}

#[test]
fn a_picture_that_is_no_good_is_refused_in_a_line() {
    let dir = Dir::new("bad-png");
    let out = dir.path("out.png");
    let bad = |name: &str, content: &[u8], says: &str| {
        let file = dir.file(name, content);
        fails(&["run", "denoise", "--input", &file, "--output", &out, "--json"], 1, &format!("{file}: {says}"));
    };
    let good = picture(40, 30, ColorType::Rgb, BitDepth::Eight);
    bad("empty.png", b"", "byte 0: the file is cut off");
    bad("text.png", b"this is not a picture", "byte 0: Invalid PNG signature");
    bad("head.png", &good[..20], "byte 20: the file is cut off");
    bad("half.png", &good[..good.len() / 2], &format!("byte {}: the file is cut off", good.len() / 2));
    let mut flipped = good.clone();
    // The checksum of the header.
    flipped[29..33].fill(0);
    let crc = u32::from_be_bytes(good[29..33].try_into().expect("four bytes"));
    bad("flipped.png", &flipped, &format!("byte 16: CRC error: expected 0x0 have {crc:#x}"));
    let mut animated = Vec::new();
    let mut encoder = Encoder::new(&mut animated, 40, 30);
    encoder.set_color(ColorType::Rgb);
    encoder.set_animated(2, 0).expect("two frames");
    let mut writer = encoder.write_header().expect("a header");
    (0..2).for_each(|_| writer.write_image_data(&[9; 40 * 30 * 3]).expect("a frame"));
    writer.finish().expect("a file");
    // The animation's header and the first frame's header come before the picture.
    bad("animated.png", &animated, "byte 99: an animated picture; expected one that stands still");
    // A palette without its last colour, with a correct checksum.
    let indexed = picture(4, 4, ColorType::Indexed, BitDepth::Eight);
    let mut palette = indexed[..33].to_vec();
    palette.extend([&[0, 0, 0, 4][..], b"PLTE", &[1, 2, 3, 4], &0x23db8aab_u32.to_be_bytes()].concat());
    palette.extend(&indexed[33 + 12 + 768..]);
    bad("palette.png", &palette, "byte 57: the palette has 4 bytes: expected 3 for each colour");
    fails(
        &["run", "denoise", "--input", "none.png"],
        1,
        "none.png: cannot read: No such file or directory (os error 2)",
    );
    let folder = dir.path("");
    fails(&["run", "denoise", "--input", &folder], 1, &format!("{folder}: cannot read: Is a directory (os error 21)"));
    fails(&["run", "denoise", "--input", "/dev/zero"], 1, "/dev/zero: cannot read: not a regular file or a pipe");
    assert!(!dir.names().contains(&"out.png".to_owned()));
}

#[test]
fn a_picture_beyond_the_memory_is_refused_in_a_line() {
    let dir = Dir::new("huge-png");
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, 2_000_000_000, 2_000_000_000);
    encoder.set_color(ColorType::Grayscale);
    drop(encoder.write_header().expect("a header"));
    let file = dir.file("huge.png", file);
    let ran = millpond(&["run", "denoise", "--input", &file]);
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.lines().count()), (1, "", 1), "{ran:?}");
    let says = "2000000000 x 2000000000 cells of 1 channels are more than memory can hold\n";
    assert!(ran.stderr.ends_with(says), "{ran:?}");
}

#[test]
fn options_out_of_range_or_at_odds() {
    let at_odds = "--size and --input cannot be used together: the file has the picture";
    fails(&["run", "denoise", "--input", "a.png", "--size", "99"], 2, at_odds);
    fails(&["run", "denoise", "--noise", "0"], 2, "invalid value '0' for '--noise <N>': expected 1..=100");
    fails(&["run", "denoise", "--tile", "1"], 2, "invalid value '1' for '--tile <N>': expected 2..=65536");
    let dir = Dir::new("same-png");
    let file = dir.file("a.png", picture(5, 5, ColorType::Grayscale, BitDepth::Eight));
    let same = "--output and --input cannot be used together: they are the same file";
    fails(&["run", "denoise", "--input", &file, "--output", &file], 2, same);
    let missing = dir.path("no/out.png");
    let says = format!("{missing}: cannot write: No such file or directory (os error 2)");
    fails(&["run", "denoise", "--input", &file, "--output", &missing], 1, &says);
    let ran = words("run denoise --size 65536 --iterations 65536 --tile 2");
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.lines().count()), (2, "", 1), "{ran:?}");
    assert!(ran.stderr.starts_with("error: --size 65536 is out of range: expected 32..="), "{ran:?}");
}
