/** Measures parts of the router's {@code dispatch} that nobody else is to see. */
package dev.warmpath.router.dispatch;
