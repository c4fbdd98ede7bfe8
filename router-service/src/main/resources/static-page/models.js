/** Which models can be asked: those that the feed greets with, and of workers that come later. */
import {el} from './dom.js';

/**
 * Keeps a choice of models up to date; what was chosen stays chosen while it is served.
 * @param {HTMLSelectElement} select
 * @param {import('./feed.js').Feed} feed
 * @param {function()} [changed] called when others are served than before
 */
export function fillModels(select, feed, changed = () => {}) {
    let shown = '';
    const fill = models => {
        const names = [...new Set(models)].sort();
        if (names.join('\n') === shown) {
            return;
        }
        shown = names.join('\n');
        const chosen = select.value;
        select.replaceChildren(...names.map(name => el('option', {value: name}, name)));
        if (names.includes(chosen)) {
            select.value = chosen;
        }
        changed();
    };
    feed.on('hello', hello => fill(hello.models ?? []));
    feed.on('fleet', fleet => fill((fleet.workers ?? []).map(worker => worker.model)));
}
