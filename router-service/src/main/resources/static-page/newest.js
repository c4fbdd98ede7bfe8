/** Things by their moments, the newest first and no more than so many, whenever each comes to be known. */

export class Newest {
    #most;
    #entries = [];

    /** @param {number} most that are kept */
    constructor(most) {
        this.#most = most;
    }

    /**
     * Puts one in its place.
     * @param {string} id that is not among them yet @param {number} moment
     * @returns {{place: number, dropped: ?string}} where it stands, from 0 on, and who had to go for it; both may be
     *     itself, if all others are newer
     */
    add(id, moment) {
        const found = this.#entries.findIndex(each => each.moment <= moment);
        const place = found < 0 ? this.#entries.length : found;
        this.#entries.splice(place, 0, {id, moment});
        return {place, dropped: this.#entries.length > this.#most ? this.#entries.pop().id : null};
    }
}

/**
 * Microseconds since 1970: a router writes more digits than a Date takes.
 * @param {string} iso in UTC @returns {number} 0 if it is none
 */
export function microsOf(iso) {
    const [, whole, fraction = ''] = /^(.*?:\d\d:\d\d)(?:\.(\d+))?Z$/.exec(iso ?? '') ?? [];
    const millis = Date.parse(`${whole}Z`);
    return Number.isNaN(millis) ? 0 : 1_000 * millis + Number(fraction.padEnd(6, '0').slice(0, 6));
}
