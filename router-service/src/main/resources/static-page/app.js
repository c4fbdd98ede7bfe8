/**
 * The fleet page: what the router's live feed tells, section by section. This module puts the parts together; each of
 * them listens to the feed for itself. A section is named by the address (#live), so that it can be linked to.
 */
import {Calculator} from './calculator.js';
import {Decisions} from './decisions.js';
import {setText} from './dom.js';
import {Feed} from './feed.js';
import {HashWalk} from './hashwalk.js';
import {LifeWalk} from './lifewalk.js';
import {Numbers} from './numbers.js';
import {Playground} from './playground.js';
import {Pools} from './pools.js';
import {Prefixes} from './prefixes.js';

const STATES = {
    connecting: '◌ connecting…',
    open: '● live',
    lost: '○ the feed is lost; trying again',
    refused: '○ the router refuses the feed',
    paused: '◌ paused while nobody looks',
};

const byId = id => document.getElementById(id);
const sections = [...document.querySelectorAll('main > section')];
const links = [...document.querySelectorAll('nav a')];

const feed = new Feed();
const pools = new Pools(byId('pools'), feed);
new Playground(byId('playground'), feed, pools);
new Numbers(byId('strip'), byId('numbers-body'), feed);
new Decisions(byId('decisions-body'), feed);
const prefixes = new Prefixes(byId('prefixes-body'));
new Calculator(byId('calculator-body'), feed);
new LifeWalk(byId('walks-body'));
const hashWalk = new HashWalk(byId('walks-body'), feed);

feed.on('state', state => {
    const connection = byId('connection');
    connection.dataset.state = state;
    setText(connection, feed.refusal === null ? STATES[state] : `${STATES[state]}: ${feed.refusal}; trying again`);
    document.body.classList.toggle('is-stale', state === 'lost' || state === 'refused');
});
feed.on('hello', hello => setText(byId('version'), [hello.router, hello.version].filter(Boolean).join(' · ')));
feed.on('fleet', fleet => setText(byId('index-facts'), fleet.index
    ? `Index: ${fleet.index.entries} entries of ${fleet.index.workers} workers, ${fleet.index.keys} different blocks.`
    : ''));

/** Shows the section of the address, the first one if it names none. */
function route() {
    const wanted = sections.find(section => `#${section.id}` === location.hash) ?? sections[0];
    sections.forEach(section => {
        section.hidden = section !== wanted;
    });
    links.forEach(link => {
        const isCurrent = link.getAttribute('href') === `#${wanted.id}`;
        if (isCurrent) {
            link.setAttribute('aria-current', 'page');
            link.scrollIntoView({block: 'nearest', inline: 'nearest'});
        } else {
            link.removeAttribute('aria-current');
        }
    });
    prefixes.seen(wanted.id === 'prefixes');
    hashWalk.seen(wanted.id === 'walks');
    document.title = `${wanted.dataset.title} · Warmpath`;
}

window.addEventListener('hashchange', () => {
    route();
    window.scrollTo(0, 0);
});
route();
feed.open();
