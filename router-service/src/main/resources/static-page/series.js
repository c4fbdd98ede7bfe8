/** The last five minutes of a number, a point a second; null where it was not known. */

const LENGTH = 300;

export class Series {
    /** @type {Array<?number>} the oldest first */
    points = [];

    /** @param {Array<?number>} [points] what was there before */
    begin(points) {
        this.points = (points ?? []).slice(-LENGTH);
    }

    add(value) {
        this.points.push(typeof value === 'number' && Number.isFinite(value) ? value : null);
        if (this.points.length > LENGTH) {
            this.points.shift();
        }
    }

    get last() {
        return this.points.at(-1) ?? null;
    }

    /** @returns {?{least: number, most: number}} null if nothing is known */
    get range() {
        const known = this.points.filter(point => point !== null);
        return known.length === 0 ? null : {least: Math.min(...known), most: Math.max(...known)};
    }
}

export const SERIES_LENGTH = LENGTH;
