//! Inodes and blocks, as in a file system: a step must read an inode to learn the blocks of its
//! file.

use std::mem;

/// A file or a concatenation of files: the first file, and the number of files.
pub type Node = (u32, u32);

/// The tag of a block: its node, and its number.
pub type Tag = (u32, u32, u32);

/// The number of blocks listed in an inode itself, as in the second extended file system (Card,
/// Ts'o, Tweedie, "Design and Implementation of the Second Extended Filesystem", 1994). A longer
/// file has additional blocks with lists.
const DIRECT: usize = 12;

/// The blocks with a file's bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct List {
    /// The next blocks of the file, in order.
    pub blocks: Vec<Tag>,
    /// A block with a list of further blocks.
    pub more: Option<Tag>,
}

/// The metadata of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inode {
    /// Its length in bytes.
    pub bytes: u64,
    /// The list of its blocks.
    pub list: List,
}

/// A block of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// Its bytes. Only the last block of a file may be shorter than the block size.
    Data(Vec<u8>),
    /// A list of more blocks.
    List(List),
}

impl Block {
    /// Its bytes, if it has any.
    pub fn into_data(self) -> Option<Vec<u8>> {
        match self {
            Block::Data(bytes) => Some(bytes),
            Block::List(_) => None,
        }
    }

    /// Its listed blocks: none, if it has bytes.
    pub fn list(&self) -> List {
        match self {
            Block::Data(_) => List::default(),
            Block::List(list) => list.clone(),
        }
    }
}

impl Inode {
    /// The inode of a node whose bytes are in `count` blocks, numbered from 0. Also returns the
    /// blocks with their lists. Such a block has as many tags as fit into `block` bytes.
    pub fn new(node: Node, bytes: u64, count: u32, block: usize) -> (Inode, Vec<(Tag, Block)>) {
        let tag = |number| (node.0, node.1, number);
        let direct = count.min(DIRECT as u32);
        let room = (block / size_of::<Tag>()).max(1) as u32;
        // From the last one, because each block names the next.
        let (mut lists, mut more) = (Vec::new(), None);
        for list in (0..(count - direct).div_ceil(room)).rev() {
            let first = direct + list * room;
            let blocks = (first..count.min(first + room)).map(tag).collect();
            let own = tag(count + list);
            lists.push((own, Block::List(List { blocks, more })));
            more = Some(own);
        }
        (Inode { bytes, list: List { blocks: (0..direct).map(tag).collect(), more } }, lists)
    }
}

/// Cuts a file's bytes into blocks.
pub fn cut(bytes: &[u8], block: usize) -> Vec<Vec<u8>> {
    bytes.chunks(block).map(<[u8]>::to_vec).collect()
}

/// Appends the blocks of one file to another's. If the first file's last block is not full, bytes
/// of the second file fill it, and all the second file's bytes move. Full blocks of the first file
/// stay unchanged.
pub fn join(mut first: Vec<Vec<u8>>, second: Vec<Vec<u8>>, block: usize) -> Vec<Vec<u8>> {
    let Some(mut last) = first.pop_if(|last| last.len() < block) else {
        first.extend(second);
        return first;
    };
    let mut left: usize = second.iter().map(Vec::len).sum();
    last.reserve_exact(left.min(block - last.len()));
    for mut piece in second.iter().map(Vec::as_slice) {
        while !piece.is_empty() {
            if last.len() == block {
                first.push(mem::replace(&mut last, Vec::with_capacity(left.min(block))));
            }
            let (here, rest) = piece.split_at(piece.len().min(block - last.len()));
            last.extend_from_slice(here);
            (left, piece) = (left - here.len(), rest);
        }
    }
    first.push(last);
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_joined_whatever_the_lengths() {
        for block in [1, 2, 3, 7] {
            for (a, b) in (0..20_u8).flat_map(|a| (0..20).map(move |b| (a, b))) {
                let (a, b): (Vec<u8>, Vec<u8>) = ((0..a).collect(), (100..100 + b).collect());
                let both = [a.clone(), b.clone()].concat();
                assert_eq!(join(cut(&a, block), cut(&b, block), block), cut(&both, block), "{block}: {a:?} {b:?}");
            }
        }
    }

    #[test]
    fn a_long_file_names_a_block_that_lists_more() {
        // Two tags fit into a block.
        let (inode, lists) = Inode::new((3, 1), 99, 17, 24);
        let tag = |number| (3, 1, number);
        assert_eq!(inode, Inode { bytes: 99, list: List { blocks: (0..12).map(tag).collect(), more: Some(tag(17)) } });
        let list = |blocks: [u32; 2], more| Block::List(List { blocks: blocks.map(tag).to_vec(), more });
        let last = Block::List(List { blocks: vec![tag(16)], more: None });
        let expected =
            [(tag(19), last), (tag(18), list([14, 15], Some(tag(19)))), (tag(17), list([12, 13], Some(tag(18))))];
        assert_eq!(lists, expected);
        assert_eq!(Inode::new((0, 1), 0, 0, 4096).1, []);
        assert_eq!(Inode::new((0, 1), 12, 12, 1).1, []);
        assert_eq!(Inode::new((0, 1), 13, 13, 1).1.len(), 1);
    }
}
