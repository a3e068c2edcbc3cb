//! The only random numbers of the simulation: everything that happens in a run is drawn from its seed.

/// Xoshiro256** (Blackman and Vigna, 2018), filled by `SplitMix64`.
#[derive(Clone, Debug)]
pub(super) struct Random([u64; 4]);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        let mut state = seed;
        Self([(); 4].map(|()| split_mix(&mut state)))
    }

    /// An rng of its own for one part of the world, so that what one part draws does not move the others.
    pub(super) fn fork(&self, label: u64) -> Self {
        let mut state = self.0[0] ^ label.wrapping_mul(0xa076_1d64_78bd_642f);
        Self::new(split_mix(&mut state))
    }

    pub(super) fn next(&mut self) -> u64 {
        let state = &mut self.0;
        let drawn = state[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = state[1] << 17;
        state[2] ^= state[0];
        state[3] ^= state[1];
        state[1] ^= state[2];
        state[0] ^= state[3];
        state[2] ^= shifted;
        state[3] = state[3].rotate_left(45);
        drawn
    }

    /// Below `end`, which is not 0.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// From the first to the last, both included.
    pub(super) fn within(&mut self, (first, last): (u64, u64)) -> u64 {
        first + self.below(last - first + 1)
    }

    pub(super) fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub(super) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let place = self.below(from.len() as u64);
        &from[usize::try_from(place).expect("it is a place in memory")]
    }

    pub(super) fn bytes<const N: usize>(&mut self) -> [u8; N] {
        [(); N].map(|()| self.next().to_le_bytes()[7])
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
