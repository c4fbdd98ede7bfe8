/** What the last prompts have in common, as a tree: where prompts part, a branch. Asked for only while it is seen. */
import {getJson} from './api.js';
import {bar, el, setText} from './dom.js';
import {count, plural} from './format.js';
import {treeOf} from './tree.js';

const EVERY_MILLIS = 2_000;

export class Prefixes {
    #seen = false;
    #timer = 0;
    #closed = new Set();
    #said = '';
    #status = el('p', {class: 'quiet', role: 'status'}, 'Asking…');
    #list = el('ul', {class: 'tree', 'aria-label': 'Prefixes'});

    /** @param {HTMLElement} host */
    constructor(host) {
        host.append(el('section', {class: 'card', 'aria-labelledby': 'prefixes-title'},
            el('h3', {id: 'prefixes-title'}, 'What prompts have in common'), this.#status, this.#list));
    }

    /** @param {boolean} isSeen */
    seen(isSeen) {
        this.#seen = isSeen;
        clearTimeout(this.#timer);
        if (isSeen) {
            this.#ask();
        }
    }

    async #ask() {
        try {
            const answer = await getJson('live/prefixes');
            this.#show(answer);
        } catch (failure) {
            setText(this.#status, failure.message);
        }
        clearTimeout(this.#timer);
        if (this.#seen) {
            this.#timer = setTimeout(() => this.#ask(), document.hidden ? 10 * EVERY_MILLIS : EVERY_MILLIS);
        }
    }

    #show(answer) {
        const nodes = answer.prefixes ?? [];
        setText(this.#status, nodes.every(node => node.hits < 2)
            ? 'No two prompts have begun alike yet. Send one twice from the playground.'
            : `Of the last ${plural(answer.requests, 'prompt')}: where several begin alike, and who holds it.`);
        const said = JSON.stringify(nodes);
        if (said === this.#said) {
            return;
        }
        this.#said = said;
        const focused = this.#list.contains(document.activeElement)
            ? document.activeElement.closest('details')?.dataset.key : null;
        const most = Math.max(1, ...nodes.map(node => node.hits));
        this.#list.replaceChildren(...treeOf(nodes).map(entry => this.#node(entry, most)));
        if (focused) {
            this.#list.querySelector(`details[data-key="${CSS.escape(focused)}"] > summary`)?.focus();
        }
    }

    #node({node, children}, most) {
        const held = node.workers.length === 0 ? '○ held by nobody now' : `● held by ${node.workers.join(', ')}`;
        const details = el('details', {'data-key': node.key, open: !this.#closed.has(node.key),
            on: {toggle: event => this.#toggled(event.target)}},
        el('summary', {}, bar(node.hits / most, 'heat'),
            el('strong', {}, node.hits === 1 ? ' one prompt alone ' : ` ${plural(node.hits, 'prompt')} `),
            el('span', {class: 'data'}, `${count(node.tokens)} tokens, ${plural(node.blocks, 'block')} of its own`),
            el('span', {class: 'held-by'}, held)),
        node.text ? el('p', {class: 'token-text'}, node.text) : null,
        el('p', {class: 'quiet data'}, `key ${node.key} · depth ${count(node.depth_blocks)} blocks · ${node.model}`),
        children.length === 0 ? null : el('ul', {}, children.map(child => this.#node(child, most))));
        return el('li', {}, details);
    }

    #toggled(details) {
        if (details.open) {
            this.#closed.delete(details.dataset.key);
        } else {
            this.#closed.add(details.dataset.key);
        }
    }
}
