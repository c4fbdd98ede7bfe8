/** What a decision's words mean, in sentences. The names are the router's; docs/policies.md has them at length. */
import {count, plural} from './format.js';

const TERMS = {
    uncached: 'prompt tokens that it would have to compute itself',
    copy: 'what others who use this prefix now pay of a copy: it is taken off',
    delay: 'the same tokens again, as far as busy workers make others wait behind them',
    eviction: 'what it would push out of a full cache, and somebody will want back',
    pending: 'tokens that stand there before this request',
    queued: 'a step\'s fixed part for each request there without a first token',
    streams: 'what its running answers add to every step',
    slots: 'requests there beyond those that it runs at once',
    memory: 'blocks that are not free, and have to become so first',
    failures: 'failures there lately: a try that fails costs another',
};

/** @param {string} term of the cost */
export function meaningOf(term) {
    return TERMS[term] ?? 'a part of this policy\'s cost';
}

const LEFT_OUT = {
    excluded: 'it has failed this request before',
    joining: 'it has not joined yet',
    draining: 'it is draining',
    hanging: 'it hangs',
    outdated: 'its version is too old for something that this request asks for',
};

export function meaningOfLeftOut(reason) {
    return LEFT_OUT[reason] ?? reason;
}

/**
 * Why this worker won, with the numbers of this request.
 * @param {Object} decision as the feed or /v1/route has it
 */
export function why(decision) {
    const chosen = decision.candidates?.find(each => each.worker === decision.worker);
    if (!decision.worker || !chosen) {
        return decision.worker ? `${decision.worker} was chosen (${decision.reason}).` : 'No worker can take it now.';
    }
    const held = `${count(chosen.matched_blocks)} of the prompt's ${plural(blocksOf(decision), 'full block')}`;
    const sentences = {
        only_one: `${decision.worker} was the only one that could be chosen.`,
        prefix: `${decision.worker} holds ${held}${mostMatched(decision) > chosen.matched_blocks ? ''
            : ', and nobody holds more'}.`,
        load: byLoad(decision, chosen, held),
        turn: `Several were as good. ${decision.worker} was chosen longest ago, so it is its turn.`,
        affinity: `By this policy the conversation belongs to ${decision.worker}.`,
        trial: `${decision.worker} was left out for failures or slowness; this request tries whether it has recovered.`,
    };
    const sentence = sentences[decision.reason] ?? `${decision.worker} was chosen (${decision.reason}).`;
    return `${sentence} ${margin(decision, chosen)}`;
}

/** What is true of a worker that was chosen for its load: it may hold less than others, as much, or even more. */
function byLoad(decision, chosen, held) {
    const most = mostMatched(decision);
    if (most === 0) {
        return `Nobody holds any of it, and ${decision.worker} has the least to do.`;
    }
    return most > chosen.matched_blocks
        ? `Another holds more (${plural(most, 'block')}), but ${decision.worker} will still give the first token `
        + 'sooner: its queue is shorter by more than the others have cached.'
        : `${decision.worker} holds ${held}, nobody holds more, and it has the least to do.`;
}

/** By what the next best was dearer, and what made most of it. */
function margin(decision, chosen) {
    const others = decision.candidates.filter(each => each !== chosen);
    if (others.length === 0) {
        return '';
    }
    const next = others.reduce((best, each) => each.cost < best.cost ? each : best);
    const dearer = next.cost - chosen.cost;
    if (dearer <= 0) {
        const words = dearer === 0 ? 'the same' : `${count(-dearer)} less, too little to matter here`;
        return `${next.worker} costs ${words}.`;
    }
    const [term] = Object.entries(next.terms).map(([name, value]) => [name, value - (chosen.terms[name] ?? 0)])
        .reduce((most, each) => each[1] > most[1] ? each : most, ['', 0]);
    const most = term ? `, most of it “${term}”: ${meaningOf(term)}` : '';
    return `${next.worker} would cost ${count(dearer)} more${most}.`;
}

/** Blocks that somebody holds, be he among the candidates that are listed or not. */
function mostMatched(decision) {
    return Math.max((decision.fleet_cached_tokens ?? 0) / decision.block_size,
        ...decision.candidates.map(each => each.matched_blocks));
}

/** Full blocks of the prompt. */
export function blocksOf(decision) {
    return decision.prompt_blocks ?? Math.floor(decision.prompt_tokens / decision.block_size);
}
