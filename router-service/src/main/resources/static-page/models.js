/** The models that are served now, offered to choose from. */
import {el} from './dom.js';

/**
 * Fills a select where the models are others than before. What was chosen stays, as long as it is served.
 * @param {HTMLSelectElement} select
 * @param {?string[]} models undefined: nobody has told
 * @returns {boolean} whether something has changed
 */
export function offer(select, models) {
    if (!models || models.join('\n') === [...select.options].map(option => option.value).join('\n')) {
        return false;
    }
    const chosen = select.value;
    select.replaceChildren(...models.map(model => el('option', {value: model}, model)));
    if (models.includes(chosen)) {
        select.value = chosen;
    }
    return true;
}
