/** What one block holds, asked of its worker when somebody looks at it. */
import {getJson} from './api.js';
import {debounce, el} from './dom.js';
import {brief, count, millis, plural} from './format.js';
import {referencesOf, stateOf, STATES} from './pool.js';

const REST_MILLIS = 140;

export class BlockDetails {
    /** Says what the cursor is on, to screen readers, too. */
    element = el('div', {class: 'block-details', 'aria-live': 'polite'});
    #pool;
    #shown = -1;
    #picked = -1;
    #asking = null;
    #ask = debounce(REST_MILLIS, id => this.#fetch(id));

    /** @param {import('./pool.js').Pool} pool */
    constructor(pool) {
        this.#pool = pool;
        this.look(-1);
    }

    /** Stays on this block when the cursor leaves. */
    pick(id) {
        this.#picked = id;
        this.look(id);
    }

    /** @param {number} id a block; -1: the one that was picked, if any */
    look(id) {
        const block = id >= 0 ? id : this.#picked;
        this.#asking?.abort();
        this.#shown = block;
        if (block < 0) {
            this.element.replaceChildren(el('p', {class: 'quiet'},
                'Point at a cell, or move with the arrow keys, to see what is in it.'));
            return;
        }
        this.element.replaceChildren(this.#headOf(block));
        this.#ask(block);
    }

    /** Asks again for the block that is shown, if it is among these. @param {?number[]} ids null: all blocks */
    changed(ids) {
        if (this.#shown >= 0 && (ids === null || ids.includes(this.#shown))) {
            this.element.firstChild.replaceWith(this.#headOf(this.#shown));
            this.#ask(this.#shown);
        }
    }

    #headOf(block) {
        const byte = this.#pool.cells[block] ?? 0;
        return this.#head(block, STATES[stateOf(byte)], referencesOf(byte));
    }

    #head(block, state, references) {
        const holders = references === 0 ? 'held by nobody'
            : `held ${references === 31 ? '31 times or more' : references === 1 ? 'once' : `${references} times`}`;
        return el('p', {}, el('strong', {}, `Block ${count(block)}`), ` · ${state} · ${holders}`);
    }

    async #fetch(id) {
        if (id !== this.#shown) {
            return;
        }
        this.#asking?.abort();
        this.#asking = new AbortController();
        const path = `live/workers/${encodeURIComponent(this.#pool.worker)}/blocks/${id}`;
        try {
            const block = await getJson(path, this.#asking.signal);
            if (id === this.#shown) {
                this.element.replaceChildren(this.#head(id, block.state, Math.min(31, block.references)), facts(block));
            }
        } catch (failure) {
            if (failure.name !== 'AbortError' && id === this.#shown) {
                this.element.replaceChildren(this.#headOf(id), el('p', {class: 'quiet'}, failure.message));
            }
        }
    }
}

function facts(block) {
    const rows = [
        ['tokens', block.tokens ? `${plural(block.token_count, 'token')}: ${block.tokens.join(' ')}`
            : plural(block.token_count, 'token')],
        ['text', block.text],
        ['key', block.key],
        ['hash', block.hash],
        ['last use', typeof block.last_use_ms_ago === 'number' ? `${millis(block.last_use_ms_ago)} ago` : null],
        ['held by', (block.held_by ?? []).map(said).join('; ')],
    ];
    return el('dl', {}, rows.filter(([, value]) => value !== null && value !== undefined && value !== '')
        .map(([name, value]) => [el('dt', {}, name),
            el('dd', {class: name === 'text' ? 'token-text' : 'data'}, value)]));
}

function said(holder) {
    const choice = holder.choice ? ` (choice ${holder.choice})` : '';
    return `${brief(holder.request, 24)}${choice}, block ${holder.index} of it`;
}
