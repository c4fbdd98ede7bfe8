/**
 * How many blocks of the KV cache a memory holds: the worker's own arithmetic (its class BlockPoolSize, and what a
 * start subtracts before it), as pure functions. Whole numbers up to 2^53, which is beyond any card's memory.
 * <pre>
 *   bytes per block = 2 (keys, values) x block size x KV heads x (head dim x bytes + bytes of scale) x layers
 *   left            = memory - weights - reserve
 *   blocks          = floor(floor(left x utilisation) / bytes per block)
 *   tokens          = blocks x block size
 *   conversations   = floor((blocks - 1) / ceil(context / block size))
 *   cache budget    = ceil(1.2 x prefixes x ceil(tokens of each / block size))
 * </pre>
 * One block, the null block, holds no tokens of anybody.
 */

const NULL_BLOCKS = 1;

/**
 * @typedef {Object} Start
 * @property {number} layers
 * @property {number} kvHeads
 * @property {number} headDim
 * @property {number} elementBytes of a number in the cache
 * @property {number} scaleBytes beside each key or value vector: 4 with fp8, else 0
 * @property {number} blockSize tokens
 * @property {number} memoryBytes of the card, or what the cache may take
 * @property {number} utilisation share of what is left that is taken, above 0, at most 1
 * @property {number} weightBytes
 * @property {number} reserveBytes activations, driver, libraries
 * @property {number} context tokens of the longest conversation
 * @property {number} prefixes that are to stay cached
 * @property {number} prefixTokens of each
 */

/**
 * @param {Start} start
 * @returns {{bytesPerBlock: number, bytesPerToken: number, leftBytes: number, cacheBytes: number, blocks: number,
 *     tokens: number, blocksOfContext: number, conversations: number}}
 */
export function pool(start) {
    const bytesPerBlock = 2 * start.blockSize * start.kvHeads * (start.headDim * start.elementBytes + start.scaleBytes)
        * start.layers;
    const leftBytes = Math.max(0, start.memoryBytes - start.weightBytes - start.reserveBytes);
    const blocks = Math.floor(Math.floor(leftBytes * start.utilisation) / bytesPerBlock);
    const blocksOfContext = Math.ceil(start.context / start.blockSize);
    return {
        bytesPerBlock,
        bytesPerToken: bytesPerBlock / start.blockSize,
        leftBytes,
        cacheBytes: blocks * bytesPerBlock,
        blocks,
        tokens: blocks * start.blockSize,
        blocksOfContext,
        conversations: Math.max(0, Math.floor((blocks - NULL_BLOCKS) / blocksOfContext)),
    };
}

/**
 * Blocks that prefixes which are to stay cached want, with a fifth of headroom: what is used once must not push them
 * out. The class CacheBudget has the same, and a test holds them together.
 *
 * @param {number} prefixes
 * @param {number} tokensEach
 * @param {number} blockSize tokens
 */
export function budget(prefixes, tokensEach, blockSize) {
    return Math.ceil(prefixes * Math.ceil(tokensEach / blockSize) * 6 / 5);
}

/** What is wrong with an input, a sentence; null if nothing is. @param {Start} start */
export function fault(start) {
    const whole = {layers: 'Layers', kvHeads: 'KV heads', headDim: 'Head size', elementBytes: 'Bytes of a number',
        blockSize: 'Block size', context: 'Context'};
    for (const [name, label] of Object.entries(whole)) {
        if (!Number.isInteger(start[name]) || start[name] < 1) {
            return `${label} must be a whole number, 1 or more.`;
        }
    }
    for (const [name, label] of Object.entries({prefixes: 'Prefixes', prefixTokens: 'Tokens of a prefix'})) {
        if (start[name] !== undefined && !(Number.isInteger(start[name]) && start[name] >= 0)) {
            return `${label} must be a whole number, 0 or more.`;
        }
    }
    for (const [name, label] of Object.entries({memoryBytes: 'Memory', weightBytes: 'Weights', reserveBytes: 'Reserve',
        scaleBytes: 'Bytes of a scale'})) {
        if (!Number.isFinite(start[name]) || start[name] < 0) {
            return `${label} must be a number, 0 or more.`;
        }
    }
    if (!(start.utilisation > 0 && start.utilisation <= 1)) {
        return 'Utilisation must be above 0, and at most 1.';
    }
    return null;
}

const GIB = 2 ** 30;
const MIB = 2 ** 20;

/** Shapes as the models' own configurations have them; weights as published, at two bytes a parameter. */
export const MODELS = {
    'warmpath-tiny, on processors': {layers: 6, kvHeads: 2, headDim: 32, elementBytes: 4, context: 2_048,
        weightBytes: 0},
    'SmolLM2 135M': {layers: 30, kvHeads: 3, headDim: 64, elementBytes: 2, context: 8_192, weightBytes: 269_060_000},
    'Qwen2.5 7B': {layers: 28, kvHeads: 4, headDim: 128, elementBytes: 2, context: 32_768, weightBytes: 15_231_000_000},
    'Qwen3 8B': {layers: 36, kvHeads: 8, headDim: 128, elementBytes: 2, context: 40_960, weightBytes: 16_381_000_000},
    'Qwen3 32B': {layers: 64, kvHeads: 8, headDim: 128, elementBytes: 2, context: 40_960, weightBytes: 65_524_000_000},
    'Mistral 7B v0.3': {layers: 32, kvHeads: 8, headDim: 128, elementBytes: 2, context: 32_768,
        weightBytes: 14_496_000_000},
    'Llama 3.1 8B': {layers: 32, kvHeads: 8, headDim: 128, elementBytes: 2, context: 131_072,
        weightBytes: 16_061_000_000},
    'Llama 3.1 70B': {layers: 80, kvHeads: 8, headDim: 128, elementBytes: 2, context: 131_072,
        weightBytes: 141_107_000_000},
    'Phi-3 mini (every head has keys of its own)': {layers: 32, kvHeads: 32, headDim: 96, elementBytes: 2,
        context: 4_096, weightBytes: 7_642_000_000},
};

/** Memory as sold; a driver shows a little less. */
export const CARDS = {
    'A worker\'s usual 128 MiB of heap': {memoryBytes: 128 * MIB, reserveBytes: 0, ownsWeights: false},
    'T4, 16 GB': {memoryBytes: 16 * GIB, reserveBytes: 512 * MIB, ownsWeights: true},
    'L4, RTX 4090, 24 GB': {memoryBytes: 24 * GIB, reserveBytes: 512 * MIB, ownsWeights: true},
    'RTX 5090, 32 GB': {memoryBytes: 32 * GIB, reserveBytes: 512 * MIB, ownsWeights: true},
    'A100, 40 GB': {memoryBytes: 40 * GIB, reserveBytes: GIB, ownsWeights: true},
    'L40S, 48 GB': {memoryBytes: 48 * GIB, reserveBytes: GIB, ownsWeights: true},
    'A100 or H100, 80 GB': {memoryBytes: 80 * GIB, reserveBytes: 2 * GIB, ownsWeights: true},
    'H200, 141 GB': {memoryBytes: 141e9, reserveBytes: 2 * GIB, ownsWeights: true},
};
