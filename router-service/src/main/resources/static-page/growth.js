/**
 * How fast counters of watched workers grow, each worker's by itself: one that comes, leaves, or starts anew with its
 * counters at zero must not look like a burst.
 */

export class Growth {
    /** By worker: its epoch, its counters, and those of the point before with their second. */
    #workers = new Map();

    /** @param {string} worker @param {number} epoch of its start @param {Object<string, number>} counters */
    take(worker, epoch, counters) {
        const known = this.#workers.get(worker);
        this.#workers.set(worker, {epoch, counters, before: known?.epoch === epoch ? known.before : null});
    }

    /** Forgets all others. @param {function(string): boolean} isWatched */
    retain(isWatched) {
        [...this.#workers.keys()].filter(worker => !isWatched(worker)).forEach(worker => this.#workers.delete(worker));
    }

    /** All workers together, since the start of each. */
    total(name) {
        return [...this.#workers.values()].reduce((sum, each) => sum + (each.counters[name] ?? 0), 0);
    }

    /**
     * Closes a point.
     * @param {number} second of it
     * @returns {Object<string, number>} a second, of all workers that have an earlier point; empty if none has
     */
    perSecond(second) {
        const rates = {};
        for (const each of this.#workers.values()) {
            if (each.before !== null && second > each.before.second) {
                Object.entries(each.counters).forEach(([name, value]) => {
                    const grown = Math.max(0, value - each.before.counters[name]) / (second - each.before.second);
                    rates[name] = (rates[name] ?? 0) + grown;
                });
            }
            each.before = {second, counters: each.counters};
        }
        return rates;
    }
}
