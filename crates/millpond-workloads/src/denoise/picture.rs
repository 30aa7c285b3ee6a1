//! Pictures, planes and tiles.

use crate::matrix::generate::mix;
use crate::rician::Extent;
use std::f32::consts::TAU;

/// One channel, row by row; white is 1.
pub type Plane = Vec<f32>;

/// A noisy picture.
#[derive(Debug, Clone)]
pub struct Picture {
    pub(crate) extent: Extent,
    /// Grey, or red, green and blue.
    pub planes: Vec<Plane>,
    /// Its clean original.
    pub clean: Option<Plane>,
    /// The remaining properties of its file.
    pub(super) kind: Kind,
}

/// The format of a picture in a file.
#[derive(Debug, Clone, Default)]
pub(super) struct Kind {
    /// Whether it has 16 bits per channel instead of 8.
    pub deep: bool,
    /// The opacity of each cell, as in the file. It has no noise.
    pub alpha: Option<Vec<u16>>,
}

/// A square picture with Rician noise. It has a shaded ground with discs and a chequered corner:
/// edges, slopes and detail.
pub fn synthetic(size: usize, noise: u64, seed: u64) -> Picture {
    let at = |cell: usize| ((cell % size) as f32 / size as f32, (cell / size) as f32 / size as f32);
    let clean: Plane = (0..size * size).map(|cell| drawn(at(cell), size)).collect();
    let (sigma, seed) = (noise as f32 / 255.0, mix(seed));
    let noisy = clean.iter().enumerate().map(|(cell, &value)| {
        let [real, imaginary] = normal(mix(seed ^ cell as u64));
        (value + sigma * real).hypot(sigma * imaginary)
    });
    let planes = vec![noisy.collect()];
    Picture { extent: Extent { width: size, height: size }, planes, clean: Some(clean), kind: Kind::default() }
}

/// The picture at a point of the unit square.
fn drawn((x, y): (f32, f32), size: usize) -> f32 {
    const DISCS: [(f32, f32, f32, f32); 4] =
        [(0.32, 0.36, 0.24, 0.8), (0.38, 0.3, 0.08, 0.15), (0.7, 0.62, 0.18, 0.6), (0.7, 0.62, 0.09, 0.95)];
    let inside = DISCS.iter().rev().find(|&&(to_x, to_y, radius, _)| (x - to_x).hypot(y - to_y) < radius);
    let (cell, cells) = (size.div_ceil(32).max(4), |at: f32| (at * size as f32) as usize);
    match inside {
        Some(&(.., value)) => value,
        None if x > 0.75 && y < 0.25 => 0.3 + 0.4 * ((cells(x) / cell + cells(y) / cell) % 2) as f32,
        None => 0.2 + 0.3 * x * y,
    }
}

/// Two independent normal numbers (Box and Muller, "A Note on the Generation of Random Normal
/// Deviates", 1958).
fn normal(bits: u64) -> [f32; 2] {
    const UNIT: f32 = 1.0 / (1 << 24) as f32;
    let (one, two) = (((bits >> 40) + 1) as f32 * UNIT, (bits & 0xff_ffff) as f32 * UNIT);
    let length = (-2.0 * one.ln()).sqrt();
    [length * (TAU * two).cos(), length * (TAU * two).sin()]
}

/// A plane cut into square tiles, smaller at the right and lower border.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    /// The plane.
    pub extent: Extent,
    /// Cells along a side of a tile.
    pub tile: usize,
}

impl Cut {
    fn columns(self) -> usize {
        self.extent.width.div_ceil(self.tile)
    }

    fn rows(self) -> usize {
        self.extent.height.div_ceil(self.tile)
    }

    /// The number of tiles.
    pub fn tiles(self) -> u32 {
        (self.columns() * self.rows()) as u32
    }

    /// The column and the row of a tile.
    fn place(self, tile: u32) -> (usize, usize) {
        (tile as usize % self.columns(), tile as usize / self.columns())
    }

    /// The first cell of a tile: its column and its row.
    pub fn first(self, tile: u32) -> (usize, usize) {
        let (column, row) = self.place(tile);
        (column * self.tile, row * self.tile)
    }

    /// The size of a tile.
    pub fn of(self, tile: u32) -> Extent {
        let (x, y) = self.first(tile);
        Extent { width: self.tile.min(self.extent.width - x), height: self.tile.min(self.extent.height - y) }
    }

    /// The tile itself and its neighbours, if they exist. Each has its number among nine, row by
    /// row.
    pub fn around(self, tile: u32) -> impl Iterator<Item = (usize, u32)> {
        let (column, row) = self.place(tile);
        (0..9).filter_map(move |at| {
            let (column, row) = ((column + at % 3).checked_sub(1)?, (row + at / 3).checked_sub(1)?);
            let there = column < self.columns() && row < self.rows();
            there.then(|| (at, (row * self.columns() + column) as u32))
        })
    }

    /// The tiles of a plane.
    pub fn cut(self, plane: &[f32]) -> Vec<Plane> {
        let tile = |tile| {
            let ((x, y), extent) = (self.first(tile), self.of(tile));
            let row = |row| &plane[(y + row) * self.extent.width + x..][..extent.width];
            (0..extent.height).flat_map(|at| row(at).iter().copied()).collect()
        };
        (0..self.tiles()).map(tile).collect()
    }

    /// Writes a tile to its position in a plane.
    pub fn paste(self, tile: u32, cells: &[f32], plane: &mut [f32]) {
        let ((x, y), width) = (self.first(tile), self.of(tile).width);
        for (row, cells) in cells.chunks_exact(width).enumerate() {
            plane[(y + row) * self.extent.width + x..][..width].copy_from_slice(cells);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_cut_and_pasted() {
        for (width, height, tile) in [(7, 5, 3), (1, 1, 2), (6, 6, 3), (2, 9, 4)] {
            let cut = Cut { extent: Extent { width, height }, tile };
            let plane: Plane = (0..width * height).map(|cell| cell as f32).collect();
            let mut again = vec![-1.0; plane.len()];
            for (at, cells) in (0..).zip(cut.cut(&plane)) {
                assert_eq!(cells.len(), cut.of(at).cells());
                cut.paste(at, &cells, &mut again);
            }
            assert_eq!(again, plane);
        }
    }

    #[test]
    fn what_is_around_a_tile() {
        let cut = Cut { extent: Extent { width: 7, height: 5 }, tile: 3 };
        assert_eq!(cut.around(0).collect::<Vec<_>>(), [(4, 0), (5, 1), (7, 3), (8, 4)]);
        assert_eq!(cut.around(4).map(|(_, tile)| tile).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
        // Each tile has as many gets by others as it gets others.
        let gets = |tile| cut.around(tile).count();
        for tile in 0..cut.tiles() {
            assert_eq!((0..cut.tiles()).filter(|&by| cut.around(by).any(|(_, of)| of == tile)).count(), gets(tile));
        }
    }
}
