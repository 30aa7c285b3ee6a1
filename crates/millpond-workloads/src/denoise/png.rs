//! Pictures as PNG files.

use super::picture::{Kind, Picture, Plane};
use crate::rician::Extent;
use crate::{Error, input, output};
use png::{BitDepth, ColorType, Decoder, DecodingError, Encoder, Limits, Transformations};
use std::io::{self, Cursor, Write};
use std::path::Path;

/// Reads a picture, if `fits` accepts its width, height and number of channels. Palettes are
/// expanded to colours, and channels to at least 8 bits.
pub(super) fn read(file: &Path, fits: impl Fn(u64, u64, u64) -> bool) -> Result<Picture, Error> {
    let bytes = input::bytes(file)?;
    let mut cursor = Cursor::new(&bytes[..]);
    let decoded = decode(&mut cursor, fits);
    let place = format!("byte {}", cursor.position());
    decoded.map_err(|what| Error::Input { file: file.to_owned(), place, what })
}

fn decode(cursor: &mut Cursor<&[u8]>, fits: impl Fn(u64, u64, u64) -> bool) -> Result<Picture, String> {
    let says = |error: DecodingError| match error {
        DecodingError::IoError(why) if why.kind() == io::ErrorKind::UnexpectedEof => "the file is cut off".to_owned(),
        other => {
            let text = other.to_string();
            // The decoder's name of the chunk follows.
            let what = text.split(" while decoding").next().unwrap_or(&text);
            what.trim_end_matches('.').to_owned()
        }
    };
    let too_large = |width: u32, height: u32, channels: usize| {
        let fits = fits(width.into(), height.into(), channels as u64);
        (!fits).then(|| format!("{width} x {height} cells of {channels} channels are more than memory can hold"))
    };
    // The memory is checked below, once the size is known.
    let mut decoder = Decoder::new_with_limits(cursor, Limits { bytes: usize::MAX });
    decoder.set_transformations(Transformations::EXPAND);
    // These chunks are unused, and a short one can expand to more than the memory.
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    // Reads the header first, because the data may be cut off. A palette expands to more channels,
    // which are checked afterwards.
    let header = decoder.read_header_info().map_err(says)?;
    too_large(header.width, header.height, header.color_type.samples()).map_or(Ok(()), Err)?;
    let mut reader = decoder.read_info().map_err(says)?;
    if reader.info().animation_control.is_some() {
        return Err("an animated picture; expected one that stands still".to_owned());
    }
    // png 0.18 panics in `create_rgba_palette` if the last colour of the palette is cut off.
    if let Some(palette) = reader.info().palette.as_deref().filter(|palette| !palette.len().is_multiple_of(3)) {
        return Err(format!("the palette has {} bytes: expected 3 for each colour", palette.len()));
    }
    let (width, height) = (reader.info().width, reader.info().height);
    let (color, depth) = reader.output_color_type();
    let samples = color.samples();
    too_large(width, height, samples).map_or(Ok(()), Err)?;
    let size = reader.output_buffer_size().ok_or("the picture is larger than memory can be")?;
    let mut data = vec![0; size];
    reader.next_frame(&mut data).map_err(says)?;
    // The data after the picture may be cut off, too.
    reader.finish().map_err(says)?;
    let extent = Extent { width: width as usize, height: height as usize };
    Ok(picture(extent, samples, depth == BitDepth::Sixteen, &data))
}

/// The maximum sample.
fn white(deep: bool) -> f32 {
    if deep { u16::MAX.into() } else { u8::MAX.into() }
}

/// Sorts samples by channel.
fn picture(extent: Extent, samples: usize, deep: bool, data: &[u8]) -> Picture {
    let sample = |at: usize| match deep {
        true => u16::from_be_bytes([data[2 * at], data[2 * at + 1]]),
        false => data[at].into(),
    };
    let channel = |channel: usize| (0..extent.cells()).map(move |cell| sample(cell * samples + channel));
    let has_alpha = samples.is_multiple_of(2);
    let plane = |at| channel(at).map(|sample| f32::from(sample) / white(deep)).collect::<Plane>();
    let planes = (0..samples - usize::from(has_alpha)).map(plane).collect();
    let alpha = has_alpha.then(|| channel(samples - 1).collect());
    Picture { extent, planes, clean: None, kind: Kind { deep, alpha } }
}

/// Writes planes as a picture of the same kind.
pub(super) fn write(file: &Path, picture: &Picture, planes: &[&Plane]) -> Result<(), Error> {
    output::write(file, |out| encode(out, picture, planes).map_err(io::Error::other))
}

fn encode(out: &mut dyn Write, picture: &Picture, planes: &[&Plane]) -> Result<(), png::EncodingError> {
    let Kind { deep, alpha } = &picture.kind;
    let color = match (planes.len(), alpha) {
        (1, None) => ColorType::Grayscale,
        (1, Some(_)) => ColorType::GrayscaleAlpha,
        (_, None) => ColorType::Rgb,
        (_, Some(_)) => ColorType::Rgba,
    };
    let mut encoder = Encoder::new(out, picture.extent.width as u32, picture.extent.height as u32);
    encoder.set_color(color);
    encoder.set_depth(if *deep { BitDepth::Sixteen } else { BitDepth::Eight });
    let mut writer = encoder.write_header()?;
    let mut stream = writer.stream_writer()?;
    for cell in 0..picture.extent.cells() {
        let samples = planes.iter().map(|plane| (plane[cell].clamp(0.0, 1.0) * white(*deep)).round() as u16);
        for sample in samples.chain(alpha.as_ref().map(|alpha| alpha[cell])) {
            let bytes = sample.to_be_bytes();
            stream.write_all(if *deep { &bytes } else { &bytes[1..] })?;
        }
    }
    stream.finish()
}
