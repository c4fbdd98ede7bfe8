//! The world that `ConversationWorld.write` leaves behind; its comment has the format.

use std::fs::File;
use std::io::{BufReader, Read, Result};

pub const KINDS: [&str; 4] = ["WHOLE", "HALF", "SYSTEM", "NOTHING"];
pub const WHOLE: usize = 0;
pub const SYSTEM_BLOCKS: usize = 64;

/// Blocks that follow each other; a parent of 0 means that they begin a chain.
pub struct Segment {
    pub parent: u64,
    pub holders: Vec<u32>,
    pub keys: Vec<u64>,
}

pub struct World {
    pub workers: usize,
    pub chain_blocks: usize,
    pub segments: Vec<Segment>,
    /// For each kind its chains, one after the other.
    asked: Vec<Vec<u64>>,
}

impl World {
    pub fn read(path: &str) -> Result<World> {
        let mut file = BufReader::with_capacity(1 << 20, File::open(path)?);
        let workers = int(&mut file)?;
        let segment_count = int(&mut file)?;
        let kinds = int(&mut file)?;
        let questions = int(&mut file)?;
        let chain_blocks = int(&mut file)?;
        let segments = (0..segment_count)
            .map(|_| {
                let parent = long(&mut file)?;
                let holders = int(&mut file)?;
                let blocks = int(&mut file)?;
                Ok(Segment {
                    parent,
                    holders: (0..holders).map(|_| Ok(int(&mut file)? as u32)).collect::<Result<_>>()?,
                    keys: longs(&mut file, blocks)?,
                })
            })
            .collect::<Result<_>>()?;
        let asked = (0..kinds).map(|_| longs(&mut file, questions * chain_blocks)).collect::<Result<_>>()?;
        Ok(World { workers, chain_blocks, segments, asked })
    }

    pub fn questions(&self) -> usize {
        self.asked[WHOLE].len() / self.chain_blocks
    }

    pub fn chain(&self, kind: usize, question: usize) -> &[u64] {
        &self.asked[kind][question * self.chain_blocks..(question + 1) * self.chain_blocks]
    }

    pub fn pairs(&self) -> usize {
        self.segments.iter().map(|segment| segment.holders.len() * segment.keys.len()).sum()
    }

    /// Last keys of the system prompts, which every worker holds.
    pub fn system_parents(&self) -> Vec<u64> {
        self.segments
            .iter()
            .filter(|segment| segment.parent == 0)
            .map(|segment| segment.keys[SYSTEM_BLOCKS - 1])
            .collect()
    }
}

fn int(file: &mut impl Read) -> Result<usize> {
    let mut bytes = [0; 4];
    file.read_exact(&mut bytes)?;
    Ok(u32::from_be_bytes(bytes) as usize)
}

fn long(file: &mut impl Read) -> Result<u64> {
    let mut bytes = [0; 8];
    file.read_exact(&mut bytes)?;
    Ok(u64::from_be_bytes(bytes))
}

fn longs(file: &mut impl Read, count: usize) -> Result<Vec<u64>> {
    (0..count).map(|_| long(file)).collect()
}

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}
