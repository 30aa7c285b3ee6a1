//! Files as inodes and blocks.

/// Bytes of a block.
pub const BLOCK: usize = 4096;

/// Blocks that an inode lists itself.
pub const DIRECT: usize = 12;

/// Blocks that a block lists.
const LISTED: usize = BLOCK / size_of::<u32>() - 1;

/// A range of files, concatenated; one is a file as it is given.
pub type Node = (u32, u32);

/// Where the content of a file is: blocks of its node, by number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inode {
    /// The first blocks, in order.
    pub direct: Vec<u32>,
    /// The block that lists more.
    pub further: Option<u32>,
}

/// A block of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// Content.
    Data(Vec<u8>),
    /// The numbers of further blocks.
    List {
        /// In order.
        blocks: Vec<u32>,
        /// The block that lists more.
        further: Option<u32>,
    },
}

/// Cuts content into blocks, in order of their numbers, and lists them.
pub(super) fn store<'c>(content: impl IntoIterator<Item = &'c [u8]>) -> (Inode, Vec<Block>) {
    let mut data: Vec<Vec<u8>> = Vec::new();
    for mut part in content {
        while !part.is_empty() {
            if data.last().is_none_or(|last| last.len() == BLOCK) {
                data.push(Vec::with_capacity(part.len().min(BLOCK)));
            }
            let last = data.last_mut().expect("there is one");
            let (now, rest) = part.split_at(part.len().min(BLOCK - last.len()));
            last.extend_from_slice(now);
            part = rest;
        }
    }
    let count = data.len() as u32;
    let direct = (0..count.min(DIRECT as u32)).collect();
    let listed: Vec<u32> = (DIRECT as u32..count).collect();
    let lists = listed.chunks(LISTED).len() as u32;
    let further = (lists > 0).then_some(count);
    let mut blocks: Vec<_> = data.into_iter().map(Block::Data).collect();
    blocks.extend(
        (count + 1..).zip(listed.chunks(LISTED)).map(|(next, chunk)| Block::List {
            blocks: chunk.to_vec(),
            further: (next < count + lists).then_some(next),
        }),
    );
    (Inode { direct, further }, blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_found() {
        for bytes in [0, 1, BLOCK, BLOCK * DIRECT, BLOCK * DIRECT + 1, BLOCK * (DIRECT + LISTED) + 1, BLOCK * 3000] {
            let content: Vec<u8> = (0..bytes).map(|at| (at * 31 / 7) as u8).collect();
            let (front, back) = content.split_at(bytes / 3);
            let (inode, blocks) = store([front, back]);
            let mut numbers = inode.direct.clone();
            assert!(numbers.len() <= DIRECT);
            let mut further = inode.further;
            while let Some(number) = further {
                let Block::List { blocks, further: next } = &blocks[number as usize] else { panic!("a list") };
                assert!(blocks.len() <= LISTED);
                numbers.extend(blocks);
                further = *next;
            }
            let data = numbers.iter().flat_map(|&number| match &blocks[number as usize] {
                Block::Data(data) => data.clone(),
                Block::List { .. } => panic!("data"),
            });
            assert!(data.eq(content.iter().copied()), "{bytes}");
        }
    }
}
