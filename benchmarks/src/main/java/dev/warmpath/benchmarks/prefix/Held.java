package dev.warmpath.benchmarks.prefix;

/** What the chains are like that are asked for, and who holds them. */
public enum Held {
    /** 256 blocks, one worker holds them all. */
    WHOLE(256, 1),
    /** 256 blocks, one worker holds them up to a random one. */
    PARTLY(256, 1),
    /** 6,250 blocks, four workers at random depths. */
    FOUR_DEPTHS(6_250, 4),
    /** 6,250 blocks, a hundred workers at random depths. */
    HUNDRED_DEPTHS(6_250, 100);

    final int blocks;
    final int holders;

    Held(int blocks, int holders) {
        this.blocks = blocks;
        this.holders = holders;
    }

    /** Room set aside for one chain, in pairs of a worker and a block. */
    int pairs() {
        return holders == 1 ? blocks : holders * blocks / 2;
    }
}
