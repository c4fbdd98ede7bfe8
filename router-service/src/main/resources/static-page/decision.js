/** One decision in full: who held how much of the prompt, what each candidate would have cost, what came of it. */
import {bar, el, scrollBox, setVar, table} from './dom.js';
import {clock, count, millis, percent, plural} from './format.js';
import {blocksOf, meaningOf, meaningOfLeftOut, why} from './terms.js';

const MOST_CELLS = 160;

/**
 * @param {Object} decision of the feed, of /actuator/decisions or an answer of /v1/route
 * @returns {HTMLElement}
 */
export function decisionDetails(decision) {
    return el('div', {class: 'decision-details'}, el('p', {class: 'why'}, why(decision)), heldStrips(decision),
        costs(decision), outcome(decision), leftOut(decision), shadow(decision));
}

/** The prompt's chain of blocks, a strip for each candidate: held, announced but not believed, to be computed. */
function heldStrips(decision) {
    const blocks = blocksOf(decision);
    const rest = decision.prompt_tokens - blocks * decision.block_size;
    const most = Math.max(1, ...decision.candidates.map(each => each.promised_blocks), blocks);
    return el('div', {},
        el('h4', {}, 'The prompt as a chain of blocks'),
        el('p', {class: 'quiet'}, `${plural(decision.prompt_tokens, 'token')}: ${plural(blocks, 'full block')} of `
            + `${decision.block_size}${rest > 0 ? ` and ${plural(rest, 'token')} beyond` : ''}. `
            + 'Filled: held there. Hatched: announced, not relied on. Outlined: to be computed.'),
        decision.candidates.map(candidate => el('div', {class: 'chain-row'},
            el('span', {class: 'chain-name'}, `${candidate.worker === decision.worker ? '★ ' : ''}${candidate.worker}`),
            strip(candidate, most), el('span', {class: 'data'},
                `${count(candidate.matched_blocks)} / ${count(blocks)}`))));
}

/** A cell a block, or a cell for several where there are too many. */
function strip(candidate, blocks) {
    const cells = Math.min(blocks, MOST_CELLS);
    const perCell = blocks / cells;
    return setVar(el('span', {class: 'chain', 'aria-hidden': 'true'}, Array.from({length: cells}, (_, i) => {
        const block = Math.floor(i * perCell);
        return el('span', {class: block < candidate.matched_blocks ? 'held'
            : block < candidate.promised_blocks ? 'promised' : 'absent'});
    })), '--cells', cells);
}

function costs(decision) {
    const names = [...new Set(decision.candidates.flatMap(each => Object.keys(each.terms ?? {})))];
    const shown = names.filter(name => decision.candidates.some(each => each.terms[name]));
    const most = Math.max(1, ...decision.candidates.map(each => Math.max(each.cost, positive(each, shown))));
    const body = el('tbody', {}, decision.candidates.map(each => el('tr',
        {class: each.worker === decision.worker ? 'chosen' : null, 'data-candidate': each.worker},
        el('th', {scope: 'row'}, `${each.worker === decision.worker ? '★ ' : ''}${each.worker}`),
        el('td', {class: 'number', 'data-name': 'matched_blocks'}, count(each.matched_blocks)),
        shown.map(name => el('td', {class: 'number', 'data-name': name}, count(each.terms[name]))),
        el('td', {class: 'number', 'data-name': 'cost'}, el('strong', {}, count(each.cost))),
        el('td', {}, costBar(each, shown, most)),
        el('td', {}, `${each.health}, ${each.grade}`),
        el('td', {class: 'number'}, count(each.requests)),
        el('td', {class: 'number'}, `${count(each.used_blocks)} / ${count(each.block_count)}`))));
    return el('div', {}, el('h4', {}, 'What each would have cost'),
        el('p', {class: 'quiet'}, `Policy ${decision.policy ?? 'unknown'}. The least wins; of the default policy all `
            + 'are counted in prompt tokens, as the time that computing so many takes.'),
        scrollBox('Costs of the candidates', table('Costs of the candidates',
            ['worker', '#blocks held', ...shown.map(name => `#${name}`), '#cost', 'parts', 'health, index', '#requests',
                '#blocks in use'], body)),
        shown.length === 0 ? null : el('dl', {class: 'terms'}, shown.map((name, i) => [
            el('dt', {}, el('span', {class: `swatch term-${i % 6}`, 'aria-hidden': 'true'}), name),
            el('dd', {}, meaningOf(name))])));
}

const positive = (candidate, names) => names.reduce((sum, name) => sum + Math.max(0, candidate.terms[name] ?? 0), 0);

function costBar(candidate, names, most) {
    return el('span', {class: 'cost-bar', 'aria-hidden': 'true'}, names.map((name, i) =>
        candidate.terms[name] > 0 ? setVar(el('span', {class: `term-${i % 6}`, title: name}), '--share',
            candidate.terms[name] / most) : null));
}

function outcome(decision) {
    const end = decision.outcome;
    const rows = [
        ['cached tokens', count(decision.predicted_cached_tokens), count(end?.cached_tokens),
            share(decision.predicted_cached_tokens, end?.cached_tokens)],
        ['first token', millis(decision.predicted_first_token_ms), millis(end?.first_token_ms),
            share(decision.predicted_first_token_ms, end?.first_token_ms)],
    ];
    const state = decision.outcome === undefined ? 'This was only asked, not sent.'
        : end === null ? 'The answer goes on.' : `Ended: ${end.end}, after ${millis(end.total_ms)}, `
            + `${plural(end.completion_tokens ?? 0, 'token')} drawn.`;
    return el('div', {}, el('h4', {}, 'Predicted and actual'), el('p', {class: 'quiet'}, state),
        scrollBox('Predicted and actual', table('Predicted and actual',
            ['of', '#predicted', '#actual', '#actual ÷ predicted'],
            el('tbody', {}, rows.map(([name, predicted, actual, ratio]) => el('tr', {}, el('th', {scope: 'row'}, name),
                el('td', {class: 'number'}, predicted), el('td', {class: 'number'}, actual),
                el('td', {class: 'number'}, ratio)))))));
}

function share(predicted, actual) {
    return typeof predicted === 'number' && typeof actual === 'number' && predicted > 0
        ? percent(actual / predicted) : '–';
}

function leftOut(decision) {
    const left = decision.left_out ?? [];
    const more = (decision.left_out_count ?? left.length) - left.length;
    return left.length === 0 ? null : el('div', {}, el('h4', {}, 'Left out'), el('ul', {},
        left.map(each => el('li', {}, `${each.worker}: ${meaningOfLeftOut(each.reason)}`)),
        more > 0 ? el('li', {}, `and ${plural(more, 'other')}`) : null));
}

function shadow(decision) {
    const other = decision.shadow;
    return other ? el('p', {class: 'quiet'}, `The shadow policy ${other.policy} would have chosen ${other.worker}, and `
        + `${count(Math.abs(other.extra_tokens))} tokens ${other.extra_tokens < 0 ? 'fewer' : 'more'} would have been `
        + 'computed.') : null;
}

/** In a line: for the list of decisions. @returns {Array<string|Node>} */
export function decisionCells(decision) {
    const end = decision.outcome;
    return [clock(decision.at), decision.worker, decision.reason, count(decision.prompt_tokens),
        el('span', {}, `${count(end?.cached_tokens ?? decision.predicted_cached_tokens)} `,
            bar((end?.cached_tokens ?? decision.predicted_cached_tokens) / Math.max(1, decision.prompt_tokens))),
        millis(end?.first_token_ms), end ? end.end : '… goes on'];
}
