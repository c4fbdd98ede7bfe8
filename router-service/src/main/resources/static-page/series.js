/**
 * The last five minutes of a number. Each point has its second: they do not come at an even pace, and not at all while
 * the feed is lost.
 */

export const SERIES_SECONDS = 300;

export class Series {
    /** @type {Array<{second: number, value: ?number}>} the oldest first; null where it was not known */
    points = [];

    /**
     * What the router has kept, in place of what is known of the same time.
     * @param {Array<?number>} values the oldest first
     * @param {number} at second of the last one @param {number} step seconds between two
     */
    begin(values, at, step = 1) {
        if (values.length === 0) {
            return;
        }
        const from = at - step * (values.length - 1);
        this.points = [...this.points.filter(point => point.second < from),
            ...values.map((value, i) => ({second: from + i * step, value: known(value)}))];
        this.#bound();
    }

    /** A point for one that has its second already, or a later one, takes its place: clocks are set back at times. */
    add(second, value) {
        while (this.points.length > 0 && this.points.at(-1).second >= second) {
            this.points.pop();
        }
        this.points.push({second, value: known(value)});
        this.#bound();
    }

    #bound() {
        const last = this.points.at(-1)?.second;
        this.points = this.points.filter(point => point.second > last - SERIES_SECONDS);
    }

    get last() {
        return this.points.at(-1)?.value ?? null;
    }

    /** @returns {?{least: number, most: number}} null if nothing is known */
    get range() {
        const values = this.points.map(point => point.value).filter(value => value !== null);
        return values.length === 0 ? null : {least: Math.min(...values), most: Math.max(...values)};
    }
}

function known(value) {
    return typeof value === 'number' && Number.isFinite(value) ? value : null;
}
