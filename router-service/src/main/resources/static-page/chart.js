/** A line over the last five minutes. The sentence beneath says the same in words. */
import {el, setText, svg} from './dom.js';
import {SERIES_SECONDS} from './series.js';

const WIDTH = 300;
const HEIGHT = 72;
/** Between two points that are further apart, nobody has looked: a gap. */
const GAP_SECONDS = 5;

export class Chart {
    element;
    #line = svg('path', {class: 'line'});
    #area = svg('path', {class: 'area'});
    #now = el('strong', {class: 'now'});
    #formula = el('p', {class: 'formula data'});
    #words = el('figcaption', {class: 'quiet'});
    #top = el('span', {class: 'top quiet', 'aria-hidden': 'true'});
    #format;
    #fixedMost;

    /**
     * @param {string} title
     * @param {function(?number): string} format how a value is written
     * @param {?number} fixedMost the top of the scale; null: the highest value
     */
    constructor(title, format, fixedMost = null) {
        this.#format = format;
        this.#fixedMost = fixedMost;
        const drawing = svg('svg',
            {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', 'aria-hidden': 'true'},
            svg('line', {class: 'grid-line', x1: 0, x2: WIDTH, y1: HEIGHT / 2, y2: HEIGHT / 2}),
            this.#area, this.#line);
        this.element = el('figure', {class: 'card chart'}, el('div', {class: 'row'}, el('h3', {}, title), this.#now),
            this.#formula, el('div', {class: 'plot'}, drawing, this.#top), this.#words);
    }

    /** @param {import('./series.js').Series} series @param {string} formula with the numbers of now in it */
    show(series, formula) {
        const range = series.range;
        const most = this.#fixedMost ?? (range === null || range.most <= 0 ? 1 : range.most);
        setText(this.#now, this.#format(series.last));
        setText(this.#formula, formula);
        setText(this.#top, this.#format(most));
        setText(this.#words, range === null ? 'Nothing known yet.'
            : `Last five minutes: ${this.#format(range.least)} to ${this.#format(range.most)}.`);
        this.#line.setAttribute('d', path(series.points, most, false));
        this.#area.setAttribute('d', path(series.points, most, true));
    }
}

/** A line, or the area beneath it. Gaps stay gaps. */
function path(points, most, closed) {
    const x = second => (WIDTH * (1 - (points.at(-1).second - second) / (SERIES_SECONDS - 1))).toFixed(1);
    const y = value => (HEIGHT - 2 - (HEIGHT - 6) * Math.min(1, Math.max(0, value / most))).toFixed(1);
    return stretches(points).map(stretch => {
        const line = stretch.map(point => `${x(point.second)} ${y(point.value)}`).join('L');
        return `M${line}`
            + (closed ? `L${x(stretch.at(-1).second)} ${HEIGHT}L${x(stretch[0].second)} ${HEIGHT}Z` : '');
    }).join('');
}

/** Runs of known points. */
function stretches(points) {
    const found = [];
    let before = -Infinity;
    for (const point of points) {
        if (point.value === null) {
            before = -Infinity;
            continue;
        }
        if (point.second - before > GAP_SECONDS) {
            found.push([]);
        }
        found.at(-1).push(point);
        before = point.second;
    }
    return found;
}
