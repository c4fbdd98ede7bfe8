/** The last decisions, the newest first, and one of them open. */
import {getJson} from './api.js';
import {decisionCells, decisionDetails} from './decision.js';
import {el, oneStop, scrollBox, setText, table} from './dom.js';
import {brief} from './format.js';
import {microsOf, Newest} from './newest.js';

const KEPT = 100;

export class Decisions {
    #decisions = new Map();
    #rows = new Map();
    #order = new Newest(KEPT);
    #open = null;
    #body = oneStop(el('tbody', {}), 'button');
    #empty = el('p', {class: 'empty', role: 'status'}, 'No request has been routed yet. Send one from the playground.');
    #details = el('section', {class: 'card', 'aria-label': 'Open decision', hidden: true, tabindex: -1});
    #title = el('h3', {});
    #content = el('div', {});

    /** @param {HTMLElement} host @param {import('./feed.js').Feed} feed */
    constructor(host, feed) {
        this.#details.append(el('div', {class: 'row'}, this.#title, el('button', {type: 'button', class: 'small',
            on: {click: () => this.#close()}}, 'Close')), this.#content);
        host.append(this.#details, el('section', {class: 'card', 'aria-labelledby': 'decisions-title'},
            el('h3', {id: 'decisions-title'}, 'Last decisions'), this.#empty,
            scrollBox('Table of decisions', table('Last decisions', ['request', 'at', 'worker', 'reason',
                'prompt tokens', 'cached tokens', 'first token', 'end'], this.#body))));
        feed.on('decision', decision => this.#add(decision));
        feed.on('hello', () => this.#load());
    }

    /** What was decided before this page was opened, or while its feed was lost. */
    async #load() {
        try {
            const answer = await getJson(`actuator/decisions?limit=${KEPT}`);
            (answer.decisions ?? []).forEach(decision => this.#add(decision));
        } catch (failure) {
            setText(this.#empty, `Earlier decisions cannot be read: ${failure.message}`);
        }
    }

    #add(decision) {
        const at = microsOf(decision.at);
        const id = `${decision.request}/${decision.attempt}/${decision.at}`;      // clients may name two requests alike
        if (this.#decisions.get(id)?.outcome && !decision.outcome) {
            return;
        }
        this.#empty.hidden = true;
        if (!this.#decisions.has(id)) {
            this.#insert(id, at, decision.request);
        }
        if (!this.#rows.has(id)) {
            return;                     // older than all that are kept
        }
        this.#decisions.set(id, decision);
        decisionCells(decision).forEach((cell, i) => this.#rows.get(id).cells[i + 1].replaceChildren(cell));
        if (this.#open === id) {
            this.#content.replaceChildren(decisionDetails(decision));
        }
    }

    #insert(id, at, request) {
        const {place, dropped} = this.#order.add(id, at);
        const row = el('tr', {'data-request': request}, el('th', {scope: 'row'}, el('button', {type: 'button',
            class: 'link data', title: request, tabindex: -1, on: {click: () => this.#show(id)}},
        brief(request, 16))), Array.from({length: 7}, () => el('td', {})));
        this.#rows.set(id, row);
        this.#body.insertBefore(row, this.#body.rows[place] ?? null);
        if (dropped !== null) {
            this.#rows.get(dropped).remove();
            this.#rows.delete(dropped);
            this.#decisions.delete(dropped);
        }
    }

    #show(id) {
        const decision = this.#decisions.get(id);
        this.#rows.get(this.#open)?.classList.remove('open');
        this.#open = id;
        this.#rows.get(id)?.classList.add('open');
        setText(this.#title, `${brief(decision.request, 40)}, try ${decision.attempt} → ${decision.worker}`);
        this.#content.replaceChildren(decisionDetails(decision));
        this.#details.hidden = false;
        this.#details.focus();
        this.#details.scrollIntoView({block: 'nearest'});
    }

    #close() {
        this.#rows.get(this.#open)?.classList.remove('open');
        this.#rows.get(this.#open)?.querySelector('button').focus();
        this.#open = null;
        this.#details.hidden = true;
    }
}
