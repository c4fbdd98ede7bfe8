/**
 * A worker's block pool as the feed tells it: a whole frame, then changes to it. No drawing here.
 *
 * One byte says a block: the low three bits its state, the others how often it is held, 31 at most.
 */

/** What a block can be, in the feed's numbers; the last one is for swap space, which the feed tells apart. */
export const STATES = ['null', 'free', 'cached', 'filling', 'used', 'shared', 'swapped'];
const FREE = 1;
const SWAPPED = 6;
/** Beyond this nobody could tell cells apart, nor should a page's memory grow by what a server writes. */
const MOST_BLOCKS = 1_000_000;

export const stateOf = byte => byte & 7;
export const referencesOf = byte => byte >> 3;

/** @param {string} text base 64 @returns {Uint8Array} */
function decodeBytes(text) {
    const binary = atob(text || '');
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) {
        bytes[i] = binary.charCodeAt(i);
    }
    return bytes;
}

export class Pool {
    worker;
    epoch = null;
    sample = -1;
    blockSize = 0;
    groups = 1;
    cells = new Uint8Array(0);
    /** Swap space, one byte a block: free or swapped. */
    host = new Uint8Array(0);
    /** Blocks in the order in which they are given away next. */
    next = [];
    counters = {};
    held = false;
    requests = [];
    /** Why there is nothing to see; null while there is. */
    unavailable = null;
    /** How many blocks are in each state. */
    counts = new Int32Array(8);

    /** @param {string} worker its id */
    constructor(worker) {
        this.worker = worker;
    }

    /**
     * Takes a frame in.
     * @param {Object} frame an event {@code pool} of the feed
     * @returns {?{whole: boolean, changed: number[], hostChanged: boolean}} ids of blocks that differ; null if the
     *     frame does not follow the last one, and nothing is changed until a whole one comes
     */
    apply(frame) {
        if (frame.unavailable) {
            this.unavailable = String(frame.unavailable);
            return null;
        }
        const applied = frame.whole ? this.#whole(frame) : this.#delta(frame);
        if (applied === null) {
            return null;
        }
        this.unavailable = null;
        this.sample = frame.sample;
        this.next = frame.next ?? [];
        this.counters = frame.counters ?? {};
        this.held = frame.held === true;
        this.requests = frame.requests ?? [];
        return {...applied, hostChanged: this.#host(frame.host)};
    }

    #whole(frame) {
        const cells = decodeBytes(frame.cells);
        if (cells.length !== frame.blocks || cells.length > MOST_BLOCKS) {
            this.unavailable = cells.length > MOST_BLOCKS
                ? `its pool has ${cells.length} blocks, more than a page can show` : 'its frame is broken';
            return null;
        }
        const isSameShape = cells.length === this.cells.length && frame.epoch === this.epoch;
        const changed = [];
        for (let id = 0; isSameShape && id < cells.length; id++) {
            if (cells[id] !== this.cells[id]) {
                changed.push(id);
            }
        }
        this.epoch = frame.epoch;
        this.blockSize = frame.block_size;
        this.groups = frame.groups ?? 1;
        this.cells = cells;
        this.counts.fill(0);
        cells.forEach(byte => this.counts[stateOf(byte)]++);
        return {whole: !isSameShape, changed};
    }

    #delta(frame) {
        if (frame.epoch !== this.epoch || frame.sample !== this.sample + 1) {
            this.sample = -1;
            return null;
        }
        const pairs = frame.changed ?? [];
        const changed = [];
        for (let i = 0; i + 1 < pairs.length; i += 2) {
            const id = pairs[i];
            const byte = pairs[i + 1] & 0xff;
            if (id >= 0 && id < this.cells.length && this.cells[id] !== byte) {
                this.counts[stateOf(this.cells[id])]--;
                this.counts[stateOf(byte)]++;
                this.cells[id] = byte;
                changed.push(id);
            }
        }
        return {whole: false, changed};
    }

    #host(text) {
        if (text === undefined) {
            return false;
        }
        const host = decodeBytes(text).map(inUse => inUse ? SWAPPED : FREE);
        const isChanged = host.length !== this.host.length || host.some((byte, id) => byte !== this.host[id]);
        this.host = host;
        return isChanged;
    }
}
