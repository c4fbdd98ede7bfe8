/**
 * A request's block table: which physical block holds each stretch of its tokens, in order. Read again while it is
 * open; rows are kept, so that the one under the pointer stays there.
 */
import {getJson} from './api.js';
import {el, oneStop, scrollBox, setText, table} from './dom.js';
import {brief, count, plural} from './format.js';

const REFRESH_MILLIS = 700;
const MOST_ROWS = 512;
const NULL_BLOCK = 0;

export class BlockTable {
    element = el('div', {class: 'block-table', hidden: true});
    #worker;
    #grid;
    #request = null;
    #timer = 0;
    #tables = new Map();
    #title = el('h4', {});
    #note = el('p', {class: 'quiet', role: 'status'});
    #body = el('div', {});

    /** @param {string} worker its id @param {import('./grid.js').Grid} grid on which blocks are pointed at */
    constructor(worker, grid) {
        this.#worker = worker;
        this.#grid = grid;
        const close = el('button', {type: 'button', class: 'small', on: {click: () => this.close()}}, 'Close');
        this.element.append(el('div', {class: 'row'}, this.#title, close), this.#note, this.#body);
    }

    /** The request whose table is open; null: none. */
    get request() {
        return this.#request;
    }

    open(request) {
        this.#request = request;
        this.#tables.clear();
        this.#body.replaceChildren();
        this.element.hidden = false;
        setText(this.#title, `Block table of ${brief(request, 28)}`);
        setText(this.#note, 'Asking…');
        this.#refresh();
    }

    close() {
        clearTimeout(this.#timer);
        this.#request = null;
        this.element.hidden = true;
        this.#grid.highlight([]);
    }

    async #refresh() {
        clearTimeout(this.#timer);
        if (document.hidden || !this.element.checkVisibility()) {
            this.#timer = setTimeout(() => this.#refresh(), REFRESH_MILLIS);      // nobody looks
            return;
        }
        const request = this.#request;
        try {
            const answer = await getJson(
                `live/workers/${encodeURIComponent(this.#worker)}/requests/${encodeURIComponent(request)}`);
            if (request !== this.#request) {
                return;
            }
            this.#show(answer);
        } catch (failure) {
            if (request !== this.#request) {
                return;
            }
            setText(this.#note, failure.status !== 404 ? failure.message
                : this.#tables.size > 0 ? 'It has ended. This is the table as it was last seen.' : 'It has ended.');
            if (failure.status === 404) {
                return;
            }
        }
        this.#timer = setTimeout(() => this.#refresh(), REFRESH_MILLIS);
    }

    #show(answer) {
        const all = [];
        for (const choice of answer.choices) {
            choice.groups.forEach((group, index) => {
                this.#rows(choice, group, index);
                all.push(...group.blocks.filter(block => block !== NULL_BLOCK));
            });
        }
        const first = answer.choices[0];
        setText(this.#note, first === undefined ? 'It holds nothing.'
            : `${first.state}: ${count(first.prompt_tokens)} prompt tokens, ${count(first.cached_tokens)} of them `
            + `found cached; ${count(first.computed_tokens)} tokens computed or found, `
            + `${count(first.scheduled_tokens)} of them in the last step; ${count(first.drawn_tokens)} drawn. `
            + swapped(answer));
        if (!this.element.querySelector('tr:hover, tr:focus-within')) {
            this.#grid.highlight(all);
        }
    }

    #rows(choice, group, index) {
        const blockSize = group.block_size;
        const body = this.#table(choice, group, index);
        const shown = Math.min(group.blocks.length, MOST_ROWS);
        while (body.rows.length > shown) {
            body.rows[body.rows.length - 1].remove();
        }
        for (let i = 0; i < shown; i++) {
            const row = body.rows[i] ?? body.appendChild(this.#newRow());
            const block = group.blocks[i];
            const texts = [String(i), block === NULL_BLOCK ? 'null: behind the window' : String(block),
                part(i, choice, group), `${i * blockSize} – ${(i + 1) * blockSize - 1}`,
                block === NULL_BLOCK ? '' : `${block * blockSize} – ${(block + 1) * blockSize - 1}`,
                String(group.references?.[i] ?? '')];
            texts.forEach((text, cell) => setText(row.cells[cell], text));
            row.dataset.block = block;
        }
        body.more.hidden = group.blocks.length <= MOST_ROWS;
        setText(body.more, `and ${plural(group.blocks.length - MOST_ROWS, 'block')} more`);
    }

    #table(choice, group, index) {
        const key = `${choice.choice}/${index}`;
        let body = this.#tables.get(key);
        if (body === undefined) {
            body = oneStop(el('tbody', {}), 'tr');
            body.more = el('p', {class: 'quiet', hidden: true});
            const name = `Choice ${choice.choice}${group.window ? `, layers with a window of ${group.window}` : ''}`;
            this.#body.append(el('p', {class: 'quiet'}, name), scrollBox(`Block table, ${name}`, table(name,
                ['#index', '#block', 'what is in it', '#tokens', '#slots', '#holders'], body)), body.more);
            this.#tables.set(key, body);
        }
        return body;
    }

    #newRow() {
        const point = event => this.#grid.highlight([Number(event.currentTarget.dataset.block)]);
        return el('tr', {tabindex: -1, on: {pointerenter: point, focus: point}},
            Array.from({length: 6}, () => el('td', {class: 'number'})));
    }
}

function swapped(answer) {
    const blocks = answer.choices.reduce((sum, choice) => sum + (choice.host_blocks?.length ?? 0), 0);
    return blocks === 0 ? '' : `${plural(blocks, 'block')} in swap space.`;
}

/** Which part of the request a block is, marked by a sign as well as by words. */
function part(index, choice, group) {
    const from = index * group.block_size;
    const to = from + group.block_size;
    const lastFrom = choice.computed_tokens - choice.scheduled_tokens;
    const kind = to <= choice.cached_tokens ? '◆ prefix hit' : from >= choice.computed_tokens ? '○ not yet'
        : to > lastFrom && choice.scheduled_tokens > 0 ? '▶ in this step' : '● computed';
    const shared = (group.references?.[index] ?? 0) > 1 ? ' · ▣ shared' : '';
    return `${kind}${shared}${group.keyed?.[index] ? ' · keyed' : ''}`;
}
