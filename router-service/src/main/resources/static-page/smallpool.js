/**
 * A pool of a few blocks that keeps the rules of the worker's (its class BlockPool), for walking through them:
 * allocation takes from the head of the free queue and evicts what that block held; a hit holds a block once more and
 * takes it out of the queue; a release goes through a table from its end, full blocks to the tail of the queue, others
 * to its head. Block 0 is the null block. Hashes are stood for by the text that they would be of.
 */

const NULL_BLOCK = 0;
const NO_BLOCK = -1;

export class SmallPool {
    blockSize;
    /** @type {number[]} how often each block is held */
    references;
    /** @type {Array<?string>} the whole prefix that a full block ends, null without a key */
    keys;
    /** @type {number[]} free blocks, the next one to be given away first */
    queue = [];
    /** @type {Map<string, {tokens: string[], blocks: number[], hits: number}>} */
    requests = new Map();
    /** @type {string[]} prefixes that were lost to the last allocations */
    evicted = [];
    /** Counts keys given, by which the eldest is told. */
    #keyed = 0;
    #keyedAt = [];

    constructor(blocks, blockSize) {
        this.blockSize = blockSize;
        this.references = new Array(blocks).fill(0);
        this.keys = new Array(blocks).fill(null);
        for (let block = 1; block < blocks; block++) {
            this.queue.push(block);
        }
    }

    /**
     * A prompt comes: its cached blocks are held, the others allocated. At least one token is always computed, so the
     * last block of a prompt that is cached in whole is not hit.
     * @throws {Error} if too few blocks are free
     */
    admit(name, tokens) {
        this.evicted = [];
        const hits = this.#match(tokens);
        const needed = Math.ceil(tokens.length / this.blockSize) - hits.length;
        const freeHits = hits.filter(block => this.references[block] === 0).length;
        if (needed > this.queue.length - freeHits) {
            throw new Error('too few blocks are free');
        }
        hits.forEach(block => this.#touch(block));
        const blocks = [...hits];
        for (let i = 0; i < needed; i++) {
            blocks.push(this.#allocate());
        }
        this.requests.set(name, {tokens: [...tokens], blocks, hits: hits.length});
        this.#keyFull(name);
    }

    /** A token is drawn, and takes the next slot; a new block if the last one is full. */
    draw(name, token) {
        this.evicted = [];
        const request = this.requests.get(name);
        if (request.tokens.length % this.blockSize === 0) {
            request.blocks.push(this.#allocate());
        }
        request.tokens.push(token);
        this.#keyFull(name);
    }

    /** The request ends, and gives its blocks back, the last one first. */
    release(name) {
        this.evicted = [];
        const {blocks} = this.requests.get(name);
        this.requests.delete(name);
        let head = 0;
        for (const block of [...blocks].reverse()) {
            if (--this.references[block] > 0) {
                continue;
            }
            if (this.keys[block] === null) {
                this.queue.splice(head++, 0, block);
            } else {
                this.queue.push(block);
            }
        }
    }

    /** @returns {string} one of the states that the grids show */
    stateOf(block) {
        if (block === NULL_BLOCK) {
            return 'null';
        }
        const held = this.references[block];
        return held > 1 ? 'shared' : held === 1 ? (this.keys[block] === null ? 'filling' : 'used')
            : this.keys[block] === null ? 'free' : 'cached';
    }

    /** What stands in a block's slots, as far as anything does. @returns {string[]} */
    tokensOf(block) {
        for (const request of this.requests.values()) {
            const index = request.blocks.indexOf(block);
            if (index >= 0) {
                return request.tokens.slice(index * this.blockSize, (index + 1) * this.blockSize);
            }
        }
        return this.keys[block]?.split(' ').slice(-this.blockSize) ?? [];
    }

    #match(tokens) {
        const hits = [];
        const most = Math.floor((tokens.length - 1) / this.blockSize);
        for (let i = 0; i < most; i++) {
            const block = this.#find(this.#prefix(tokens, i));
            if (block === NO_BLOCK) {
                break;
            }
            hits.push(block);
        }
        return hits;
    }

    /** Of several that hold the same, the one that got its key first. */
    #find(prefix) {
        let eldest = NO_BLOCK;
        this.keys.forEach((key, block) => {
            if (key === prefix && (eldest === NO_BLOCK || this.#keyedAt[block] < this.#keyedAt[eldest])) {
                eldest = block;
            }
        });
        return eldest;
    }

    #prefix(tokens, index) {
        return tokens.slice(0, (index + 1) * this.blockSize).join(' ');
    }

    #touch(block) {
        if (this.references[block]++ === 0) {
            this.queue.splice(this.queue.indexOf(block), 1);
        }
    }

    #allocate() {
        const block = this.queue.shift();
        if (block === undefined) {
            throw new Error('no block is free');
        }
        if (this.keys[block] !== null) {
            this.evicted.push(this.keys[block]);
            this.keys[block] = null;
        }
        this.references[block] = 1;
        return block;
    }

    #keyFull(name) {
        const {tokens, blocks} = this.requests.get(name);
        for (let i = 0; i < Math.floor(tokens.length / this.blockSize); i++) {
            if (this.keys[blocks[i]] === null) {
                this.keys[blocks[i]] = this.#prefix(tokens, i);
                this.#keyedAt[blocks[i]] = ++this.#keyed;
            }
        }
    }
}
