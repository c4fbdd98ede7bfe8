/**
 * Light, dark, or as the system has it. Runs before the page is painted, so that nobody sees the other one flash by;
 * the choice is remembered. Whoever paints on a canvas listens to {@code themechange} of the window.
 */
'use strict';

(() => {
    const KEY = 'warmpath-theme';
    const CHOICES = ['auto', 'light', 'dark'];

    function remembered() {
        try {
            const choice = localStorage.getItem(KEY);
            return CHOICES.includes(choice) ? choice : 'auto';
        } catch {
            return 'auto';      // a browser that keeps nothing
        }
    }

    function set(choice) {
        document.documentElement.dataset.theme = choice;
        try {
            localStorage.setItem(KEY, choice);
        } catch {
            // it holds until the page is closed
        }
        window.dispatchEvent(new Event('themechange'));
    }

    document.documentElement.dataset.theme = remembered();
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change',
        () => window.dispatchEvent(new Event('themechange')));
    document.addEventListener('DOMContentLoaded', () => {
        const select = document.getElementById('theme');
        select.value = remembered();
        select.addEventListener('change', () => set(select.value));
    });
})();
