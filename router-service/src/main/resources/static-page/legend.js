/** What the cells mean, painted as the grids paint them. */
import {el} from './dom.js';
import {paintState, themeColours} from './sprites.js';

const SIZE = 18;
const MEANINGS = [
    ['free', 'free'],
    ['cached', 'cached, held by nobody'],
    ['filling', 'filling'],
    ['used', 'in use'],
    ['shared', 'shared by several'],
    ['swapped', 'swapped out'],
    ['null', 'null block'],
];

/** @returns {HTMLElement} */
export function legend() {
    const samples = MEANINGS.map(([state]) => el('canvas', {width: 2 * SIZE, height: 2 * SIZE, 'aria-hidden': 'true',
        'data-state': state}));
    const next = el('span', {class: 'next-sample', 'aria-hidden': 'true'}, '1');
    const list = el('ul', {class: 'legend', 'aria-label': 'What the cells mean'},
        samples.map((sample, i) => el('li', {}, sample, MEANINGS[i][1])),
        el('li', {}, next, 'given away next, in this order'));
    const paint = () => {
        const colours = themeColours();
        samples.forEach(sample => {
            const pen = sample.getContext('2d');
            pen.clearRect(0, 0, 2 * SIZE, 2 * SIZE);
            paintState(pen, sample.dataset.state, 2 * SIZE, colours);
        });
    };
    paint();
    window.addEventListener('themechange', paint);
    return list;
}
