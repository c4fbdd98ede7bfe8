/** The workers as this router knows them, a row each. */
import {bar, el, scrollBox, setText, setVar, table} from './dom.js';
import {count, millis, percent} from './format.js';

const HEADS = ['worker', 'state', 'health', 'index', 'model', '#running', '#waiting', '#KV usage', '#index entries',
    '#credit', '#last heard'];
const SIGNS = {ready: '●', healthy: '●', draining: '◐', joining: '○', hanging: '!', ejected: '!', unreachable: '×',
    on_trial: '◐'};

export class Workers {
    element;
    #rows = new Map();
    #body = el('tbody', {});
    #empty = el('p', {class: 'empty', role: 'status'}, 'No worker is there.');

    constructor() {
        this.element = el('section', {class: 'card', 'aria-labelledby': 'workers-title'},
            el('h3', {id: 'workers-title'}, 'Workers'), this.#empty,
            scrollBox('Table of workers', table('Workers of the fleet', HEADS, this.#body)));
    }

    show(workers) {
        this.#empty.hidden = workers.length > 0;
        const seen = new Set(workers.map(worker => worker.id));
        for (const [id, row] of this.#rows) {
            if (!seen.has(id)) {
                row.remove();
                this.#rows.delete(id);
            }
        }
        workers.forEach(worker => {
            let row = this.#rows.get(worker.id);
            if (row === undefined) {
                row = newRow(worker.id);
                this.#rows.set(worker.id, row);
                this.#body.append(row);
            }
            fill(row, worker);
        });
    }
}

function newRow(id) {
    const usage = bar(0);
    return Object.assign(el('tr', {}, el('th', {scope: 'row'}, id), Array.from({length: 4}, () => el('td', {})),
        el('td', {class: 'number'}), el('td', {class: 'number'}), el('td', {class: 'number'}, el('span', {}), usage),
        Array.from({length: 3}, () => el('td', {class: 'number'}))), {usage});
}

function fill(row, worker) {
    const [, state, health, grade, model, running, waiting, usage, entries, credit, heard] = row.cells;
    setText(state, sign(worker.state) + (worker.held ? ' ‖ held' : ''));
    setText(health, sign(worker.health) + (worker.health_problem ? `: ${worker.health_problem}` : ''));
    setText(grade, worker.grade + (worker.behind_batches > 0 ? `, ${count(worker.behind_batches)} behind` : ''));
    setText(model, String(worker.model));
    model.title = `revision ${worker.revision}`;
    setText(running, count(worker.running));
    setText(waiting, count(worker.waiting));
    setText(usage.firstChild, `${percent(worker.usage)} of ${count(worker.blocks)}`);
    setVar(row.usage, '--share', Math.max(0, Math.min(1, worker.usage || 0)));
    setText(entries, count(worker.index_entries));
    setText(credit, percent(worker.credit));
    setText(heard, `${millis(worker.lease_age_ms)} ago`);
}

function sign(word) {
    const text = String(word).toLowerCase();
    return `${SIGNS[text] ?? '·'} ${text}`;
}
